"""Who changed what, and a limit of requests per key.

Revision: 0005. Follows: 0004.
"""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

moment = sa.BigInteger().with_variant(sa.TIMESTAMP(timezone=True), "postgresql")
serial = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "audit",
        sa.Column("id", serial, nullable=False),
        sa.Column("project", sa.Text(), nullable=False),
        sa.Column("at", moment, nullable=False),
        sa.Column("actor", sa.Text(), nullable=False),
        sa.Column("actor_name", sa.Text(), nullable=False),
        sa.Column("address", sa.Text(), nullable=False),
        sa.Column("action", sa.Text(), nullable=False),
        sa.Column("target", sa.Text(), nullable=False),
        sa.Column("details", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_audit")),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_audit_project", "audit", ["project", "id"], unique=False)
    op.create_index("ix_audit_at", "audit", ["at"], unique=False)
    op.add_column("api_keys", sa.Column("requests_per_minute", sa.Integer(), nullable=True))


def downgrade() -> None:
    op.drop_column("api_keys", "requests_per_minute")
    op.drop_index("ix_audit_at", "audit")
    op.drop_index("ix_audit_project", "audit")
    op.drop_table("audit")
