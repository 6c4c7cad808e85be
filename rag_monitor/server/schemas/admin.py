"""Keys, backfills and health."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from pydantic import Field

from rag_monitor.domain.stored import ApiKey, KeyScope
from rag_monitor.server.ports import BackfillPreview
from rag_monitor.server.schemas.values import Given, Moment, Name, Wire, finite


class KeyIn(Given):
    """A key to make."""

    name: Name = Field(examples=["bank-faq production"])
    scopes: Annotated[list[KeyScope], Field(min_length=1, max_length=4)] = Field(
        examples=[["ingest"]]
    )
    expires_at: Moment | None = None


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
        )


class KeyMade(Wire):
    """A new key. `secret` is shown this once."""

    key: KeyOut
    secret: str


class KeysOut(Wire):
    """All keys of the project."""

    keys: list[KeyOut]


class BackfillIn(Given):
    """Which stored traces to judge again."""

    app: Name | None = None
    release: Name | None = None
    from_: Moment | None = Field(default=None, alias="from")
    to: Moment | None = Field(default=None, description="Default: now.")
    judge: Name | None = Field(default=None, description="Default: the configured judge.")
    limit: Annotated[int, Field(ge=1, le=1_000_000)] = 1000
    preview: bool = Field(
        default=True, description="Only say what it would cost. Send false to start."
    )


class BackfillOut(Wire):
    """What a backfill would cost, and how many evaluations were queued."""

    traces: int
    judge: str
    tokens: int | None
    gpu_seconds: float | None
    cost: float | None
    queued: int = Field(description="0 in a preview.")

    @classmethod
    def from_domain(cls, preview: BackfillPreview, queued: int) -> BackfillOut:
        """The outcome as it goes out."""
        return cls(
            traces=preview.traces,
            judge=preview.judge,
            tokens=preview.tokens,
            gpu_seconds=finite(preview.gpu_seconds),
            cost=finite(preview.cost),
            queued=queued,
        )


class Health(Wire):
    """Whether this process can do its work."""

    status: str = Field(examples=["ok"])
    version: str
    checks: dict[str, str]
