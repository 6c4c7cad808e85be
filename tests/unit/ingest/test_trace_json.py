"""Trace JSON: both directions, and what a bad row is told."""

from __future__ import annotations

import contextlib
import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rag_monitor.domain.conversation import EarlierTurn
from rag_monitor.domain.hit import Hit, HitKind
from rag_monitor.domain.ports import BlobFormat
from rag_monitor.domain.trace import (
    Expected,
    Retrieval,
    RetrievedDocument,
    Timings,
    Trace,
    TraceStatus,
    Usage,
    derive_trace_id,
)
from rag_monitor.errors import IngestError, MalformedPayload
from rag_monitor.ingest.derive import derive
from rag_monitor.ingest.trace_encoding import unknown_fields
from rag_monitor.ingest.trace_json import decode_trace, encode_trace, parse_row
from rag_monitor.testing import EPOCH, make_trace

words = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0"), max_size=8)
names = st.text("abcxyz-产品", min_size=1, max_size=6)
times = st.none() | st.floats(0, 1e7)
counts = st.none() | st.integers(0, 2**60)
values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**50), 2**50) | st.floats(-1e6, 1e6) | words,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(words, inner, max_size=2),
    max_leaves=4,
)
objects = st.dictionaries(names, values, max_size=2)


def lists_of(items: st.SearchStrategy[Any]) -> st.SearchStrategy[tuple[Any, ...]]:
    return st.lists(items, max_size=2).map(tuple)


documents = st.builds(
    RetrievedDocument,
    id=st.none() | names,
    content=st.none() | words,
    score=st.none() | st.floats(-10, 10),
    rank=st.integers(1, 9),
    knowledge_base=st.none() | names,
    metadata=objects,
)
traces = st.builds(
    Trace,
    trace_id=st.text("0123456789abcdef", min_size=31, max_size=31).map(lambda rest: "f" + rest),
    app=names,
    question=st.none() | words,
    answer=st.none() | words,
    started_at=st.datetimes(EPOCH.replace(tzinfo=None), timezones=st.just(UTC)),
    environment=st.none() | words,
    release=st.none() | words,
    session_id=st.none() | words,
    user_id=st.none() | words,
    tags=lists_of(words),
    status=st.sampled_from(TraceStatus),
    error=st.none() | words,
    retrievals=lists_of(
        st.builds(
            Retrieval,
            query=st.none() | words,
            documents=lists_of(documents),
            knowledge_base=st.none() | names,
            latency_ms=times,
            reranked=st.booleans(),
            error=st.none() | words,
        )
    ),
    contexts=st.none() | lists_of(documents),
    context_block=st.none() | words,
    history=lists_of(
        st.builds(
            EarlierTurn,
            question=words.filter(str.strip),
            answer=words,
            trace_id=st.none(),
        )
    ),
    timings=st.builds(
        Timings,
        first_byte_ms=times,
        generation_ms=times,
        end_to_end_ms=times,
        retrieval_ms=times,
        first_token_ms=times,
    ),
    hits=lists_of(
        st.builds(
            Hit,
            kind=st.sampled_from(HitKind),
            name=names,
            ok=st.booleans(),
            items=counts,
            latency_ms=times,
        )
    ),
    expected=st.none()
    | st.builds(
        Expected,
        plugin=st.none() | lists_of(names),
        knowledge_base=st.none() | lists_of(names),
        workflow=st.none() | lists_of(names),
        references=st.none() | lists_of(words.filter(str.strip)),
        key_points=st.none() | lists_of(words),
        relevant_ids=st.none() | st.dictionaries(names, st.floats(0, 3), max_size=2),
        context_labels=st.none() | lists_of(st.integers(0, 1)),
        faithful=st.none() | st.booleans(),
        label=st.none() | words,
        predicted=st.none() | words,
    ),
    model=st.none() | words,
    usage=st.builds(Usage, input_tokens=counts, output_tokens=counts),
    streamed=st.none() | st.booleans(),
    revision=st.integers(1, 5),
    truncated=st.booleans(),
    convention=names,
    attributes=objects,
)


@settings(max_examples=60, deadline=None)
@given(trace=traces)
def test_a_trace_survives_encoding_and_decoding(trace: Trace) -> None:
    text = json.dumps(encode_trace(trace))
    assert decode_trace(parse_row(text), project=trace.project) == trace


@pytest.mark.parametrize("given", ["", None, "v2"])
def test_a_release_stands_in_only_where_the_row_has_none(given: str | None) -> None:
    row = {"question": "q", "answer": "a", "release": given}

    assert decode_trace(row).release == given
    assert decode_trace(row, release="v1").release == (given or "v1")


