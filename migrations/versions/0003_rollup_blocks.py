"""Rollups of ten minutes, hours and days.

Blocks of what is there already are marked stale: they are read from minutes until they are built.

Revision: 0003. Follows: 0002.
"""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

moment = sa.BigInteger().with_variant(sa.TIMESTAMP(timezone=True), "postgresql")
LENGTHS = (10, 60, 1440)


def upgrade() -> None:
    op.create_table(
        "rollup_blocks",
        sa.Column("project", sa.Text(), nullable=False),
        sa.Column("app", sa.Text(), nullable=False),
        sa.Column("minutes", sa.Integer(), nullable=False),
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
        sa.PrimaryKeyConstraint(
            "project", "app", "minutes", "minute", "key", name=op.f("pk_rollup_blocks")
        ),
    )
    op.create_index(
        "ix_rollup_blocks_metric",
        "rollup_blocks",
        ["project", "app", "metric", "minutes", "minute"],
        unique=False,
    )
    op.create_index("ix_rollup_blocks_minute", "rollup_blocks", ["minute"], unique=False)
    op.create_table(
        "stale_blocks",
        sa.Column("project", sa.Text(), nullable=False),
        sa.Column("app", sa.Text(), nullable=False),
        sa.Column("minutes", sa.Integer(), nullable=False),
        sa.Column("minute", moment, nullable=False),
        sa.Column("version", sa.BigInteger(), nullable=False),
        sa.Column("marked_at", moment, nullable=False),
        sa.PrimaryKeyConstraint(
            "project", "app", "minutes", "minute", name=op.f("pk_stale_blocks")
        ),
    )
    op.create_index("ix_stale_blocks_due", "stale_blocks", ["minutes", "marked_at"], unique=False)
    _mark_all()


def _mark_all() -> None:
    postgresql = op.get_context().dialect.name == "postgresql"
    for minutes in LENGTHS:
        length = minutes * 60
        start = (
            f"to_timestamp(floor(extract(epoch FROM minute) / {length}) * {length})"
            if postgresql
            else f"minute - minute % {length * 1_000_000}"
        )
        op.execute(
            "INSERT INTO stale_blocks (project, app, minutes, minute, version, marked_at) "  # noqa: S608 - numbers of ours
            f"SELECT DISTINCT project, app, {minutes}, {start}, 0, {start} FROM rollups"
        )


def downgrade() -> None:
    op.drop_table("stale_blocks")
    op.drop_table("rollup_blocks")
