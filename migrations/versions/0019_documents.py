"""What became of documents; evidence names another trace's passage by its digest alone.

Revision: 0019. Follows: 0018.
"""

import hashlib
import json

import sqlalchemy as sa
from alembic import op

revision = "0019"
down_revision = "0018"
branch_labels = None
depends_on = None

moment = sa.BigInteger().with_variant(sa.TIMESTAMP(timezone=True), "postgresql")
LONGEST = 300
BATCH = 500
SHARES = ("relevant", "useful", "used", "at_fault")


def name(column):
    return sa.Column(column, sa.Text(), nullable=False)


def names(*columns):
    return [name(column) for column in columns]


def upgrade() -> None:
    key = ("project", "knowledge_base", "kind", "document")
    op.create_table(
        "document_days",
        *names("project", "app", "knowledge_base"),
        sa.Column("day", sa.Date(), nullable=False),
        *names("kind", "document", "judge"),
        sa.Column("retrieved", sa.BigInteger(), nullable=False),
        sa.Column("ranks", sa.BigInteger(), nullable=False),
        sa.Column("in_context", sa.BigInteger(), nullable=False),
        *(
            sa.Column(f"{share}_{column}", kind, nullable=False)
            for share in SHARES
            for column, kind in (
                ("count", sa.BigInteger()),
                ("weight", sa.Float()),
                ("total", sa.Float()),
                ("squares", sa.Float()),
            )
        ),
        sa.PrimaryKeyConstraint(
            "project", "knowledge_base", "day", "app", "kind", "document", "judge",
            name=op.f("pk_document_days"),
        ),
    )  # fmt: skip
    op.create_index("ix_document_days_day", "document_days", ["day"])
    op.create_table(
        "documents",
        *names(*key),
        sa.Column("title", sa.Text()),
        sa.Column("updated_at", sa.Text()),
        sa.Column("version", sa.Text()),
        sa.Column("effective_date", sa.Text()),
        sa.Column("passage", sa.Text()),
        sa.Column("last_seen", moment, nullable=False),
        sa.PrimaryKeyConstraint(*key, name=op.f("pk_documents")),
    )
    op.create_table(
        "document_conflicts",
        *names("project", "app", "knowledge_base"),
        sa.Column("day", sa.Date(), nullable=False),
        *names("kind", "document", "other_knowledge_base", "other_kind", "other"),
        sa.Column("traces", sa.BigInteger(), nullable=False),
        sa.Column("outdated", sa.BigInteger(), nullable=False),
        name("trace_id"),
        sa.PrimaryKeyConstraint(
            "project", "knowledge_base", "day", "app", "kind", "document",
            "other_knowledge_base", "other_kind", "other",
            name=op.f("pk_document_conflicts"),
        ),
    )  # fmt: skip
    op.create_index("ix_document_conflicts_day", "document_conflicts", ["day"])
    op.create_index("ix_document_conflicts_trace", "document_conflicts", ["project", "trace_id"])
    op.create_table(
        "document_uses",
        *names("project", "trace_id"),
        sa.Column("day", sa.Date(), nullable=False),
        name("uses"),
        sa.PrimaryKeyConstraint("project", "trace_id", "day", name=op.f("pk_document_uses")),
        postgresql_partition_by="RANGE (day)",
    )
    op.create_table(
        "document_inventory",
        *names("project", "knowledge_base", "document"),
        sa.Column("title", sa.Text()),
        sa.Column("updated_at", sa.Text()),
        sa.Column("version", sa.Text()),
        sa.Column("effective_date", sa.Text()),
        sa.Column("imported_at", moment, nullable=False),
        sa.Column("last_retrieved", moment),
        sa.PrimaryKeyConstraint(
            "project", "knowledge_base", "document", name=op.f("pk_document_inventory")
        ),
    )
    if op.get_bind().dialect.name == "postgresql":
        op.execute("CREATE TABLE document_uses_default PARTITION OF document_uses DEFAULT")
    name_passages_by_digest(op.get_bind())


