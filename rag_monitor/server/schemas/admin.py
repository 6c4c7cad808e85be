"""Keys, backfills and health."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated

from pydantic import Field

from rag_monitor.domain.stored import ApiKey, AuditEvent, KeyScope, ParkedTask
from rag_monitor.server.backfill import BackfillPreview
from rag_monitor.server.schemas.values import (
    Flag,
    Given,
    Hints,
    Moment,
    Name,
    Number,
    TraceId,
    Whole,
    Wire,
    finite,
)

Limit = Annotated[Whole, Field(ge=0, le=10_000_000)]


class KeyIn(Given):
    """A key to make."""

    name: Name = Field(examples=["bank-faq production"])
    scopes: Annotated[list[KeyScope], Field(min_length=1, max_length=4)] = Field(
        examples=[["ingest"]]
    )
    expires_at: Moment | None = Field(
        default=None, description="From then on it is refused. Default: never."
    )
    requests_per_minute: Limit | None = Field(
        default=None, description="Default: the server's limit. 0: none."
    )
    project: Annotated[str, Field(pattern=r"^[\w.-]{1,64}$")] | None = Field(
        default=None, description="Default: the caller's; another's only with the configured key."
    )


class RotateIn(Given):
    """How a key is replaced."""

    grace_s: Annotated[Number, Field(ge=0, le=2_592_000)] = Field(
        default=0.0, description="How many seconds longer the old key works, at most 30 days."
    )
    expires_at: Moment | None = Field(
        default=None, description="Of the new key. Default: as the old one's."
    )


class KeyOut(Wire):
    """A key, without its secret."""

    id: str
    name: str
    scopes: list[str]
    prefix: str
    created_at: datetime
    last_used_at: datetime | None
    expires_at: datetime | None
    revoked_at: datetime | None
    requests_per_minute: int | None

    @classmethod
    def from_domain(cls, key: ApiKey) -> KeyOut:
        """The key as it goes out."""
        return cls(
            id=key.id,
            name=key.name,
            scopes=sorted(scope.value for scope in key.scopes),
            prefix=key.prefix,
            created_at=key.created_at,
            last_used_at=key.last_used_at,
            expires_at=key.expires_at,
            revoked_at=key.revoked_at,
            requests_per_minute=key.requests_per_minute,
        )


class KeyMade(Wire):
    """A new key. `secret` is shown this once."""

    key: KeyOut
    secret: str


class KeysOut(Wire):
    """All keys of the project."""

    keys: list[KeyOut]


class AuditEventOut(Wire):
    """Somebody changed something, or signed in."""

    id: int
    at: datetime
    actor: str = Field(description="Id of a key, `configured`, `oidc:…`, `local` or `nobody`.")
    actor_name: str
    address: str
    action: str = Field(examples=["key.create"])
    target: str
    details: dict[str, str | int | float | bool | None]

    @classmethod
    def from_domain(cls, event: AuditEvent) -> AuditEventOut:
        """The event as it goes out."""
        return cls(
            id=event.id,
            at=event.at,
            actor=event.actor,
            actor_name=event.actor_name,
            address=event.address,
            action=event.action,
            target=event.target,
            details=dict(event.details),
        )


class AuditOut(Wire):
    """A page of the audit log, newest first."""

    events: list[AuditEventOut]
    next_before: int | None = Field(description="Send it as `before` for the next page.")


class ParkedOut(Wire):
    """A trace that judging gave up on."""

    trace_id: str
    reason: str = Field(
        examples=["worker_lost_thrice"],
        description="`worker_lost_thrice`: three workers were lost with it alone in hand. "
        "`unsavable`: what the judges said of it cannot be stored.",
    )
    attempts: int
    again_at: datetime | None = Field(
        description="When a worker tries it again by itself; null: not before it is retried."
    )

    @classmethod
    def from_domain(cls, task: ParkedTask) -> ParkedOut:
        """The trace as it goes out."""
        return cls(
            trace_id=task.trace_id,
            reason=task.reason,
            attempts=task.attempts,
            again_at=task.again_at,
        )


class ParkedListOut(Wire):
    """Traces that judging gave up on, the newest first."""

    traces: list[ParkedOut]


class RetryIn(Given):
    """Which of the parked traces to judge again."""

    trace_ids: Annotated[list[TraceId], Field(min_length=1, max_length=1000)] | None = Field(
        default=None, description="Default: all that are parked in the project."
    )


class RetryOut(Wire):
    """How many traces wait to be judged again."""

    queued: int


class BackfillIn(Given):
    """Which stored traces to judge again."""

    app: Name | None = None
    release: Name | None = None
    from_: Moment | None = Field(default=None, alias="from")
    to: Moment | None = Field(default=None, description="Default: now.")
    judge: Name | None = Field(default=None, description="Default: the configured judge.")
    limit: Annotated[Whole, Field(ge=1, le=1_000_000)] = 1000
    preview: Flag = Field(
        default=True, description="Only say what it would cost. Send false to start."
    )


class BackfillOut(Wire):
    """What a backfill would cost, and how many evaluations were queued."""

    traces: int
    judge: str
    tokens: int | None = Field(description="Expected; null when nothing was measured yet.")
    gpu_seconds: float | None
    cost: float | None = Field(description="In the currency of the judge's price; null without.")
    measured_on: int = Field(description="Traces of the day the expectation comes from.")
    fits_budget: bool | None = Field(
        description="Whether today's budget has that much left; null when the cost is not known."
    )
    queued: int = Field(description="0 in a preview.")
    hints: Hints

    @classmethod
    def from_domain(
        cls, preview: BackfillPreview, queued: int, hints: Sequence[str] = ()
    ) -> BackfillOut:
        """The outcome as it goes out."""
        return cls(
            traces=preview.traces,
            judge=preview.judge,
            tokens=preview.tokens,
            gpu_seconds=finite(preview.gpu_seconds),
            cost=finite(preview.cost),
            measured_on=preview.measured_on,
            fits_budget=preview.fits_budget,
            queued=queued,
            hints=list(hints),
        )


class Health(Wire):
    """Whether this process can do its work."""

    status: str = Field(
        examples=["ok"], description="`ok`, `degraded` (see `checks`) or `unavailable`."
    )
    version: str
    checks: dict[str, str]
