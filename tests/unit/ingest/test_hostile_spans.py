"""Spans whose attributes hold anything at all, under names that mean something."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from rag_monitor import semconv
from rag_monitor.ingest.conventions import coze_loop, mlflow, openllmetry, spring_ai, vercel_ai
from rag_monitor.ingest.trace_json import decode_trace, encode_trace
from tests.unit.ingest.evidence import derived, span

names = sorted(
    value
    for module in (semconv, coze_loop, mlflow, openllmetry, spring_ai, vercel_ai)
    for name, value in vars(module).items()
    if name.isupper() and isinstance(value, str) and value.isascii()
)
keys = st.sampled_from(
    [
        *names,
        "ai.response.text",
        "ai.result.text",
        "ai.response.msToFirstChunk",
        "ai.stream.msToFirstChunk",
        "ai.telemetry.metadata.tags",
        "retrieval.documents.0.document.content",
        "retrieval.documents.0.document.metadata",
        "reranker.output_documents.1.document.id",
        "llm.input_messages.0.message.content",
        "llm.output_messages.0.message.contents.0.message_content.text",
        "gen_ai.prompt.0.content",
        "gen_ai.completion.0.role",
        "gen_ai.prompt.variable.context",
        "traceloop.association.properties.session_id",
        "langfuse.observation.metadata.kb_id",
        "db.query.result.distance",
        "db.milvus.search.collection_name",
    ]
)
kinds = st.sampled_from(
    ["LLM", "CHAIN", "RETRIEVER", "RERANKER", "TOOL", "AGENT", "generation", "retriever", "chain",
     "workflow", "task", "chat", "retrieval", "execute_tool", "invoke_workflow", "rerank",
     "ai.streamText", "ai.streamText.doStream", "ai.rerank.doRerank", '"CHAT_MODEL"', "model",
     "vector_store", "query"]
)  # fmt: skip
messages = st.sampled_from(
    [
        '[{"role":"user","parts":[{"type":"text","content":"q"}]}]',
        '[{"role":"assistant","parts":5}]',
        '[{"role":3,"content":[["x"]]}]',
        '{"lc":1,"id":[],"kwargs":{"content":[1]}}',
        '{"documents":[{"page_content":3,"metadata":"x"},[["a"],0.5],"<x>"]}',
        '{"messages":[[{"type":"human","data":{"content":null}}]]}',
        '{"input": 5, "input_cache_read": "x", "output": -1}',
        '"2026-01-05T12:00:00"',
        "[" * 500 + "]" * 500,
        '{"inputs":{"inputs":{"inputs":{"inputs":{}}}},"kwargs":1}',
        '{"node": {"metadata": []}, "score": "NaN"}',
        '["Say "no"", "yes"]',
        '[{"choices":[3,null,{"delta":[]}]},{"index":0}]',
        "<generator object>",
        "unknown",
    ]
)
values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**60), 2**60)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=("Cs",)), max_size=6)
    | messages
    | kinds,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["content", "role", "id", "score", "metadata"]), inner)
    ),
    max_leaves=5,
)
attributes = st.dictionaries(keys, values | kinds | messages, max_size=10)
event_names = st.sampled_from([n for n in names if "." in n or " " in n])


@st.composite
def hostile_spans(draw: st.DrawFn) -> list[dict[str, Any]]:
    count = draw(st.integers(1, 5))
    return [
        span(
            number,
            draw(st.sampled_from(["chain", "StrOutputParser", "XRetriever.task", ""])),
            draw(attributes),
            parent=draw(st.none() | st.integers(1, count)),
            ms=(draw(st.integers(0, 50)), draw(st.integers(0, 50))),
            events=[(draw(event_names), 1, draw(attributes))] if draw(st.booleans()) else (),
            status=draw(st.sampled_from([{}, {"code": 2, "message": "x"}])),
        )
        for number in range(1, count + 1)
    ]


@settings(max_examples=150, deadline=None)
@given(spans=hostile_spans())
def test_hostile_spans_give_a_trace_that_can_be_stored_and_sent(
    spans: list[dict[str, Any]],
) -> None:
    trace = derived(*spans, resource={"service.name": "x"})
    if trace is not None:
        text = json.dumps(encode_trace(trace), allow_nan=False)
        assert decode_trace(json.loads(text)) == trace
