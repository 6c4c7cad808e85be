"""The tables of topics; `tables` names them among all others.

Terms are kept as numbers, and a word only where several questions hold it: questions themselves
stand in `traces` alone, and are erased there.
"""

from __future__ import annotations

from typing import Final

from sqlalchemy import (
    Boolean,
    Column,
    Date,
    Float,
    Index,
    Integer,
    PrimaryKeyConstraint,
    Table,
    false,
)

from rag_monitor.store.types import PARTITION_BY, Json, Moment, Name, metadata
from rag_monitor.store.types import column as _column
from rag_monitor.store.types import names as _names
from rag_monitor.store.types import of_trace as _of_trace
from rag_monitor.store.types import partial as _partial

trace_topics: Final = Table(
    "trace_topics",
    metadata,
    *_of_trace(),
    _column("app", Name),
    _column("started_at", Moment),
    _column("topic", Integer),  # 0: none yet
    Column("similarity", Float),
    Column("fault", Name),
    Column("at_fault", Float),
    Column("faithfulness", Float),
    _column("refused", Boolean),
    Column("end_to_end_ms", Float),
    PrimaryKeyConstraint("project", "trace_id", "day"),
    Index("ix_trace_topics_topic", "project", "app", "topic", "started_at"),
    Index("ix_trace_topics_time", "project", "app", "started_at"),
    **PARTITION_BY,
)

topics: Final = Table(
    "topics",
    metadata,
    *_names("project", "app"),
    _column("id", Integer),
    _column("name", Name),
    _column("words", Json),  # how many of its questions hold each word, when it was named
    _column("questions", Float),
    _column("terms", Json),  # how many of its questions hold each term, by number
    _column("first_seen", Moment),
    _column("last_seen", Moment),
    PrimaryKeyConstraint("project", "app", "id"),
)

topic_vocabularies: Final = Table(
    "topic_vocabularies",
    metadata,
    *_names("project", "app"),
    _column("questions", Float),
    _column("last_id", Integer),  # of a topic; never given again
    _column("terms", Json),  # how many questions hold each term, by number
    _column("updated_at", Moment),
    PrimaryKeyConstraint("project", "app"),
)

topic_days: Final = Table(
    "topic_days",
    metadata,
    *_names("project", "app"),
    _column("date", Date),  # UTC, on which the questions were asked
    _column("topic", Integer),  # 0: those of no topic, and the mark of the whole day
    _column("sums", Json),
    _column("stale", Boolean, server_default=false()),  # to be added up again
    PrimaryKeyConstraint("project", "app", "date", "topic"),
    _partial("ix_topic_days_stale", "project", "app", "date", where="stale"),
)
