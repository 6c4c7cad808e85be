"""Names that senders chose, so that there are never more than numbers can be kept by.

Revision: 0013. Follows: 0012.
"""

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "names",
        sa.Column("project", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("last_day", sa.Date(), nullable=False),
        sa.PrimaryKeyConstraint("project", "kind", "name", name=op.f("pk_names")),
    )


def downgrade() -> None:
    op.drop_table("names")
