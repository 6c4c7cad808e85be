"""Documents as vector database clients, tables and rows give them."""

from __future__ import annotations

import contextlib
from types import SimpleNamespace as Thing
from typing import Any

import pytest

import rag_monitor as rm
from rag_monitor.testing import InMemoryExporter

ASKED = "How long is the warranty?"
TEXT = "The warranty lasts 24 months."


def documents(captured: InMemoryExporter, found: Any) -> Any:
    @rm.trace
    def handler(question: str) -> str:
        with rm.retrieval(knowledge_base="kb") as step:
            step.documents = found
        return "24 months"

    captured.clear()
    handler(ASKED)
    return captured.records[0].get("contexts")


SHAPES: dict[str, Any] = {
    "qdrant": [Thing(id="d1", score=0.9, payload={"text": TEXT, "page": 3})],
    "qdrant response": Thing(points=[Thing(id="d1", score=0.9, payload={"page_content": TEXT})]),
    "qdrant scroll": ([Thing(id="d1", payload={"text": TEXT})], "next-page"),
    "qdrant batch": [Thing(points=[Thing(id="d1", payload={"text": TEXT})])],
    "pinecone": {"matches": [{"id": "d1", "score": 0.9, "metadata": {"text": TEXT}}]},
    "pinecone records": {"result": {"hits": [{"_id": "d1", "fields": {"chunk_text": TEXT}}]}},
    "pinecone fetch": {"vectors": {"d1": {"id": "d1", "metadata": {"text": TEXT}}}},
    "milvus": [[{"id": "d1", "distance": 0.9, "entity": {"text": TEXT}}]],
    "elasticsearch": Thing(_body={"hits": {"hits": [{"_id": "d1", "_source": {"content": TEXT}}]}}),
    "opensearch": {"hits": {"hits": [{"_id": "d1", "_score": 9.1, "_source": {"body": TEXT}}]}},
    "elasticsearch fields": [{"_id": "d1", "fields": {"content": [TEXT]}}],
    "chroma": {"ids": [["d1"]], "documents": [[TEXT]], "distances": [[0.1]], "metadatas": [[None]]},
    "chroma get": {"ids": ["d1"], "documents": [TEXT], "metadatas": [{"a": 1}]},
    "weaviate": Thing(
        objects=[Thing(uuid="d1", properties={"content": TEXT}, metadata=Thing(score=0.7))]
    ),
    "lancedb": [{"id": "d1", "text": TEXT, "vector": [0.1, 0.2], "_distance": 0.2}],
    "pgvector": [("d1", TEXT, "[0.1,0.2222222222222222222222222222222222222222]", 0.9)],
    "sql": [("d1", TEXT, 0.9)],
    "one row": ("d1", TEXT, 0.9),
    "typesense": {"hits": [{"document": {"id": "d1", "text": TEXT}, "text_match": 578}]},
    "azure": [{"@search.score": 0.9, "chunk_id": "d1", "chunk": TEXT}],
    "vespa": {"root": {"children": [{"id": "d1", "relevance": 0.9, "fields": {"text": TEXT}}]}},
    "solr": {"response": {"docs": [{"id": "d1", "content": TEXT}]}},
    "supabase": Thing(data=[{"id": "d1", "content": TEXT, "similarity": 0.9}], count=None),
    "unknown field": [{"_id": "d1", "_source": {"para": TEXT, "url": "https://a.example", "n": 3}}],
    "langchain chain": {"input": ASKED, "answer": "a", "context": [{"id": "d1", "text": TEXT}]},
    "pipeline": {"retriever": {"documents": [{"id": "d1", "content": TEXT}]}},
    "dict_values": {"d1": {"id": "d1", "content": TEXT}}.values(),
    "columns": {"id": ["d1"], "content": [TEXT]},
    "none among them": [None, {"id": "d1", "content": TEXT}],
}


@pytest.mark.parametrize("shape", SHAPES)
def test_s06_documents_are_read_as_clients_give_them(
    captured: InMemoryExporter, shape: str
) -> None:
    (passage,) = documents(captured, SHAPES[shape])

    assert (passage["content"], passage["id"]) == (TEXT, "d1")
    assert TEXT not in str(passage.get("metadata"))


