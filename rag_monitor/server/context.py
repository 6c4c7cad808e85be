"""How the HTTP side is set up, and the `Services` it is wired with."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Literal, TypeVar
from urllib.parse import urlsplit

from rag_monitor.alerting.replay import Replay
from rag_monitor.config import OidcOptions
from rag_monitor.domain.alert import AlertRule, Finding
from rag_monitor.domain.clock import Clock, SystemClock
from rag_monitor.domain.stored import JudgeSpending
from rag_monitor.errors import ConfigurationError
from rag_monitor.server.ports import (
    AlertStore,
    AuditStore,
    Backfill,
    EstimateSource,
    FeedbackStore,
    HealthReport,
    JudgeInfo,
    KeyStore,
    LabelSource,
    RuleStore,
    SilenceStore,
    TaskStore,
    Together,
    TraceReceiver,
    TraceStore,
)
from rag_monitor.server.setup import Setup

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerOptions:
    """How the HTTP side behaves."""

    host: str = "127.0.0.1"
    port: int = 8700
    api_key: str | None = field(default=None, repr=False)
    """With a key every request must carry one; without, only loopback may reach us."""
    public_url: str | None = None
    """Where people reach this server, e.g. `https://rag-monitor.example.org`."""
    timezone: str = "UTC"
    """IANA name; every time the pages show is in it."""
    language: Literal["en", "zh"] = "en"
    """What pages speak before a visitor chooses."""
    max_body_bytes: int = 16 * 1024 * 1024
    max_inflight_bytes: int = 128 * 1024 * 1024
    """Request bodies held in memory at once; beyond it 503 with Retry-After."""
    body_timeout_s: float = 30.0
    """Longest pause between two pieces of a request body; the whole may take ten times that."""
    requests_per_minute: int = 60_000
    """Of one key that has no limit of its own, to this process; 0: no limit."""
    session_hours: float = 12.0
    allowed_hosts: tuple[str, ...] = ()
    """Further values of the Host header that are answered."""
    allow_insecure_bind: bool = False
    """Serve beyond loopback without a key. Only behind something that authenticates."""
    oidc: OidcOptions | None = None
    """Signing in through an identity provider; None: with keys only."""

    @property
    def secure(self) -> bool:
        """Whether people come by https, so that cookies may be kept to it."""
        return (self.public_url or "").startswith("https://")

    def __post_init__(self) -> None:
        if self.api_key is None and not self.allow_insecure_bind and not is_loopback(self.host):
            raise ConfigurationError(
                f"refusing to listen on {self.host} without a key: set RAG_MONITOR_API_KEY, "
                "listen on 127.0.0.1, or set `http.allow_insecure_bind = true` where something in "
                "front authenticates"
            )

    @property
    def hosts(self) -> frozenset[str] | None:
        """The Host names that are answered, lower case; None: any.

        An open server answers only to its own names, so that a foreign page cannot reach it by
        pointing a name of its own at loopback.
        """
        if self.allowed_hosts:
            named = {host.lower() for host in self.allowed_hosts}
        elif self.api_key is not None or self.allow_insecure_bind:
            return None
        else:
            named = set()
        named |= {"localhost", "127.0.0.1", "::1", self.host.lower()}
        if self.public_url and (public := urlsplit(self.public_url).hostname):
            named.add(public)
        return frozenset(named)


def is_loopback(host: str) -> bool:
    """Whether `host` names only this machine."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _no_spending(project: str, since: date) -> Sequence[JudgeSpending]:
    """Nobody keeps the books."""
    del project, since
    return ()


def _nothing() -> None:
    """Nothing waits."""


def _one_by_one(work: Callable[[], T], /) -> T:
    """Each change stands by itself."""
    return work()


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """Everything the application is wired with, once, at start."""

    receiver: TraceReceiver
    traces: TraceStore
    feedback: FeedbackStore
    label_queue: LabelSource
    rules: RuleStore
    alerts: AlertStore
    silences: SilenceStore
    keys: KeyStore
    audit: AuditStore
    estimates: EstimateSource
    tasks: TaskStore
    evaluations: Backfill
    check_rule: Callable[[AlertRule], object]
    """Raises `RuleError` when the rule cannot work."""
    metrics_text: Callable[[str | None, bool], tuple[bytes, str]]
    """The Prometheus exposition with the values of a project (None: of all), in OpenMetrics or as
    plain text, and its content type."""
    health: Callable[[], HealthReport]
    together: Together = _one_by_one
    """Makes a change and its audit event one transaction."""
    reading: Callable[[], AbstractContextManager[None]] = nullcontext
    """Whatever a thread reads within goes over one connection: for pages of many questions."""
    judges: Callable[[], Sequence[JudgeInfo]] = tuple
    """The judges in use; their order is the order shown."""
    before_erasure: Callable[[], object] = _nothing
    """Makes evidence that still waits known as traces, so that erasing a user finds all of it."""
    try_rule: Callable[[AlertRule], Mapping[str, Finding]] | None = None
    """What a rule would find right now, by app; None: dry runs are not offered."""
    replay_rule: Callable[[AlertRule, datetime, datetime], Replay] | None = None
    """What a rule would have done on stored history; None: replays are not offered."""
    spending: Callable[[str, date], Sequence[JudgeSpending]] = _no_spending
    """What judges used in a project, per UTC day from the given one on."""
    setup: Setup = field(default_factory=Setup)
    options: ServerOptions = field(default_factory=ServerOptions)
    clock: Clock = field(default_factory=SystemClock)
