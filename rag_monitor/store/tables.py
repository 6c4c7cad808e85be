"""The tables. Alembic's revisions build them; a test keeps the two equal.

`day` is the UTC day on which the first evidence of a trace arrived. It is fixed in `trace_keys`;
on PostgreSQL everything that hangs on a trace is partitioned by it, so that retention drops
partitions instead of deleting rows.
"""

from __future__ import annotations

from typing import Final

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Date,
    Float,
    Index,
    Integer,
    LargeBinary,
    PrimaryKeyConstraint,
    Table,
    UniqueConstraint,
    false,
    text,
)
from sqlalchemy.dialects.postgresql import ARRAY

from rag_monitor.store.feedback_tables import feedback as feedback
from rag_monitor.store.feedback_tables import label_claims as label_claims
from rag_monitor.store.feedback_tables import reported_scores as reported_scores
from rag_monitor.store.topic_tables import topic_days as topic_days
from rag_monitor.store.topic_tables import topic_vocabularies as topic_vocabularies
from rag_monitor.store.topic_tables import topics as topics
from rag_monitor.store.topic_tables import trace_topics as trace_topics
from rag_monitor.store.types import (
    PARTITION_BY,
    Json,
    Moment,
    Name,
    SafeText,
    Serial,
    TraceJson,
    in_sessions,
    sums,
)
from rag_monitor.store.types import column as _column
from rag_monitor.store.types import metadata as metadata
from rag_monitor.store.types import names as _names
from rag_monitor.store.types import of_trace as _of_trace
from rag_monitor.store.types import partial as _partial

LOW_SCORE: Final = 0.8
"""Scores below it have an index of their own."""
_BAD: Final = "status <> 'ok'"
_LOW: Final = f"value < {LOW_SCORE}"
_FOR_PEOPLE: Final = "judge = 'people'"
_WAITS: Final = "due_at IS NOT NULL"


trace_keys: Final = Table(
    "trace_keys",
    metadata,
    *_of_trace(),
    _column("first_received", Moment),
    Column("due_at", Moment),  # NULL: derived, nothing new since
    Column("claimed_until", Moment),  # a worker derives it; NULL: none does
    _column("version", Integer),
    _column("derived_version", Integer, server_default=text("0")),
    _column("bulk", Boolean, server_default=false()),  # imported: judged behind live traffic
    PrimaryKeyConstraint("project", "trace_id"),
    _partial("ix_trace_keys_waiting", "due_at", "derived_version", "project", where=_WAITS),
    Index("ix_trace_keys_day", "day"),
)

spans: Final = Table(
    "spans",
    metadata,
    *_of_trace(),
    _column("digest", LargeBinary(32)),  # SHA-256 of the uncompressed payload
    _column("received_at", Moment),
    _column("format", Name),
    _column("complete", Boolean),
    _column("has_root", Boolean),
    _column("spans", Integer),
    _column("payload", LargeBinary),
    PrimaryKeyConstraint("project", "trace_id", "digest", "day"),
    **PARTITION_BY,
)

