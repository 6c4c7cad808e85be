"""A trace that was drawn waits for the sampled judge in a queue of its own.

Revision: 0011. Follows: 0010.
"""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None

_TABLE = "evaluation_tasks"
_INDEXES = {"ix_evaluation_tasks_ready": "not_before", "ix_evaluation_tasks_lease": "lease_until"}


def upgrade() -> None:
    drawn = sa.Column("drawn", sa.Boolean(), nullable=False, server_default=sa.false())
    op.add_column(_TABLE, drawn)
    for name, moment in _INDEXES.items():
        op.drop_index(name, _TABLE)
        op.create_index(name, _TABLE, ["drawn", "state", moment])


def downgrade() -> None:
    # A release before this one judges what was drawn anew, as a whole.
    for name, moment in _INDEXES.items():
        op.drop_index(name, _TABLE)
        op.create_index(name, _TABLE, ["state", moment])
    op.drop_column(_TABLE, "drawn")
