"""The form of an alert rule: its fields, their ranges, and what is wrong with a value."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from rag_monitor.alerting.params import PARAMS, Number, Unit, Word
from rag_monitor.domain.alert import AlertRule, FieldName, RuleKind
from rag_monitor.domain.fault import FAULT_METRICS
from rag_monitor.domain.hit import HitKind
from rag_monitor.domain.session_outcome import SESSION_SHARES
from rag_monitor.errors import RuleError
from rag_monitor.i18n import Message, languages, msgid, translate
from rag_monitor.server.quality import LATENCIES, SHOWN_METRICS
from rag_monitor.server.schemas.alerts import RuleIn
from rag_monitor.server.ui.catalog import KINDS, metric_label
from rag_monitor.server.ui.duration_text import duration_text, read_duration

RULE_FIELDS: Final = (
    "name",
    "kind",
    "app",
    "metric",
    "window_s",
    "hold_for_s",
    "keep_firing_s",
    "repeat_s",
    "min_judged",
    "severity",
    "notifiers",
    "runbook_url",
    "enabled",
    "shipped",
)

RULE_METRICS: Final = {
    **{
        name: metric_label(name)
        for name in (*SHOWN_METRICS, *SESSION_SHARES, *FAULT_METRICS, *LATENCIES)
    },
    **{kind.value: KINDS[kind.value] for kind in HitKind},
}
"""What the field for the metric offers, by name, with its English label; which of them a kind takes
is checked when it is saved."""
_CALLED: Final = {
    called.casefold(): name
    for name, label in RULE_METRICS.items()
    for called in (name, *(translate(Message(label), language) for language in languages()))
}


def metric_named(text: str) -> str:
    """The metric that is called so, in whatever language; any other text as it is."""
    return _CALLED.get(" ".join(text.split()).casefold(), text)


DURATIONS: Final = ("window_s", "hold_for_s", "keep_firing_s", "repeat_s")
"""Fields that are typed with their unit."""
PARAMS_PREFIX: Final = "params."
SPECS: Final = {kind.value: specs for kind, specs in PARAMS.items()}
"""The parameters of every kind, by the text that a form has for the kind."""


def parameter_field(kind: str, name: str) -> str:
    """What the field of a parameter of a kind is called: every kind has fields of its own."""
    return f"{PARAMS_PREFIX}{kind}.{name}"


def rule_form(rule: AlertRule | None, language: str) -> dict[str, str]:
    """The fields of the rule form: of the rule, or of a new one.

    Args:
        rule: None: a new one.
        language: That durations are written in.
    """
    shown = rule or AlertRule(name="", kind=RuleKind.DROP, metric="faithfulness", window_s=None)
    durations = {name: getattr(shown, name) for name in DURATIONS}
    return {
        "name": shown.name,
        "kind": shown.kind.value,
        "app": shown.app,
        "metric": shown.metric or "",
        **{
            name: "" if seconds is None else translate(duration_text(seconds), language)
            for name, seconds in durations.items()
        },
        "min_judged": str(shown.min_judged),
        "severity": shown.severity.value,
        "notifiers": ",".join(shown.notifiers),
        "runbook_url": shown.runbook_url,
        "enabled": "on" if shown.enabled else "",
        "shipped": "true" if shown.shipped else "",
        **{
            parameter_field(shown.kind, name): _written(
                PARAMS[shown.kind].get(name), value, language
            )
            for name, value in shown.params.items()
        },
    }


def _written(spec: Number | Word | None, value: float | str, language: str) -> str:
    """A parameter as its field holds it."""
    if isinstance(value, str):
        return value
    if isinstance(spec, Number) and spec.unit is Unit.DURATION:
        return translate(duration_text(value), language)
    return f"{value:.15g}"


def given_form(form: Mapping[str, str]) -> dict[str, str]:
    """The fields of the rule form as somebody filled them in."""
    named = {name: form.get(name, "").strip() for name in RULE_FIELDS}
    params = {name: value.strip() for name, value in form.items() if name.startswith(PARAMS_PREFIX)}
    return named | params


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What the fields of a form say."""

    fields: dict[str, Any] = field(default_factory=dict)
    """The rule as the schema takes it, without the fields that cannot be read."""
    durations: dict[str, float] = field(default_factory=dict)
    """The seconds that were read, by field of the form."""
    problems: dict[str, str] = field(default_factory=dict)
    """What is wrong with those that cannot be read, by field of the form."""

    def duration(self, name: str, text: str) -> float | None:
        """The seconds that a field says; None: what is wrong is taken down."""
        try:
            seconds = read_duration(text)
        except ValueError as error:
            self.problems[name] = str(error)
            return None
        self.durations[name] = seconds
        return seconds


