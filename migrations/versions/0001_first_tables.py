"""The tables of the first release.

Revision: 0001.
"""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

moment = sa.BigInteger().with_variant(sa.TIMESTAMP(timezone=True), "postgresql")
serial = sa.BigInteger().with_variant(sa.Integer(), "sqlite")

PARTITIONED = ("decisions", "hits", "retrievals", "scores", "spans", "traces")
TABLES = (
    "alerts",
    "api_keys",
    "budgets",
    "decisions",
    "dirty_minutes",
    "evaluation_tasks",
    "feedback",
    "hits",
    "leases",
    "outbox",
    "passages",
    "replies",
    "retrievals",
    "rollups",
    "rules",
    "scores",
    "secrets",
    "silences",
    "spans",
    "trace_keys",
    "traces",
)


def upgrade() -> None:
    op.create_table(
        "alerts",
        sa.Column("project", sa.Text(), nullable=False),
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("rule", sa.Text(), nullable=False),
        sa.Column("app", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("started_at", moment, nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("project", "id", name=op.f("pk_alerts")),
    )
    op.create_index("ix_alerts_started_at", "alerts", ["started_at"], unique=False)
    op.create_index("ix_alerts_state", "alerts", ["project", "state"], unique=False)
    op.create_table(
        "api_keys",
        sa.Column("project", sa.Text(), nullable=False),
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("scopes", sa.Text(), nullable=False),
        sa.Column("prefix", sa.Text(), nullable=False),
        sa.Column("digest", sa.LargeBinary(length=32), nullable=False),
        sa.Column("created_at", moment, nullable=False),
        sa.Column("last_used_at", moment, nullable=True),
        sa.Column("expires_at", moment, nullable=True),
        sa.Column("revoked_at", moment, nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_api_keys")),
        sa.UniqueConstraint("digest", name=op.f("uq_api_keys_digest")),
    )
    op.create_index("ix_api_keys_project", "api_keys", ["project"], unique=False)
    op.create_table(
        "budgets",
        sa.Column("project", sa.Text(), nullable=False),
        sa.Column("judge", sa.Text(), nullable=False),
        sa.Column("day", sa.Date(), nullable=False),
        sa.Column("tokens", sa.BigInteger(), nullable=False),
        sa.Column("gpu_seconds", sa.Float(), nullable=False),
        sa.Column("money", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("project", "judge", "day", name=op.f("pk_budgets")),
    )
    op.create_table(
        "decisions",
        sa.Column("project", sa.Text(), nullable=False),
        sa.Column("trace_id", sa.Text(), nullable=False),
        sa.Column("day", sa.Date(), nullable=False),
        sa.Column("judge", sa.Text(), nullable=False),
        sa.Column("included", sa.Boolean(), nullable=False),
        sa.Column("probability", sa.Float(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("stratum", sa.Text(), nullable=False),
        sa.Column("salt", sa.Text(), nullable=False),
        sa.Column("decided_at", moment, nullable=False),
        sa.PrimaryKeyConstraint("project", "trace_id", "judge", "day", name=op.f("pk_decisions")),
        postgresql_partition_by="RANGE (day)",
    )
    op.create_table(
        "dirty_minutes",
        sa.Column("project", sa.Text(), nullable=False),
        sa.Column("app", sa.Text(), nullable=False),
        sa.Column("minute", moment, nullable=False),
        sa.Column("version", sa.BigInteger(), nullable=False),
        sa.Column("marked_at", moment, nullable=False),
        sa.PrimaryKeyConstraint("project", "app", "minute", name=op.f("pk_dirty_minutes")),
    )
    op.create_index("ix_dirty_minutes_marked_at", "dirty_minutes", ["marked_at"], unique=False)
    op.create_table(
        "evaluation_tasks",
        sa.Column("id", serial, nullable=False),
        sa.Column("project", sa.Text(), nullable=False),
        sa.Column("trace_id", sa.Text(), nullable=False),
        sa.Column("day", sa.Date(), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("forced", sa.Boolean(), nullable=False),
        sa.Column("created_at", moment, nullable=False),
        sa.Column("not_before", moment, nullable=False),
        sa.Column("lease_until", moment, nullable=True),
        sa.Column("owner", sa.Text(), nullable=True),
        sa.Column("token", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("attempts", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_evaluation_tasks")),
        sa.UniqueConstraint(
            "project",
            "trace_id",
            "revision",
            name=op.f("uq_evaluation_tasks_project_trace_id_revision"),
        ),
        sqlite_autoincrement=True,
    )
    op.create_index(
        "ix_evaluation_tasks_lease", "evaluation_tasks", ["state", "lease_until"], unique=False
    )
    op.create_index(
        "ix_evaluation_tasks_ready", "evaluation_tasks", ["state", "not_before"], unique=False
    )
    op.create_table(
        "feedback",
        sa.Column("id", serial, nullable=False),
        sa.Column("project", sa.Text(), nullable=False),
        sa.Column("trace_id", sa.Text(), nullable=False),
        sa.Column("value", sa.Float(), nullable=False),
        sa.Column("metric", sa.Text(), nullable=True),
        sa.Column("statement", sa.Integer(), nullable=True),
        sa.Column("comment", sa.Text(), nullable=True),
        sa.Column("author", sa.Text(), nullable=True),
        sa.Column("created_at", moment, nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_feedback")),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_feedback_created_at", "feedback", ["created_at"], unique=False)
    op.create_index("ix_feedback_trace", "feedback", ["project", "trace_id"], unique=False)
    op.create_table(
        "hits",
        sa.Column("project", sa.Text(), nullable=False),
        sa.Column("trace_id", sa.Text(), nullable=False),
        sa.Column("day", sa.Date(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("ok", sa.Boolean(), nullable=False),
        sa.Column("items", sa.BigInteger(), nullable=True),
        sa.Column("latency_ms", sa.Float(), nullable=True),
        sa.PrimaryKeyConstraint("project", "trace_id", "position", "day", name=op.f("pk_hits")),
        postgresql_partition_by="RANGE (day)",
    )
    op.create_table(
        "leases",
        sa.Column("project", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("owner", sa.Text(), nullable=True),
        sa.Column("token", sa.BigInteger(), nullable=False),
        sa.Column("expires_at", moment, nullable=False),
        sa.PrimaryKeyConstraint("project", "name", name=op.f("pk_leases")),
    )
    op.create_table(
        "outbox",
        sa.Column("id", serial, nullable=False),
        sa.Column("project", sa.Text(), nullable=False),
        sa.Column("channel", sa.Text(), nullable=False),
        sa.Column("dedup_key", sa.Text(), nullable=False),
        sa.Column("event", sa.Text(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("created_at", moment, nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("not_before", moment, nullable=False),
        sa.Column("attempts", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("sent_at", moment, nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_outbox")),
        sa.UniqueConstraint(
            "project", "channel", "dedup_key", name=op.f("uq_outbox_project_channel_dedup_key")
        ),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_outbox_ready", "outbox", ["state", "not_before"], unique=False)
    op.create_table(
        "passages",
        sa.Column("project", sa.Text(), nullable=False),
        sa.Column("sha256", sa.Text(), nullable=False),
        sa.Column("content", sa.Text(), nullable=False),
        sa.Column("last_day", sa.Date(), nullable=False),
        sa.PrimaryKeyConstraint("project", "sha256", name=op.f("pk_passages")),
    )
    op.create_index("ix_passages_last_day", "passages", ["last_day"], unique=False)
    op.create_table(
        "replies",
        sa.Column("project", sa.Text(), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("trace_id", sa.Text(), nullable=False),
        sa.Column("reply", sa.Text(), nullable=False),
        sa.Column("created_at", moment, nullable=False),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_replies")),
    )
    op.create_index("ix_replies_created_at", "replies", ["created_at"], unique=False)
    op.create_index("ix_replies_trace", "replies", ["project", "trace_id"], unique=False)
    op.create_table(
        "retrievals",
        sa.Column("project", sa.Text(), nullable=False),
        sa.Column("trace_id", sa.Text(), nullable=False),
        sa.Column("day", sa.Date(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("query", sa.Text(), nullable=True),
        sa.Column("knowledge_base", sa.Text(), nullable=True),
        sa.Column("latency_ms", sa.Float(), nullable=True),
        sa.Column("reranked", sa.Boolean(), nullable=False),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("documents", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint(
            "project", "trace_id", "position", "day", name=op.f("pk_retrievals")
        ),
        postgresql_partition_by="RANGE (day)",
    )
    op.create_table(
        "rollups",
        sa.Column("project", sa.Text(), nullable=False),
        sa.Column("app", sa.Text(), nullable=False),
        sa.Column("minute", moment, nullable=False),
        sa.Column("key", sa.LargeBinary(length=16), nullable=False),
        sa.Column("metric", sa.Text(), nullable=False),
        sa.Column("release", sa.Text(), nullable=False),
        sa.Column("judge", sa.Text(), nullable=False),
        sa.Column("dimension", sa.Text(), nullable=False),
        sa.Column("count", sa.BigInteger(), nullable=False),
        sa.Column("total", sa.Float(), nullable=False),
        sa.Column("squares", sa.Float(), nullable=False),
        sa.Column("bad", sa.BigInteger(), nullable=False),
        sa.Column("failed", sa.BigInteger(), nullable=False),
        sa.Column("not_applicable", sa.BigInteger(), nullable=False),
        sa.Column("suspect", sa.BigInteger(), nullable=False),
        sa.Column("weight", sa.Float(), nullable=False),
        sa.Column("weighted_total", sa.Float(), nullable=False),
        sa.Column("weight_squares", sa.Float(), nullable=False),
        sa.Column("weighted_squares", sa.Float(), nullable=False),
        sa.Column("histogram", sa.Text(), nullable=False),
        sa.Column("moments", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("project", "app", "minute", "key", name=op.f("pk_rollups")),
    )
    op.create_index(
        "ix_rollups_metric", "rollups", ["project", "app", "metric", "minute"], unique=False
    )
    op.create_index("ix_rollups_minute", "rollups", ["project", "minute"], unique=False)
    op.create_table(
        "rules",
        sa.Column("project", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("updated_at", moment, nullable=False),
        sa.PrimaryKeyConstraint("project", "name", name=op.f("pk_rules")),
    )
    op.create_table(
        "scores",
        sa.Column("project", sa.Text(), nullable=False),
        sa.Column("trace_id", sa.Text(), nullable=False),
        sa.Column("day", sa.Date(), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("metric", sa.Text(), nullable=False),
        sa.Column("judge", sa.Text(), nullable=False),
        sa.Column("identity", sa.Text(), nullable=True),
        sa.Column("app", sa.Text(), nullable=False),
        sa.Column("started_at", moment, nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("value", sa.Float(), nullable=True),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("flagged", sa.Boolean(), nullable=True),
        sa.Column("inferred", sa.Boolean(), nullable=False),
        sa.Column("verdicts", sa.Text(), nullable=False),
        sa.Column("created_at", moment, nullable=False),
        sa.Column("superseded", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint(
            "project", "trace_id", "revision", "metric", "judge", "day", name=op.f("pk_scores")
        ),
        postgresql_partition_by="RANGE (day)",
    )
    op.create_index(
        "ix_scores_metric",
        "scores",
        ["project", "app", "metric", "started_at", "value"],
        unique=False,
    )
    op.create_index(
        "ix_scores_value", "scores", ["project", "metric", "started_at", "value"], unique=False
    )
    op.create_table(
        "secrets",
        sa.Column("project", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("value", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("project", "name", name=op.f("pk_secrets")),
    )
    op.create_table(
        "silences",
        sa.Column("project", sa.Text(), nullable=False),
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("rule", sa.Text(), nullable=False),
        sa.Column("app", sa.Text(), nullable=False),
        sa.Column("starts_at", moment, nullable=False),
        sa.Column("ends_at", moment, nullable=False),
        sa.Column("comment", sa.Text(), nullable=False),
        sa.Column("created_by", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("project", "id", name=op.f("pk_silences")),
    )
    op.create_table(
        "spans",
        sa.Column("project", sa.Text(), nullable=False),
        sa.Column("trace_id", sa.Text(), nullable=False),
        sa.Column("day", sa.Date(), nullable=False),
        sa.Column("digest", sa.LargeBinary(length=32), nullable=False),
        sa.Column("received_at", moment, nullable=False),
        sa.Column("format", sa.Text(), nullable=False),
        sa.Column("complete", sa.Boolean(), nullable=False),
        sa.Column("has_root", sa.Boolean(), nullable=False),
        sa.Column("spans", sa.Integer(), nullable=False),
        sa.Column("payload", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("project", "trace_id", "digest", "day", name=op.f("pk_spans")),
        postgresql_partition_by="RANGE (day)",
    )
    op.create_table(
        "trace_keys",
        sa.Column("project", sa.Text(), nullable=False),
        sa.Column("trace_id", sa.Text(), nullable=False),
        sa.Column("day", sa.Date(), nullable=False),
        sa.Column("first_received", moment, nullable=False),
        sa.Column("due_at", moment, nullable=True),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("derived_version", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.PrimaryKeyConstraint("project", "trace_id", name=op.f("pk_trace_keys")),
    )
    op.create_index("ix_trace_keys_day", "trace_keys", ["day"], unique=False)
    op.create_index("ix_trace_keys_due_at", "trace_keys", ["due_at"], unique=False)
    op.create_table(
        "traces",
        sa.Column("project", sa.Text(), nullable=False),
        sa.Column("trace_id", sa.Text(), nullable=False),
        sa.Column("day", sa.Date(), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("content_hash", sa.Text(), nullable=False),
        sa.Column("received_at", moment, nullable=False),
        sa.Column("started_at", moment, nullable=False),
        sa.Column("app", sa.Text(), nullable=False),
        sa.Column("environment", sa.Text(), nullable=True),
        sa.Column("release", sa.Text(), nullable=True),
        sa.Column("session_id", sa.Text(), nullable=True),
        sa.Column("user_id", sa.Text(), nullable=True),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("question", sa.Text(), nullable=True),
        sa.Column("answer", sa.Text(), nullable=True),
        sa.Column("context_block", sa.Text(), nullable=True),
        sa.Column("first_byte_ms", sa.Float(), nullable=True),
        sa.Column("generation_ms", sa.Float(), nullable=True),
        sa.Column("end_to_end_ms", sa.Float(), nullable=True),
        sa.Column("retrieval_ms", sa.Float(), nullable=True),
        sa.Column("first_token_ms", sa.Float(), nullable=True),
        sa.Column("model", sa.Text(), nullable=True),
        sa.Column("input_tokens", sa.BigInteger(), nullable=True),
        sa.Column("output_tokens", sa.BigInteger(), nullable=True),
        sa.Column("streamed", sa.Boolean(), nullable=True),
        sa.Column("truncated", sa.Boolean(), nullable=False),
        sa.Column("convention", sa.Text(), nullable=False),
        sa.Column("tags", sa.Text(), nullable=False),
        sa.Column("expected", sa.Text(), nullable=True),
        sa.Column("contexts", sa.Text(), nullable=True),
        sa.Column("passages", sa.Text(), nullable=False),
        sa.Column("attributes", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("project", "trace_id", "day", name=op.f("pk_traces")),
        postgresql_partition_by="RANGE (day)",
    )
    op.create_index(
        "ix_traces_app", "traces", ["project", "app", "started_at", "trace_id"], unique=False
    )
    op.create_index(
        "ix_traces_release", "traces", ["project", "app", "release", "started_at"], unique=False
    )
    op.create_index("ix_traces_status", "traces", ["project", "status", "started_at"], unique=False)
    op.create_index("ix_traces_time", "traces", ["project", "started_at", "trace_id"], unique=False)
    op.create_index("ix_traces_user", "traces", ["project", "user_id"], unique=False)
    if op.get_bind().dialect.name == "postgresql":
        for table in PARTITIONED:
            op.execute(f"CREATE TABLE {table}_default PARTITION OF {table} DEFAULT")


def downgrade() -> None:
    for table in reversed(TABLES):
        op.drop_table(table)
