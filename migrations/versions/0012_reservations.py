"""What is set aside of a budget, one row a judgement, so that a dead worker's can be given back.

Revision: 0012. Follows: 0011.
"""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None

moment = sa.BigInteger().with_variant(sa.TIMESTAMP(timezone=True), "postgresql")


def upgrade() -> None:
    op.create_table(
        "reservations",
        sa.Column("project", sa.Text(), nullable=False),
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("judge", sa.Text(), nullable=False),
        sa.Column("day", sa.Date(), nullable=False),
        sa.Column("tokens", sa.BigInteger(), nullable=False),
        sa.Column("gpu_seconds", sa.Float(), nullable=False),
        sa.Column("money", sa.Float(), nullable=False),
        sa.Column("sent_tokens", sa.BigInteger(), nullable=False),
        sa.Column("sent_money", sa.Float(), nullable=False),
        sa.Column("held_until", moment, nullable=False),
        sa.PrimaryKeyConstraint("project", "id", name=op.f("pk_reservations")),
    )
    op.create_index("ix_reservations_held_until", "reservations", ["held_until"])


def downgrade() -> None:
    # What is set aside stays in `budgets`, as a release before this one leaves it.
    op.drop_index("ix_reservations_held_until", "reservations")
    op.drop_table("reservations")
