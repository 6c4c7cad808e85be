"""What counts as a request, where it begins, how it failed, and what is cut or redacted."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest

from rag_monitor.domain.trace import TraceStatus
from rag_monitor.ingest.derive import derive
from rag_monitor.ingest.options import DeriveLimits, DeriveOptions
from tests.unit.ingest.evidence import RECEIVED, derived, span, trace_of

CHAIN = {"openinference.span.kind": "CHAIN", "input.value": "q?", "output.value": "a."}
RETRIEVER = {"openinference.span.kind": "RETRIEVER", "input.value": "q?"}
LLM = {"openinference.span.kind": "LLM", "llm.model_name": "m-1"}


def documents(*texts: str, prefix: str = "retrieval.documents") -> dict[str, object]:
    return {
        f"{prefix}.{n}.document.{key}": value
        for n, text in enumerate(texts)
        for key, value in (("content", text), ("id", f"d-{text}"), ("score", 1.0 - n / 100))
    }


def message(role: str, text: str, key: str = "content") -> str:
    return json.dumps([{"role": role, "parts": [{"type": "text", key: text}]}])


# --- the tree ---


def test_a_web_framework_above_the_chain_gives_the_times_not_the_texts() -> None:
    trace = trace_of(
        span(1, "POST /ask", {"http.method": "POST"}, kind=2, ms=(0, 200)),
        span(2, "chain", CHAIN, parent=1, ms=(20, 150)),
    )
    assert (trace.question, trace.answer) == ("q?", "a.")
    assert trace.timings.end_to_end_ms == 200
    assert trace.convention == "openinference"


def test_a_span_marked_as_the_request_is_the_root_wherever_it_hangs() -> None:
    trace = trace_of(
        span(1, "gateway", {"openinference.span.kind": "CHAIN", "input.value": "other"}),
        span(2, "chain", {**CHAIN, "rag_monitor.app_root": True}, parent=1, ms=(30, 80)),
    )
    assert (trace.question, trace.timings.end_to_end_ms) == ("q?", 50)
    assert trace.attributes["span_count"] == 1


def test_a_parent_that_never_comes_makes_a_root() -> None:
    trace = trace_of(span(2, "chain", CHAIN, parent=77))
    assert (trace.question, trace.timings.end_to_end_ms) == ("q?", 100)


def test_parents_in_a_circle_are_survived() -> None:
    trace = trace_of(span(1, "a", CHAIN, parent=2), span(2, "b", CHAIN, parent=1, ms=(1, 2)))
    assert trace.question == "q?"


def test_a_chain_of_ten_thousand_spans_is_laid_out_once() -> None:
    spans = [span(n, "s", LLM if n % 2 else RETRIEVER, parent=n - 1) for n in range(2, 10_002)]
    trace = trace_of(span(1, "root", CHAIN), *spans)
    assert len(trace.retrievals) == 1
    assert trace.attributes["span_count"] == 10_000
    assert trace.truncated is True


@pytest.mark.parametrize(
    "attributes",
    [
        {"gen_ai.operation.name": "create_agent"},
        {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "t"},
        {"openinference.span.kind": "EMBEDDING", "input.value": "x"},
        {"openinference.span.kind": "EVALUATOR", "input.value": "x", "output.value": "y"},
        {"http.method": "GET"},
        {"openinference.span.kind": "CHAIN"},
    ],
)
def test_what_is_no_request_of_a_user_gives_no_trace(attributes: dict[str, object]) -> None:
    assert derived(span(1, "s", attributes)) is None


def test_no_evidence_gives_no_trace() -> None:
    assert derive("default", [], RECEIVED) is None


# --- failures ---


def test_a_failed_root_is_a_failed_request_with_its_reason_and_without_its_trace_back() -> None:
    failed = {"code": 2, "message": "Boom\nTraceback (most recent call last):\n secret"}
    attributes = {"openinference.span.kind": "CHAIN", "input.value": "q?"}
    trace = trace_of(
        span(1, "root", {**attributes, "error.type": "Boom"}, status=failed),
        span(2, "chat", {**LLM, "output.value": "half"}, parent=1),
    )
    assert (trace.status, trace.error, trace.answer) == (TraceStatus.ERROR, "Boom: Boom", None)


def test_a_failed_step_does_not_fail_the_request() -> None:
    trace = trace_of(
        span(1, "root", CHAIN),
        span(2, "r", {**RETRIEVER, "error.type": "Timeout"}, parent=1, status={"code": 2}),
    )
    assert trace.status is TraceStatus.OK
    assert trace.retrievals[0].error == "Timeout"
    assert trace.hits[1].ok is False
    assert trace.attributes["errors"] == [{"span": "r", "type": "Timeout", "message": None}]


@pytest.mark.parametrize(
    "error",
    [
        "CancelledError",
        "asyncio.CancelledError",
        "asyncio.exceptions.CancelledError",
        "starlette.requests.ClientDisconnect",
    ],
)
def test_a_cancelled_request_is_cancelled_not_failed(error: str) -> None:
    trace = trace_of(span(1, "r", {**CHAIN, "error.type": error}, status={"code": 2}))
    assert trace.status is TraceStatus.CANCELLED


def test_generation_is_unknown_where_a_search_ended_before_the_question_came() -> None:
    """A searching machine whose clock is five seconds behind."""
    trace = trace_of(
        span(1, "root", CHAIN, ms=(0, 1000)),
        span(2, "r", {**RETRIEVER, **documents("a")}, parent=1, ms=(-5000, -4980)),
    )
    assert (trace.timings.generation_ms, trace.timings.end_to_end_ms) == (None, 1000)
    assert trace.timings.retrieval_ms == 20


# --- limits, redaction, times ---


def test_texts_and_lists_are_cut_to_the_limits_and_flagged() -> None:
    limits = DeriveLimits(max_text=5, max_documents=1, max_steps=1)
    tool = {"openinference.span.kind": "TOOL", "tool.name": "t"}
    spans = [
        span(1, "root", {**CHAIN, "input.value": "0123456789"}),
        span(2, "r", {**RETRIEVER, **documents("a", "b")}, parent=1),
        span(3, "t", tool, parent=1),
        span(4, "t", tool, parent=1),
    ]
    trace = trace_of(*spans, options=DeriveOptions(limits=limits))
    assert (trace.question, trace.truncated) == ("01234", True)
    assert len(trace.contexts or ()) == len(trace.attributes["tools"]) == 1  # type: ignore[arg-type]
    assert trace_of(*spans).truncated is False


def test_the_last_attributes_and_events_of_a_span_are_kept() -> None:
    limits = DeriveLimits(max_attributes=3)
    crowd = {**{f"k{n}": n for n in range(50)}, **CHAIN}
    trace = trace_of(span(1, "root", crowd), options=DeriveOptions(limits=limits))
    assert (trace.question, trace.attributes["dropped"]) == ("q?", 50)


def test_the_redactor_sees_every_text_and_what_it_cannot_handle_is_dropped() -> None:
    def redactor(text: str) -> str:
        if "bad" in text:
            raise ValueError(text)
        return text.replace("secret", "***")

    tool = {"openinference.span.kind": "TOOL", "input.value": '{"k": "secret"}'}
    trace = trace_of(
        span(1, "root", {**CHAIN, "input.value": "my secret", "output.value": "bad secret"}),
        span(2, "r", {**RETRIEVER, **documents("secret")}, parent=1),
        span(3, "t", tool, parent=1),
        options=DeriveOptions(redactor=redactor),
    )
    assert (trace.question, trace.answer) == ("my ***", None)
    assert trace.contexts is not None
    assert trace.contexts[0].content == "***"
    assert "secret" not in json.dumps(trace.attributes)
    assert "secret" not in str([r.query for r in trace.retrievals])


@pytest.mark.parametrize("start", [1, 2**63 - 1])
def test_a_start_that_cannot_be_true_is_replaced_and_kept_beside(start: int) -> None:
    odd = {**span(1, "root", CHAIN), "startTimeUnixNano": str(start), "endTimeUnixNano": "5"}
    trace = trace_of(odd)
    assert trace.started_at == RECEIVED
    assert isinstance(trace.attributes["started_at_sent"], str)


def test_a_clock_that_is_a_little_ahead_is_believed() -> None:
    ahead = RECEIVED + timedelta(minutes=30)
    ns = int((ahead - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds()) * 10**9
    trace = trace_of({**span(1, "root", CHAIN), "startTimeUnixNano": str(ns)})
    assert trace.started_at == ahead
    assert trace.timings.end_to_end_ms is None
