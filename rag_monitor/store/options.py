"""What the store needs to know before it opens."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated

from rag_monitor.domain.ranges import above, check_ranges, not_negative
from rag_monitor.domain.stored import BudgetLimits


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreOptions:
    """Where the data lives and how much may wait."""

    url: str = "sqlite:///rag_monitor.db"
    """An SQLAlchemy URL; `postgresql://` is read as `postgresql+psycopg://`."""
    auto_migrate: bool | None = None
    """Bring the schema up to date on opening. None: yes on SQLite, no on PostgreSQL."""
    exclusive: bool = True
    """SQLite: take the lock file. Short-lived commands beside a running server set this False."""
    pool_size: Annotated[int, above(0)] = 8
    """Connections for readers (SQLite) or altogether (PostgreSQL)."""
    pool_timeout_s: Annotated[float, above(0)] = 5.0
    """How long a caller waits for a connection before `StoreUnavailable`."""
    connect_timeout_s: Annotated[int, above(0)] = 5
    statement_timeout_s: Annotated[float, not_negative()] = 30.0
    """PostgreSQL, sent as a startup option; 0 leaves it out (PgBouncer refuses startup options)."""
    retry_s: Annotated[float, not_negative()] = 10.0
    """How long a write is retried through a lost connection or a deadlock."""
    write_timeout_s: Annotated[float, above(0)] = 5.0
    """How long a request waits for its commit before it is told to try again. The blobs may still
    be stored; sent again, they are duplicates."""
    queue_rows: Annotated[int, above(0)] = 20_000
    """Blobs that may wait for their commit; beyond it `QueueFull`."""
    queue_bytes: Annotated[int, above(0)] = 128 * 2**20
    assembly_backlog: Annotated[int, not_negative()] = 200_000
    """Traces that may be acknowledged and not assembled yet; beyond it `QueueFull`. 0: any number,
    until the disk is full."""
    group_rows: Annotated[int, above(0)] = 400
    """Blobs per commit."""
    group_bytes: Annotated[int, above(0)] = 16 * 2**20
    root_delay_s: Annotated[float, not_negative()] = 15.0
    """A trace with its root is derived this long after it, to leave time for stragglers."""
    rootless_delay_s: Annotated[float, not_negative()] = 60.0
    """A trace without a root is derived this long after its first span."""
    claim_s: Annotated[float, above(0)] = 30.0
    """How long a trace handed out for derivation stays hidden from other workers."""
    checkpoint_s: Annotated[float, above(0)] = 30.0
    """SQLite: how often the write-ahead log is folded into the file and cut."""
    ballast_bytes: Annotated[int, not_negative()] = 16 * 2**20
    """SQLite: size of the file that is given up when the disk is full, so that retention can run;
    0: none."""
    partitions_ahead: Annotated[int, not_negative()] = 7
    """PostgreSQL: days for which partitions stand ready."""
    budgets: Mapping[str, BudgetLimits] = field(default_factory=dict)
    """Daily limits by judge name."""

    def __post_init__(self) -> None:
        check_ranges(self)
