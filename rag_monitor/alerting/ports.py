"""What alerting needs of the rest, as protocols. It never sees rows, traces or texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Protocol

from rag_monitor.aggregation.combine import BadCount
from rag_monitor.aggregation.estimates import Outcomes
from rag_monitor.aggregation.latencies import LatencySummary
from rag_monitor.domain.alert import Alert, AlertRule, AlertState, Notification, Silence
from rag_monitor.domain.hit import HitKind
from rag_monitor.domain.ports import BudgetState
from rag_monitor.domain.selection import Selection
from rag_monitor.domain.window import Estimate, Series, Window


class EstimateSource(Protocol):
    """Answers what rules ask about windows of time."""

    def apps(self, project: str) -> Sequence[str]:
        """The applications whose traces are still kept."""
        ...

    def estimate(
        self, series: Series, window: Window, *, min_judged: int | None = None
    ) -> Estimate:
        """A metric over a window; with fewer than `min_judged` scores without interval."""
        ...

    def judges(self, series: Series, window: Window) -> Sequence[str]:
        """Identities with scores of the metric in the window."""
        ...

    def releases(self, project: str, app: str, window: Window) -> Sequence[str]:
        """Releases with traces in the window, the one that appeared last first."""
        ...

    def release_baseline(
        self, series: Series, window: Window, *, min_judged: int | None = None
    ) -> Estimate | None:
        """The last stretch, as long as `window`, of the release before `series.release`."""
        ...

    def outcomes(self, series: Series, window: Window) -> Outcomes:
        """How judging went."""
        ...

    def bad_count(self, series: Series, window: Window) -> BadCount:
        """Judged and bad traces."""
        ...

    def bad_counts(
        self, series: Series, window: Window, step: timedelta
    ) -> Sequence[tuple[datetime, BadCount]]:
        """Judged and bad traces per step, oldest first."""
        ...

    def latency(self, selection: Selection, metric: str) -> LatencySummary:
        """One latency over a window, in milliseconds."""
        ...

    def hit_rate(self, selection: Selection, kind: HitKind, name: str, basis: str) -> Estimate:
        """Share of traces with a hit; `basis` is `all` or `expected`."""
        ...

    def hit_names(self, selection: Selection) -> Sequence[tuple[HitKind, str]]:
        """What was called or expected in the window."""
        ...

    def traces(self, selection: Selection) -> Mapping[str, int]:
        """Traces by status."""
        ...

    def live_by_step(self, selection: Selection, step: timedelta) -> Sequence[int]:
        """Traces that arrived soon after they began, per step, oldest first; may be minutes old."""
        ...

    def worst(
        self,
        project: str,
        app: str,
        metric: str,
        window: Window,
        limit: int,
        knowledge_base: str | None = None,
    ) -> Sequence[str]:
        """Ids of the traces with the lowest scores, the lowest first; of one knowledge base."""
        ...

    def budget(self, project: str) -> BudgetState:
        """What is left of today's judging budget."""
        ...


class RuleSource(Protocol):
    """Where rules are kept."""

    def all(self, project: str | None = None) -> Sequence[AlertRule]:
        """The rules of a project, or of all of them; disabled ones too."""
        ...


class SilenceSource(Protocol):
    """Where silences and maintenance windows are kept."""

    def all(self, project: str | None = None) -> Sequence[Silence]:
        """The silences of a project, or of all of them; past ones may be among them."""
        ...


class AlertStore(Protocol):
    """Where alerts are kept, together with what is to be sent about them."""

    def load(self, project: str | None = None, state: AlertState | None = None) -> Sequence[Alert]:
        """Alerts; None does not filter."""
        ...

    def save(self, changed: Sequence[Alert], notifications: Sequence[Notification] = ()) -> object:
        """Save alerts and outbox rows, all or nothing.

        A notification whose (project, channel, dedup_key) is known must not be queued again.
        """
        ...


class OutboxStore(Protocol):
    """The queue between alerting and the channels."""

    def due(self, now: datetime, limit: int, lease_s: float) -> Sequence[Notification]:
        """Messages to send now, oldest first; hidden from other senders for `lease_s` seconds.

        `attempts` counts this one.
        """
        ...

    def sent(self, notification: Notification) -> object:
        """The channel took it."""
        ...

    def failed(self, notification: Notification, error: str, not_before: datetime) -> object:
        """The channel did not take it; it is due again at `not_before`."""
        ...

    def dead(self, notification: Notification, error: str) -> object:
        """Given up: never due again, but kept, with the reason, for people to see."""
        ...
