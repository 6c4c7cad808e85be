"""Options of the processes themselves: of the worker, of HTTP and gRPC, and of signing in.

Those of a stage stand in the `options` module of its package.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Final
from urllib.parse import urlsplit

from rag_monitor.domain.label import MOST_PER_TRACE
from rag_monitor.domain.ranges import above, at_least, between, check_ranges, not_negative
from rag_monitor.domain.trace import DEFAULT_PROJECT
from rag_monitor.i18n import Message

_LEASE: Final = at_least(
    1.0, "`{name}` must be at least {least:g} s, not {value:g}: nobody could renew it in time"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionOptions:
    """Judging whole sessions."""

    judge: str | None = None
    """Which judge is asked of each session that has ended, in one call; a name of `[judges.…]` of
    kind `openai_compatible`. None: sessions are not judged as a whole."""
    rate: Annotated[
        float, between(0, 1, "`{name}` must be between {least} and {most}, not {value}")
    ] = 1.0
    """Share of the sessions that are judged, drawn by a hash."""
    max_turns: Annotated[
        int, between(1, 200, "`{name}` must be between {least} and {most}, not {value}")
    ] = 20
    """Turns that the judge is shown, the newest ones."""
    attempts: Annotated[int, above(0)] = 5
    """Calls for one session while the judge's server cannot be reached."""

    def __post_init__(self) -> None:
        check_ranges(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerOptions:
    """How the worker works. All times in seconds."""

    poll_s: Annotated[float, above(0)] = 0.5
    """How often derivation, evaluation and rollups look for work."""
    rules_every_s: Annotated[float, above(0)] = 15.0
    """How often alert rules are evaluated."""
    deliver_every_s: Annotated[float, above(0)] = 2.0
    retention_every_s: Annotated[float, above(0)] = 3600.0
    derive_batch: Annotated[int, above(0)] = 400
    """Traces claimed and assembled together."""
    derive_lanes: Annotated[int | None, above(0)] = None
    """Such batches under way at once: while one waits for the database, another is assembled.
    None: 2 on PostgreSQL, and 1 on SQLite, which takes one writer and makes nobody wait for a
    network."""
    evaluate_batch: Annotated[int, above(0)] = 32
    """Traces claimed and judged together."""
    evaluate_lanes: Annotated[int, above(0)] = 4
    """Such batches under way at once: while one waits for the database, others go on."""
    sampled_batch: Annotated[int, above(0)] = 32
    """Traces drawn for the sampled judge that are claimed and judged together."""
    sampled_lanes: Annotated[int, above(0)] = 2
    """Such batches under way at once. How many calls the judge gets at once is its own limit
    (`limits.concurrency`)."""
    sampled_wait_s: Annotated[float, above(0)] = 900.0
    """How long a drawn trace may wait for the sampled judge before its scores there have failed."""
    rollup_batch: Annotated[int, above(0)] = 60
    """Dirty minutes recomputed together."""
    fold_every_s: Annotated[float, above(0)] = 10.0
    """How often minutes that have become quiet are added up to ten minutes, hours and days."""
    fold_batch: Annotated[int, above(0)] = 40
    """Such sums made in one go."""
    session_idle_s: Annotated[
        float,
        between(60, 86_400, "`{name}` must be between {least} and {most}, not {value}"),
    ] = 1800.0
    """So long after its last turn began a session has ended, and counts in estimates."""
    lease_s: Annotated[float, _LEASE] = 60.0
    """How long a claimed evaluation may take before another worker takes it."""
    leader_ttl_s: Annotated[float, _LEASE] = 10.0
    drain_s: Annotated[float, not_negative()] = 10.0
    """How long a stopping worker may finish what it has begun."""

    def __post_init__(self) -> None:
        check_ranges(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpOptions:
    """What the HTTP side admits."""

    max_body_bytes: Annotated[int, above(0)] = 16 * 1024 * 1024
    """Largest request body, before and after decompression."""
    max_inflight_bytes: int = 128 * 1024 * 1024
    """Request bodies held in memory at once; beyond it 503 with Retry-After."""
    body_timeout_s: Annotated[float, above(0)] = 30.0
    """Longest pause between two pieces of a request body; beyond it 408. The whole body may take
    ten times that."""
    requests_per_minute: Annotated[
        int, not_negative("`{name}` must be above 0, or 0 for no limit")
    ] = 60_000
    """Of one key, to one process; beyond it 429 with Retry-After. A key may have a limit of its
    own. 0: no limit."""
    threads: Annotated[int, above(0)] = 16
    """Requests to the API and pages that are worked on at once; ingest, scrapes and health checks
    have threads of their own."""
    waiting_requests: Annotated[int, not_negative()] = 200
    """Further ones that may wait for their turn; beyond it 503 with Retry-After."""
    session_hours: Annotated[float, above(0)] = 12.0
    """How long a login to the pages lasts."""
    allowed_hosts: tuple[str, ...] = ()
    """Further values of the Host header that are answered."""
    allow_insecure_bind: bool = False
    """Serve beyond loopback without a key. Only behind something that authenticates."""

    def __post_init__(self) -> None:
        check_ranges(self)
        if self.max_inflight_bytes < self.max_body_bytes:
            raise ValueError(
                Message(
                    "`max_inflight_bytes` ({inflight}) must be at least `max_body_bytes` ({body}), "
                    "or one large body is never taken",
                    inflight=self.max_inflight_bytes,
                    body=self.max_body_bytes,
                )
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelOptions:
    """What people are asked."""

    marks_per_trace: Annotated[
        int,
        between(1, MOST_PER_TRACE, "`{name}` must be between {least} and {most}, not {value}"),
    ] = 1
    """Reviewers asked about each trace. Where their marks contradict each other one more is."""

    def __post_init__(self) -> None:
        check_ranges(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class GrpcOptions:
    """OTLP over gRPC, with the limits and keys of `[http]`."""

    enabled: bool | None = None
    """None: where the extra `grpc` is installed and the port is free."""
    host: str | None = None
    """None: that of the server."""
    port: Annotated[
        int | None,
        between(0, 65535, "`{name}` must be between {least} and {most}, not {value}"),
    ] = None
    """None: 4317, the port of OTLP over gRPC."""

    @property
    def asked_for(self) -> bool:
        """Whether it is an error when gRPC is not possible."""
        return self.enabled is True or self.host is not None or self.port is not None

    def __post_init__(self) -> None:
        check_ranges(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class OidcOptions:
    """Signing in to the pages through an OpenID Connect provider."""

    issuer: str = ""
    """The provider's issuer URL, exactly as it names itself; empty: off."""
    client_id: str = ""
    client_secret: str = field(default="", repr=False)
    scopes: str = "openid email profile"
    """What is asked of the provider; `openid` must be among them."""
    claim: str = "email"
    """The claim that says who may do what: `email` (only when verified), `groups` …"""
    admins: tuple[str, ...] = ()
    """Values of the claim that may do everything in the project."""
    writers: tuple[str, ...] = ()
    """Values that may read and change rules, silences and marks."""
    readers: tuple[str, ...] = ()
    """Values that may read; `*`: everybody whom the provider vouches for."""
    project: str = DEFAULT_PROJECT
    """The project people see."""
    allow_hosts: tuple[str, ...] = ()
    """Private hosts of the provider that may be reached, and by http."""

    def __post_init__(self) -> None:
        if not self.issuer:
            return
        if not self.trusts(self.issuer):
            raise ValueError(
                Message("`issuer` must be https (http only for hosts in `allow_hosts`)")
            )
        if not self.client_id or not self.client_secret:
            raise ValueError(Message("`client_id` and `client_secret` are needed with `issuer`"))
        if "openid" not in self.scopes.split():
            raise ValueError(Message("`scopes` must contain openid"))
        if not (self.admins or self.writers or self.readers):
            raise ValueError(Message("`admins`, `writers` or `readers` must name somebody"))

    @property
    def enabled(self) -> bool:
        """Whether people sign in through a provider."""
        return bool(self.issuer)

    def trusts(self, url: str) -> bool:
        """Whether the provider may be reached at this address: TLS, or a host named here."""
        parts = urlsplit(url)
        return parts.scheme == "https" or (
            parts.scheme == "http" and parts.hostname in self.allow_hosts
        )