traces: Final = Table(
    "traces",
    metadata,
    *_of_trace(),
    _column("revision", Integer),
    _column("content_hash", Name),
    _column("received_at", Moment),
    _column("started_at", Moment),
    _column("app", Name),
    Column("environment", Name),
    Column("release", Name),
    Column("session_id", Name),
    Column("user_id", Name),
    _column("status", Name),
    Column("error", SafeText),
    Column("question", SafeText),
    Column("answer", SafeText),
    Column("context_block", SafeText),
    Column("history", TraceJson),  # earlier turns that no trace of its own tells of; NULL: none
    Column("first_byte_ms", Float),
    Column("generation_ms", Float),
    Column("end_to_end_ms", Float),
    Column("retrieval_ms", Float),
    Column("first_token_ms", Float),
    Column("model", Name),
    Column("input_tokens", BigInteger),
    Column("output_tokens", BigInteger),
    Column("streamed", Boolean),
    _column("truncated", Boolean),
    _column("convention", Name),
    _column("tags", TraceJson),
    Column("expected", TraceJson),
    Column("contexts", TraceJson),  # NULL: unknown; []: recalled nothing
    _column("passages", TraceJson),  # hashes of every passage named in contexts and retrievals
    _column("attributes", TraceJson),
    Column("search", ARRAY(Integer).with_variant(Integer(), "sqlite")),  # see question_index
    Column("terms", ARRAY(BigInteger).with_variant(Integer(), "sqlite")),  # see trace_terms
    PrimaryKeyConstraint("project", "trace_id", "day"),
    Index("ix_traces_time", "project", "started_at", "trace_id"),
    Index("ix_traces_app", "project", "app", "started_at", "trace_id"),
    Index("ix_traces_release", "project", "app", "release", "started_at"),
    Index("ix_traces_any_release", "project", "release", "started_at", "trace_id"),
    _partial("ix_traces_bad", "project", "status", "started_at", "trace_id", where=_BAD),
    _partial("ix_traces_app_bad", "project", "app", "status", "started_at", "trace_id", where=_BAD),
    Index("ix_traces_search", "search", postgresql_using="gin"),
    _partial("ix_traces_unindexed", "project", "started_at", where="search IS NULL"),
    Index("ix_traces_terms", "terms", postgresql_using="gin"),
    _partial("ix_traces_without_terms", "project", "started_at", where="terms IS NULL"),
    Index("ix_traces_latency", "project", "end_to_end_ms", "started_at", "trace_id"),
    Index("ix_traces_user", "project", "user_id", "started_at", "trace_id"),
    *in_sessions("ix_traces_session", "ix_traces_in_session"),
    **PARTITION_BY,
)

passages: Final = Table(
    "passages",
    metadata,
    *_names("project", "sha256"),
    _column("content", SafeText),
    _column("last_day", Date),  # newest day of a trace that names it
    PrimaryKeyConstraint("project", "sha256"),
    Index("ix_passages_last_day", "last_day"),
)

retrievals: Final = Table(
    "retrievals",
    metadata,
    *_of_trace(),
    _column("position", Integer),
    Column("query", SafeText),
    Column("knowledge_base", Name),
    Column("latency_ms", Float),
    _column("reranked", Boolean),
    Column("error", SafeText),
    _column("documents", TraceJson),
    PrimaryKeyConstraint("project", "trace_id", "position", "day"),
    **PARTITION_BY,
)

hits: Final = Table(
    "hits",
    metadata,
    *_of_trace(),
    _column("position", Integer),
    *_names("kind", "name"),
    _column("ok", Boolean),
    Column("items", BigInteger),
    Column("latency_ms", Float),
    PrimaryKeyConstraint("project", "trace_id", "position", "day"),
    **PARTITION_BY,
)

scores: Final = Table(
    "scores",
    metadata,
    *_of_trace(),
    _column("revision", Integer),
    _column("metric", Name),
    _column("judge", Name),  # the identity as text; empty: none
    Column("identity", Json),
    _column("app", Name),
    _column("started_at", Moment),
    _column("status", Name),
    Column("value", Float),
    Column("reason", SafeText),
    Column("detail", SafeText),
    Column("message", Json),  # what `detail` is made of; null: it is no message of ours
    Column("flagged", Boolean),
    _column("inferred", Boolean),
    _column("verdicts", Json),
    _column("created_at", Moment),
    _column("superseded", Boolean),
    PrimaryKeyConstraint("project", "trace_id", "revision", "metric", "judge", "day"),
    Index("ix_scores_metric", "project", "app", "metric", "started_at", "value"),
    Index("ix_scores_value", "project", "metric", "started_at", "value"),
    Index("ix_scores_sorted", "project", "metric", "value", "started_at", "trace_id"),
    Index("ix_scores_created_at", "created_at", "trace_id"),
    _partial("ix_scores_low", "project", "metric", "started_at", "value", where=_LOW),
    _partial("ix_scores_app_low", "project", "app", "metric", "started_at", "value", where=_LOW),
    **PARTITION_BY,
)

decisions: Final = Table(
    "decisions",
    metadata,
    *_of_trace(),
    _column("judge", Name),
    _column("included", Boolean),
    _column("probability", Float),
    *_names("reason", "stratum"),
    _column("salt", Name),
    _column("decided_at", Moment),
    Column("usage", Json),  # of the judgement that followed; NULL: none that costs anything
    Column("history", Json),  # ids of the earlier turns that the judge was given; NULL: none
    PrimaryKeyConstraint("project", "trace_id", "judge", "day"),
    _partial("ix_decisions_people", "project", "decided_at", "trace_id", where=_FOR_PEOPLE),
    **PARTITION_BY,
)

