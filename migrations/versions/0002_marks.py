"""How far jobs that follow the data have come, and scores by the time they were made.

Revision: 0002. Follows: 0001.
"""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

moment = sa.BigInteger().with_variant(sa.TIMESTAMP(timezone=True), "postgresql")


def upgrade() -> None:
    op.create_table(
        "marks",
        sa.Column("project", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("at", moment, nullable=False),
        sa.PrimaryKeyConstraint("project", "name", name=op.f("pk_marks")),
    )
    op.create_index("ix_scores_created_at", "scores", ["created_at", "trace_id"], unique=False)


def downgrade() -> None:
    op.drop_index("ix_scores_created_at", "scores")
    op.drop_table("marks")
