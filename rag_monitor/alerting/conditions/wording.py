"""Numbers, stretches of time and notes in the sentences of conditions."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, tzinfo
from typing import Final

from rag_monitor.alerting.params import BASELINES
from rag_monitor.charts import numbers
from rag_monitor.domain.rule_state import Counted, RuleState
from rag_monitor.domain.session_outcome import SESSION_METRICS
from rag_monitor.i18n import Message, msgid, translate
from rag_monitor.metrics.names import is_share

_UTC_TIME: Final = re.compile(r"(\d{4}-\d\d-\d\d \d\d:\d\d) UTC")


def in_zone(text: str, zone: tzinfo) -> str:
    """A sentence with its UTC times converted to a zone, whose name is added."""

    def localised(match: re.Match[str]) -> str:
        try:
            moment = datetime.strptime(match[1], "%Y-%m-%d %H:%M").replace(tzinfo=UTC)
            return f"{moment.astimezone(zone):%Y-%m-%d %H:%M} {zone}"
        except (ValueError, OverflowError):  # no time: part of a name that came with a trace
            return match[0]

    return _UTC_TIME.sub(localised, text)


def share(value: float | None) -> str:
    """How many of all, in percent with one digit."""
    return "?" if value is None else numbers.share_text(value, 1)


def figure(metric: str | None, value: float | None) -> str:
    """The metric's number: a share in percent, a score with three digits."""
    if metric is not None and is_share(metric):
        return share(value)
    return "?" if value is None else numbers.figure_text(value)


def limit(metric: str | None, value: float | None) -> str:
    """A number that somebody set for the metric, with as many digits as they gave it."""
    if value is None:
        return "?"
    return numbers.given_share(value) if metric is not None and is_share(metric) else f"{value:g}"


def changed(metric: str | None, value: float | None) -> str:
    """A difference of the metric with its sign; of shares in percentage points."""
    if value is None:
        return "?"
    if metric is not None and is_share(metric):
        return Message("{n} points", n=numbers.points_text(value))
    return numbers.change_text(value, 3)


def interval(metric: str | None, lower: float | None, upper: float | None) -> Message:
    """Both ends of the metric's interval."""
    if lower is None or upper is None:
        return Message("withheld")
    return Message("{lower} to {upper}", lower=figure(metric, lower), upper=figure(metric, upper))


def share_interval(lower: float | None, upper: float | None) -> Message:
    """Both ends of the interval of a share."""
    if lower is None or upper is None:
        return Message("withheld")
    return Message("{lower} to {upper}", lower=share(lower), upper=share(upper))


def change_interval(metric: str | None, lower: float | None, upper: float | None) -> Message:
    """Both ends of the interval of a difference of the metric."""
    if lower is None or upper is None:
        return Message("withheld")
    if metric is not None and is_share(metric):
        low, high = numbers.points_text(lower), numbers.points_text(upper)
        return Message("{lower} to {upper} points", lower=low, upper=high)
    return Message("{lower} to {upper}", lower=changed(metric, lower), upper=changed(metric, upper))


def unit_of(metric: str | None) -> str:
    """`Finding.unit` of the metric's number."""
    return "share" if metric is not None and is_share(metric) else ""


def measure(value: float) -> str:
    """A number of any size: four digits, and never a power of ten."""
    short = float(f"{value:.4g}")
    return f"{short:,.0f}" if short >= 10_000 else f"{short:.4g}"


def span(seconds: float) -> Message:
    """A stretch of time in its largest whole unit."""
    for size, unit in (
        (86_400, msgid("{n} d")),
        (3600, msgid("{n} h")),
        (60, msgid("{n} min")),
    ):
        if seconds >= size and seconds % size == 0:
            return Message(unit, n=f"{seconds // size:.0f}")
    return Message("{n} s", n=f"{seconds:g}")


def traces(count: int) -> Message:
    """So many traces."""
    return Message.counted("{n} trace", "{n} traces", n=count)


def counted(metric: str | None, count: int) -> Message:
    """So many of what the metric has a value of: traces, or sessions."""
    if metric in SESSION_METRICS:
        return Message.counted("{n} session", "{n} sessions", n=count)
    return traces(count)


