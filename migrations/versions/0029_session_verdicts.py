"""What a judge says of sessions as a whole, and sessions by the minute in which they ended.

Revision: 0029. Follows: 0028.
"""

import sqlalchemy as sa
from alembic import op

revision = "0029"
down_revision = "0028"
branch_labels = None
depends_on = None

moment = sa.BigInteger().with_variant(sa.TIMESTAMP(timezone=True), "postgresql")


def upgrade() -> None:
    op.create_table(
        "session_verdicts",
        sa.Column("project", sa.Text(), nullable=False),
        sa.Column("session_id", sa.Text(), nullable=False),
        sa.Column("value", sa.Float()),
        sa.Column("judge", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text()),
        sa.Column("turns", sa.Integer(), nullable=False),
        sa.Column("upto", moment, nullable=False),
        sa.Column("ended", moment, nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("retry_at", moment),
        sa.Column("judged_at", moment, nullable=False),
        sa.PrimaryKeyConstraint("project", "session_id", name=op.f("pk_session_verdicts")),
    )
    op.create_index("ix_session_verdicts_judged_at", "session_verdicts", ["judged_at"])
    op.create_index("ix_session_outcomes_ended", "session_outcomes", ["minute"])


def downgrade() -> None:
    op.drop_index("ix_session_outcomes_ended", "session_outcomes")
    op.drop_table("session_verdicts")
