"""The form of an alert rule: its fields, their ranges, and what is wrong with a value."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from rag_monitor.alerting.params import PARAMS, Number, Word
from rag_monitor.domain.alert import AlertRule, FieldName, RuleKind
from rag_monitor.domain.fault import FAULT_METRICS
from rag_monitor.domain.hit import HitKind
from rag_monitor.domain.session_outcome import SESSION_SHARES
from rag_monitor.errors import RuleError
from rag_monitor.i18n import Message, languages, msgid, translate
from rag_monitor.server.quality import LATENCIES, SHOWN_METRICS
from rag_monitor.server.schemas.alerts import RuleIn
from rag_monitor.server.ui.catalog import KINDS, metric_label

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
    "params",
    "notifiers",
    "runbook_url",
    "enabled",
    "shipped",
)
_PAIR: Final = re.compile("[=＝:：]")

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


_NO_LIMIT: Final = 1e6
"""Upper ends beyond this are there to refuse nonsense; nobody needs to read them."""


def parameters(kind: RuleKind) -> list[tuple[str, str, str]]:
    """Name, allowed values and default (empty: none) of every parameter of a kind."""
    return [(name, _allowed(spec), _default(spec)) for name, spec in PARAMS[kind].items()]


def _allowed(spec: Number | Word) -> str:
    if isinstance(spec, Number):
        least = f"{spec.low:.6f}".rstrip("0").rstrip(".")
        return f"≥ {least}" if spec.high >= _NO_LIMIT else f"{least}–{spec.high:,g}"
    return " | ".join(spec.choices)


def _default(spec: Number | Word) -> str:
    if isinstance(spec, Number):
        return "" if spec.default is None else f"{spec.default:g}"
    return spec.default


def rule_form(rule: AlertRule | None) -> dict[str, str]:
    """The fields of the rule form: of the rule, or of a new one."""
    shown = rule or AlertRule(name="", kind=RuleKind.DROP, metric="faithfulness", window_s=None)
    return {
        "name": shown.name,
        "kind": shown.kind.value,
        "app": shown.app,
        "metric": shown.metric or "",
        "window_s": "" if shown.window_s is None else f"{shown.window_s:g}",
        "hold_for_s": f"{shown.hold_for_s:g}",
        "keep_firing_s": f"{shown.keep_firing_s:g}",
        "repeat_s": f"{shown.repeat_s:g}",
        "min_judged": str(shown.min_judged),
        "severity": shown.severity.value,
        "params": "\n".join(f"{key} = {value}" for key, value in shown.params.items()),
        "notifiers": ", ".join(shown.notifiers),
        "runbook_url": shown.runbook_url,
        "enabled": "on" if shown.enabled else "",
        "shipped": "true" if shown.shipped else "",
    }


def fields_of(get: Callable[[str], str]) -> dict[str, Any]:
    """The rule that the fields say, as the schema takes it; `get` gives a field by its name.

    Raises:
        RuleError: The parameters cannot be read.
    """
    fields: dict[str, Any] = {
        "name": get("name"),
        "kind": get("kind"),
        "app": get("app") or "*",
        "metric": metric_named(get("metric")) or None,
        "severity": get("severity") or "page",
        "enabled": get("enabled") == "on",
        "params": _params(get("params")),
        "shipped": get("shipped") == "true",
        "runbook_url": get("runbook_url"),
    }
    for name in ("window_s", "hold_for_s", "keep_firing_s", "repeat_s", "min_judged"):
        if get(name):
            fields[name] = number_of(get(name))
    if get("notifiers"):
        fields["notifiers"] = [n.strip() for n in get("notifiers").split(",") if n.strip()]
    return fields


def number_of(text: str) -> float | str:
    """The number a text reads as; else the text, which the schema refuses by its name."""
    try:
        return float(text)
    except ValueError:
        return text


def _params(text: str) -> dict[str, float | str]:
    """`name = value` per line; values that read as numbers are numbers.

    A colon will do for the sign, and either of them as Chinese keyboards write it.

    Raises:
        RuleError: A line is no such pair, or repeats a name. Left out, either would be a rule
            nobody wrote.
    """
    params: dict[str, float | str] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        name, *value = (part.strip() for part in _PAIR.split(line, maxsplit=1))
        if not name or not value or not value[0]:
            raise RuleError(
                "{field}: line {number} should read name = value, not {line!r}",
                field=FieldName("params"),
                number=number,
                line=line.strip()[:100],
            )
        if name in params:
            raise RuleError(
                "{field}: line {number} gives {name!r} again; give it once",
                field=FieldName("params"),
                number=number,
                name=name[:100],
            )
        params[name] = number_of(value[0])
    return params


LABELS: Final = {
    "name": msgid("Name"),
    "kind": msgid("Kind"),
    "app": msgid("App"),
    "metric": msgid("Metric"),
    "window_s": msgid("Window, seconds"),
    "hold_for_s": msgid("Hold, seconds"),
    "keep_firing_s": msgid("Clear before it resolves, seconds"),
    "repeat_s": msgid("Announced again after, seconds"),
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
    """The field of the form and what is wrong with it, by the errors of the schema."""
    # Of a parameter the schema tells why it is no number and why it is no text.
    error = next((e for e in errors if e["type"] == "string_too_long"), errors[0])
    # Behind the names stand the places in a list, and the types that pydantic tried.
    names = [str(part) for part in error["loc"][: 2 if error["loc"][0] == "params" else 1]]
    kind = str(error["type"])
    if kind == "string_pattern_mismatch" and names[0] in _NAMES:
        kind = "name_pattern"
    message = Message(
        _FIELDS.get(kind, _UNREADABLE),
        **_bounds(names[0]),
        longest=error.get("ctx", {}).get("max_length", ""),
    )
    named = Message("{field}: {problem}", field=_label(".".join(names)), problem=message)
    return translate(named, language)


def _bounds(field: str) -> dict[str, str]:
    """The least and the greatest value of a field, as people read them; empty without."""
    limits = RuleIn.model_fields[field].metadata
    return {
        name: next((f"{getattr(limit, end):,.0f}" for limit in limits if hasattr(limit, end)), "")
        for name, end in (("low", "ge"), ("high", "le"))
    }


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
