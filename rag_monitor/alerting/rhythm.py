"""How much an app would have sent while it was silent, by the hours of the weeks before.

Pure functions of counts per hour. An hour is compared with the same hour (UTC) of earlier days of
its kind: Monday to Friday are alike, Saturday and Sunday are each their own. So nights and weekends
are learnt, and an hour whose like was never seen is not expected to bring anything.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

HOUR: Final = timedelta(hours=1)
LEARNT_FROM: Final = timedelta(days=28)
SURPRISING: Final = 7.0
"""Where so many are expected, none at all comes about once in a thousand times (Poisson)."""
_DAY_HOURS: Final = 24
_OCCASIONS: Final = 10
"""Earlier days that an hour is compared with: two weeks of office days."""
_LEAST_OCCASIONS: Final = 2
_QUIET_SHARE: Final = 0.15
"""Of the earlier days so many may have been silent, too: one holiday in two weeks."""
_FRIDAY: Final = 4


@dataclass(frozen=True, slots=True)
class Silence:
    """The hours since the last trace."""

    hours: int
    expected: float
    """Traces that were to be expected in the hours whose like is known."""
    unknown: int
    """Hours whose like was not seen often enough to expect anything."""
    usual: bool
    """The app was as silent on other days of that kind."""

    @property
    def surprising(self) -> bool:
        """Whether the app should have sent."""
        return not self.usual and self.expected >= SURPRISING


def present_silence(counts: Sequence[int], end: datetime) -> Silence:
    """What the hours since the last trace would have brought.

    Args:
        counts: Traces per whole hour, oldest first.
        end: When the last of these hours ended.
    """
    hours = next((n for n, count in enumerate(reversed(counts)) if count), len(counts))
    first = next((place for place, count in enumerate(counts) if count), len(counts))
    began = len(counts) - hours
    kinds = [_kind(end - (len(counts) - place) * HOUR) for place in range(len(counts))]

    def alike(place: int) -> list[int]:
        """The same hour of earlier days of its kind, the latest first."""
        earlier = range(place - _DAY_HOURS, first - 1, -_DAY_HOURS)
        seen = [counts[at] for at in earlier if at < began and kinds[at] == kinds[place]]
        return seen[:_OCCASIONS]

    def mean(place: int) -> float | None:
        seen = alike(place)
        return sum(seen) / len(seen) if len(seen) >= _LEAST_OCCASIONS else None

    expected, unknown = 0.0, 0
    occasions: list[list[int]] = []
    for place in range(began, len(counts)):
        # The least of three hours: who begins an hour later one day is not missed.
        near = [mean(at) for at in (place - 1, place, min(place + 1, len(counts) - 1))]
        if any(one is None for one in near):
            unknown += 1
            continue
        expected += min(one for one in near if one is not None)
        occasions.append(alike(place))
    # As many earlier times as every hour has: the others have seen less of this silence.
    totals = [sum(counted) for counted in zip(*occasions, strict=False)]
    quiet = sum(not total for total in totals)
    return Silence(
        hours=hours,
        expected=expected,
        unknown=unknown,
        usual=quiet > _QUIET_SHARE * len(totals),
    )


def regular_share(counts: Sequence[int]) -> float:
    """Share of hours with traces, of those from the first to the last."""
    busy = [place for place, count in enumerate(counts) if count]
    return len(busy) / (busy[-1] - busy[0] + 1) if busy else 0.0


def _kind(moment: datetime) -> int:
    weekday = moment.weekday()
    return weekday if weekday > _FRIDAY else 0