def downgrade() -> None:
    for table in (
        "document_inventory", "document_uses", "document_conflicts", "documents", "document_days",
    ):  # fmt: skip
        op.drop_table(table)
    restore_texts(op.get_bind())


FAULTS = sa.table(
    "faults",
    sa.column("project", sa.Text()),
    sa.column("trace_id", sa.Text()),
    sa.column("judge", sa.Text()),
    sa.column("day", sa.Date()),
    sa.column("evidence", sa.Text()),
)
PASSAGES = sa.table(
    "passages",
    sa.column("project", sa.Text()),
    sa.column("sha256", sa.Text()),
    sa.column("content", sa.Text()),
)


def name_passages_by_digest(connection) -> None:
    """Put digests in place of texts of other traces' passages, so that erasure reaches them."""
    rows = _rows_with(connection, '"earlier_passage"')
    known = _digests(connection, {text for _, items in rows for text in _texts(items)})
    for row, items in rows:
        changed = [_named(item, known) for item in items]
        if changed != items:
            _save(connection, row, changed)


def restore_texts(connection) -> None:
    """Put texts in place of digests; of a passage that is gone there is none."""
    for row, items in _rows_with(connection, '"digest"'):
        digests = [item["digest"] for item in items if "digest" in item]
        found = sa.select(PASSAGES.c.sha256, PASSAGES.c.content).where(
            PASSAGES.c.project == row.project, PASSAGES.c.sha256.in_(digests)
        )
        texts = {digest: _shortened(text) for digest, text in connection.execute(found)}
        for item in items:
            if "digest" in item:
                text = texts.get(item.pop("digest"))
                if text:
                    item["text"] = text
        _save(connection, row, items)


def _rows_with(connection, word):
    found = sa.select(*FAULTS.c).where(FAULTS.c.evidence.contains(word))
    return [(row, json.loads(row.evidence)) for row in connection.execute(found)]


def _texts(items):
    return (item["text"] for item in items if _is_earlier(item))


def _is_earlier(item):
    return item["kind"] == "earlier_passage" and item.get("text") and "digest" not in item


def _digests(connection, texts):
    """The digests of stored passages by their shortened texts."""
    known = {}
    by_digest = {hashlib.sha256(text.encode()).hexdigest(): text for text in texts}
    digests = sorted(by_digest)
    for start in range(0, len(digests), BATCH):
        found = sa.select(PASSAGES.c.sha256).where(
            PASSAGES.c.sha256.in_(digests[start : start + BATCH])
        )
        known.update({by_digest[digest]: digest for digest in connection.execute(found).scalars()})
    cut = {text for text in texts if len(text) == LONGEST and text.endswith("…")} - known.keys()
    if cut:
        long = sa.select(PASSAGES.c.sha256, PASSAGES.c.content).where(
            sa.func.length(PASSAGES.c.content) > LONGEST
        )
        for digest, content in connection.execute(long, execution_options={"yield_per": BATCH}):
            text = _shortened(content)
            if text in cut:
                known[text] = digest
    return known


def _named(item, known):
    if not _is_earlier(item):
        return item
    text = item["text"]
    digest = known.get(text)
    if digest is None:
        if item.get("value") == 1:  # the id of a labelled document, not a text
            return item
        digest = hashlib.sha256(text.encode()).hexdigest()  # the passage was erased
    return {**{name: value for name, value in item.items() if name != "text"}, "digest": digest}


def _shortened(text):
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def _save(connection, row, items) -> None:
    keys = ("project", "trace_id", "judge", "day")
    same = (FAULTS.c[name] == getattr(row, name) for name in keys)
    text = json.dumps(items, ensure_ascii=False, separators=(",", ":"))
    connection.execute(sa.update(FAULTS).where(*same).values(evidence=text))
