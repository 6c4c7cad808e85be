"""What questions are about.

Revision: 0021. Follows: 0020.
"""

import sqlalchemy as sa
from alembic import op

revision = "0021"
down_revision = "0020"
branch_labels = None
depends_on = None

moment = sa.BigInteger().with_variant(sa.TIMESTAMP(timezone=True), "postgresql")


def upgrade() -> None:
    op.create_table(
        "trace_topics",
        sa.Column("project", sa.Text(), nullable=False),
        sa.Column("trace_id", sa.Text(), nullable=False),
        sa.Column("day", sa.Date(), nullable=False),
        sa.Column("app", sa.Text(), nullable=False),
        sa.Column("started_at", moment, nullable=False),
        sa.Column("topic", sa.Integer(), nullable=False),
        sa.Column("similarity", sa.Float()),
        sa.Column("fault", sa.Text()),
        sa.Column("at_fault", sa.Float()),
        sa.Column("faithfulness", sa.Float()),
        sa.Column("refused", sa.Boolean(), nullable=False),
        sa.Column("end_to_end_ms", sa.Float()),
        sa.PrimaryKeyConstraint("project", "trace_id", "day", name=op.f("pk_trace_topics")),
        postgresql_partition_by="RANGE (day)",
    )
    if op.get_bind().dialect.name == "postgresql":
        op.execute("CREATE TABLE trace_topics_default PARTITION OF trace_topics DEFAULT")
    op.create_index(
        "ix_trace_topics_topic", "trace_topics", ["project", "app", "topic", "started_at"]
    )
    op.create_index("ix_trace_topics_time", "trace_topics", ["project", "app", "started_at"])
    op.create_table(
        "topics",
        sa.Column("project", sa.Text(), nullable=False),
        sa.Column("app", sa.Text(), nullable=False),
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("words", sa.Text(), nullable=False),
        sa.Column("questions", sa.Float(), nullable=False),
        sa.Column("terms", sa.Text(), nullable=False),
        sa.Column("first_seen", moment, nullable=False),
        sa.Column("last_seen", moment, nullable=False),
        sa.PrimaryKeyConstraint("project", "app", "id", name=op.f("pk_topics")),
    )
    op.create_table(
        "topic_vocabularies",
        sa.Column("project", sa.Text(), nullable=False),
        sa.Column("app", sa.Text(), nullable=False),
        sa.Column("questions", sa.Float(), nullable=False),
        sa.Column("last_id", sa.Integer(), nullable=False),
        sa.Column("terms", sa.Text(), nullable=False),
        sa.Column("updated_at", moment, nullable=False),
        sa.PrimaryKeyConstraint("project", "app", name=op.f("pk_topic_vocabularies")),
    )
    op.create_table(
        "topic_days",
        sa.Column("project", sa.Text(), nullable=False),
        sa.Column("app", sa.Text(), nullable=False),
        sa.Column("date", sa.Date(), nullable=False),
        sa.Column("topic", sa.Integer(), nullable=False),
        sa.Column("sums", sa.Text(), nullable=False),
        sa.Column("stale", sa.Boolean(), nullable=False, server_default=sa.false()),
        sa.PrimaryKeyConstraint("project", "app", "date", "topic", name=op.f("pk_topic_days")),
    )
    op.create_index(
        "ix_topic_days_stale",
        "topic_days",
        ["project", "app", "date"],
        postgresql_where=sa.text("stale"),
        sqlite_where=sa.text("stale"),
    )


def downgrade() -> None:
    for table in ("topic_days", "topic_vocabularies", "topics", "trace_topics"):
        op.drop_table(table)
