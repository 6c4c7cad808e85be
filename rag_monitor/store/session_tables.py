"""The tables of sessions that are counted; `schema` names them among all others."""

from __future__ import annotations

from typing import Final

from sqlalchemy import (
    BigInteger,
    Column,
    Date,
    Float,
    Index,
    Integer,
    PrimaryKeyConstraint,
    Table,
)

from rag_monitor.store.types import Json, Moment, Name, metadata
from rag_monitor.store.types import column as _column
from rag_monitor.store.types import names as _names

changed_sessions: Final = Table(
    "changed_sessions",
    metadata,
    *_names("project", "session_id"),
    _column("version", BigInteger),
    _column("marked_at", Moment),
    PrimaryKeyConstraint("project", "session_id"),
    Index("ix_changed_sessions_marked_at", "marked_at"),
)

session_outcomes: Final = Table(
    "session_outcomes",
    metadata,
    *_names("project", "session_id", "app"),
    Column("release", Name),
    _column("minute", Moment),  # in which rollups count it
    _column("first_day", Date),  # `day` of the oldest of its traces
    _column("day", Date),  # of the newest
    _column("metrics", Json),  # values by name; null: it cannot be told
    PrimaryKeyConstraint("project", "session_id"),
    Index("ix_session_outcomes_minute", "project", "app", "minute"),
    Index("ix_session_outcomes_day", "day"),
    Index("ix_session_outcomes_ended", "minute"),
)

session_verdicts: Final = Table(
    "session_verdicts",
    metadata,
    *_names("project", "session_id"),
    Column("value", Float),
    *_names("judge"),
    Column("reason", Name),
    _column("turns", Integer),
    _column("upto", Moment),  # when the last of them began
    _column("ended", Moment),  # `minute` of its outcome then
    _column("attempts", Integer),
    Column("retry_at", Moment),
    _column("judged_at", Moment),
    PrimaryKeyConstraint("project", "session_id"),
    Index("ix_session_verdicts_judged_at", "judged_at"),
)