def milliseconds(value: float | None) -> str:
    """A latency; seconds from one second on."""
    if value is None:
        return "?"
    return f"{value / 1000:.2f} s" if value >= 1000 else f"{value:.0f} ms"


def latencies(lower: float, upper: float | None) -> Message:
    """Both ends of an interval, or the one it has."""
    if upper is None:
        return Message("from {lower}, no upper end", lower=milliseconds(lower))
    return Message("{lower} to {upper}", lower=milliseconds(lower), upper=milliseconds(upper))


def baseline_name(kind: str) -> Message:
    """What the window is compared with."""
    return BASELINES[kind]


NOTES: Final[Mapping[str, Message]] = {
    "app_gone": Message("the app sends nothing any more"),
    "cheap_incomplete": Message("quick scores incomplete"),
    "common_judge": Message("compared by one judge that scored both"),
    "corrected_by_people": Message("corrected by people's marks"),
    "different_judges": Message("judged by different judges"),
    "embedded_uncorrected": Message("embedded judge, uncorrected"),
    "few_judged": Message("few judged"),
    "few_positives": Message("few good or few bad answers"),
    "few_sessions": Message("few sessions"),
    "few_traces": Message("few traces"),
    "incomplete": Message("incomplete window"),
    "interval_withheld": Message("no interval for one side"),
    "judge_failures": Message("many judge failures"),
    "no_baseline": Message("no earlier release"),
    "learning_rhythm": Message("its rhythm is not known yet"),
    "no_earlier_weeks": Message("no earlier weeks"),
    "no_hits_seen": Message("nothing was hit yet"),
    "no_release": Message("no earlier release"),
    "no_traces": Message("no traces"),
    "rule_removed": Message("the rule was removed"),
    "several_judges": Message("several judges"),
}
_NEEDS: Final = {
    Counted.JUDGED: msgid("needs {needed} judged in {span}, has {has}"),
    Counted.TRACES: msgid("needs {needed} traces in {span}, has {has}"),
}
_NEEDS_LONGER: Final = {
    Counted.JUDGED: msgid("needs {needed} judged in {span}, has {has}; {fitting} would do"),
    Counted.TRACES: msgid("needs {needed} traces in {span}, has {has}; {fitting} would do"),
}


def need(state: RuleState) -> Message | None:
    """What a rule that cannot tell would need; None: more would not help it."""
    if not state.needed:
        return None
    return need_of(state.counted, state.needed, state.has, state.window_s, state.fitting_window_s)


def need_of(
    counted: Counted, needed: int, has: int, window_s: float, fitting_window_s: float | None
) -> Message:
    """That so many are needed, and the window that would have them, as `RuleState` holds them."""
    longer = fitting_window_s is not None and fitting_window_s != window_s
    texts = _NEEDS_LONGER if longer else _NEEDS
    return Message(
        texts[counted],
        needed=needed,
        span=span(window_s),
        has=has,
        fitting=span(fitting_window_s or 0.0),
    )


_MEASURES: Final[Mapping[str, str]] = {
    "detector": msgid("detector {number}"),
    "alarm_at": msgid("alarm at {number}"),
}
"""Notes with a number: `detector=3.2`."""
HIT_KINDS: Final[Mapping[str, Message]] = {
    "plugin": Message("plugin"),
    "knowledge_base": Message("knowledge base"),
    "workflow": Message("workflow"),
}
"""What may be hit. Kinds of what else is hit too rarely: `also:plugin:search`."""


def note_message(note: str) -> str:
    """The note in words; one that nobody knows (a limit's name) stays as it is."""
    name, is_measure, number = note.partition("=")
    if is_measure and name in _MEASURES:
        return Message(_MEASURES[name], number=number)
    also, _, hit = note.partition(":")
    kind, _, called = hit.partition(":")
    if also == "also" and kind in HIT_KINDS:
        return Message("also {kind} {name}", kind=HIT_KINDS[kind], name=called)
    return NOTES.get(note, note)


def note_text(note: str, language: str) -> str:
    """The note in words of a language."""
    return translate(note_message(note), language)


def notes_text(notes: Sequence[str], language: str) -> str:
    """All of them, as a list within a sentence."""
    return translate(Message(", "), language).join(note_text(note, language) for note in notes)
