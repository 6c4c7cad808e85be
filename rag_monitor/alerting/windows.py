"""How long a window must be for a rule to tell anything about an app. Pure functions of counts.

A window of an hour is blind on an app of seven questions an hour, and needlessly slow on one of
seven thousand. So a rule without a window of its own looks at each app over the shortest window
that holds enough on most days.

Only how much was counted enters, never what the scores were, and the choice stands for a day: the
window is thus independent of what the rule tests, and the false-alarm rates of docs/alerts.md hold
for it as for one that somebody wrote down. A window chosen by what it shows would not keep them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import Final

STEP: Final = timedelta(minutes=10)
"""Counts come in steps of this length."""
LENGTHS: Final = (
    timedelta(minutes=10),
    timedelta(minutes=30),
    timedelta(hours=1),
    timedelta(hours=3),
    timedelta(hours=6),
    timedelta(hours=12),
    timedelta(hours=24),
)
"""What is chosen from; each is a part of a day."""
LONGER: Final = (timedelta(days=3), timedelta(days=7))
"""What is proposed beyond: news of a week is too old to be chosen unasked."""
HISTORY: Final = 2 * LONGER[-1]
"""Counts of so long before the present tell everything here."""
RECENT: Final = timedelta(days=7)
"""Days that the choice heeds: an app that grew must not keep the window of its beginnings."""
STANDS: Final = timedelta(days=1)
"""A choice stands for so long."""
STANDS_YOUNG: Final = timedelta(hours=1)
"""One that was made of less than a day of traffic."""
MARGIN: Final = 2
"""So many times what the rule needs to tell anything: with `min_judged` (50) on both sides a fall
from 0.95 to 0.64 is found in three of four cases, with twice that in 99 of 100."""
SHORT_MARGIN: Final = 8
"""Of windows below an hour, of which a month has several times as many: with 400 on both sides
chance alone hardly ever makes the smallest fall that counts (docs/statistics.md)."""

_HOUR: Final = timedelta(hours=1)
_DAY: Final = timedelta(days=1)
_STEPS_A_DAY: Final = _DAY // STEP
_MOST: Final = 0.5


def chosen_window(counts: Sequence[int], needed: int) -> timedelta:
    """The shortest window that holds several times `needed` on most days; else the longest.

    Args:
        counts: Judged (or traces) per `STEP` up to the present, oldest first.
        needed: Fewer than this in a window, and the rule cannot tell.
    """
    recent = counts[-(RECENT // STEP) :]
    for length in LENGTHS:
        margin = MARGIN if length >= _HOUR else SHORT_MARGIN
        if _enough_on_most_days(recent, length, margin * needed):
            return length
    return LENGTHS[-1]


def fitting_window(counts: Sequence[int], needed: int) -> timedelta | None:
    """The shortest window with which the rule could tell on most days; None: there is none.

    Of windows longer than a day the latest, and the one before it as its baseline, must have
    enough.
    """
    recent = counts[-(RECENT // STEP) :]
    for length in LENGTHS:
        if _enough_on_most_days(recent, length, needed):
            return length
    for length in LONGER:
        steps = length // STEP
        if min(sum(counts[-steps:]), sum(counts[-2 * steps : -steps])) >= needed:
            return length
    return None


def full_days(counts: Sequence[int]) -> int:
    """Whole days since the first that was counted, at most those of `RECENT`."""
    first = next((place for place, count in enumerate(counts) if count), len(counts))
    return min((len(counts) - first) // _STEPS_A_DAY, RECENT // _DAY)


def _enough_on_most_days(counts: Sequence[int], length: timedelta, enough: int) -> bool:
    """Whether most of what comes on most days lies in windows that hold `enough`.

    Days without any are not asked (weekends), and quiet hours weigh little: what counts is whether
    the rule sees when people ask.
    """
    steps = length // STEP
    days = [day for day in _parts(counts, _STEPS_A_DAY) if any(day)]
    good = 0
    for day in days:
        sums = [sum(part) for part in _parts(day, steps)]
        seen = sum(one for one in sums if one >= enough)
        good += seen >= _MOST * sum(day)
    return good > _MOST * len(days)


def _parts(counts: Sequence[int], length: int) -> Iterable[Sequence[int]]:
    """Cut from the present backwards, so that the oldest part may be shorter."""
    for end in range(len(counts), 0, -length):
        yield counts[max(0, end - length) : end]