known_fields = st.sampled_from(
    ["id", "trace_id", "question", "answer", "contexts", "retrievals", "hits", "timings", "usage",
     "expected", "relevant_ids", "context_labels", "started_at", "tags", "status", "app",
     "attributes", "metadata", "label", "revision", "streamed"]
)  # fmt: skip
anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(max_size=5) | known_fields, inner, max_size=3)
    ),
    max_leaves=12,
)


@settings(max_examples=150, deadline=None)
@given(row=st.dictionaries(known_fields, anything, max_size=6) | anything)
def test_whatever_a_row_holds_decoding_gives_a_trace_or_an_ingest_error(row: Any) -> None:
    with contextlib.suppress(IngestError):
        assert isinstance(decode_trace(row), Trace)


@settings(max_examples=80, deadline=None)
@given(
    body=st.binary(max_size=60) | st.text(max_size=60).map(lambda s: s.encode("utf-8", "replace"))
)
def test_whatever_bytes_come_derivation_gives_a_trace_or_an_ingest_error(body: bytes) -> None:
    for format_ in BlobFormat:
        with contextlib.suppress(IngestError):
            derive("default", [(format_, body)], EPOCH)


def test_a_row_written_by_hand_gets_its_ids_ranks_and_one_retrieval() -> None:
    trace = decode_trace(
        {
            "id": "q-1",
            "app": "bank",
            "question": "多少?",
            "answer": "3.4%",
            "query": "利率",
            "knowledge_base": "loans",
            "contexts": ["甲", {"id": "d-2", "content": "乙", "score": 1}],
            "timings": {"retrieval_ms": 12},
        },
        project="p",
        received_at=EPOCH,
    )
    assert trace.trace_id == derive_trace_id("p", "bank", "q-1")
    assert trace.started_at == EPOCH
    assert [(d.rank, d.id, d.content, d.knowledge_base) for d in trace.contexts or ()] == [
        (1, None, "甲", "loans"),
        (2, "d-2", "乙", "loans"),
    ]
    assert trace.retrievals[0].documents == trace.contexts
    assert (trace.query, trace.retrievals[0].latency_ms) == ("利率", 12)
    assert [(h.kind, h.name, h.items) for h in trace.hits] == [(HitKind.KNOWLEDGE_BASE, "loans", 2)]


def test_no_contexts_is_unknown_and_an_empty_list_recalled_nothing() -> None:
    row = {"question": "q", "answer": "a"}
    assert decode_trace(row).contexts is None
    assert decode_trace({**row, "contexts": None}).contexts is None
    assert decode_trace({**row, "contexts": []}).contexts == ()


def test_a_row_without_id_has_the_same_trace_id_every_time() -> None:
    row = {"question": "q", "answer": "a"}
    assert decode_trace(row).trace_id == decode_trace(dict(reversed(row.items()))).trace_id
    assert decode_trace(row).trace_id != decode_trace({**row, "answer": "b"}).trace_id


def test_the_times_of_a_row_are_read_with_their_zone() -> None:
    row = {"question": "q", "answer": "a", "started_at": "2026-01-05T20:00:00+08:00"}
    assert decode_trace(row).started_at == datetime(2026, 1, 5, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"question": ["q"]}, "question"),
        ({"contexts": "text"}, "contexts"),
        ({"contexts": [3]}, "contexts[0]"),
        ({"contexts": [{"content": "a", "score": "high"}]}, "contexts[0].score"),
        ({"timings": {"end_to_end_ms": -1}}, "timings.end_to_end_ms"),
        ({"timings": {"first_byte_ms": float("nan")}}, "timings.first_byte_ms"),
        ({"usage": {"input_tokens": 2**70}}, "usage.input_tokens"),
        ({"usage": {"input_tokens": 1.5}}, "usage.input_tokens"),
        ({"status": "fine"}, "status"),
        ({"hits": [{"kind": "door", "name": "x"}]}, "hits[0].kind"),
        ({"hits": [{"kind": "plugin"}]}, "hits[0].name"),
        ({"started_at": "yesterday"}, "started_at"),
        ({"context_labels": [2]}, "context_labels"),
        ({"context_labels": [0.5]}, "context_labels"),
        ({"label_faithful": 0.5}, "label_faithful"),
        ({"label": ["yes"]}, "label"),
        ({"relevant_ids": 3}, "relevant_ids"),
        ({"id": ["x"]}, "id"),
        ({"history": "And before?"}, "history"),
        ({"history": ["And before?"]}, "history[0]"),
        ({"history": [{"answer": "a"}]}, "history[0].question"),
        ({"history": [{"question": "q", "answer": ["a"]}]}, "history[0].answer"),
    ],
)
def test_a_wrong_field_is_named_in_the_message(change: dict[str, Any], field: str) -> None:
    with pytest.raises(MalformedPayload, match=f"`{field}`".replace("[", r"\[")) as caught:
        decode_trace({"question": "q", "answer": "a", **change})
    assert "must be" in str(caught.value)


