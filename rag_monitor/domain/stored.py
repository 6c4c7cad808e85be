"""What the store hands out and takes in beside the nouns: queries, pages, work, leases."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from enum import StrEnum
from typing import Annotated, Final

from rag_monitor.domain.conversation import EarlierTurn
from rag_monitor.domain.decision import SamplingDecision
from rag_monitor.domain.fault import Diagnosis
from rag_monitor.domain.feedback import Feedback
from rag_monitor.domain.filters import SearchIn as SearchIn
from rag_monitor.domain.filters import TraceQuery as TraceQuery
from rag_monitor.domain.judgement import JudgeUsage
from rag_monitor.domain.names import NameKind
from rag_monitor.domain.ports import BlobFormat
from rag_monitor.domain.ranges import above, at_least, at_most, check_ranges
from rag_monitor.domain.score import ReportedScore, Score
from rag_monitor.domain.trace import Trace, TraceStatus
from rag_monitor.domain.window import Window


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingTrace:
    """The evidence of a trace that waits to be derived. Claimed for half a minute."""

    project: str
    trace_id: str
    received_at: datetime
    """When the first evidence arrived, aware UTC."""
    blobs: tuple[tuple[BlobFormat, bytes], ...]
    """Uncompressed, in order of arrival."""
    version: int
    """Blobs seen so far; evidence that arrives after this version makes the trace due again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Assembling:
    """What was acknowledged and is not a trace yet: no page and no rule sees it."""

    traces: int = 0
    """Those that wait for more of their spans are among them."""
    oldest_s: float = 0.0
    """Seconds since the first of them was complete, or had waited long enough; 0: none has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ParkedTask:
    """A trace that is not judged any more until somebody asks for it."""

    project: str
    trace_id: str
    reason: str
    """`worker_lost_thrice`, `unsavable`, …: why it was given up."""
    attempts: int
    again_at: datetime | None = None
    """When a worker tries it again by itself; None: not before somebody asks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationTask:
    """One revision of one trace to be judged, under a lease."""

    id: int
    project: str
    trace: Trace
    token: int
    """Fencing token: completing with a token that is no longer current raises `LeaseLost`."""
    attempts: int
    """How often it was claimed, this time included; from 1."""
    forced: bool = False
    """A person asked for it: judge whatever the sampler says."""
    judge: str | None = None
    """The one judge that was asked for, by its name; None: every judge that is due."""
    bulk: bool = False
    """History: it was imported, or a person asked for it. It waits behind live traffic."""
    sampled: bool = False
    """It waits for the sampled judge only; what the judge of every trace said is saved."""
    decisions: tuple[SamplingDecision, ...] = ()
    """Of a sampled one: the decisions that were saved with those scores."""
    received_on: date | None = None
    """The day of its first evidence; None: not known."""
    history: tuple[EarlierTurn, ...] | None = None
    """The turns that judges are given with its question, in order; none where it stands alone.
    None: nobody has looked, and what the trace tells of itself is given."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredUsage:
    """What judging so many traces has cost, all told."""

    traces: int
    """At least 1."""
    usage: JudgeUsage
    """Tokens of both directions stand in `input_tokens`."""

    def of(self, traces: int) -> JudgeUsage:
        """What so many traces may be expected to cost."""
        share = traces / self.traces
        return JudgeUsage(
            input_tokens=math.ceil(self.usage.input_tokens * share),
            gpu_seconds=self.usage.gpu_seconds * share,
            cost=self.usage.cost * share,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Backlog:
    """What waits to be judged."""

    waiting: int
    """Tasks that the judge of every trace has not answered; those sampled for another are apart."""
    oldest_age_s: float
    """Seconds since the oldest waiting task was made; 0 when none waits."""
    bulk: int = 0
    """Those of `waiting` that are history: imported, or asked for."""
    parked: int = 0
    """Tasks given up on, kept with their reason."""
    lag_s: float = 0.0
    """Seconds since the oldest live one was due that nobody has taken yet: how far judging is
    behind. What a worker holds, or left behind when it died, says nothing about that."""
    bulk_lag_s: float = 0.0
    """The same of history."""
    sampled: int = 0
    """Tasks that wait for the sampled judge, with the scores of the other saved."""
    sampled_age_s: float = 0.0
    """Seconds since the oldest of them was sampled."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedScore:
    """A score with the trace it belongs to."""

    project: str
    trace_id: str
    app: str
    score: Score
    """Without its verdicts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceSummary:
    """One row of a trace list."""

    trace_id: str
    app: str
    release: str | None
    started_at: datetime
    status: TraceStatus
    question: str | None
    answer: str | None
    end_to_end_ms: float | None
    first_byte_ms: float | None
    revision: int
    user_id: str | None = None
    session_id: str | None = None
    scores: dict[str, float | None] = field(default_factory=dict)
    """Current value by metric; of several judges the newest; None: no value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TracePage:
    """A page of traces and where the next one starts."""

    items: tuple[TraceSummary, ...]
    next_cursor: str | None = None
    """Opaque; None on the last page."""
    looked_back_to: datetime | None = None
    """Set where traces were looked through no further back than this, before the page was full:
    older ones are on the next page."""
    partial: bool = False
    """The page ends, full or not, where so many traces were looked through; the next goes on."""
    indexed_since: datetime | None = None
    """Set where older traces wait for the index that a filter asks: they are missing until then."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredTrace:
    """A trace with everything that is known about it."""

    trace: Trace
    received_at: datetime
    scores: tuple[Score, ...] = ()
    """Of the current revision."""
    feedback: tuple[Feedback, ...] = ()
    decisions: tuple[SamplingDecision, ...] = ()
    reported: tuple[ReportedScore, ...] = ()
    """Scores of other tools, by source and name."""
    faults: tuple[Diagnosis, ...] = ()
    """What each judge's verdicts say was at fault, the newest first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AppSummary:
    """An application that sent traces."""

    app: str
    last_seen: datetime
    kept: bool = True
    """False: its traces are forgotten, and only numbers are left."""

    def told_of(self, window: Window) -> bool:
        """Whether a list of all applications over the window names it: not once it is history."""
        return self.kept or self.last_seen >= window.start


