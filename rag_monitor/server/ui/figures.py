"""The numbers of a finding with unit, interval and its level, baseline or limit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from rag_monitor.alerting.params import number
from rag_monitor.charts.durations import latency_interval, milliseconds
from rag_monitor.domain.alert import AlertRule, Finding, RuleKind
from rag_monitor.i18n import msgid
from rag_monitor.server.ui.view import Visitor, figure_text, score_text

_COMPARED: Final = frozenset({RuleKind.DROP, RuleKind.HIT_RATE, RuleKind.LATENCY})
_COUNTED: Final = frozenset({RuleKind.HIT_RATE, RuleKind.LATENCY})
"""Kinds that look at every trace, judged or not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """What stands beside an alert."""

    now: str
    interval: str
    """With its level; empty: there is none."""
    against: str
    """What the number is held against; empty: nothing."""
    against_label: str
    """`Baseline` or `Limit`, translated."""
    counted_label: str
    """What was counted, translated."""


def figures_of(me: Visitor, finding: Finding, rule: AlertRule | None) -> Figures:
    """The numbers of a finding; of a rule that is gone, without what only the rule knows."""
    kind = None if rule is None else rule.kind
    say = _telling(kind, finding)
    against = finding.baseline
    if rule is not None and kind is RuleKind.THRESHOLD:
        below = number(rule, "below")
        against = number(rule, "above") if below is None else below
    compared = kind is None or (kind in _COMPARED and finding.baseline_judged > 0)
    return Figures(
        now=say(finding.value),
        interval=_interval(me, finding, rule),
        against="" if against is None else say(against),
        against_label=me.translate("Baseline") if compared else me.translate("Limit"),
        counted_label=me.translate(
            msgid("Traces counted") if kind in _COUNTED else msgid("Judged")
        ),
    )


def _telling(kind: RuleKind | None, finding: Finding) -> Callable[[float | None], str]:
    """How a number of the finding is written; its unit is known also when the rule is gone."""
    if finding.unit == "ms" or kind is RuleKind.LATENCY:
        return milliseconds
    return _whole if kind is RuleKind.NO_DATA else figure_text


def _whole(count: float | None) -> str:
    return figure_text(None) if count is None else f"{count:,.0f}"


def _interval(me: Visitor, finding: Finding, rule: AlertRule | None) -> str:
    if rule is None or finding.lower is None:
        return ""
    latency = rule.kind is RuleKind.LATENCY
    if finding.upper is None and not latency:  # a latency's may have no end
        return ""
    if finding.level is None:  # each end has its own, and the sentence of the finding says both
        return ""
    named = f"{100 * finding.level:g}%" if me.language == "zh" else f"{100 * finding.level:g} %"
    ends = (finding.lower, finding.upper)
    shown = latency_interval(*ends) if latency else "–".join(score_text(end, 3) for end in ends)
    return f"{me.translate('{level} interval', level=named)} {shown}"