def test_an_empty_reference_is_none() -> None:
    row = {"question": "q", "answer": "a"}

    assert decode_trace({**row, "reference": " "}).expected is None
    assert decode_trace({**row, "reference": ["", ""]}).expected is None
    both = decode_trace({**row, "reference": ["", "x"]}).expected
    assert both is not None
    assert both.references == ("x",)


def test_classes_may_be_words_numbers_or_truth_values() -> None:
    row = {"question": "q", "answer": "a", "label": True, "predicted": 1}
    expected = decode_trace(row).expected
    assert expected is not None
    assert (expected.label, expected.predicted) == ("true", "1")


def test_a_row_without_question_and_answer_says_what_to_add() -> None:
    with pytest.raises(MalformedPayload, match="`question` and an `answer`"):
        decode_trace({"id": "1"})


def test_lone_surrogates_and_nul_become_replacement_characters() -> None:
    body = rb'{"question": "a\ud800b", "answer": "a\u0000b", "metadata": {"k": "\udc00"}}'
    trace = derive("default", [(BlobFormat.TRACE_JSON, body)], EPOCH)
    assert trace is not None
    assert (trace.question, trace.answer) == ("a\ufffdb", "a\ufffdb")
    assert trace.attributes["metadata"] == {"k": "\ufffd"}


def test_unknown_fields_are_found_and_what_the_api_adds_is_not_among_them() -> None:
    row = {**encode_trace(make_trace()), "scores": [], "colour": 1}
    assert unknown_fields(row) == {"colour"}


def test_unknown_fields_inside_others_are_found_too() -> None:
    row = {
        "question": "q",
        "answer": "a",
        "contexts": ["plain", {"id": "1", "text": "…"}, {"page_content": "…"}],
        "retrievals": [{"docs": [], "documents": [{"body": "…"}]}, 7],
        "timings": {"first_byte": 3},
        "usage": {"prompt_tokens": 5, "input_tokens": 5},
        "hits": [{"kind": "plugin", "name": "p", "latency": 3}],
        "expected": {"plugins": ["p"]},
        "metadata": {"anything": {"goes": 1}},
    }
    assert unknown_fields(row) == {
        "contexts[].text",
        "contexts[].page_content",
        "retrievals[].docs",
        "retrievals[].documents[].body",
        "timings.first_byte",
        "usage.prompt_tokens",
        "hits[].latency",
        "expected.plugins",
    }


def test_of_several_rows_for_one_trace_the_last_one_wins() -> None:
    rows = [
        (BlobFormat.TRACE_JSON, json.dumps({"id": "1", "question": "q", "answer": text}).encode())
        for text in ("first", "second")
    ]
    trace = derive("default", rows, EPOCH)
    assert trace is not None
    assert trace.answer == "second"


def test_a_number_that_is_too_large_is_told_how_large_it_may_be() -> None:
    with pytest.raises(MalformedPayload) as caught:
        decode_trace({"question": "q", "answer": "a", "timings": {"first_byte_ms": 1e308}})

    assert "a number of at least 0 and below 1e308, not 1e+308" in str(caught.value)


def test_a_misspelled_kind_among_the_expected_hits_is_an_unknown_field() -> None:
    row = {"question": "q", "answer": "a", "expected": {"plugins": ["a"], "workflow": ["b"]}}

    assert unknown_fields(row) == {"expected.plugins"}
    expected = decode_trace(row).expected
    assert expected is not None
    assert expected.workflow == ("b",)


_odd_texts = st.none() | st.text(max_size=6) | st.sampled_from(["\0", "\ud800", 7, 1.5, True, [1]])
_documents = st.fixed_dictionaries(
    {},
    optional={
        "id": _odd_texts,
        "content": _odd_texts,
        "score": st.none() | st.floats() | st.integers() | st.just("high"),
        "knowledge_base": _odd_texts,
    },
)


@given(_documents, st.none() | st.text(max_size=4))
def test_a_passage_is_read_alike_whether_or_not_it_has_rare_fields(
    document: dict[str, Any], knowledge_base: str | None
) -> None:
    def read(item: dict[str, Any]) -> tuple[RetrievedDocument, ...] | str | None:
        try:
            row = {"question": "?", "contexts": [item], "knowledge_base": knowledge_base}
            return decode_trace(row, trace_id="7" * 32, received_at=EPOCH).contexts
        except MalformedPayload as error:
            return str(error)

    assert read(document) == read(document | {"metadata": {}, "rank": 1})
