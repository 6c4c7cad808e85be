"""People's labels of faults, and finding the traces with a fault.

Revision: 0017. Follows: 0016.
"""

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("feedback", sa.Column("fault", sa.Text()))
    op.create_index(
        "ix_faults_fault", "faults", ["project", "app", "fault", "started_at", "probability"]
    )


def downgrade() -> None:
    op.drop_index("ix_faults_fault", "faults")
    op.drop_column("feedback", "fault")
