"""Which passages reached the model: what is a repeat, what carries which text."""

from __future__ import annotations

import json

import pytest

from rag_monitor import semconv
from tests.unit.ingest.evidence import span, trace_of

CHAIN = {"openinference.span.kind": "CHAIN", "input.value": "q?", "output.value": "a."}
RETRIEVER = {"openinference.span.kind": "RETRIEVER", "input.value": "q?"}


def _flat(*fields: dict[str, object]) -> dict[str, object]:
    """A retriever span that returned these documents."""
    prefix = "retrieval.documents"
    return RETRIEVER | {
        f"{prefix}.{place}.document.{name}": value
        for place, document in enumerate(fields)
        for name, value in document.items()
    }


def test_pieces_of_one_document_are_passages_of_their_own() -> None:
    pieces = _flat(
        *(
            {"content": f"piece {n}", "metadata": json.dumps({"doc_id": "manual.pdf", "page": n})}
            for n in range(3)
        )
    )
    trace = trace_of(span(1, "root", CHAIN), span(2, "r", pieces, parent=1))
    assert [(d.id, d.content) for d in trace.contexts or ()] == [
        ("manual.pdf", f"piece {n}") for n in range(3)
    ]


def test_a_passage_is_named_by_its_piece_before_its_document() -> None:
    output = {
        "documents": [
            {"content": f"text {n}", "metadata": {"document_id": "D", "segment_id": f"S{n}"}}
            for n in range(2)
        ]
    }
    found = RETRIEVER | {"output.value": json.dumps(output)}
    trace = trace_of(span(1, "root", CHAIN), span(2, "r", found, parent=1))
    assert [(d.id, d.content) for d in trace.contexts or ()] == [("S0", "text 0"), ("S1", "text 1")]


def test_two_knowledge_bases_may_both_count_from_one() -> None:
    def search(base: str, *documents: tuple[str, str | None]) -> dict[str, object]:
        listed = [{"id": name, "content": text} for name, text in documents]
        return {
            "gen_ai.operation.name": "retrieval",
            "gen_ai.data_source.id": base,
            "gen_ai.retrieval.documents": json.dumps(listed),
        }

    trace = trace_of(
        span(1, "root", CHAIN),
        span(2, "one", search("kb-1", ("1", "a"), ("2", "b"), ("9", None)), parent=1, ms=(1, 5)),
        span(3, "two", search("kb-2", ("1", "c"), ("2", "b"), ("9", "z")), parent=1, ms=(6, 9)),
    )
    found = [(d.id, d.content, d.knowledge_base) for d in trace.contexts or ()]
    assert found == [
        ("1", "a", "kb-1"),
        ("2", "b", "kb-1"),
        ("9", None, "kb-1"),
        ("1", "c", "kb-2"),
        ("9", "z", "kb-2"),
    ]


def _reranked(*ids: str) -> dict[str, object]:
    prefix = "reranker.output_documents"
    return {"openinference.span.kind": "RERANKER"} | {
        f"{prefix}.{place}.document.id": name for place, name in enumerate(ids)
    }


@pytest.mark.parametrize(
    ("ids", "texts"),
    [
        (("D", "D"), ["piece 0", "piece 1"]),
        (("D",), [None]),  # which of the two, nobody said
        (("E", "D", "D"), ["other", "piece 0", "piece 1"]),
    ],
)
def test_a_reranked_id_that_names_several_pieces_gets_them_all_or_none(
    ids: tuple[str, ...], texts: list[str | None]
) -> None:
    pieces = _flat(
        {"id": "D", "content": "piece 0"},
        {"id": "D", "content": "piece 1"},
        {"id": "E", "content": "other"},
    )
    trace = trace_of(
        span(1, "root", CHAIN),
        span(2, "r", pieces, parent=1, ms=(1, 5)),
        span(3, "rr", _reranked(*ids), parent=1, ms=(6, 9)),
    )
    assert [d.content for d in trace.contexts or ()] == texts


def test_the_text_of_a_vector_database_stands_among_its_metadata() -> None:
    matches = [
        {"id": "v-1", "score": 0.9, "metadata": {"text": "one", "source": "a.md"}},
        {"id": "v-2", "metadata": {"source": "b.md", "page": 2}},
        {"id": "v-3", "content": "own", "metadata": {"text": "other"}},
    ]
    search = {
        "gen_ai.operation.name": "retrieval",
        "gen_ai.retrieval.query.text": "q?",
        "gen_ai.retrieval.documents": json.dumps(matches),
    }
    trace = trace_of(span(1, "search", search))
    assert [(d.id, d.content) for d in trace.contexts or ()] == [
        ("v-1", "one"),
        ("v-2", None),
        ("v-3", "own"),
    ]


def _recorded(contexts: object) -> list[str | None]:
    """Ids of the contexts of a trace of our SDK's with two searches that overlap."""
    one, two = ({"id": n, "content": f"text {n}", "knowledge_base": "kb"} for n in ("d1", "d2"))
    searches = [
        {"knowledge_base": "kb", "documents": [one, two]},
        {"knowledge_base": "kb", "documents": [two]},
    ]
    record = {"question": "q?", "answer": "a.", "retrievals": searches, "contexts": contexts}
    trace = trace_of(span(1, "root", {semconv.COMPLETE: True, semconv.RECORD: json.dumps(record)}))
    assert [len(r.documents) for r in trace.retrievals] == [2, 1]
    assert [d.rank for d in trace.contexts or ()] == list(range(1, len(trace.contexts or ()) + 1))
    return [d.id for d in trace.contexts or ()]


def test_a_passage_that_two_searches_found_reached_the_model_once() -> None:
    assert _recorded({"retrievals": [0, 1]}) == ["d1", "d2"]


def test_what_was_said_to_reach_the_model_stays_as_it_was_said() -> None:
    said = [{"id": n, "content": f"text {n}"} for n in ("d2", "d1", "d2")]
    assert _recorded(said) == ["d2", "d1", "d2"]


@pytest.mark.parametrize(
    ("root", "retriever", "output"),
    [
        (
            {"langfuse.trace.input": "q?", "langfuse.trace.output": "a."},
            {"langfuse.observation.type": "retriever"},
            "langfuse.observation.output",
        ),
        (CHAIN, RETRIEVER, "output.value"),
    ],
)
def test_passages_of_langchain_for_javascript_have_their_text(
    root: dict[str, object], retriever: dict[str, object], output: str
) -> None:
    documents = [{"pageContent": "Two years.", "metadata": {"source": "a.md"}, "id": "d1"}]
    for told in (documents, {"documents": documents}):
        trace = trace_of(
            span(1, "root", root),
            span(2, "r", {**retriever, output: json.dumps(told)}, parent=1),
        )
        assert [(d.id, d.content) for d in trace.contexts or ()] == [("d1", "Two years.")]


@pytest.mark.parametrize(
    "told",
    [
        {"retrievalResults": [{"content": {"text": "Two years.", "type": "TEXT"}, "score": 0.7}]},
        {"data": [{"content": [{"type": "text", "text": "Two years."}], "score": 0.7}]},
    ],
    ids=["bedrock", "openai"],
)
def test_a_content_in_parts_is_the_passages_text(told: dict[str, object]) -> None:
    output = {**RETRIEVER, "output.value": json.dumps(told)}
    trace = trace_of(span(1, "root", CHAIN), span(2, "r", output, parent=1))
    assert [(d.content, d.score) for d in trace.contexts or ()] == [("Two years.", 0.7)]
