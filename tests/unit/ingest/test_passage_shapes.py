"""Passages as vector databases, frameworks and rerankers return them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from tests.unit.ingest.evidence import span, trace_of

DOG = "Dogs travel on deck, on a lead."
BIKE = "Bicycles cost 5 euros."
CHAIN = {"openinference.span.kind": "CHAIN", "input.value": "q?", "output.value": "a."}
RETRIEVER = {"openinference.span.kind": "RETRIEVER", "input.value": "q?"}
Told = tuple[str | None, str | None, float | None]
ONE: list[Told] = [("p-7", DOG, 0.9)]
BOTH: list[Told] = [("p-7", DOG, 0.9), ("p-9", BIKE, 0.5)]
UNSCORED: list[Told] = [("p-7", DOG, None), ("p-9", BIKE, None)]

SHAPES: dict[str, tuple[object, list[Told] | None]] = {
    "pinecone": (
        {"matches": [{"id": "p-7", "score": 0.9, "values": [0.1], "metadata": {"text": DOG}},
                     {"id": "p-9", "score": 0.5, "metadata": {"text": BIKE}}]}, BOTH),
    "pinecone_search": (
        {"result": {"hits": [
            {"_id": "p-7", "_score": 0.9, "fields": {"chunk_text": DOG}},
            {"_id": "p-9", "_score": 0.5, "fields": {"chunk_text": BIKE}}]}}, BOTH),
    "chroma": (
        {"ids": [["p-7", "p-9"]], "documents": [[DOG, BIKE]], "metadatas": [[{"a": 1}, None]],
         "distances": [[0.1, 0.4]], "embeddings": None, "included": ["documents"]}, UNSCORED),
    "chroma_get": ({"ids": ["p-7", "p-9"], "documents": [DOG, BIKE]}, UNSCORED),
    "chroma_two_queries": ({"ids": [["p-7"], ["p-9"]], "documents": [[DOG], [BIKE]]}, UNSCORED),
    "chroma_nothing": ({"ids": [[]], "documents": [[]], "distances": [[]]}, []),
    "milvus": (
        [[{"id": 7, "distance": 0.2, "entity": {"text": DOG}},
          {"id": 9, "distance": 0.3, "entity": {"text": BIKE}}]],
        [("7", DOG, None), ("9", BIKE, None)]),
    "weaviate": (
        {"data": {"Get": {"Rule": [{"text": DOG, "_additional": {"id": "p-7", "certainty": 0.9}},
                                   {"text": BIKE, "_additional": {"id": "p-9",
                                                                  "certainty": 0.5}}]}}}, BOTH),
    "weaviate_4": (
        {"objects": [{"uuid": "p-7", "properties": {"title": "Dogs", "wording": DOG},
                      "metadata": {"score": 0.9}}]}, ONE),
    "qdrant": ([{"id": "p-7", "version": 3, "score": 0.9, "payload": {"text": DOG}},
                {"id": "p-9", "score": 0.5, "payload": {"page_content": BIKE, "metadata": {}}}],
               BOTH),
    "qdrant_points": ({"result": {"points": [{"id": "p-7", "score": 0.9,
                                              "payload": {"document": DOG}}]}}, ONE),
    "qdrant_of_llama_index": (
        [{"id": "p-7", "score": 0.9, "payload": {"_node_content": json.dumps({"text": DOG})}}],
        ONE),
    "elasticsearch": (
        {"took": 1, "hits": {"hits": [{"_index": "r", "_id": "p-7", "_score": 0.9,
                                       "_source": {"body": DOG, "url": "u"}}]}}, ONE),
    "elasticsearch_fields": (
        {"hits": {"hits": [{"_id": "p-7", "_score": 0.9, "fields": {"content": [DOG]}}]}}, ONE),
    "opensearch_own_field": (
        {"hits": {"hits": [{"_id": "p-7", "_score": 0.9, "_source": {"rule_de": DOG,
                                                                     "title": "Dogs"}}]}}, ONE),
    "typesense": ({"hits": [{"document": {"id": "p-7", "text": DOG}}]}, UNSCORED[:1]),
    "algolia": ({"hits": [{"objectID": "p-7", "content": DOG}]}, UNSCORED[:1]),
    "meilisearch": ({"hits": [{"id": "p-7", "content": DOG, "_rankingScore": 0.9}]}, ONE),
    "solr": ({"response": {"docs": [{"id": "p-7", "text": [DOG], "score": 0.9}]}}, ONE),
    "vespa": ({"root": {"children": [{"id": "p-7", "relevance": 0.9, "fields": {"text": DOG}}]}},
              ONE),
    "azure": ({"value": [{"@search.score": 0.9, "id": "p-7", "content": DOG}]}, ONE),
    "mongodb": ([{"_id": "p-7", "text": DOG, "score": 0.9}], ONE),
    "lancedb": ([{"id": "p-7", "text": DOG, "vector": [0.1], "_distance": 0.2}], UNSCORED[:1]),
    "names_in_chinese": ([{"编号": "p-7", "内容": DOG}, {"编号": "p-9", "正文": BIKE}], UNSCORED),
    "rows": ([{"id": 7, "content": DOG, "similarity": 0.9}], [("7", DOG, 0.9)]),
    "data_frame": ({"id": ["p-7", "p-9"], "text": [DOG, BIKE], "score": [0.9, 0.5]}, BOTH),
    "data_frame_by_row": ({"id": {"0": "p-7"}, "text": {"0": DOG}, "score": {"0": 0.9}}, ONE),
    "pairs": ([[{"page_content": DOG, "id": "p-7"}, 0.9],
               [{"page_content": BIKE, "id": "p-9"}, 0.5]], BOTH),
    "scores_beside": ({"documents": [{"id": "p-7", "content": DOG}], "scores": [0.9]}, ONE),
    "haystack": ({"retriever": {"documents": [{"id": "p-7", "content": DOG, "score": 0.9}]}}, ONE),
    "ragflow": ({"data": {"chunks": [{"id": "p-7", "content": DOG, "similarity": 0.9}]}}, ONE),
    "dify": ({"records": [{"segment": {"id": "p-7", "content": DOG}, "score": 0.9}]}, ONE),
    "texts": ([DOG, BIKE], [(None, DOG, None), (None, BIKE, None)]),
    "printed_by_python": (f"[{{'id': 'p-7', 'text': '{DOG}', 'score': 0.9}}]", ONE),
    "printed_objects": (["NodeWithScore(node=TextNode(id_='p-7', text='x'), score=0.9)"], None),
    "printed_list": ("[ScoredPoint(id='p-7', score=0.9, payload={'text': 'x'})]", None),
    "nothing_readable": ([{}, {"rank": 1}], None),
    "one_without_text": ([{"id": "p-7", "content": " "}, {"id": "p-9", "content": BIKE}],
                         [("p-7", None, None), ("p-9", BIKE, None)]),
}  # fmt: skip


def _told(*spans: Mapping[str, Any]) -> list[Told] | None:
    contexts = trace_of(*spans).contexts
    return None if contexts is None else [(d.id, d.content, d.score) for d in contexts]


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize(
    ("kind", "output"),
    [
        (RETRIEVER, "output.value"),
        ({"langfuse.observation.type": "retriever"}, "langfuse.observation.output"),
        ({"mlflow.spanType": '"RETRIEVER"'}, "mlflow.spanOutputs"),
        ({"gen_ai.operation.name": "retrieval"}, "gen_ai.retrieval.documents"),
        ({"cozeloop.span_type": "retriever"}, "cozeloop.output"),
    ],
    ids=["openinference", "langfuse", "mlflow", "gen_ai", "coze_loop"],
)
def test_passages_are_read_in_every_shape(
    name: str, kind: Mapping[str, object], output: str
) -> None:
    value, want = SHAPES[name]
    written = value if isinstance(value, str) else json.dumps(value)
    search = span(2, "search", {**kind, output: written}, parent=1)
    assert _told(span(1, "rag", CHAIN), search) == want


def test_a_distance_is_no_score_and_what_a_database_keeps_beside_is_metadata() -> None:
    points = [{"id": 1, "payload": {"text": DOG, "file": "a.md", "vector": [1]}, "_distance": 0.2}]
    search = {**RETRIEVER, "output.value": json.dumps(points)}
    (found,) = trace_of(span(1, "rag", CHAIN), span(2, "s", search, parent=1)).contexts or ()
    assert dict(found.metadata) == {"file": "a.md", "distance": 0.2}
    assert found.score is None


ITEMS = [{"id": "p-7", "content": DOG, "score": 0.9}, {"id": "p-9", "content": BIKE, "score": 0.5}]


@pytest.mark.parametrize(
    "attributes",
    [
        {"retrieval.documents": json.dumps(ITEMS)},
        {"retrieval.documents": json.dumps([{"document": item} for item in ITEMS])},
        {"retrieval.documents": json.dumps(
            [{f"document.{key}": value for key, value in item.items()} for item in ITEMS])},
        {"retrieval.documents": json.dumps({"documents": ITEMS})},
        {"retrieval.documents": ITEMS},
        {"retrieval.documents": [json.dumps(item) for item in ITEMS]},
        {f"retrieval.documents.{n}": json.dumps(item) for n, item in enumerate(ITEMS)},
        {f"retrieval.documents.{n}": {"document": item} for n, item in enumerate(ITEMS)},
        {f"retrieval.documents.{n}.document": json.dumps(item) for n, item in enumerate(ITEMS)},
        {"retrieval.document": json.dumps(ITEMS)},
    ],
)  # fmt: skip
def test_openinference_may_write_passages_in_one_attribute_or_one_each(
    attributes: Mapping[str, object],
) -> None:
    search = span(2, "search", {**RETRIEVER, **attributes}, parent=1)
    assert _told(span(1, "rag", CHAIN), search) == BOTH


# --- rerankers ---

FOUND = {
    **RETRIEVER,
    **{
        f"retrieval.documents.{n}.document.{key}": item[key]
        for n, item in enumerate(ITEMS)
        for key in ("id", "content")
    },
}
RANKED: list[Told] = [("p-9", BIKE, 0.9), ("p-7", DOG, 0.1)]
PLACES = [{"index": 1, "relevance_score": 0.9}, {"index": 0, "relevance_score": 0.1}]


def _reranked(*rankings: Mapping[str, object]) -> list[Told] | None:
    rerankers = [
        span(
            n, "rerank", {"openinference.span.kind": "RERANKER", **r}, parent=1, ms=(n * 10, n * 11)
        )
        for n, r in enumerate(rankings, start=3)
    ]
    search = span(2, "search", FOUND, parent=1, ms=(1, 5))
    return _told(span(1, "rag", CHAIN), search, *rerankers)


@pytest.mark.parametrize(
    "ranking",
    [
        {"output.value": json.dumps({"results": PLACES, "meta": {}})},
        {"output.value": json.dumps({"results": [{**p, "document": None} for p in PLACES]})},
        {"output.value": json.dumps({"data": PLACES})},
        {"output.value": json.dumps([{"index": p["index"], "score": p["relevance_score"]}
                                     for p in PLACES])},
        {"output.value": json.dumps([{"corpus_id": p["index"], "score": p["relevance_score"]}
                                     for p in PLACES])},
        {"output.value": str(PLACES)},
        {"output.value": json.dumps({"results": [
            {**p, "document": {"text": (DOG, BIKE)[int(p["index"])]}} for p in PLACES]})},
        {f"reranker.output_documents.{n}.document.{key}": value for n, p in enumerate(PLACES)
         for key, value in (("index", p["index"]), ("score", p["relevance_score"]))},
        {f"reranker.output_documents.{n}.document.{key}": value
         for n, (name, score) in enumerate((("p-9", 0.9), ("p-7", 0.1)))
         for key, value in (("id", name), ("content", ""), ("score", score))},
        {"reranker.output_documents": json.dumps(
            [{"document": {"id": "p-9", "score": 0.9}},
             {"document": {"id": "p-7", "score": 0.1}}])},
    ],
)  # fmt: skip
def test_a_reranker_may_name_passages_by_place_id_or_text(ranking: Mapping[str, object]) -> None:
    assert _reranked(ranking) == RANKED


@pytest.mark.parametrize(
    "ranking",
    [
        {"output.value": json.dumps({"results": [{"index": 7, "relevance_score": 0.9}]})},
        {"reranker.output_documents.0.document.score": 0.9},
        {"reranker.output_documents.0.document.id": "another-7"},
        {"output.value": "RerankResponse(results=[Result(index=1)])"},
    ],
)
def test_what_a_reranker_does_not_say_replaces_no_passage(ranking: Mapping[str, object]) -> None:
    assert _reranked(ranking) == UNSCORED


def test_places_are_those_among_what_the_reranker_was_given() -> None:
    output = {"output.value": json.dumps({"results": PLACES[1:]})}
    given = {
        "reranker.input_documents.0.document.content": BIKE,
        "reranker.input_documents.1.document.content": DOG,
    }
    assert _reranked({**output, **given}) == [("p-9", BIKE, 0.1)]
    given = {"input.value": json.dumps({"query": "q?", "documents": [BIKE, DOG]})}
    assert _reranked({**output, **given}) == [("p-9", BIKE, 0.1)]


def test_a_second_reranker_counts_from_the_order_of_the_first() -> None:
    first = {"output.value": json.dumps({"results": PLACES})}
    second = {"output.value": json.dumps({"results": [{"index": 1, "relevance_score": 0.8}]})}
    assert _reranked(first, second) == [("p-7", DOG, 0.8)]


def test_a_reranker_that_keeps_nothing_leaves_nothing() -> None:
    assert _reranked({"output.value": json.dumps({"results": []})}) == []
