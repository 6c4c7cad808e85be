"""Ports: what the HTTP side asks of the other stages.

Methods are synchronous and may block on the database unless they are declared `async`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Literal, Protocol, TypeVar

from rag_monitor.domain.alert import Alert, AlertRule, AlertState, Silence
from rag_monitor.domain.feedback import Feedback
from rag_monitor.domain.hit import HitKind
from rag_monitor.domain.labelling import LabelTask
from rag_monitor.domain.stored import (
    ApiKey,
    AppSummary,
    AuditEvent,
    Backlog,
    ErasureReport,
    KeyScope,
    LabelledScore,
    ReleaseStart,
    StoredTrace,
    TracePage,
    TraceQuery,
    TraceSummary,
)
from rag_monitor.domain.window import Estimate, Series, Window
from rag_monitor.server.measures import LatencySummary, RoutingConfusion

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthReport:
    """Whether this process can do its work."""

    ready: bool
    checks: Mapping[str, str] = field(default_factory=dict)
    """Per part (`store`, `scheduler`, `judge` …) `ok`, or one sentence on what is wrong."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeInfo:
    """A judge this installation uses."""

    name: str
    """The name under which scores are filed: `str(JudgeIdentity)`."""
    role: Literal["primary", "cheap", "fallback"] = "primary"
    agreement: Mapping[str, float] | None = None
    """Agreement with human labels (`auroc`, `balanced_accuracy`, `f1`, `kappa`, `ece`, `brier`);
    None: unverified."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BackfillRequest:
    """Which traces to judge again, and by whom."""

    project: str
    window: Window
    app: str | None = None
    release: str | None = None
    judge: str | None = None
    """None: the configured one."""
    limit: int = 1000
    """At most this many traces, newest first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BackfillPreview:
    """What a backfill would do and cost."""

    traces: int
    judge: str
    tokens: int | None = None
    """Expected tokens; 0 when the judge uses none, None when it is not known."""
    gpu_seconds: float | None = None
    cost: float | None = None
    """In the currency of the judge's `price`; None without a price."""
    measured_on: int = 0
    """Traces judged on the day the expectation comes from; 0: nothing was measured."""
    fits_budget: bool | None = None
    """Whether what is left of today's budget allows it; None when the cost is not known."""


class OtlpReply(Protocol):
    """A complete OTLP/HTTP response."""

    @property
    def status(self) -> int:
        """HTTP status."""
        ...

    @property
    def content_type(self) -> str:
        """As the request's."""
        ...

    @property
    def body(self) -> bytes:
        """Encoded response message or Status."""
        ...

    @property
    def headers(self) -> Mapping[str, str]:
        """Further headers, e.g. Retry-After."""
        ...


class JsonReply(Protocol):
    """What became of Trace JSON that was posted."""

    @property
    def accepted(self) -> int:
        """Traces that are stored now."""
        ...

    @property
    def trace_ids(self) -> Sequence[str]:
        """Of the accepted, in order."""
        ...

    @property
    def unknown_fields(self) -> Sequence[str]:
        """Names that were ignored."""
        ...

    @property
    def errors(self) -> Sequence[object]:
        """Per refused object, why."""
        ...


class TraceReceiver(Protocol):
    """The ingest stage."""

    async def receive_traces(
        self, body: bytes, content_type: str, content_encoding: str | None, project: str, /
    ) -> OtlpReply:
        """Take an OTLP trace request in; returns after the commit."""
        ...

    async def receive_logs(
        self, body: bytes, content_type: str, content_encoding: str | None, project: str, /
    ) -> OtlpReply:
        """Take an OTLP log request in."""
        ...

    async def receive_json(self, body: bytes, project: str, /) -> JsonReply:
        """Take Trace JSON in: one object, a list, or JSON lines."""
        ...


class TraceStore(Protocol):
    """Traces as they were derived."""

    def get(self, project: str, trace_id: str, /) -> StoredTrace:
        """The trace; raises `NotFound`."""
        ...

    def summaries(self, project: str, trace_ids: Sequence[str], /) -> Sequence[TraceSummary]:
        """What a list shows of traces, in the order asked; what is not there is left out."""
        ...

    def search(self, query: TraceQuery, /) -> TracePage:
        """A page of traces, newest first; raises `MalformedPayload` on a cursor not its own."""
        ...

    def apps(self, project: str, /) -> Sequence[AppSummary]:
        """Apps that sent traces."""
        ...

    def releases(self, project: str, app: str, /) -> Sequence[str]:
        """Releases of an app, newest first."""
        ...

    def release_starts(
        self, project: str, app: str, since: datetime | None = None, /
    ) -> Sequence[ReleaseStart]:
        """When each release appeared; `since` leaves out those not seen since."""
        ...

    def worst(
        self, project: str, app: str, metric: str, window: Window, limit: int, /
    ) -> Sequence[str]:
        """Ids of the traces with the lowest scores."""
        ...

    def erase_user(self, project: str, user_id: str, /) -> ErasureReport:
        """Erase everything of a user."""
        ...


class FeedbackStore(Protocol):
    """People's marks."""

    def add(self, feedback: Feedback, /) -> object:
        """Store a mark; its trace may come later."""
        ...

    def against_scores(
        self, project: str, since: datetime, until: datetime, /
    ) -> Sequence[LabelledScore]:
        """Marks made in [since, until) beside the scores they are about."""
        ...


class LabelSource(Protocol):
    """Traces that wait for a person's mark."""

    def waiting(
        self, project: str, since: datetime, limit: int = 50, app: str | None = None
    ) -> Sequence[LabelTask]:
        """The most telling first."""
        ...


