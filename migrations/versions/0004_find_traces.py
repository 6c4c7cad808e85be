"""Questions found by their text, and an index for every filter of the trace list.

The new column is NULL in rows that are there already; the worker fills it in, batch by batch.

Revision: 0004. Follows: 0003.
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

search = postgresql.ARRAY(sa.Integer()).with_variant(sa.Integer(), "sqlite")
BAD = sa.text("status <> 'ok'")
LOW = sa.text("value < 0.8")
WAITING = sa.text("search IS NULL")


def upgrade() -> None:
    op.add_column("traces", sa.Column("search", search, nullable=True))
    if op.get_context().dialect.name == "sqlite":
        op.execute(
            "CREATE VIRTUAL TABLE trace_search USING fts5("
            "pairs, detail='none', columnsize=0, tokenize='ascii')"
        )
        op.execute(
            "CREATE TRIGGER traces_search_gone AFTER DELETE ON traces WHEN old.search > 0 "
            "BEGIN DELETE FROM trace_search WHERE rowid = old.search; END"
        )
    op.create_index("ix_traces_search", "traces", ["search"], postgresql_using="gin")
    _partial("ix_traces_unindexed", "traces", ["project", "started_at"], WAITING)
    op.drop_index("ix_traces_status", "traces")
    _partial("ix_traces_bad", "traces", ["project", "status", "started_at", "trace_id"], BAD)
    _partial(
        "ix_traces_app_bad", "traces", ["project", "app", "status", "started_at", "trace_id"], BAD
    )
    op.create_index(
        "ix_traces_any_release", "traces", ["project", "release", "started_at", "trace_id"]
    )
    _partial("ix_scores_low", "scores", ["project", "metric", "started_at", "value"], LOW)
    _partial(
        "ix_scores_app_low", "scores", ["project", "app", "metric", "started_at", "value"], LOW
    )


def _partial(name: str, table: str, columns: list[str], where: sa.TextClause) -> None:
    op.create_index(name, table, columns, postgresql_where=where, sqlite_where=where)


def downgrade() -> None:
    op.drop_index("ix_scores_app_low", "scores")
    op.drop_index("ix_scores_low", "scores")
    op.drop_index("ix_traces_any_release", "traces")
    op.drop_index("ix_traces_app_bad", "traces")
    op.drop_index("ix_traces_bad", "traces")
    op.create_index("ix_traces_status", "traces", ["project", "status", "started_at"])
    op.drop_index("ix_traces_unindexed", "traces")
    op.drop_index("ix_traces_search", "traces")
    if op.get_context().dialect.name == "sqlite":
        op.execute("DROP TRIGGER traces_search_gone")
        op.execute("DROP TABLE trace_search")
    op.drop_column("traces", "search")
