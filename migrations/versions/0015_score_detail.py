"""What a judge's server said stands beside the reason of a failed score.

The new column is NULL in rows that are there already: nobody noted it then.

Revision: 0015. Follows: 0014.
"""

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("scores", sa.Column("detail", sa.Text(), nullable=True))


def downgrade() -> None:
    op.drop_column("scores", "detail")