class RuleStore(Protocol):
    """Alert rules of a project."""

    def all(self, project: str, /) -> Sequence[AlertRule]:
        """Every rule, disabled ones too."""
        ...

    def save(self, rule: AlertRule, /) -> object:
        """Insert, or replace the rule of that name."""
        ...

    def rename(self, name: str, rule: AlertRule, /) -> object:
        """Put a rule in another's place, with its silences; raises `NotFound`, `RuleError`."""
        ...

    def delete(self, project: str, name: str, /) -> object:
        """Remove a rule."""
        ...

    def ship(self, project: str, defaults: Sequence[AlertRule], /) -> object:
        """Give a project its default rules, unless it was given some before."""
        ...


class AlertStore(Protocol):
    """Alerts, open and past."""

    def load(self, project: str, state: AlertState | None = None, /) -> Sequence[Alert]:
        """Alerts in a state, or all."""
        ...

    def acknowledge(self, project: str, id: str, by: str, /) -> object:
        """Mark as seen; raises `NotFound`."""
        ...


class SilenceStore(Protocol):
    """Silences, past ones included until they are deleted."""

    def all(self, project: str, /) -> Sequence[Silence]:
        """Every silence."""
        ...

    def add(self, silence: Silence, /) -> object:
        """Store a silence."""
        ...

    def delete(self, project: str, id: str, /) -> object:
        """Remove one; raises `NotFound`."""
        ...


class KeyStore(Protocol):
    """API keys; only their hashes are stored."""

    def create(
        self,
        project: str,
        name: str,
        scopes: Collection[KeyScope],
        /,
        *,
        expires_at: datetime | None = None,
        requests_per_minute: int | None = None,
    ) -> tuple[str, ApiKey]:
        """The text of a new key, which is stored nowhere, and what is known of it."""
        ...

    def rotate(
        self, project: str, id: str, grace: timedelta, /, *, expires_at: datetime | None = None
    ) -> tuple[str, ApiKey]:
        """A new key in place of a valid one, which works a grace longer; raises `NotFound`."""
        ...

    def secret(self, name: str, /) -> bytes:
        """A random secret of this installation, the same in every process."""
        ...

    def list(self, project: str, /) -> Sequence[ApiKey]:
        """Every key, revoked ones too."""
        ...

    def revoke(self, project: str, id: str, /) -> object:
        """Revoke at once; raises `NotFound`."""
        ...

    def authenticate(self, key: str, /) -> ApiKey | None:
        """The valid key with this secret, or None."""
        ...

    def find(self, key: str, /) -> ApiKey | None:
        """The key with this secret, valid or not."""
        ...


class AuditStore(Protocol):
    """Who changed what."""

    def add(self, event: AuditEvent, /) -> object:
        """Keep an event."""
        ...

    def list(
        self, project: str, /, *, action: str | None, before: int | None, limit: int
    ) -> Sequence[AuditEvent]:
        """Events, newest first; `before` is the id of the last one of the page before."""
        ...


class Together(Protocol):
    """Makes several changes one."""

    def __call__(self, work: Callable[[], T], /) -> T:
        """Run `work`, perhaps several times: what it changes is changed as a whole or not."""
        ...


class TaskStore(Protocol):
    """The evaluation queue."""

    def backlog(self, now: datetime, /) -> Backlog:
        """What waits."""
        ...


class EstimateSource(Protocol):
    """Window figures made of rollups: their cost does not grow with the traces."""

    def once(self, apps: Sequence[str] = (), metrics: Sequence[str] = (), /) -> EstimateSource:
        """The same for one page: each window of an app is read once, of these apps together.

        Of them only these metrics of rollups are read; empty: all.
        """
        ...

    def estimate(
        self, series: Series, window: Window, /, *, min_judged: int | None = None
    ) -> Estimate:
        """One estimate over the whole window; an interval from `min_judged` scores on."""
        ...

    def judges(self, series: Series, window: Window, /) -> Sequence[str]:
        """Identities with scores of the metric in the window."""
        ...

    def series(self, series: Series, window: Window, step: timedelta, /) -> Sequence[Estimate]:
        """One estimate per step."""
        ...

    def judged_series(self, project: str, app: str, window: Window, /) -> Sequence[Series]:
        """Every metric, judge and release that was judged."""
        ...

    def latency(
        self, project: str, app: str, metric: str, window: Window, release: str | None = None, /
    ) -> LatencySummary:
        """Percentiles of one timing."""
        ...

    def hit_rate(
        self, project: str, app: str, kind: HitKind, name: str, basis: str, window: Window, /
    ) -> Estimate:
        """Hits / traces on basis `all` or `expected`."""
        ...

    def knowledge_bases(self, project: str, app: str, window: Window, /) -> Sequence[str]:
        """Knowledge bases that gave passages in the window."""
        ...

    def hit_names(self, project: str, app: str, window: Window, /) -> Sequence[tuple[HitKind, str]]:
        """What was called or expected."""
        ...

    def routing(self, project: str, app: str, window: Window, /) -> Sequence[RoutingConfusion]:
        """Routing against labels."""
        ...

    def traces(self, project: str, app: str, window: Window, /) -> Mapping[str, int]:
        """Traces by status."""
        ...


class Backfill(Protocol):
    """Judges stored traces again."""

    def preview(self, request: BackfillRequest, /) -> BackfillPreview:
        """What it would do and cost; raises `UnknownJudge`."""
        ...

    def start(self, request: BackfillRequest, /) -> int:
        """Queue the evaluations; returns how many.

        Raises `UnknownJudge`, and `BudgetExhausted` where it would not fit into the budget.
        """
        ...
