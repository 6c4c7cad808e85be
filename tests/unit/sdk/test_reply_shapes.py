"""Replies of knowledge bases and of GraphQL: which list in them has the passages."""

from __future__ import annotations

from typing import Any

import pytest

from rag_monitor.ingest.passages import documents_in
from rag_monitor.sdk.documents import take_documents

DOG = "Dogs travel on deck, on a lead."
BIKE = "自行车票价五欧元。"
BOTH = [("d1", DOG), ("d2", BIKE)]
ONE = [("d1", DOG)]
UNNAMED = [(None, DOG), (None, BIKE)]

REPLIES: dict[str, tuple[Any, list[tuple[str | None, str]]]] = {
    "dify": (
        {"query": {"content": "dogs?"}, "records": [
            {"segment": {"id": "d1", "position": 1, "document_id": "f", "content": DOG,
                         "answer": None, "document": {"id": "f", "name": "rules.txt"}},
             "score": 0.9, "child_chunks": None},
            {"segment": {"id": "d2", "document_id": "f", "content": BIKE}, "score": 0.5}]},
        BOTH),
    "dify_alone": ([{"segment": {"id": "d1", "content": DOG}, "score": 0.9}], ONE),
    "dify_question_and_answer": (
        [{"segment": {"id": "d1", "content": "Dogs?", "answer": DOG}, "score": 0.9}],
        [("d1", f"Dogs?\n{DOG}")]),
    "dify_workflow": (
        {"result": [{"content": DOG, "title": "t", "metadata": {"segment_id": "d1"}},
                    {"content": BIKE, "metadata": {"segment_id": "d2"}}]}, BOTH),
    "vectors": (
        {"vectors": [{"id": "d1", "vector": [0.1], "metadata": {"text": DOG}},
                     {"id": "d2", "metadata": {"text": BIKE}}]}, BOTH),
    "vectors_by_id": (
        {"vectors": {"d1": {"id": "d1", "values": [0.1], "metadata": {"text": DOG}},
                     "d2": {"id": "d2", "metadata": {"text": BIKE}}}, "namespace": ""}, BOTH),
    "vectors_with_keys": (
        {"vectors": [{"key": "d1", "distance": 0.1, "metadata": {"text": DOG}}],
         "distanceMetric": "cosine"}, ONE),
    "bedrock_text": (
        {"vectors": [{"key": "d1", "metadata": {"AMAZON_BEDROCK_TEXT": DOG}}]}, ONE),
    "weaviate": (
        {"data": {"Get": {"Rule": [{"content": DOG, "_additional": {"id": "d1"}},
                                   {"content": BIKE, "_additional": {"id": "d2"}}]}}}, BOTH),
    "weaviate_with_errors": (
        {"data": {"Get": {"Rule": [{"text": DOG}, {"text": BIKE}]}}, "errors": None}, UNNAMED),
    "weaviate_two_classes": (
        {"data": {"Get": {"Rule": [{"content": DOG, "_additional": {"id": "d1"}}],
                          "Price": [{"content": BIKE, "_additional": {"id": "d2"}}]}}}, BOTH),
    "edges": (
        {"data": {"search": {"edges": [{"node": {"id": "d1", "text": DOG}},
                                       {"node": {"id": "d2", "text": BIKE}}],
                             "pageInfo": {"hasNextPage": False}}}}, BOTH),
    "a_field_of_a_schema": (
        {"data": {"rules": [{"id": "d1", "text": DOG}, {"id": "d2", "text": BIKE}]}}, BOTH),
    "beside_other_fields": (
        {"data": {"search": {"items": [{"id": "d1", "text": DOG}], "total": 1},
                  "viewer": {"name": "x"}}}, ONE),
    "fastgpt": (
        {"code": 200, "data": {"list": [{"id": "d1", "q": DOG, "a": ""}], "duration": "1s"}}, ONE),
    "volcengine": (
        {"code": 0, "data": {"collection_name": "kb", "count": 1, "result_list": [
            {"id": "d1", "content": DOG, "doc_info": {"title": "t"}}]}}, ONE),
    "bailian": (
        {"Data": {"Nodes": [{"Text": DOG, "Score": 0.9, "Metadata": {"_id": "d1"}},
                            {"Text": BIKE, "Metadata": {"_id": "d2"}}]}, "Success": True}, BOTH),
    "algolia": ({"results": [{"hits": [{"objectID": "d1", "content": DOG}]}]}, ONE),
    "vertex": (
        {"results": [{"id": "d1", "document": {
            "id": "d1", "derivedStructData": {"snippets": [{"snippet": DOG}]}}}]}, ONE),
    "r2r": (
        {"results": {"chunk_search_results": [{"id": "d1", "text": DOG}],
                     "graph_search_results": []}}, ONE),
    "mem0": ({"results": [{"id": "d1", "memory": DOG}]}, ONE),
}  # fmt: skip


@pytest.mark.parametrize("name", REPLIES)
def test_in_the_application(name: str) -> None:
    given, wanted = REPLIES[name]

    taken = take_documents(given, 10_000)

    assert taken is not None
    assert [(id_, content) for content, id_, *_ in taken[0]] == wanted


@pytest.mark.parametrize("name", REPLIES)
def test_in_a_span(name: str) -> None:
    given, wanted = REPLIES[name]

    found = documents_in(given)

    assert found is not None
    assert [(document.id, document.content) for document in found] == wanted


@pytest.mark.parametrize(
    "reply",
    [
        {"code": 200, "took": "1s", "rows_of_x": [{"n": 1}, {"n": 2}]},
        {"message": "ok", "states": [{"state": "open"}]},
    ],
)
def test_a_reply_without_texts_is_no_passage(reply: Any) -> None:
    taken = take_documents(reply, 10_000)

    assert taken is None or all(content is None for content, *_ in taken[0])
    assert documents_in(reply) is None