faults: Final = Table(
    "faults",
    metadata,
    *_of_trace(),
    _column("judge", Name),  # the identity as text
    _column("app", Name),
    _column("started_at", Moment),
    _column("fault", Name),
    _column("probability", Float),
    _column("probabilities", Json),
    _column("evidence", Json),
    _column("created_at", Moment),
    PrimaryKeyConstraint("project", "trace_id", "judge", "day"),
    Index("ix_faults_fault", "project", "app", "fault", "started_at", "probability"),
    Index("ix_faults_any_app", "project", "fault", "started_at", "trace_id"),
    **PARTITION_BY,
)

evaluation_tasks: Final = Table(
    "evaluation_tasks",
    metadata,
    Column("id", Serial, primary_key=True),
    *_of_trace(),
    _column("revision", Integer),
    _column("state", Name),  # waiting, leased or parked; done tasks are deleted
    _column("forced", Boolean),
    _column("created_at", Moment),
    _column("not_before", Moment),
    Column("lease_until", Moment),
    Column("owner", Name),
    _column("token", BigInteger, server_default=text("0")),
    _column("attempts", Integer, server_default=text("0")),
    _column("losses", Integer, server_default=text("0")),  # workers lost with it, one after another
    _column("bulk", Boolean, server_default=false()),  # imported, or asked for: behind live traffic
    # handed to the sampled judge: what the judge of every trace said is saved
    _column("drawn", Boolean, server_default=false()),
    Column("judge", Name),  # the only one asked; NULL: every judge that is due
    Column("reason", SafeText),
    UniqueConstraint("project", "trace_id", "revision"),
    Index("ix_evaluation_tasks_ready", "drawn", "state", "bulk", "not_before"),
    Index("ix_evaluation_tasks_lease", "drawn", "state", "lease_until"),
    sqlite_autoincrement=True,
)

dirty_minutes: Final = Table(
    "dirty_minutes",
    metadata,
    *_names("project", "app"),
    _column("minute", Moment),
    _column("version", BigInteger),
    _column("marked_at", Moment),
    PrimaryKeyConstraint("project", "app", "minute"),
    Index("ix_dirty_minutes_marked_at", "marked_at"),
)

rollups: Final = Table(
    "rollups",
    metadata,
    *_names("project", "app"),
    _column("minute", Moment),
    *sums(),
    Column("arrived", Date),  # `day` of its traces; NULL: of any day (earlier releases)
    Column("added", BigInteger),  # a batch of traces that the other rows do not count yet
    PrimaryKeyConstraint("project", "app", "minute", "key"),
    Index("ix_rollups_minute", "project", "minute"),
    Index("ix_rollups_metric", "project", "app", "metric", "minute"),
)

forgotten: Final = Table(
    "forgotten", metadata, Column("app", Name, primary_key=True), _column("before", Date)
)

rollup_blocks: Final = Table(
    "rollup_blocks",
    metadata,
    *_names("project", "app"),
    _column("minutes", Integer),  # length of the block
    _column("minute", Moment),  # the block begins with it
    *sums(),
    PrimaryKeyConstraint("project", "app", "minutes", "minute", "key"),
    Index("ix_rollup_blocks_metric", "project", "app", "metric", "minutes", "minute"),
    Index("ix_rollup_blocks_minute", "minute"),
)

stale_blocks: Final = Table(
    "stale_blocks",
    metadata,
    *_names("project", "app"),
    _column("minutes", Integer),
    _column("minute", Moment),
    _column("version", BigInteger),
    _column("marked_at", Moment),
    PrimaryKeyConstraint("project", "app", "minutes", "minute"),
    Index("ix_stale_blocks_due", "minutes", "marked_at"),
)

rules: Final = Table(
    "rules",
    metadata,
    *_names("project", "name"),
    _column("body", Json),
    _column("updated_at", Moment),
    PrimaryKeyConstraint("project", "name"),
)

