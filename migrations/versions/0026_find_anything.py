"""What traces carry as an index, and an index for every order of their list.

The new column is NULL in rows that are there already; the worker fills it in, batch by batch.

Revision: 0026. Follows: 0025.
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0026"
down_revision = "0025"
branch_labels = None
depends_on = None

terms = postgresql.ARRAY(sa.BigInteger()).with_variant(sa.Integer(), "sqlite")
INDEXES = (
    ("ix_traces_latency", "traces", ["project", "end_to_end_ms", "started_at", "trace_id"]),
    ("ix_scores_sorted", "scores", ["project", "metric", "value", "started_at", "trace_id"]),
    ("ix_faults_any_app", "faults", ["project", "fault", "started_at", "trace_id"]),
)
WAITING = sa.text("terms IS NULL")
RATINGS = sa.text("kind IS NOT NULL")


def upgrade() -> None:
    op.add_column("traces", sa.Column("terms", terms, nullable=True))
    if op.get_context().dialect.name == "sqlite":
        op.execute(
            "CREATE VIRTUAL TABLE trace_search_terms USING fts5("
            "terms, detail='none', columnsize=0, tokenize='ascii')"
        )
        op.execute(
            "CREATE TRIGGER traces_terms_gone AFTER DELETE ON traces WHEN old.terms > 0 "
            "BEGIN DELETE FROM trace_search_terms WHERE rowid = old.terms; END"
        )
    op.create_index("ix_traces_terms", "traces", ["terms"], postgresql_using="gin")
    _partial("ix_traces_without_terms", "traces", ["project", "started_at"], WAITING)
    _partial("ix_feedback_ratings", "feedback", ["project", "value", "trace_id"], RATINGS)
    for name, table, columns in INDEXES:
        op.create_index(name, table, columns)


def _partial(name: str, table: str, columns: list[str], where: sa.TextClause) -> None:
    op.create_index(name, table, columns, postgresql_where=where, sqlite_where=where)


def downgrade() -> None:
    for name, table, _ in reversed(INDEXES):
        op.drop_index(name, table)
    op.drop_index("ix_feedback_ratings", "feedback")
    op.drop_index("ix_traces_without_terms", "traces")
    op.drop_index("ix_traces_terms", "traces")
    if op.get_context().dialect.name == "sqlite":
        op.execute("DROP TRIGGER traces_terms_gone")
        op.execute("DROP TABLE trace_search_terms")
    op.drop_column("traces", "terms")
