"""Rollups outlive the traces that they count: each says on which day its traces arrived.

The new column is NULL in rows that are there already: their traces may have arrived on any day.

Revision: 0009. Follows: 0008.
"""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("rollups", sa.Column("arrived", sa.Date(), nullable=True))
    op.create_table(
        "forgotten",
        sa.Column("app", sa.Text(), nullable=False),
        sa.Column("before", sa.Date(), nullable=False),
        sa.PrimaryKeyConstraint("app", name="pk_forgotten"),
    )


def downgrade() -> None:
    op.drop_table("forgotten")
    op.drop_column("rollups", "arrived")
