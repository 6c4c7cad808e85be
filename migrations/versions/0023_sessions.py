"""The turns of a session in order, and the sessions with the newest of them.

Revision: 0023. Follows: 0022.
"""

import sqlalchemy as sa
from alembic import op

revision = "0023"
down_revision = "0022"
branch_labels = None
depends_on = None

IN_SESSION = sa.text("session_id IS NOT NULL")


def upgrade() -> None:
    for name, columns in (
        ("ix_traces_session", ["project", "session_id", "started_at", "trace_id"]),
        ("ix_traces_in_session", ["project", "started_at", "trace_id", "session_id"]),
    ):
        op.create_index(
            name, "traces", columns, postgresql_where=IN_SESSION, sqlite_where=IN_SESSION
        )


def downgrade() -> None:
    op.drop_index("ix_traces_in_session", "traces")
    op.drop_index("ix_traces_session", "traces")
