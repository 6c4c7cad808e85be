"""What the past hour teaches the sampler: how much traffic, how unsure, which releases are new.

Every worker draws, so every worker learns; all of them from the same rollups, once an hour. The
probability that was used is stored with each draw: estimates need no agreement between workers.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

from rag_monitor.aggregation.totals import RollupSource, sum_of
from rag_monitor.domain.clock import Clock
from rag_monitor.domain.judgement import is_embedded
from rag_monitor.domain.ports import BudgetState
from rag_monitor.domain.rollup import SCORE_BUCKETS, TRACES_METRIC, Rollup, RollupQuery
from rag_monitor.domain.window import Window
from rag_monitor.sampling.policy import PREFERRED, SamplingState, uncertainty
from rag_monitor.sampling.sampler import Sampler
from rag_monitor.store.traces import Traces

_log = logging.getLogger(__name__)

LENGTH: Final = timedelta(hours=1)
"""Of a sampling window; `min_per_window` counts in it."""
_KNOWN_FOR: Final = timedelta(days=7)
"""A release that was not seen for this long before the past window is new."""
_MIDDLES: Final = tuple(
    (low + high) / 2.0 for low, high in zip((0.0, *SCORE_BUCKETS), SCORE_BUCKETS, strict=False)
)
_FULL: Final = BudgetState(remaining=1.0)


class SamplingWindows:
    """Gives the sampler a new state at each full hour.

    Args:
        sampler: Draws.
        rollups: What the past is read from.
        traces: Knows the projects and their applications.
        clock: Tells the time.
        budget: What is left of a project's judging budget; None: there is no limit.
    """

    def __init__(
        self,
        sampler: Sampler,
        rollups: RollupSource,
        traces: Traces,
        clock: Clock,
        budget: Callable[[str], BudgetState] | None = None,
    ) -> None:
        self._sampler = sampler
        self._rollups = rollups
        self._traces = traces
        self._clock = clock
        self._budget = budget
        self._current: datetime | None = None

    def refresh(self) -> int:
        """Begin a new window if one is due; returns how many projects were looked at."""
        start = _window_start(self._clock.now())
        if start == self._current:
            return 0
        states = {project: self._state(project, start) for project in self._traces.projects()}
        self._sampler.begin_window(states)
        self._current = start
        _log.debug("sampling window from %s on: %s", start, states)
        return len(states)

    def _state(self, project: str, start: datetime) -> SamplingState:
        past = Window.ending(start, LENGTH)
        uncertain: dict[str, float] = {}
        expected: dict[str, float] = {}
        new: set[tuple[str, str]] = set()
        for app in self._traces.app_names(project):
            rows = self._sums(project, app, past, TRACES_METRIC)
            count = sum_of(rows).count
            if not count:
                continue
            expected[app] = float(count)
            new |= {(app, name) for name in self._new_releases(project, app, past, rows)}
            unsure = self._uncertainty(project, app, past)
            if unsure is not None:
                uncertain[app] = unsure
        return SamplingState(
            mean_uncertainty=uncertain,
            expected_traces=expected,
            new_releases=frozenset(new),
            budget=_FULL if self._budget is None else self._budget(project),
        )

    def _new_releases(
        self, project: str, app: str, past: Window, rows: Iterable[Rollup]
    ) -> set[str]:
        present = {row.key.release for row in rows if row.key.release}
        if not present:
            return set()
        before = Window(past.start - _KNOWN_FOR, past.start)
        earlier = {row.key.release for row in self._sums(project, app, before, TRACES_METRIC)}
        # An app that has only just begun to send has no release that is newer than another.
        return present - earlier if earlier else set()

    def _uncertainty(self, project: str, app: str, past: Window) -> float | None:
        """Mean of sqrt(f (1 - f)), from the histogram of the embedded judge's scores."""
        for metric in PREFERRED:
            rows = self._sums(project, app, past, metric)
            counts = sum_of(row for row in rows if is_embedded(row.key.judge)).histogram
            if sum(counts):
                return _mean_uncertainty(counts)
        return None

    def _sums(self, project: str, app: str, window: Window, metric: str) -> Sequence[Rollup]:
        return self._rollups.load_sums(
            RollupQuery(project=project, window=window, app=app, metric=metric)
        )


def _mean_uncertainty(counts: Sequence[int]) -> float:
    total = sum(
        count * uncertainty(middle) for count, middle in zip(counts, _MIDDLES, strict=False)
    )
    return total / sum(counts)


def _window_start(now: datetime) -> datetime:
    return now.astimezone(UTC).replace(minute=0, second=0, microsecond=0)
