"""How rules stand on apps, and windows that follow the traffic.

Shipped rules that nobody changed let their window follow from now on: one hour was blind on most
apps.

Revision: 0027. Follows: 0026.
"""

import json

import sqlalchemy as sa
from alembic import op

revision = "0027"
down_revision = "0026"
branch_labels = None
depends_on = None

moment = sa.BigInteger().with_variant(sa.TIMESTAMP(timezone=True), "postgresql")
rules = sa.table("rules", *map(sa.column, ("project", "name", "body")))
HOUR_S = 3600.0
FOLLOWING = {
    "faithfulness drop": "drop",
    "context precision drop": "drop",
    "end-to-end latency": "latency",
    "hit rate drop": "hit_rate",
    "error rate": "error_rate",
    "judge failures": "judge_failures",
    "suspect share": "suspect",
}
"""Shipped rules by name, with their kind."""


def upgrade() -> None:
    op.create_table(
        "rule_states",
        sa.Column("project", sa.Text(), nullable=False),
        sa.Column("rule", sa.Text(), nullable=False),
        sa.Column("app", sa.Text(), nullable=False),
        sa.Column("verdict", sa.Text(), nullable=False),
        sa.Column("since", moment, nullable=False),
        sa.Column("looked_at", moment, nullable=False),
        sa.Column("window_s", sa.Float(), nullable=False),
        sa.Column("chosen_at", moment),
        sa.Column("body", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("project", "rule", "app", name=op.f("pk_rule_states")),
    )
    op.create_table(
        "rule_windows",
        sa.Column("project", sa.Text(), nullable=False),
        sa.Column("rule", sa.Text(), nullable=False),
        sa.Column("app", sa.Text(), nullable=False),
        sa.Column("window_s", sa.Float(), nullable=False),
        sa.Column("chosen_at", moment, nullable=False),
        sa.Column("days", sa.Integer(), nullable=False),
        sa.Column("chosen_by", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("project", "rule", "app", name=op.f("pk_rule_windows")),
    )
    _replace_windows(HOUR_S, None)


def downgrade() -> None:
    op.drop_table("rule_windows")
    op.drop_table("rule_states")
    _replace_windows(None, HOUR_S)


def _replace_windows(before: float | None, after: float | None) -> None:
    connection = op.get_bind()
    for row in connection.execute(sa.select(rules.c.project, rules.c.name, rules.c.body)).all():
        body = json.loads(row.body)
        window_s = body.get("window_s", HOUR_S)
        if after is None and not _untouched(row.name, body):
            continue
        if window_s == before:
            connection.execute(
                sa.update(rules)
                .where(rules.c.project == row.project, rules.c.name == row.name)
                .values(body=json.dumps(body | {"window_s": after}, ensure_ascii=False))
            )


def _untouched(name: str, body: dict[str, object]) -> bool:
    return bool(
        body.get("shipped")
        and FOLLOWING.get(name) == body.get("kind")
        and body.get("app") == "*"
        and not body.get("params")
    )
