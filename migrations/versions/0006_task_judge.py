"""A task may ask one judge only.

Revision: 0006. Follows: 0005.
"""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("evaluation_tasks", sa.Column("judge", sa.Text(), nullable=True))


def downgrade() -> None:
    op.drop_column("evaluation_tasks", "judge")
