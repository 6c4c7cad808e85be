"""Which sessions changed, and what each is counted as once it has ended.

Revision: 0028. Follows: 0026.
"""

import sqlalchemy as sa
from alembic import op

revision = "0028"
down_revision = "0026"
branch_labels = None
depends_on = None

moment = sa.BigInteger().with_variant(sa.TIMESTAMP(timezone=True), "postgresql")


def upgrade() -> None:
    op.create_table(
        "changed_sessions",
        sa.Column("project", sa.Text(), nullable=False),
        sa.Column("session_id", sa.Text(), nullable=False),
        sa.Column("version", sa.BigInteger(), nullable=False),
        sa.Column("marked_at", moment, nullable=False),
        sa.PrimaryKeyConstraint("project", "session_id", name=op.f("pk_changed_sessions")),
    )
    op.create_index("ix_changed_sessions_marked_at", "changed_sessions", ["marked_at"])
    op.create_table(
        "session_outcomes",
        sa.Column("project", sa.Text(), nullable=False),
        sa.Column("session_id", sa.Text(), nullable=False),
        sa.Column("app", sa.Text(), nullable=False),
        sa.Column("release", sa.Text()),
        sa.Column("minute", moment, nullable=False),
        sa.Column("first_day", sa.Date(), nullable=False),
        sa.Column("day", sa.Date(), nullable=False),
        sa.Column("metrics", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("project", "session_id", name=op.f("pk_session_outcomes")),
    )
    op.create_index("ix_session_outcomes_minute", "session_outcomes", ["project", "app", "minute"])
    op.create_index("ix_session_outcomes_day", "session_outcomes", ["day"])


def downgrade() -> None:
    op.drop_table("session_outcomes")
    op.drop_table("changed_sessions")
