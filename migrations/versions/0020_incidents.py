"""Incidents: alerts of one application that began together.

Revision: 0020. Follows: 0019.
"""

import sqlalchemy as sa
from alembic import op

revision = "0020"
down_revision = "0019"
branch_labels = None
depends_on = None

moment = sa.BigInteger().with_variant(sa.TIMESTAMP(timezone=True), "postgresql")


def upgrade() -> None:
    op.create_table(
        "incidents",
        sa.Column("project", sa.Text(), nullable=False),
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("app", sa.Text(), nullable=False),
        sa.Column("began_at", moment, nullable=False),
        sa.Column("ended_at", moment),
        sa.Column("body", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("project", "id", name=op.f("pk_incidents")),
    )
    op.create_index("ix_incidents_began_at", "incidents", ["project", "began_at"])
    op.create_table(
        "incident_examples",
        sa.Column("project", sa.Text(), nullable=False),
        sa.Column("trace_id", sa.Text(), nullable=False),
        sa.Column("day", sa.Date(), nullable=False),
        sa.Column("incident", sa.Text(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint(
            "project", "incident", "position", name=op.f("pk_incident_examples")
        ),
    )
    op.create_index("ix_incident_examples_trace", "incident_examples", ["project", "trace_id"])


def downgrade() -> None:
    op.drop_table("incident_examples")
    op.drop_table("incidents")
