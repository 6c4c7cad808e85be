"""What alert rules may ask, answered from rollups, traces and the budget ledger."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from rag_monitor.aggregation.baselines import BaselineKind
from rag_monitor.aggregation.combine import BadCount
from rag_monitor.aggregation.estimates import Estimates, Outcomes
from rag_monitor.aggregation.latencies import LatencySummary
from rag_monitor.domain.hit import HitKind
from rag_monitor.domain.ports import BudgetState
from rag_monitor.domain.window import Estimate, Series, Window
from rag_monitor.store.store import Store


class Watched:
    """The alert engine's view of the data.

    Args:
        estimates: Window figures.
        store: Applications, worst traces, budgets.
        judge: Name of the judge whose budget counts; None: none that costs anything.
    """

    def __init__(self, estimates: Estimates, store: Store, judge: str | None) -> None:
        self._estimates = estimates
        self._store = store
        self._judge = judge

    def projects(self) -> list[str]:
        """Every project that sent traces."""
        return self._store.traces.projects()

    def apps(self, project: str) -> Sequence[str]:
        """The applications whose traces are still kept."""
        return [summary.app for summary in self._store.traces.apps(project)]

    def estimate(
        self, series: Series, window: Window, *, min_judged: int | None = None
    ) -> Estimate:
        """A metric over a window."""
        return self._estimates.estimate(series, window, min_judged=min_judged)

    def releases(self, project: str, app: str, window: Window) -> Sequence[str]:
        """Releases with traces in the window, the one that appeared last first."""
        return self._estimates.releases(project, app, window)

    def release_baseline(
        self, series: Series, window: Window, *, min_judged: int | None = None
    ) -> Estimate | None:
        """The last stretch of the release before `series.release`."""
        return self._estimates.baseline(
            series, window, BaselineKind.PREVIOUS_RELEASE, min_judged=min_judged
        )

    def outcomes(self, series: Series, window: Window) -> Outcomes:
        """How judging went."""
        return self._estimates.outcomes(series, window)

    def bad_count(self, series: Series, window: Window) -> BadCount:
        """Judged and bad traces."""
        return self._estimates.bad_count(series, window)

    def bad_counts(
        self, series: Series, window: Window, step: timedelta
    ) -> Sequence[tuple[datetime, BadCount]]:
        """Judged and bad traces per step, oldest first."""
        return self._estimates.bad_counts(series, window, step)

    def latency(
        self, project: str, app: str, metric: str, window: Window, release: str | None = None
    ) -> LatencySummary:
        """One latency over a window, in milliseconds."""
        return self._estimates.latency(project, app, metric, window, release)

    def hit_rate(
        self, project: str, app: str, kind: HitKind, name: str, basis: str, window: Window
    ) -> Estimate:
        """Share of traces with a hit."""
        return self._estimates.hit_rate(project, app, kind, name, basis, window)

    def hit_names(self, project: str, app: str, window: Window) -> Sequence[tuple[HitKind, str]]:
        """What was hit or expected in the window."""
        return self._estimates.hit_names(project, app, window)

    def traces(self, project: str, app: str, window: Window) -> Mapping[str, int]:
        """Traces by status."""
        return self._estimates.traces(project, app, window)

    def worst(
        self, project: str, app: str, metric: str, window: Window, limit: int
    ) -> Sequence[str]:
        """Ids of the traces with the lowest scores, the lowest first."""
        return self._store.traces.worst(project, app, metric, window, limit)

    def budget(self, project: str) -> BudgetState:
        """What is left of today's judging budget."""
        if self._judge is None:
            return BudgetState(remaining=1.0)
        return self._store.budgets.state(project, self._judge)