def read_fields(form: Mapping[str, str]) -> Reading:
    """Read the fields of a form; whether they make a rule that can work is not known yet."""
    given = given_form(form)
    reading = Reading()
    reading.fields.update(
        name=given["name"],
        kind=given["kind"],
        app=given["app"] or "*",
        metric=metric_named(given["metric"]) or None,
        severity=given["severity"] or "page",
        enabled=given["enabled"] == "on",
        shipped=given["shipped"] == "true",
        runbook_url=given["runbook_url"],
        notifiers=[name.strip() for name in given["notifiers"].split(",") if name.strip()],
    )
    if given["min_judged"]:
        reading.fields["min_judged"] = number_of(given["min_judged"])
    for name in DURATIONS:
        if given[name] and (seconds := reading.duration(name, given[name])) is not None:
            reading.fields[name] = seconds
    reading.fields["params"] = _read_params(given, reading)
    return reading


def _read_params(given: Mapping[str, str], reading: Reading) -> dict[str, float | str]:
    """The parameters of the chosen kind; fields of other kinds stand in the form as well."""
    params: dict[str, float | str] = {}
    own = parameter_field(given["kind"], "")
    for place, text in given.items():
        if place.startswith(own) and text:
            name = place.removeprefix(own)
            value = _read_param(place, name, text, SPECS.get(given["kind"], {}).get(name), reading)
            if value is not None:
                params[name] = value
    return params


def _read_param(
    place: str, name: str, text: str, spec: Number | Word | None, reading: Reading
) -> float | str | None:
    """A parameter in its range; None: what is wrong is taken down."""
    if spec is None:
        return number_of(text)
    value: float | str = text
    if isinstance(spec, Number):
        if spec.unit is Unit.DURATION:
            return _read_span(place, text, spec, reading)
        value = number_of(text, spec)
        if value == text:
            reading.problems[place] = Message(_FIELDS["float_parsing"])
            return None
    try:
        spec.check(name, value)
    except RuleError as error:
        reading.problems[place] = str(error)
        return None
    return value


def _read_span(place: str, text: str, spec: Number, reading: Reading) -> float | None:
    """A parameter that is a duration, whose range is told as durations."""
    seconds = reading.duration(place, text)
    if seconds is None or spec.low <= seconds <= spec.high:
        return seconds
    reading.problems[place] = Message(
        _FIELDS["less_than_equal"], low=duration_text(spec.low), high=duration_text(spec.high)
    )
    return None


def number_of(text: str, spec: Number | None = None) -> float | str:
    """The number a text reads as; else the text, which the schema refuses by its name.

    A share may also be written as `10 %`.
    """
    plain = unicodedata.normalize("NFKC", text).strip()
    percent = spec is not None and spec.unit is Unit.SHARE and plain.endswith("%")
    try:
        value = round(float(plain[:-1]) / 100.0, 12) if percent else float(plain)
    except ValueError:
        return text
    return value if math.isfinite(value) else text


LABELS: Final = {
    "name": msgid("Name"),
    "kind": msgid("Kind"),
    "app": msgid("App"),
    "metric": msgid("Metric"),
    "window_s": msgid("Window"),
    "hold_for_s": msgid("Hold"),
    "keep_firing_s": msgid("Clear before it resolves"),
    "repeat_s": msgid("Announced again after"),
    "min_judged": msgid("Judged at least"),
    "severity": msgid("Severity"),
    "params": msgid("Parameters"),
    "notifiers": msgid("Channels"),
    "runbook_url": msgid("Runbook"),
}
"""What the form calls the fields of a rule."""

_FIELDS: Final = {
    "float_parsing": msgid("must be a number"),
    "float_type": msgid("must be a number"),
    "number_type": msgid("must be a number"),
    "finite_number": msgid("must be a number"),
    "int_parsing": msgid("must be a whole number"),
    "int_from_float": msgid("must be a whole number"),
    "int_parsing_size": msgid("must lie between {low} and {high}"),
    "greater_than_equal": msgid("must lie between {low} and {high}"),
    "less_than_equal": msgid("must lie between {low} and {high}"),
    "string_too_short": msgid("must not be empty"),
    "string_too_long": msgid("may have at most {longest} characters"),
    "too_long": msgid("takes at most {longest}"),
    "name_pattern": msgid("must not contain control characters"),
    "string_pattern_mismatch": msgid("takes a-z, 0-9 and _ only"),
    "enum": msgid("is none of the choices"),
}
"""What is wrong with a single field, by the kind of error of the schema."""
_UNREADABLE: Final = msgid("cannot be read")
_NAMES: Final = frozenset({"name", "app", "notifiers"})
"""Fields that take any printable text, unlike the other ones with a pattern."""


