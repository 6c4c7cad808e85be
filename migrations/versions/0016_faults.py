"""What was at fault in judged traces.

Revision: 0016. Follows: 0015.
"""

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None

moment = sa.BigInteger().with_variant(sa.TIMESTAMP(timezone=True), "postgresql")


def upgrade() -> None:
    op.create_table(
        "faults",
        sa.Column("project", sa.Text(), nullable=False),
        sa.Column("trace_id", sa.Text(), nullable=False),
        sa.Column("day", sa.Date(), nullable=False),
        sa.Column("judge", sa.Text(), nullable=False),
        sa.Column("app", sa.Text(), nullable=False),
        sa.Column("started_at", moment, nullable=False),
        sa.Column("fault", sa.Text(), nullable=False),
        sa.Column("probability", sa.Float(), nullable=False),
        sa.Column("probabilities", sa.Text(), nullable=False),
        sa.Column("evidence", sa.Text(), nullable=False),
        sa.Column("created_at", moment, nullable=False),
        sa.PrimaryKeyConstraint("project", "trace_id", "judge", "day", name=op.f("pk_faults")),
        postgresql_partition_by="RANGE (day)",
    )
    if op.get_bind().dialect.name == "postgresql":
        op.execute("CREATE TABLE faults_default PARTITION OF faults DEFAULT")


def downgrade() -> None:
    op.drop_table("faults")
