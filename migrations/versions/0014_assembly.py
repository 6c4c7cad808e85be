"""Assembling in bulk: claims beside due times, counts of traces before minutes are added up.

Tasks count the workers that were lost with them, and know which traces were imported.

Revision: 0014. Follows: 0013.
"""

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None

moment = sa.BigInteger().with_variant(sa.TIMESTAMP(timezone=True), "postgresql")
_WAITS = sa.text("due_at IS NOT NULL")
_LOST = {"worker_lost": 1, "worker_lost_twice": 2, "worker_lost_thrice": 5}
"""Reasons of the releases before, and how many lost workers they now stand for."""


def _flag(name: str) -> sa.Column[bool]:
    return sa.Column(name, sa.Boolean(), nullable=False, server_default=sa.false())


def _index_ready(*columns: str) -> None:
    op.drop_index("ix_evaluation_tasks_ready", "evaluation_tasks")
    op.create_index("ix_evaluation_tasks_ready", "evaluation_tasks", list(columns))


def upgrade() -> None:
    op.add_column("trace_keys", sa.Column("claimed_until", moment, nullable=True))
    op.add_column("trace_keys", _flag("bulk"))
    op.drop_index("ix_trace_keys_due_at", "trace_keys")
    op.create_index(
        "ix_trace_keys_waiting",
        "trace_keys",
        ["due_at", "derived_version", "project"],
        postgresql_where=_WAITS,
        sqlite_where=_WAITS,
    )
    op.add_column("rollups", sa.Column("added", sa.BigInteger(), nullable=True))
    losses = sa.Column("losses", sa.Integer(), nullable=False, server_default=sa.text("0"))
    op.add_column("evaluation_tasks", losses)
    op.add_column("evaluation_tasks", _flag("bulk"))
    _index_ready("drawn", "state", "bulk", "not_before")
    tasks = sa.table("evaluation_tasks", sa.column("reason"), sa.column("losses"))
    for reason, count in _LOST.items():
        op.execute(sa.update(tasks).where(tasks.c.reason == reason).values(losses=count))


def downgrade() -> None:
    # Rows that count traces of a minute in advance would be counted beside those of the minute.
    op.execute("DELETE FROM rollups WHERE added IS NOT NULL")
    op.drop_column("rollups", "added")
    _index_ready("drawn", "state", "not_before")
    op.drop_column("evaluation_tasks", "bulk")
    op.drop_column("evaluation_tasks", "losses")
    op.drop_index("ix_trace_keys_waiting", "trace_keys")
    op.create_index("ix_trace_keys_due_at", "trace_keys", ["due_at"])
    op.drop_column("trace_keys", "bulk")
    op.drop_column("trace_keys", "claimed_until")
