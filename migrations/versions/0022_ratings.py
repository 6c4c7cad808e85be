"""Users' ratings apart from reviewers' marks, and what the answer should have been.

Revision: 0022. Follows: 0021.
"""

import sqlalchemy as sa
from alembic import op

revision = "0022"
down_revision = "0021"
branch_labels = None
depends_on = None

ADDED = ("kind", "raw_value", "corrected_answer", "correct_document_ids")


def upgrade() -> None:
    for name in ADDED:
        op.add_column("feedback", sa.Column(name, sa.Text()))
    op.add_column("feedback", sa.Column("scale", sa.Integer()))
    # What was said of a whole answer was a number from 0 to 1, and a mark on no verdict.
    op.execute(
        "UPDATE feedback SET kind = 'number', raw_value = CAST(value AS TEXT) "
        "WHERE metric IS NULL AND statement IS NULL AND fault IS NULL"
    )


def downgrade() -> None:
    for name in (*ADDED, "scale"):
        op.drop_column("feedback", name)
