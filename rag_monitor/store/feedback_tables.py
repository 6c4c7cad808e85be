"""The tables of what people and other tools say of traces; `tables` names them among all others."""

from __future__ import annotations

from typing import Final

from sqlalchemy import Column, Float, Index, Integer, PrimaryKeyConstraint, Table

from rag_monitor.store.types import Json, Moment, Name, SafeText, Serial, metadata, partial
from rag_monitor.store.types import column as _column
from rag_monitor.store.types import names as _names
from rag_monitor.store.types import partial as _partial

feedback: Final = Table(
    "feedback",
    metadata,
    Column("id", Serial, primary_key=True),
    *_names("project", "trace_id"),
    _column("value", Float),
    Column("metric", Name),
    Column("statement", Integer),
    Column("fault", Name),  # NULL: the mark is about something else
    *(Column(name, SafeText) for name in ("comment", "corrected_answer")),
    Column("author", Name),
    _column("created_at", Moment),
    Column("kind", Name),  # NULL: a reviewer's mark, else the form of a user's rating
    *(Column(name, Json) for name in ("raw_value", "correct_document_ids")),
    Column("scale", Integer),
    Index("ix_feedback_trace", "project", "trace_id"),
    partial("ix_feedback_ratings", "project", "value", "trace_id", where="kind IS NOT NULL"),
    Index("ix_feedback_created_at", "created_at"),
    _partial("ix_feedback_marks", "project", "created_at", where="kind IS NULL"),
    sqlite_autoincrement=True,
)

reported_scores: Final = Table(
    "reported_scores",
    metadata,
    *_names("project", "trace_id", "source", "name"),
    _column("span_id", Name),  # empty: about the whole trace
    Column("value", Float),
    Column("label", SafeText),
    Column("explanation", SafeText),
    Column("error", SafeText),
    _column("reported_at", Moment),
    _column("received_at", Moment),
    PrimaryKeyConstraint("project", "trace_id", "source", "name", "span_id"),
    Index("ix_reported_scores_received_at", "received_at"),
)

reported_session_scores: Final = Table(
    "reported_session_scores",
    metadata,
    *_names("project", "session_id", "source", "name"),
    Column("value", Float),
    Column("label", SafeText),
    Column("explanation", SafeText),
    Column("error", SafeText),
    _column("reported_at", Moment),
    _column("received_at", Moment),
    PrimaryKeyConstraint("project", "session_id", "source", "name"),
    Index("ix_reported_session_scores_received_at", "received_at"),
)

label_claims: Final = Table(
    "label_claims",
    metadata,
    *_names("project", "trace_id"),
    _column("slot", Integer),  # of the marks that are still wanted
    *_names("reviewer"),
    _column("claimed_until", Moment),
    PrimaryKeyConstraint("project", "trace_id", "slot"),
    Index("ix_label_claims_claimed_until", "claimed_until"),
)
