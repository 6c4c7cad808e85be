"""Rollups keep sums per bucket of sessions, for intervals that allow for their dependence.

The new column is empty in rows that are there already: their traces are taken as independent.

Revision: 0018. Follows: 0017.
"""

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"
branch_labels = None
depends_on = None

TABLES = ("rollups", "rollup_blocks")


def upgrade() -> None:
    for table in TABLES:
        op.add_column(
            table, sa.Column("clusters", sa.Text(), nullable=False, server_default=sa.text("''"))
        )


def downgrade() -> None:
    for table in TABLES:
        op.drop_column(table, "clusters")
