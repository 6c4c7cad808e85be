"""The turns before a question: those a sender told of, and which ones a judge was given.

Revision: 0025. Follows: 0024.
"""

import sqlalchemy as sa
from alembic import op

revision = "0025"
down_revision = "0024"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("traces", sa.Column("history", sa.Text(), nullable=True))
    op.add_column("decisions", sa.Column("history", sa.Text(), nullable=True))


def downgrade() -> None:
    op.drop_column("decisions", "history")
    op.drop_column("traces", "history")
