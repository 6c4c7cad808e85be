"""The form of an alert rule: what stands in its fields, and what may."""

from __future__ import annotations

from typing import Final

from rag_monitor.alerting.params import PARAMS, Number, Word
from rag_monitor.domain.alert import AlertRule, RuleKind
from rag_monitor.domain.hit import HitKind
from rag_monitor.server.quality import LATENCIES, SHOWN_METRICS
from rag_monitor.server.ui.catalog import KINDS, metric_label
from rag_monitor.server.ui.chinese import CHINESE

RULE_METRICS: Final = {
    **{name: metric_label(name) for name in (*SHOWN_METRICS, *LATENCIES)},
    **{kind.value: KINDS[kind.value] for kind in HitKind},
}
"""What the field for the metric offers, by name, with its English label; which of them a kind takes
is checked when it is saved."""
_CALLED: Final = {
    called.casefold(): name
    for name, label in RULE_METRICS.items()
    for called in (label, CHINESE.get(label, label), name)
}


def metric_named(text: str) -> str:
    """The metric that is called so, in either language; any other text as it is."""
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