alerts: Final = Table(
    "alerts",
    metadata,
    *_names("project", "id", "rule", "app", "state"),
    _column("started_at", Moment),
    _column("body", Json),
    PrimaryKeyConstraint("project", "id"),
    Index("ix_alerts_state", "project", "state"),
    Index("ix_alerts_started_at", "started_at"),
)

silences: Final = Table(
    "silences",
    metadata,
    *_names("project", "id", "rule", "app"),
    _column("starts_at", Moment),
    _column("ends_at", Moment),
    _column("comment", SafeText),
    _column("created_by", SafeText),
    PrimaryKeyConstraint("project", "id"),
)

outbox: Final = Table(
    "outbox",
    metadata,
    Column("id", Serial, primary_key=True),
    *_names("project", "channel"),
    *_names("dedup_key", "event"),
    _column("body", Json),
    _column("created_at", Moment),
    _column("state", Name),  # waiting, sent or dead
    _column("not_before", Moment),
    _column("attempts", Integer, server_default=text("0")),
    Column("error", SafeText),
    Column("sent_at", Moment),
    UniqueConstraint("project", "channel", "dedup_key"),
    Index("ix_outbox_ready", "state", "not_before"),
    sqlite_autoincrement=True,
)

api_keys: Final = Table(
    "api_keys",
    metadata,
    *_names("project", "id"),
    _column("name", Name),
    _column("scopes", Json),
    _column("prefix", Name),
    _column("digest", LargeBinary(32)),  # HMAC-SHA256 of the key under the server's secret
    _column("created_at", Moment),
    Column("last_used_at", Moment),
    Column("expires_at", Moment),
    Column("revoked_at", Moment),
    Column("requests_per_minute", Integer),
    PrimaryKeyConstraint("id"),
    UniqueConstraint("digest"),
    Index("ix_api_keys_project", "project"),
)

secrets: Final = Table(
    "secrets",
    metadata,
    *_names("project", "name"),
    _column("value", LargeBinary),
    PrimaryKeyConstraint("project", "name"),
)

leases: Final = Table(
    "leases",
    metadata,
    *_names("project", "name"),
    Column("owner", Name),
    _column("token", BigInteger),
    _column("expires_at", Moment),
    PrimaryKeyConstraint("project", "name"),
)

budgets: Final = Table(
    "budgets",
    metadata,
    *_names("project", "judge"),
    _column("day", Date),
    _column("tokens", BigInteger),
    _column("gpu_seconds", Float),
    _column("money", Float),
    PrimaryKeyConstraint("project", "judge", "day"),
)

reservations: Final = Table(
    "reservations",
    metadata,
    *_names("project", "id"),
    _column("judge", Name),
    _column("day", Date),
    _column("tokens", BigInteger),
    _column("gpu_seconds", Float),
    _column("money", Float),
    _column("sent_tokens", BigInteger),
    _column("sent_money", Float),
    _column("held_until", Moment),  # nobody holds it any more, unless it is renewed before
    PrimaryKeyConstraint("project", "id"),
    Index("ix_reservations_held_until", "held_until"),
)

replies: Final = Table(
    "replies",
    metadata,
    *_names("project", "key"),
    _column("trace_id", Name),
    _column("reply", SafeText),
    _column("created_at", Moment),
    PrimaryKeyConstraint("key"),
    Index("ix_replies_trace", "project", "trace_id"),
    Index("ix_replies_created_at", "created_at"),
)

names: Final = Table(
    "names",
    metadata,
    *_names("project", "kind", "name"),
    _column("last_day", Date),  # of the newest trace that has it
    PrimaryKeyConstraint("project", "kind", "name"),
)

marks: Final = Table(
    "marks",
    metadata,
    *_names("project", "name"),
    _column("at", Moment),  # what was made up to then has been dealt with
    PrimaryKeyConstraint("project", "name"),
)

audit: Final = Table(
    "audit",
    metadata,
    Column("id", Serial, primary_key=True),
    _column("project", Name),
    _column("at", Moment),
    *_names("actor", "actor_name"),
    *_names("address", "action"),
    _column("target", SafeText),
    _column("details", Json),
    Index("ix_audit_project", "project", "id"),
    Index("ix_audit_at", "at"),
    sqlite_autoincrement=True,
)