def test_s06_scores_and_distances_stay_apart(captured: InMemoryExporter) -> None:
    (passage,) = documents(captured, SHAPES["qdrant"])
    assert (passage["score"], passage["metadata"]) == (0.9, {"page": 3})
    (passage,) = documents(captured, SHAPES["chroma"])
    assert ("score" in passage, passage["metadata"]) == (False, {"distance": 0.1})
    (passage,) = documents(captured, SHAPES["pgvector"])
    assert passage["score"] == 0.9


def test_s06_lists_of_texts_and_scores_belong_together(captured: InMemoryExporter) -> None:
    found = documents(captured, ([TEXT, "other"], [0.9, 0.8]))

    assert [(one["content"], one["score"]) for one in found] == [(TEXT, 0.9), ("other", 0.8)]


def test_s06_tables_and_arrays_are_read(captured: InMemoryExporter) -> None:
    numpy = pytest.importorskip("numpy", reason="needs numpy")
    pandas = pytest.importorskip("pandas", reason="needs pandas")
    frame = pandas.DataFrame({"id": ["d1"], "content": [TEXT], "embedding": [[0.1]]})
    for table in (frame, frame.to_records(index=False)):
        (passage,) = documents(captured, table)
        assert (passage["content"], passage["id"]) == (TEXT, "d1")
    for texts in (numpy.array([TEXT]), frame["content"], {TEXT}):
        assert [one["content"] for one in documents(captured, texts)] == [TEXT]
    assert documents(captured, frame.iloc[:0]) == []
    assert documents(captured, numpy.array([0.1, 0.2])) is None


def test_s06_other_tables_are_read(captured: InMemoryExporter) -> None:
    polars = pytest.importorskip("polars", reason="needs polars")
    pyarrow = pytest.importorskip("pyarrow", reason="needs pyarrow")
    columns = {"id": ["d1"], "text": [TEXT], "vector": [[0.1, 0.2]]}
    for table in (polars.DataFrame(columns), pyarrow.table(columns)):
        (passage,) = documents(captured, table)
        assert (passage["content"], passage["id"]) == (TEXT, "d1")


def test_s06_rows_that_keep_their_values_out_of_sight_are_read(
    captured: InMemoryExporter,
) -> None:
    import sqlite3

    with contextlib.closing(sqlite3.connect(":memory:")) as connection:
        connection.row_factory = sqlite3.Row
        rows = connection.execute("select 'd1' as id, ? as chunk", (TEXT,)).fetchall()
    (passage,) = documents(captured, rows)
    assert (passage["content"], passage["id"]) == (TEXT, "d1")

    sqlalchemy = pytest.importorskip("sqlalchemy", reason="needs sqlalchemy")
    with sqlalchemy.create_engine("sqlite://").connect() as connected:
        query = sqlalchemy.text("select 'd1' as id, :text as chunk")
        for rows in (
            connected.execute(query, {"text": TEXT}).all(),
            connected.execute(query, {"text": TEXT}).mappings().all(),
        ):
            (passage,) = documents(captured, rows)
            assert (passage["content"], passage["id"]) == (TEXT, "d1")


def test_s06_what_nobody_can_read_is_said_once(
    captured: InMemoryExporter, caplog: pytest.LogCaptureFixture
) -> None:
    documents(captured, [Thing(weight=1), Thing(weight=2)])

    told = [line for line in caplog.messages if "no text was found" in line]
    assert len(told) == 1
    assert "SimpleNamespace" in told[0]


@pytest.mark.parametrize(
    "found",
    [
        {"id": "d1", "content": TEXT, "updated_at": "2026-01-05", "version": 3},
        {"id": "d1", "text": TEXT, "updated_at": "2026-01-05", "version": 3, "page": 4},
        {
            "id": "d1",
            "content": TEXT,
            "metadata": {f"m{n}": n for n in range(30)}
            | {"updated_at": "2026-01-05", "version": 3},
        },
    ],
    ids=["beside the content", "beside a text", "behind much else"],
)
def test_what_tells_how_new_a_document_is_is_kept(
    captured: InMemoryExporter, found: dict[str, Any]
) -> None:
    [document] = documents(captured, [found])

    kept = document["metadata"]
    assert (kept["updated_at"], kept["version"]) == ("2026-01-05", 3)
    assert len(kept) <= 20
