"""Which shipped rules a project was given, so that a release can add one.

Revision: 0031. Follows: 0030.
"""

import json

import sqlalchemy as sa
from alembic import op

revision = "0031"
down_revision = "0030"
branch_labels = None
depends_on = None

MARK = "default rules shipped"
GIVEN = [
    "context precision below last release",
    "context precision drop",
    "end-to-end latency",
    "error rate",
    "faithfulness below last release",
    "faithfulness drop",
    "hit rate drop",
    "judge failures",
    "no data",
    "suspect share",
    "traffic",
]
"""What was shipped before this revision."""

secrets = sa.table("secrets", sa.column("name", sa.Text()), sa.column("value", sa.LargeBinary()))


def upgrade() -> None:
    _mark(json.dumps(GIVEN).encode())


def downgrade() -> None:
    _mark(b"")


def _mark(value: bytes) -> None:
    op.execute(sa.update(secrets).where(secrets.c.name == MARK).values(value=value))
