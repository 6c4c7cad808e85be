"""The estimates of the aggregation stage, and the queries that only rules need."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

from rag_monitor.aggregation.comparison import BaselineKind
from rag_monitor.aggregation.estimates import EstimateOptions, Estimates
from rag_monitor.aggregation.totals import RollupSource
from rag_monitor.domain.ports import BudgetState
from rag_monitor.domain.selection import Selection
from rag_monitor.domain.window import Estimate, Series, Window
from rag_monitor.store.traces import Traces

RULE_OPTIONS: Final = EstimateOptions(min_labelled=None, dependence=timedelta(hours=6))
"""Of rules that are looked at all the time: what they read is kept for half a day
(`RollupCacheOptions.kept`), in which the six hours before a window before one of six hours lie."""
_LIVE_CACHE_AGE: Final = timedelta(minutes=10)
"""How long the counts of traces that an app sent before are cached."""
_LIVE_CACHE_SIZE: Final = 20_000
_ANY_TIME: Final = datetime(1970, 1, 1, tzinfo=UTC)
"""Windows of one length end here, to be remembered as one."""


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
        self._live: dict[tuple[Selection, timedelta], tuple[datetime, Sequence[int]]] = {}

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

    def live_by_step(self, selection: Selection, step: timedelta) -> Sequence[int]:
        """Traces that arrived soon after they began, per step; some minutes old at most.

        Days are read app by app: what was found is believed for a while, or a rule on a thousand
        apps that are gone would read thousands of days every few seconds.
        """
        end, length = selection.window.end, selection.window.length
        # Such a window begins at a round time, so that its length changes from look to look.
        place = (selection.over(Window.ending(_ANY_TIME, length - length % step + step)), step)
        cached = self._live.get(place)
        if cached is not None and timedelta(0) <= end - cached[0] < _LIVE_CACHE_AGE:
            return cached[1]
        if len(self._live) >= _LIVE_CACHE_SIZE:
            self._live.clear()
        counts = super().live_by_step(selection, step)
        self._live[place] = (end, counts)
        return counts

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