@dataclass(frozen=True, slots=True, kw_only=True)
class AppTraffic:
    """How busy an application was in a window."""

    app: str
    traces: int
    """In the window, as far as its minutes, hours and days are added up: good enough to rank by."""
    last_seen: datetime
    """The newest minute with traces, whatever the window."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NameCount:
    """The names of one kind that a project has lately used."""

    project: str
    kind: NameKind
    names: tuple[str, ...]
    limit: int
    """Further ones are counted together."""

    @property
    def full(self) -> bool:
        """Whether there is no room for another one."""
        return len(self.names) >= self.limit


@dataclass(frozen=True, slots=True, kw_only=True)
class TimedTrace:
    """A trace that may stand for others that took as long."""

    trace_id: str
    app: str
    release: str | None
    started_at: datetime
    first_byte_ms: float | None
    end_to_end_ms: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseStart:
    """When a release of an app was first seen."""

    release: str
    first_seen: datetime
    last_seen: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledScore:
    """What a judge and what people said of the same thing."""

    trace_id: str
    app: str
    metric: str
    """Of the score. A mark on `faithfulness` also stands beside `answer_supported`."""
    judge: str
    value: float
    flagged: bool | None
    """As in `Score`."""
    label: float
    """Mean of the newest marks of every person, 0 (bad) to 1 (good)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledTrace:
    """A reviewer's mark, and what it is about."""

    mark: Feedback
    app: str | None
    """None: the trace is gone, or not there yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeSpending:
    """What a judge used on one UTC day."""

    judge: str
    """Its configured name, not its identity."""
    day: date
    tokens: int
    gpu_seconds: float
    money: float
    """In the currency of `[judge.price]`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedMinute:
    """A minute of an app whose rollups no longer match its traces."""

    project: str
    app: str
    minute: datetime
    version: int
    """Changes with every change; the mark is cleared only if it is still this."""
    added: frozenset[int] = frozenset()
    """Batches of traces that were counted beside its rollups when this was read."""


