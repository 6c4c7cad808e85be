"""What the sentence of a failed score is made of, so that every language can say it.

Revision: 0030. Follows: 0029.
"""

import sqlalchemy as sa
from alembic import op

revision = "0030"
down_revision = "0029"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("scores", sa.Column("message", sa.Text(), nullable=True))


def downgrade() -> None:
    op.drop_column("scores", "message")