def field_problem(errors: Sequence[Mapping[str, Any]], language: str) -> str:
    """The first field and what is wrong with it, by the errors of the schema."""
    ((place, problem), *_) = schema_problems(errors).items()
    return labelled(place, problem, language)


def schema_problems(errors: Sequence[Mapping[str, Any]], kind: str = "") -> dict[str, str]:
    """What is wrong with every field, by the errors of the schema.

    Args:
        errors: Of pydantic.
        kind: Of the rule, whose fields its parameters stand in.
    """
    problems: dict[str, str] = {}
    # Of a parameter the schema tells why it is no number and why it is no text.
    for error in sorted(errors, key=lambda one: one["type"] != "string_too_long"):
        # Behind the names stand the places in a list, and the types that pydantic tried.
        name, *inner = (str(part) for part in error["loc"])
        place = parameter_field(kind, inner[0]) if name == "params" and inner else name
        problems.setdefault(place, _schema_problem(error, name))
    return problems


def _schema_problem(error: Mapping[str, Any], name: str) -> Message:
    problem = str(error["type"])
    if problem == "string_pattern_mismatch" and name in _NAMES:
        problem = "name_pattern"
    return Message(
        _FIELDS.get(problem, _UNREADABLE),
        **limits_of(name),
        longest=error.get("ctx", {}).get("max_length", ""),
    )


def limits_of(name: str) -> dict[str, str]:
    """The least and the greatest value of a field (`low`, `high`), as people read them.

    Empty where the schema has none.
    """
    metadata = RuleIn.model_fields[name].metadata if name in RuleIn.model_fields else ()
    limits: dict[str, str] = {}
    for end, bound in (("low", "ge"), ("high", "le")):
        value = next((getattr(limit, bound) for limit in metadata if hasattr(limit, bound)), None)
        if value is None:
            limits[end] = ""
        else:
            limits[end] = duration_text(value) if name in DURATIONS else f"{value:,.0f}"
    return limits


def rule_problems(error: RuleError, kind: str) -> dict[str, str]:
    """The sentence of a rule that cannot work, by the fields of the form that it names.

    The key is empty where it names none.
    """
    text = str(error)
    named = text.params.get("field", ()) if isinstance(text, Message) else ()
    fields = named if isinstance(named, tuple) else (named,)
    places = [
        parameter_field(kind, name.removeprefix(PARAMS_PREFIX))
        if name.startswith(PARAMS_PREFIX)
        else str(name)
        for name in fields
        if isinstance(name, FieldName)
    ]
    return dict.fromkeys(places or [""], text)


def labelled(place: str, problem: str, language: str) -> str:
    """What is wrong with a field, as a sentence that names it.

    Args:
        place: The field of the form; empty: it is about none.
        problem: As `Reading`, `schema_problems` and `rule_problems` tell it.
        language: Of the reader.
    """
    if not place or "field" in _params_of(problem):
        return rule_problem(problem, language)
    label = _label(_without_kind(place))
    return translate(Message("{field}: {problem}", field=label, problem=problem), language)


def beside(problem: str, language: str) -> str:
    """The same for a place beside the field, whose name is not said again."""
    text = rule_problem(problem, language)
    named = _called(_params_of(problem).get("field", ()), "field")
    if not named:
        return text
    parts = named if isinstance(named, tuple) else (named,)
    label = translate(Message(", "), language).join(translate(one, language) for one in parts)
    return text.removeprefix(label).lstrip(":： ")


def _params_of(problem: str) -> Mapping[str, object]:
    return problem.params if isinstance(problem, Message) else {}


def _without_kind(place: str) -> str:
    """`params.drop.min_drop` as messages name it: `params.min_drop`."""
    if not place.startswith(PARAMS_PREFIX):
        return place
    return f"{PARAMS_PREFIX}{place.split('.', 2)[-1]}"


def rule_problem(text: str, language: str) -> str:
    """The sentence in the language, with the fields as the form calls them.

    Args:
        text: A `Message`, as the errors of rules hold it.
        language: Of the reader.
    """
    if isinstance(text, Message):
        text = text.given(**{name: _called(part, name) for name, part in text.params.items()})
    return translate(text, language)


def _called(part: object, name: str) -> object:
    """A parameter of a sentence; a field by its label, in quotation marks inside of a sentence."""
    if isinstance(part, tuple):
        return tuple(_called(one, name) for one in part)
    if not isinstance(part, FieldName):
        return part
    label = _label(part)
    return label if name == "field" else Message("“{label}”", label=label)


def _label(field: str) -> Message:
    """What the form calls a field; `params.below` is the parameter `below`."""
    field, _, parameter = field.partition(".")
    if parameter:
        return Message("Parameter {name}", name=parameter)
    return Message(LABELS.get(field, field))
