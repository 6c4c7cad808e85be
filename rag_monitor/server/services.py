"""The `Services` that the HTTP side is wired with."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from datetime import date
from typing import Literal, Protocol, TypeVar

from rag_monitor.aggregation.estimates import Estimates
from rag_monitor.alerting.replay import ReplayRule
from rag_monitor.config import Settings
from rag_monitor.domain.alert import AlertRule, Finding
from rag_monitor.domain.clock import Clock, SystemClock
from rag_monitor.domain.rule_state import RuleState
from rag_monitor.domain.stored import Assembling, JudgeSpending
from rag_monitor.exposition.page import MetricsPage
from rag_monitor.ingest.receiver import Receiver
from rag_monitor.server.backfill import Backfill
from rag_monitor.server.readiness import HealthReport
from rag_monitor.store.alerts import Alerts, Silences
from rag_monitor.store.annotations import FeedbackAnnotations
from rag_monitor.store.audit import AuditLog
from rag_monitor.store.documents import Documents
from rag_monitor.store.earlier_turns import EarlierTurns
from rag_monitor.store.incidents import Incidents
from rag_monitor.store.inventory import Inventory
from rag_monitor.store.keys import Keys
from rag_monitor.store.label_queue import LabelQueue
from rag_monitor.store.outage import Pulse
from rag_monitor.store.outbox import Outbox
from rag_monitor.store.rule_states import RuleStates
from rag_monitor.store.rules import Rules
from rag_monitor.store.sessions import Sessions
from rag_monitor.store.spans import Spans
from rag_monitor.store.tasks import Tasks
from rag_monitor.store.topics import Topics
from rag_monitor.store.traces import Traces

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeInfo:
    """A judge this installation uses."""

    name: str
    """The name under which scores are filed: `str(JudgeIdentity)`."""
    role: Literal["primary", "cheap", "fallback"] = "primary"
    agreement: Mapping[str, float] | None = None
    """Agreement with human labels (`auroc`, `balanced_accuracy`, `f1`, `kappa`, `ece`, `brier`);
    None: unverified."""


class Together(Protocol):
    """Makes several changes one."""

    def __call__(self, work: Callable[[], T], /) -> T:
        """Run `work`, perhaps several times: what it changes is changed as a whole or not."""
        ...


class MetricsText(Protocol):
    """Hands out the Prometheus exposition."""

    def __call__(
        self, project: str | None, open_metrics: bool, compressed: bool = False, /
    ) -> tuple[bytes, str]:
        """The values of a project (None: of all), perhaps in OpenMetrics, perhaps as gzip.

        Returns:
            The page and its content type.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """Everything the application is wired with, once, at start.

    `wiring.wire_services` makes it from a store and the settings. A route takes what it needs:

        @router.get("/apps")
        def apps(services: ServicesOf, caller: Reader) -> list[str]:
            return [app.app for app in services.traces.apps(caller.project)]
    """

    receiver: Receiver
    spans: Spans
    traces: Traces
    sessions: Sessions
    earlier_turns: EarlierTurns
    topics: Topics
    feedback: FeedbackAnnotations
    label_queue: LabelQueue
    rules: Rules
    rule_states: RuleStates
    alerts: Alerts
    silences: Silences
    outbox: Outbox
    incidents: Incidents
    keys: Keys
    audit: AuditLog
    estimates: Estimates
    documents: Documents
    inventory: Inventory
    tasks: Tasks
    evaluations: Backfill
    check_rule: Callable[[AlertRule], object]
    """Raises `RuleError` when the rule cannot work."""
    try_rule: Callable[[AlertRule], Mapping[str, Finding]]
    """What a rule would find right now, by app."""
    stand_rule: Callable[[AlertRule], Mapping[str, RuleState]]
    """How a rule stands right now on each app: the window it has there, and what it needs."""
    replay_rule: ReplayRule
    """What a rule would have done on stored history."""
    metrics_text: MetricsText
    health: Callable[[], HealthReport]
    together: Together
    """Makes a change and its audit event one transaction."""
    judges: Callable[[], Sequence[JudgeInfo]]
    """The judges in use; their order is the order shown."""
    before_erasure: Callable[[], object]
    """Makes evidence that still waits known as traces, so that erasing a user finds all of it."""
    assembling: Callable[[str], Assembling]
    """What a project's senders were acknowledged and no page shows yet."""
    spending: Callable[[str, date], Sequence[JudgeSpending]]
    """What judges used in a project, per UTC day from the given one on."""
    reading: Callable[[], AbstractContextManager[None]] = nullcontext
    """Whatever a thread reads within goes over one connection: for pages of many questions."""
    reserved: Callable[[], AbstractContextManager[None]] = nullcontext
    """Whatever a thread asks within goes over connections that pages cannot use up."""
    background: Sequence[Pulse | MetricsPage] = ()
    """Threads that prepare what must be answered at once; to be started and stopped with the
    process."""
    settings: Settings = field(default_factory=Settings)
    clock: Clock = field(default_factory=SystemClock)
