"""From sessions to one row per app, release, metric and minute. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from datetime import date, datetime

from rag_monitor.aggregation.totals import Totals
from rag_monitor.domain.rollup import SCORE_BUCKETS, Rollup, RollupKey
from rag_monitor.domain.session_outcome import SESSION_TURNS, SESSIONS_METRIC, SessionOutcome

_Place = tuple[str, str, str, datetime, date]
"""Project, app, release, minute and the day by which the newest trace is kept."""


def summarise_sessions(outcomes: Iterable[SessionOutcome]) -> list[Rollup]:
    """The rollups of these sessions: each counts once, whatever the number of its turns."""
    table: dict[tuple[_Place, str], Totals] = defaultdict(Totals)
    for one in outcomes:
        place = (one.project, one.app, one.release or "", one.minute, one.day)
        table[place, SESSIONS_METRIC].count += 1
        for metric, value in one.metrics.items():
            _add(table[place, metric], metric, value)
    return [totals.rollup(_key(place, metric)) for (place, metric), totals in table.items()]


def _add(totals: Totals, metric: str, value: float | None) -> None:
    if value is None:
        totals.not_applicable += 1
        return
    if metric == SESSION_TURNS:  # no share: the buckets of scores say nothing of it
        totals.count += 1
        totals.total += value
        totals.squares += value * value
    else:
        totals.add_value(value, SCORE_BUCKETS)
    totals.weight += 1.0
    totals.weighted_total += value
    totals.weight_squares += 1.0
    totals.weighted_squares += value * value


def _key(place: _Place, metric: str) -> RollupKey:
    project, app, release, minute, day = place
    return RollupKey(
        project=project, app=app, metric=metric, minute=minute, release=release, arrived=day
    )
