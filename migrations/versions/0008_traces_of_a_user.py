"""The traces of a user newest first, without reading those of others or sorting all of theirs.

Revision: 0008. Follows: 0007.
"""

from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.drop_index("ix_traces_user", "traces")
    op.create_index("ix_traces_user", "traces", ["project", "user_id", "started_at", "trace_id"])


def downgrade() -> None:
    op.drop_index("ix_traces_user", "traces")
    op.create_index("ix_traces_user", "traces", ["project", "user_id"])
