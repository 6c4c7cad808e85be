"""The form of an alert rule: what stands in its fields, what may, and what they say."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

from rag_monitor.alerting.params import PARAMS, Number, Word
from rag_monitor.domain.alert import AlertRule, RuleKind
from rag_monitor.domain.hit import HitKind
from rag_monitor.errors import RuleError
from rag_monitor.i18n import Message, languages, translate
from rag_monitor.server.quality import LATENCIES, SHOWN_METRICS
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
    "enabled",
    "shipped",
)
_PAIR: Final = re.compile("[=＝:：]")

RULE_METRICS: Final = {
    **{name: metric_label(name) for name in (*SHOWN_METRICS, *LATENCIES)},
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
    shown = rule or AlertRule(name="", kind=RuleKind.DROP, metric="faithfulness")
    return {
        "name": shown.name,
        "kind": shown.kind.value,
        "app": shown.app,
        "metric": shown.metric or "",
        "window_s": f"{shown.window_s:g}",
        "hold_for_s": f"{shown.hold_for_s:g}",
        "keep_firing_s": f"{shown.keep_firing_s:g}",
        "repeat_s": f"{shown.repeat_s:g}",
        "min_judged": str(shown.min_judged),
        "severity": shown.severity.value,
        "params": "\n".join(f"{key} = {value}" for key, value in shown.params.items()),
        "notifiers": ", ".join(shown.notifiers),
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
    }
    for name in ("window_s", "hold_for_s", "keep_firing_s", "repeat_s", "min_judged"):
        if get(name):
            fields[name] = _number(get(name))
    if get("notifiers"):
        fields["notifiers"] = [n.strip() for n in get("notifiers").split(",") if n.strip()]
    return fields


def _number(text: str) -> float | str:
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
    found: dict[str, float | str] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        name, *value = (part.strip() for part in _PAIR.split(line, maxsplit=1))
        if not name or not value or not value[0]:
            raise RuleError(
                "params: line {number} should read name = value, not {line!r}",
                number=number,
                line=line.strip()[:100],
            )
        if name in found:
            raise RuleError(
                "params: line {number} gives {name!r} again; give it once",
                number=number,
                name=name[:100],
            )
        found[name] = _number(value[0])
    return found
