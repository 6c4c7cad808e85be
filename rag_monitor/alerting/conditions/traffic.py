"""Does the app send as it used to? Silence where traces are expected, and far fewer or far more."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final

from rag_monitor.alerting.conditions import wording
from rag_monitor.alerting.conditions.context import EvaluationContext
from rag_monitor.alerting.params import required, word
from rag_monitor.alerting.rhythm import HOUR, LEARNT_FROM, present_silence, regular_share
from rag_monitor.domain.alert import Finding
from rag_monitor.domain.window import Window
from rag_monitor.i18n import Message, msgid
from rag_monitor.statistics.wilson import wilson_interval

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_LEAST_HOURS: Final = 3
"""Whoever sent in fewer hours tried something, or asked golden questions once."""
_REGULAR_SHARE: Final = 0.1
"""Of the hours from the first to the last it sent in: golden questions every night make one of 24,
an app that is used on weekdays from ten to two an eighth."""
_WEEK: Final = timedelta(days=7)
_PACE: Final = timedelta(minutes=10)
"""Windows of traffic end at multiples of this, so that those of earlier weeks are read once."""
_LEAST_WEEKS: Final = 2


def no_data(context: EvaluationContext) -> Finding:
    """Active when an app that used to send sends too little.

    A rule that names its app expects it to send. Under `*` an app is expected to send when it did
    at these hours of the weeks before, enough for silence to be no chance; not one that somebody
    tried out, nor golden runs, nor one whose traces were all imported. One that has been silent for
    longer than `since_s` is forgotten.
    """
    rule = context.rule
    count = sum(context.estimates.traces(context.selection()).values())
    least = required(rule, "min_traces")
    sent = Message(
        "{app} sent {traces} in {span}",
        app=context.app,
        traces=wording.traces(count),
        span=wording.span(context.window_s),
    )
    if count or rule.app != "*":
        return Finding(active=count < least, value=float(count), baseline=least, summary=sent)
    return _silence(context, sent)


def _silence(context: EvaluationContext, sent: Message) -> Finding:
    end = _floor(context.window.end, HOUR)
    counts = context.estimates.live_by_step(
        context.selection(Window.ending(end, LEARNT_FROM)), HOUR
    )
    silence = present_silence(counts, end)
    forgotten = silence.hours * HOUR >= timedelta(seconds=required(context.rule, "since_s"))
    regular = (
        sum(map(bool, counts)) >= _LEAST_HOURS
        and sum(counts) >= required(context.rule, "min_before")
        and regular_share(counts) >= _REGULAR_SHARE
    )
    if forgotten or not regular:
        return Finding(active=False, value=0.0, summary=sent)
    expected = wording.measure(silence.expected)
    text = msgid("{sent}; about {expected} were expected since its last, by the weeks before")
    if not silence.surprising and silence.unknown:
        text = msgid("{sent}; whether it sends at these hours is not known yet")
        summary = Message(text, sent=sent)
        return Finding(active=None, value=0.0, summary=summary, notes=("learning_rhythm",))
    return Finding(
        active=silence.surprising,
        value=0.0,
        baseline=silence.expected,
        summary=Message(text, sent=sent, expected=expected),
    )


def traffic(context: EvaluationContext) -> Finding:
    """Active when far fewer or far more traces came than in the same hours of the last weeks.

    Far: beyond the least (or the most) of those weeks by `min_ratio`, and beyond chance at the
    rule's confidence. None at all is for `no_data`.
    """
    rule, direction = context.rule, word(context.rule, "direction")
    window = Window.ending(_floor(context.window.end, _PACE), context.window.length)
    now = context.estimates.traces_in(context.selection(window))
    weeks = [
        context.estimates.traces_in(context.selection(window.before(number * _WEEK)))
        for number in range(1, int(required(rule, "weeks")) + 1)
    ]
    while weeks and not weeks[-1]:  # before its first trace
        weeks.pop()
    if len(weeks) < _LEAST_WEEKS:
        summary = Message(
            "{app} has not sent for two weeks yet: there is nothing to compare with",
            app=context.app,
        )
        return Finding(active=None, judged=now, summary=summary, notes=("no_earlier_weeks",))
    least, most = min(weeks), max(weeks)
    if max(now, most) < rule.min_judged:
        return Finding(
            active=None,
            judged=max(now, most),
            needed=rule.min_judged,
            summary=Message(
                "{total} traces of {app}, {needed} are needed",
                total=max(now, most),
                app=context.app,
                needed=rule.min_judged,
            ),
            notes=("few_traces",),
        )
    ratio, level = required(rule, "min_ratio"), required(rule, "confidence")
    fell = direction != "surge" and 0 < now * ratio <= least and _differs(now, least, level) < 0
    rose = direction != "drop" and now >= most * ratio and _differs(now, most, level) > 0
    return Finding(
        active=fell or rose,
        value=float(now),
        baseline=float(most if rose or now > most else least),
        judged=now,
        baseline_judged=least,
        summary=Message(
            "{app} sent {traces} in {span}; the same hours of the last {weeks} weeks had {least} "
            "to {most}",
            app=context.app,
            traces=wording.traces(now),
            span=wording.span(context.window_s),
            weeks=len(weeks),
            least=least,
            most=most,
        ),
    )


def _differs(now: int, before: int, level: float) -> int:
    """Sign of the difference of two counts beyond chance; 0: it may be chance.

    Of `now + before` events of equal rates half are of now: the binomial test of two Poisson
    counts.
    """
    bounds = wilson_interval(float(now), float(now + before), level)
    return (bounds.lower > 0.5) - (bounds.upper < 0.5)


def _floor(moment: datetime, step: timedelta) -> datetime:
    return moment - (moment - _EPOCH) % step
