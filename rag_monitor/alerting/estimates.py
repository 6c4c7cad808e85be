"""The estimates of the aggregation stage, and the queries that only rules need."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Final, TypeVar, cast

from rag_monitor.aggregation.combine import choose
from rag_monitor.aggregation.comparison import BaselineKind, PreviousRelease
from rag_monitor.aggregation.estimates import EstimateOptions, Estimates
from rag_monitor.aggregation.steps import by_step, step_count
from rag_monitor.aggregation.totals import RollupSource, Totals, sum_of, sums_by
from rag_monitor.domain.ports import BudgetState
from rag_monitor.domain.rollup import TRACES_METRIC, Rollup
from rag_monitor.domain.selection import Selection
from rag_monitor.domain.window import Estimate, Series, Window
from rag_monitor.store.traces import Traces

RULE_OPTIONS: Final = EstimateOptions(min_labelled=None, dependence=timedelta(hours=6))
"""Of rules that are looked at all the time: what they read is kept for half a day
(`RollupCacheOptions.kept`), in which the six hours before a window before one of six hours lie."""
_BELIEVED_FOR: Final = timedelta(minutes=10)
"""What changes slowly, and is dear to read, is read so often."""
_MOST_ANSWERS: Final = 20_000

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _Answer:
    """What was read."""

    at: datetime
    version: object
    value: object

    def age(self, now: datetime) -> timedelta:
        """How long ago that was, whichever way the time went."""
        return abs(now - self.at)


class RuleEstimates(Estimates):
    """What rules ask about windows of time.

    Args:
        source: Loads rollups.
        traces: Lists apps and finds the worst traces.
        budget: What is left of a project's judging budget; None: there is no limit.
        options: Levels and limits.
    """

    def __init__(
        self,
        source: RollupSource,
        traces: Traces,
        *,
        budget: Callable[[str], BudgetState] | None = None,
        options: EstimateOptions | None = None,
    ) -> None:
        super().__init__(source, options)
        self._traces = traces
        self._budget = budget
        self._answers: dict[object, _Answer] = {}

    def reading(
        self, source: RollupSource, options: EstimateOptions | None = None
    ) -> RuleEstimates:
        """The same, from another source of rollups; None keeps the options."""
        return RuleEstimates(
            source, self._traces, budget=self._budget, options=options or self._options
        )

    def apps(self, project: str) -> Sequence[str]:
        """The applications whose traces are still kept."""
        return self._traces.app_names(project)

    def replaced_release(self, series: Series, window: Window) -> PreviousRelease | None:
        """The release before, as it was some minutes ago: that of a given release hardly changes.

        Reads the minutes of a week, which rules that look every few seconds must not do each time.
        """
        place = ("replaced", series.project, series.app, series.release)
        read = partial(super().replaced_release, series, window)
        return self._believed(place, window.end, read)

    def live_by_step(self, selection: Selection, step: timedelta) -> Sequence[int]:
        """Traces that arrived soon after they began, per step.

        Weeks are read app by app, and each window once, or a rule on a thousand apps that are gone
        would read thousands of days every few seconds.
        """
        place = ("live", selection.project, selection.app, step)
        read = partial(super().live_by_step, selection, step)
        return self._believed(place, selection.window.end, read, version=selection.window)

    def traces_in(self, selection: Selection) -> int:
        """All traces of a window that is asked for again and again; it is read once."""

        def read() -> int:
            return sum(self.traces(selection).values())

        return self._believed(("traces", selection), selection.window.end, read)

    def _believed(
        self, place: object, at: datetime, read: Callable[[], T], version: object = None
    ) -> T:
        """What was read of a place, in this version, up to some minutes before."""
        answer = self._answers.get(place)
        if answer is not None and answer.version == version and answer.age(at) < _BELIEVED_FOR:
            return cast("T", answer.value)
        if len(self._answers) >= _MOST_ANSWERS:
            self._answers.clear()
        fresh = read()
        self._answers[place] = _Answer(at, version, fresh)
        return fresh

    def judged_by_step(self, series: Series, window: Window, step: timedelta) -> Sequence[int]:
        """Judged traces per step of the window, oldest first, by the judge that judged most."""
        rows = self._summed(series, window, step)
        judge = choose(series.judge, sums_by(rows, lambda row: row.key.judge)).judge
        return _sums_of_steps(
            [row for row in rows if row.key.judge == judge], window, step, lambda one: one.count
        )

    def asked_by_step(self, series: Series, window: Window, step: timedelta) -> Sequence[int]:
        """Judgements that should have given a value, per step, whatever came of them."""
        rows = self._summed(series, window, step)
        return _sums_of_steps(rows, window, step, lambda one: one.count + one.failed + one.suspect)

    def traces_by_step(
        self, selection: Selection, step: timedelta, metric: str = TRACES_METRIC
    ) -> Sequence[int]:
        """Traces per step, oldest first; of a latency those that have it."""
        rows = self._sums(selection, metric, step)
        return _sums_of_steps(rows, selection.window, step, lambda one: one.count)

    def worst(
        self,
        project: str,
        app: str,
        metric: str,
        window: Window,
        limit: int,
        knowledge_base: str | None = None,
    ) -> Sequence[str]:
        """Ids of the traces with the lowest scores, the lowest first."""
        return self._traces.worst(project, app, metric, window, limit, knowledge_base)

    def budget(self, project: str) -> BudgetState:
        """What is left of today's judging budget."""
        return BudgetState(remaining=1.0) if self._budget is None else self._budget(project)

    def release_baseline(
        self, series: Series, window: Window, *, min_judged: int | None = None
    ) -> Estimate | None:
        """The last stretch, as long as `window`, of the release before `series.release`."""
        return self.baseline(series, window, BaselineKind.PREVIOUS_RELEASE, min_judged=min_judged)


def _sums_of_steps(
    rows: Sequence[Rollup], window: Window, step: timedelta, count: Callable[[Totals], int]
) -> Sequence[int]:
    counts = [0] * step_count(window, step)
    for index, part in by_step(rows, window, step).items():
        counts[index] = count(sum_of(part))
    return counts
