"""Scores that other tools report, beside the trace they are about.

Revision: 0010. Follows: 0009.
"""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None

moment = sa.BigInteger().with_variant(sa.TIMESTAMP(timezone=True), "postgresql")


def upgrade() -> None:
    op.create_table(
        "reported_scores",
        sa.Column("project", sa.Text(), nullable=False),
        sa.Column("trace_id", sa.Text(), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("span_id", sa.Text(), nullable=False),
        sa.Column("value", sa.Float(), nullable=True),
        sa.Column("label", sa.Text(), nullable=True),
        sa.Column("explanation", sa.Text(), nullable=True),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("reported_at", moment, nullable=False),
        sa.Column("received_at", moment, nullable=False),
        sa.PrimaryKeyConstraint(
            "project", "trace_id", "source", "name", "span_id", name=op.f("pk_reported_scores")
        ),
    )
    op.create_index("ix_reported_scores_received_at", "reported_scores", ["received_at"])


def downgrade() -> None:
    op.drop_index("ix_reported_scores_received_at", "reported_scores")
    op.drop_table("reported_scores")