@dataclass(frozen=True, slots=True)
class StaleBlock:
    """A stretch of an app's minutes whose sum no longer matches them."""

    project: str
    app: str
    minutes: int
    """Length: 10, 60 or 1440."""
    minute: datetime
    """Its first minute."""
    version: int
    """Changes with every change; the mark is cleared only if it is still this."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """The right to act under a name until a time."""

    name: str
    owner: str
    token: int
    """Grows with every change of owner; write it with what you do, refuse smaller ones."""
    expires_at: datetime
    """Database time."""


class KeyScope(StrEnum):
    """What a key may do."""

    INGEST = "ingest"
    READ = "read"
    WRITE = "write"
    ADMIN = "admin"


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiKey:
    """A key as the store knows it: never the key itself."""

    id: str
    project: str
    name: str
    scopes: frozenset[KeyScope]
    prefix: str
    """The first characters, for people to recognise it."""
    created_at: datetime
    last_used_at: datetime | None = None
    """To within a minute."""
    expires_at: datetime | None = None
    revoked_at: datetime | None = None
    requests_per_minute: int | None = None
    """Its own limit, per process; None: the server's, 0: none."""

    def alive(self, now: datetime) -> bool:
        """Whether the key still opens anything."""
        return self.revoked_at is None and (self.expires_at is None or self.expires_at > now)

    def allows(self, scope: KeyScope) -> bool:
        """Whether the key carries `scope`, or is an admin's."""
        return scope in self.scopes or KeyScope.ADMIN in self.scopes


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditEvent:
    """Somebody changed something, or signed in."""

    id: int = 0
    """Grows with time; 0 until it is stored."""
    project: str
    at: datetime
    actor: str
    """Id of the key, `configured`, `oidc:` and the subject, or `local` on an open server."""
    actor_name: str = ""
    address: str = ""
    """Where the connection came from; behind a proxy, the proxy's."""
    action: str
    """What was done, e.g. `key.create`."""
    target: str = ""
    """To what; never a person's id in clear."""
    details: Mapping[str, str | int | float | bool | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ErasureReport:
    """What erasing a user removed."""

    traces: int = 0
    passages: int = 0
    feedback: int = 0
    reported_scores: int = 0
    replies: int = 0
    outbox: int = 0


_A_DAY: Final = at_least(1, "`{name}`: traces are kept at least one day, not {value}")
_A_CENTURY: Final = at_most(36_500, "`{name}`: at most {most:,} days, not {value:,}")


@dataclass(frozen=True, slots=True, kw_only=True)
class RetentionPolicy:
    """How long things are kept."""

    traces_days: Annotated[int, _A_DAY, _A_CENTURY] = 30
    """Evidence, traces, passages, feedback and everything else with text."""
    scores_days: Annotated[
        int, at_least(1, "`{name}`: scores are kept at least one day, not {value}")
    ] = 400
    """Scores without their verdicts' trace, and rollups."""
    apps: Mapping[str, int] = field(default_factory=dict)
    """Days that traces of single apps are kept, where that is less than `traces_days`."""
    max_bytes: Annotated[
        int | None, above(0, "`{name}` must be above 0, not {value}; leave it out for no limit")
    ] = None
    """Above this database size the oldest days of traces go early; None: no limit."""
    batch: Annotated[int, at_least(1)] = 1000
    """Rows per delete, so that writers never wait long."""

    def __post_init__(self) -> None:
        check_ranges(self)
        for name, days in self.apps.items():
            for allowed in (_A_DAY, _A_CENTURY):
                if not allowed.holds(days):
                    raise ValueError(allowed.refused(name, days))


@dataclass(frozen=True, slots=True, kw_only=True)
class RetentionReport:
    """What a retention run removed."""

    traces: int = 0
    rows: int = 0
    """Rows of every table, where they were deleted one by one."""
    partitions: tuple[str, ...] = ()
    """PostgreSQL partitions that were dropped."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetLimits:
    """What a judge may use per project and UTC day; None: no limit."""

    tokens: int | None = None
    gpu_seconds: float | None = None
    money: float | None = None
