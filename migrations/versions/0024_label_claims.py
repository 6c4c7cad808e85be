"""Which reviewer has a trace to mark, so that two do not get the same one; marks are found by time.

Revision: 0024. Follows: 0023.
"""

import sqlalchemy as sa
from alembic import op

revision = "0024"
down_revision = "0023"
branch_labels = None
depends_on = None

moment = sa.BigInteger().with_variant(sa.TIMESTAMP(timezone=True), "postgresql")

MARKS = sa.text("kind IS NULL")


def upgrade() -> None:
    op.create_table(
        "label_claims",
        sa.Column("project", sa.Text(), nullable=False),
        sa.Column("trace_id", sa.Text(), nullable=False),
        sa.Column("slot", sa.Integer(), nullable=False),
        sa.Column("reviewer", sa.Text(), nullable=False),
        sa.Column("claimed_until", moment, nullable=False),
        sa.PrimaryKeyConstraint("project", "trace_id", "slot", name=op.f("pk_label_claims")),
    )
    op.create_index("ix_label_claims_claimed_until", "label_claims", ["claimed_until"])
    op.create_index(
        "ix_feedback_marks", "feedback", ["project", "created_at"],
        postgresql_where=MARKS, sqlite_where=MARKS,
    )  # fmt: skip


def downgrade() -> None:
    op.drop_index("ix_feedback_marks", "feedback")
    op.drop_table("label_claims")
