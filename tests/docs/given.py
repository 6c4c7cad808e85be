"""What readers have that the pages speak of: files with rows, a search, a model, a server."""

from __future__ import annotations

import gzip
import json
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tests.db import new_sqlite

ROWS = [
    {
        "id": f"q-{number}",
        "question": "How long is the warranty?",
        "contexts": [{"id": "doc-7", "content": "The standard warranty lasts 24 months."}],
        "answer": answer,
        "reference": "24 months.",
        "label_faithful": label,
        "timings": {"first_byte_ms": 120, "generation_ms": 400, "end_to_end_ms": 600},
    }
    for number, (answer, label) in enumerate(
        [("The warranty lasts 24 months.", 1), ("The warranty lasts 60 months.", 0)] * 6
    )
]
_SCORES = [{"id": row["id"], "scores": {"faithfulness": 0.9}} for row in ROWS]
_LANGFUSE = {
    "id": "t-1",
    "name": "faq",
    "timestamp": "2026-11-01T08:00:00Z",
    "input": "How long is the warranty?",
    "output": "24 months.",
    "observations": [],
}
_PHOENIX = {
    "context.trace_id": "0af7651916cd43dd8448eb211c80319c",
    "context.span_id": "00f067aa0ba902b7",
    "parent_id": None,
    "name": "chain",
    "span_kind": "CHAIN",
    "start_time": "2026-11-01T08:00:00Z",
    "end_time": "2026-11-01T08:00:01Z",
    "status_code": "OK",
    "attributes.input.value": "How long is the warranty?",
    "attributes.output.value": "24 months.",
}


def write_files(folder: Path) -> None:
    """Every file that a command of some page reads."""
    lines = "".join(json.dumps(row) + "\n" for row in ROWS)
    scores = "".join(json.dumps(row) + "\n" for row in _SCORES)
    with gzip.open(folder / "traffic.jsonl.gz", "wt", encoding="utf-8") as file:
        file.write(lines)
    for name in ("rows.jsonl", "labelled.jsonl", "questions.jsonl"):
        (folder / name).write_text(lines, encoding="utf-8")
    for name in ("before.jsonl", "after.jsonl"):
        (folder / name).write_text(scores, encoding="utf-8")
    (folder / "traffic.csv").write_text(
        'id,question,answer,contexts\nq-1,How long?,24 months.,"[""24 months.""]"\n',
        encoding="utf-8",
    )
    (folder / "traces.jsonl").write_text(json.dumps(_LANGFUSE) + "\n", encoding="utf-8")
    pq.write_table(pa.Table.from_pylist([_PHOENIX]), folder / "spans.parquet")
    new_sqlite(folder / "rag_monitor.db")


class _AnyApp:
    def add_middleware(self, kind: type, **options: Any) -> None:
        kind(None, **options)


async def _asearch(question: str) -> list[str]:
    return ["The standard warranty lasts 24 months."]


async def _allm(question: str, documents: object) -> AsyncIterator[str]:
    yield "24 "
    yield "months."


def _search(question: str) -> list[dict[str, str]]:
    return [{"id": "doc-7", "content": "The standard warranty lasts 24 months."}]


def _llm(question: str, documents: object) -> str:
    return "The warranty lasts 24 months."


NAMES: Mapping[str, Mapping[str, Any]] = {
    "docs/instrumenting.md": {"app": _AnyApp(), "search": _asearch, "llm": _allm},
    "docs/migrating-from-ragas.md": {"search": _search, "llm": _llm},
}
"""By page, the names its Python may use unexplained; the Chinese page may use the same."""
