"""What judging a trace used stands beside its draw; draws for people are found without a walk.

The new column is NULL in rows that are there already: nobody noted it then.

Revision: 0007. Follows: 0006.
"""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

FOR_PEOPLE = sa.text("judge = 'people'")


def upgrade() -> None:
    op.add_column("decisions", sa.Column("usage", sa.Text(), nullable=True))
    op.create_index(
        "ix_decisions_people",
        "decisions",
        ["project", "decided_at", "trace_id"],
        postgresql_where=FOR_PEOPLE,
        sqlite_where=FOR_PEOPLE,
    )


def downgrade() -> None:
    op.drop_index("ix_decisions_people", "decisions")
    op.drop_column("decisions", "usage")
