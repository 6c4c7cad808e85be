"""Captures of real instrumentations, against what was read out of them by hand."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from rag_monitor.domain.ports import BlobFormat
from rag_monitor.domain.trace import Trace, TraceStatus
from rag_monitor.ingest.derive import derive
from rag_monitor.ingest.envelope import decode_traces
from rag_monitor.ingest.options import IngestOptions

RECEIVED = datetime(2026, 11, 22, tzinfo=UTC)
Blobs = dict[str, list[tuple[BlobFormat, bytes]]]


@pytest.fixture(scope="module")
def folder(shared_data: Path) -> Path:
    return shared_data / "otlp"


@pytest.fixture(scope="module")
def expected(folder: Path) -> dict[str, list[dict[str, Any]]]:
    files = json.loads((folder / "expected.json").read_text())["files"]
    return {name: content["traces"] for name, content in files.items()}


def request_bodies(body: bytes, how: str) -> Iterator[bytes]:
    """The same spans whole, or one request per span in order, shuffled or twice."""
    if how == "whole":
        yield body
        return
    single = []
    for resource in json.loads(body)["resourceSpans"]:
        for scope in resource["scopeSpans"]:
            for span in scope["spans"]:
                lone = {**resource, "scopeSpans": [{**scope, "spans": [span]}]}
                single.append(json.dumps({"resourceSpans": [lone]}).encode())
    if how in ("shuffled", "twice"):
        random.Random(7).shuffle(single)
    if how == "reversed":
        single.reverse()
    yield from single * (2 if how == "twice" else 1)


def blobs_of(bodies: Iterator[bytes]) -> Blobs:
    found: Blobs = {}
    for body in bodies:
        decoded = decode_traces(body, json=True, options=IngestOptions())
        assert decoded.rejected == 0
        for blob in decoded.blobs:
            found.setdefault(blob.trace_id, []).append((blob.format, blob.payload))
    return found


def facts(trace: Trace) -> dict[str, Any]:
    """The trace in the words of expected.json."""
    extra = trace.attributes
    return {
        "question": trace.question,
        "question_source": extra.get("question_source"),
        "answer": trace.answer,
        "answer_source": extra.get("answer_source"),
        "retrieval_status": extra.get("retrieval_status"),
        "retriever_calls": sum(not r.reranked for r in trace.retrievals),
        "reranker_calls": sum(r.reranked for r in trace.retrievals),
        "contexts": [
            {
                "rank": d.rank,
                "id": d.id,
                "score": d.score,
                "distance": d.metadata.get("distance"),
                "text": d.content,
                "metadata": {k: v for k, v in d.metadata.items() if k != "distance"} or None,
            }
            for d in trace.contexts or ()
        ],
        "retrieved_before_rerank": extra.get("retrieved_before_rerank"),
        "knowledge_base_id": next((r.knowledge_base for r in trace.retrievals), None),
        "model": trace.model,
        "input_tokens": trace.usage.input_tokens,
        "output_tokens": trace.usage.output_tokens,
        "streamed": trace.streamed,
        "root_name": extra["root_name"],
        "root_count": extra.get("root_count", 1),
        "span_count": extra["span_count"],
        "conversation_id": trace.session_id,
        "root_failed": trace.status is TraceStatus.ERROR,
    }


def times(trace: Trace) -> dict[str, Any]:
    extra = trace.attributes
    return {
        "duration_ms": trace.timings.end_to_end_ms,
        "retrieval_end_ms": extra.get("retrieval_end_ms"),
        "first_token_unix_nano": extra.get("first_token_unix_nano"),
        "first_token_ms_estimate": extra.get("first_token_ms_estimate"),
    }


def without(fields: dict[str, Any], *names: str) -> dict[str, Any]:
    return {key: value for key, value in fields.items() if key not in names}


@pytest.mark.parametrize("how", ["whole", "single", "shuffled", "reversed", "twice"])
def test_every_capture_gives_what_was_read_out_of_it(
    folder: Path, expected: dict[str, list[dict[str, Any]]], how: str
) -> None:
    for name, traces in expected.items():
        blobs = blobs_of(request_bodies((folder / name).read_bytes(), how))
        assert sorted(blobs) == sorted(want["trace_id"] for want in traces), name
        for want in traces:
            trace = derive("default", blobs[want["trace_id"]], RECEIVED)
            assert (trace is not None) is want["counted_as_request"], (name, want["trace_id"])
            if trace is not None:
                check(name, trace, want)


def check(name: str, trace: Trace, want: dict[str, Any]) -> None:
    where = (name, trace.trace_id)
    got = facts(trace)
    contexts = [without(item, "id_source") for item in want["contexts"]]
    assert got == {**{key: want[key] for key in got}, "contexts": contexts}, where
    assert trace.context_block == (want["context_block"] or {}).get("text"), where
    assert trace.user_id == (want["user_id"] or want["fallback"].get("user_id")), where
    assert ("user_id_source" in trace.attributes) is ("user_id" in want["fallback"]), where
    tools = [without(item, "span_id") for item in want["tools"]]
    assert trace.attributes.get("tools", []) == tools, where
    errors = [without(item, "span_id") for item in want["errors"]]
    assert trace.attributes.get("errors", []) == errors, where
    moments = times(trace)
    for key in ("duration_ms", "retrieval_end_ms"):
        assert moments[key] == pytest.approx(want[key], abs=0.002), (where, key)
    assert moments["first_token_unix_nano"] == pytest.approx(
        want["first_token_unix_nano"], abs=1000
    ), where
    assert moments["first_token_ms_estimate"] == pytest.approx(
        want["fallback"].get("first_token_ms_estimate"), abs=0.002
    ), where
    if want["first_token_ms"] is not None:
        first = trace.timings.first_byte_ms
        assert first == pytest.approx(want["first_token_ms"], abs=0.002), where
        assert first - moments["retrieval_end_ms"] == pytest.approx(
            want["first_token_after_retrieval_ms"], abs=0.004
        ), where


def test_the_order_of_arrival_changes_nothing_at_all(folder: Path) -> None:
    body = (folder / "openinference_llamaindex_rag.json").read_bytes()
    whole = blobs_of(request_bodies(body, "whole"))
    for how in ("shuffled", "twice", "reversed"):
        parts = blobs_of(request_bodies(body, how))
        for trace_id, blobs in whole.items():
            assert derive("default", parts[trace_id], RECEIVED) == derive(
                "default", blobs, RECEIVED
            )


def test_no_prefix_of_the_spans_breaks_derivation(folder: Path) -> None:
    for path in sorted(folder.glob("*_rag.json")):
        seen: Blobs = {}
        for body in request_bodies(path.read_bytes(), "single"):
            for trace_id, blobs in blobs_of(iter([body])).items():
                seen.setdefault(trace_id, []).extend(blobs)
                derive("default", seen[trace_id], RECEIVED)
