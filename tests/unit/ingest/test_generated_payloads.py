"""Payloads that today's instrumentations really sent, see fixtures/otlp/generate.py.

Those of `generate_products.py` are read in test_products.
"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from rag_monitor.domain.trace import Trace, TraceStatus
from rag_monitor.ingest.derive import derive
from rag_monitor.ingest.envelope import decode_traces
from rag_monitor.ingest.options import IngestOptions

FOLDER = Path(__file__).resolve().parents[2] / "fixtures" / "otlp"
QUESTION = "机场接送可以提前多久预订？"
ANSWER = "机场接送最晚需提前 6 小时预订。"
PASSAGES = [
    ("transfer-1", "机场接送服务最晚应在出发前 6 小时预订，最早可提前 30 天。", 0.92),
    ("transfer-2", "Airport transfers include 60 minutes of free waiting time.", 0.41),
]
WITH_PASSAGES = (
    "langfuse_openai", "openai_v2", "openinference_langchain", "openinference_openai",
    "openllmetry_langchain",
)  # fmt: skip
MODEL_ONLY = ("openai_v2_stream", "openinference_openai_stream", "openllmetry_openai")
DSPY = "openinference_dspy"
PRODUCTS = (
    "ai_sdk_4_whole", "ai_sdk_6_rerank", "ai_sdk_6_stream", "ai_sdk_6_tool", "ai_sdk_7_stream",
    "mlflow", "mlflow_stream",
)  # fmt: skip
CONVENTIONS = {
    "langfuse_openai": "langfuse",
    "openinference_langchain": "openinference",
    "openinference_openai": "openinference",
    "openinference_openai_stream": "openinference",
    "openllmetry_langchain": "openllmetry",
}


def read(name: str) -> Trace:
    body = (FOLDER / f"{name}.json").read_bytes()
    decoded = decode_traces(body, json=True, options=IngestOptions())
    assert decoded.rejected == 0
    (blob,) = decoded.blobs
    trace = derive("default", [(blob.format, blob.payload)], datetime(2026, 11, 22, tzinfo=UTC))
    assert trace is not None
    return trace


def test_every_payload_is_expected_somewhere() -> None:
    found = {path.stem for path in FOLDER.glob("*.json")}
    assert found == {*WITH_PASSAGES, *MODEL_ONLY, DSPY, *PRODUCTS}


@pytest.mark.parametrize("name", [*WITH_PASSAGES, *MODEL_ONLY])
def test_question_answer_model_and_tokens_are_found(name: str) -> None:
    trace = read(name)

    assert (trace.question, trace.answer) == (QUESTION, ANSWER)
    assert trace.status is TraceStatus.OK
    assert trace.model == "fake-chat-2"
    assert (trace.usage.input_tokens, trace.usage.output_tokens) == (61, 14)
    assert trace.convention == CONVENTIONS.get(name, "gen_ai")
    assert trace.timings.end_to_end_ms is not None


@pytest.mark.parametrize("name", WITH_PASSAGES)
def test_passages_are_found_with_what_the_convention_carries(name: str) -> None:
    trace = read(name)

    ids = name != "openllmetry_langchain"  # it sends text and metadata only
    found = [(d.id, d.content, d.score) for d in trace.contexts or ()]
    assert found == [(id_ if ids else None, text, score) for id_, text, score in PASSAGES]
    assert len(trace.retrievals) == 1
    assert trace.retrievals[0].documents == trace.contexts


@pytest.mark.parametrize("name", MODEL_ONLY)
def test_without_a_retriever_the_contexts_are_unknown_and_not_empty(name: str) -> None:
    trace = read(name)

    assert trace.contexts is None
    assert trace.retrievals == ()


@pytest.mark.parametrize(
    ("name", "streamed"),
    [
        ("openinference_openai_stream", True),
        ("openai_v2_stream", None),  # it streamed, and the instrumentation does not say so
        ("openai_v2", None),
        ("openllmetry_openai", False),
    ],
)
def test_streaming_is_said_only_where_the_wire_says_it(name: str, streamed: bool | None) -> None:
    trace = read(name)

    assert trace.streamed is streamed
    if streamed is None:
        assert trace.timings.first_byte_ms is None


@pytest.mark.parametrize("name", ["langfuse_openai", "openinference_openai"])
def test_session_and_user_are_found(name: str) -> None:
    trace = read(name)

    assert (trace.session_id, trace.user_id) == ("s-9", "u-3")


def test_a_dspy_module_is_a_trace_with_its_passages_and_times() -> None:
    trace = read(DSPY)

    assert (trace.question, trace.answer) == (QUESTION, ANSWER)
    assert [(d.id, d.content) for d in trace.contexts or ()] == [(None, p[1]) for p in PASSAGES]
    assert [(hit.kind.value, hit.name, hit.ok) for hit in trace.hits] == [
        ("workflow", "Rag.forward", True),
        ("knowledge_base", "unknown", True),
    ]
    timings = trace.timings
    assert timings.end_to_end_ms is not None
    assert timings.generation_ms is not None
    assert timings.retrieval_ms is not None
    assert 0 < timings.retrieval_ms < timings.end_to_end_ms
