"""Which sessions changed, what each is counted as, and what other tools say of them.

Revision: 0028. Follows: 0027.
"""

import sqlalchemy as sa
from alembic import op

revision = "0028"
down_revision = "0027"
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
    op.create_table(
        "reported_session_scores",
        sa.Column("project", sa.Text(), nullable=False),
        sa.Column("session_id", sa.Text(), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("value", sa.Float()),
        sa.Column("label", sa.Text()),
        sa.Column("explanation", sa.Text()),
        sa.Column("error", sa.Text()),
        sa.Column("reported_at", moment, nullable=False),
        sa.Column("received_at", moment, nullable=False),
        sa.PrimaryKeyConstraint(
            "project", "session_id", "source", "name", name=op.f("pk_reported_session_scores")
        ),
    )
    op.create_index(
        "ix_reported_session_scores_received_at", "reported_session_scores", ["received_at"]
    )


def downgrade() -> None:
    op.drop_table("reported_session_scores")
    op.drop_table("session_outcomes")
    op.drop_table("changed_sessions")
