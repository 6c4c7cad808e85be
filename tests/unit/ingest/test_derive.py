"""Spans written by hand, one fact each, in every convention."""

from __future__ import annotations

import json
from typing import Any

import pytest

from rag_monitor import semconv
from rag_monitor.domain.hit import HitKind
from rag_monitor.ingest.trace_json import encode_trace
from rag_monitor.testing import make_trace
from tests.unit.ingest.evidence import START_NS, TRACE_ID, span, trace_of

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


# --- ours ---


def ours(record: str, **extra: object) -> dict[str, Any]:
    attributes = {semconv.COMPLETE: True, semconv.APP_ROOT: True, semconv.RECORD: record, **CHAIN}
    return span(1, "invoke_workflow request", {**attributes, **extra}, parent=99)


def test_our_record_gives_the_trace_it_was_made_from() -> None:
    sent = make_trace(question="保修期?", user_id="u-1", tags=("web",))
    row = {k: v for k, v in encode_trace(sent).items() if k != "trace_id"}
    trace = trace_of(ours(json.dumps(row, ensure_ascii=False)))
    assert trace.trace_id == TRACE_ID
    assert encode_trace(trace) == {**encode_trace(sent), "trace_id": TRACE_ID}


def test_our_record_takes_app_release_and_environment_of_the_resource() -> None:
    trace = trace_of(
        ours('{"question": "q", "answer": "a"}'),
        resource={"service.name": "bank", "service.version": "7", "deployment.environment": "eu"},
    )
    assert (trace.app, trace.release, trace.environment) == ("bank", "7", "eu")
    assert trace.started_at.timestamp() * 1e9 == START_NS


def test_a_record_that_was_cut_falls_back_to_the_standard_attributes() -> None:
    trace = trace_of(ours('{"question": "q", "ans'))
    assert (trace.question, trace.answer, trace.truncated) == ("q?", "a.", True)


# --- OpenTelemetry GenAI ---


def test_genai_b_gives_question_passages_answer_and_times() -> None:
    trace = trace_of(
        span(
            1,
            "invoke_workflow faq",
            {
                "gen_ai.operation.name": "invoke_workflow",
                "gen_ai.workflow.name": "faq",
                "gen_ai.conversation.id": "c-1",
                "gen_ai.input.messages": message("user", "q?"),
                "gen_ai.output.messages": message("assistant", "a."),
            },
        ),
        span(
            2,
            "retrieval loans",
            {
                "gen_ai.operation.name": "retrieval",
                "gen_ai.data_source.id": "loans",
                "gen_ai.retrieval.query.text": "rewritten",
                "gen_ai.retrieval.documents": [{"id": "d", "score": 0.5, "content": "text"}],
            },
            parent=1,
            ms=(5, 15),
        ),
        span(
            3,
            "chat m",
            {
                "gen_ai.operation.name": "chat",
                "gen_ai.provider.name": "openai",
                "gen_ai.request.model": "m",
                "gen_ai.response.model": "m-2026",
                "gen_ai.request.stream": True,
                "gen_ai.response.time_to_first_chunk": 0.01,
                "gen_ai.usage.input_tokens": 7,
                "gen_ai.usage.output_tokens": 3,
            },
            parent=1,
            ms=(20, 90),
        ),
    )
    assert (trace.question, trace.answer, trace.session_id) == ("q?", "a.", "c-1")
    assert trace.query == "rewritten"
    assert [(d.id, d.content, d.score, d.knowledge_base) for d in trace.contexts or ()] == [
        ("d", "text", 0.5, "loans")
    ]
    assert (trace.model, trace.usage.input_tokens, trace.usage.output_tokens) == ("m-2026", 7, 3)
    timings = trace.timings
    assert (timings.first_byte_ms, timings.first_token_ms) == (30, 10)
    assert (timings.generation_ms, timings.retrieval_ms, timings.end_to_end_ms) == (85, 10, 100)
    assert [(h.kind, h.name, h.items) for h in trace.hits] == [
        (HitKind.WORKFLOW, "faq", None),
        (HitKind.KNOWLEDGE_BASE, "loans", 1),
    ]
    assert trace.streamed is True


@pytest.mark.parametrize(
    "call",
    [
        {"attributes": {"gen_ai.prompt.0.role": "user", "gen_ai.prompt.0.content": "q?",
                        "gen_ai.completion.0.role": "assistant",
                        "gen_ai.completion.0.content": "a."}},
        {"events": [("gen_ai.user.message", 1, {"content": "q?"}),
                    ("gen_ai.choice", 2, {"message": '{"content": "a."}'})]},
        {"events": [("gen_ai.content.prompt", 1,
                     {"gen_ai.prompt": '[{"role": "user", "content": "q?"}]'}),
                    ("gen_ai.content.completion", 2,
                     {"gen_ai.completion": '[{"role": "assistant", "content": "a."}]'})]},
        {"attributes": {"gen_ai.input.messages": message("user", "q?"),
                        "gen_ai.output.messages": message("assistant", "a.")}},
        {"attributes": {"gen_ai.input.messages": [{"role": "user", "content": "q?"}],
                        "gen_ai.output.messages": [
                            {"role": "assistant", "parts": [{"type": "text", "content": "a."}]}]}},
    ],
)  # fmt: skip
def test_every_generation_of_genai_content_is_read(call: dict[str, Any]) -> None:
    base = {
        "gen_ai.system": "openai",
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": "m",
        "gen_ai.usage.prompt_tokens": 5,
        "gen_ai.usage.completion_tokens": 2,
    }
    attributes = {**base, **call.get("attributes", {})}
    trace = trace_of(span(1, "chat m", attributes, events=call.get("events", ())))
    assert (trace.question, trace.answer, trace.model) == ("q?", "a.", "m")
    assert (trace.usage.input_tokens, trace.usage.output_tokens) == (5, 2)
    assert trace.streamed is None


def test_content_that_is_not_captured_is_unknown_not_empty() -> None:
    trace = trace_of(
        span(1, "invoke_workflow faq", {"gen_ai.operation.name": "invoke_workflow"}),
        span(2, "retrieval", {"gen_ai.operation.name": "retrieval"}, parent=1),
        span(3, "chat m", {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m"}, parent=1),
    )
    assert (trace.question, trace.answer, trace.contexts) == (None, None, None)
    assert trace.attributes["retrieval_status"] == "unknown"


def test_chunk_events_give_the_first_token_only_when_no_event_was_dropped() -> None:
    attributes = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m"}
    events = [("gen_ai.content.completion.chunk", at, {}) for at in (30, 20, 40)]
    whole = trace_of(span(1, "chat", attributes, events=events))
    cut = trace_of(span(1, "chat", attributes, events=events, droppedEventsCount=2))
    assert (whole.timings.first_byte_ms, cut.timings.first_byte_ms) == (20, None)


# --- OpenInference ---


def test_lists_are_ordered_by_number_not_by_text() -> None:
    texts = [f"t{n}" for n in range(12)]
    trace = trace_of(
        span(1, "root", CHAIN),
        span(2, "r", {**RETRIEVER, **documents(*texts)}, parent=1),
    )
    assert [d.content for d in trace.contexts or ()] == texts
    assert [d.rank for d in trace.contexts or ()] == list(range(1, 13))


@pytest.mark.parametrize("output", ['{"documents": []}', "[]"])
def test_a_retriever_that_found_nothing_is_empty(output: str) -> None:
    trace = trace_of(
        span(1, "root", CHAIN), span(2, "r", {**RETRIEVER, "output.value": output}, parent=1)
    )
    assert trace.contexts == ()
    assert trace.attributes["retrieval_status"] == "empty"
    assert trace.hits[1].counts is False


def test_redacted_literals_are_missing_not_text() -> None:
    hidden = {**CHAIN, "input.value": "__REDACTED__", "output.value": "__REDACTED__"}
    trace = trace_of(
        span(1, "root", hidden),
        span(2, "r", {**RETRIEVER, **documents("__REDACTED__")}, parent=1),
    )
    assert (trace.question, trace.answer) == ("q?", None)
    assert [d.content for d in trace.contexts or ()] == [None]


def test_the_last_reranker_decides_and_missing_text_is_joined_by_id() -> None:
    reranked = {"reranker.output_documents.0.document.id": "d-b", "reranker.query": "q?"}
    trace = trace_of(
        span(1, "root", CHAIN),
        span(2, "r", {**RETRIEVER, **documents("a", "b")}, parent=1, ms=(1, 5)),
        span(3, "rr", {"openinference.span.kind": "RERANKER", **reranked}, parent=1, ms=(6, 9)),
    )
    assert [(d.id, d.content, d.rank) for d in trace.contexts or ()] == [("d-b", "b", 1)]
    assert [r.reranked for r in trace.retrievals] == [False, True]
    assert trace.attributes["retrieved_before_rerank"] == [
        {"id": "d-a", "score": 1.0},
        {"id": "d-b", "score": 0.99},
    ]


def test_several_retrievers_are_joined_in_order_without_repeats() -> None:
    trace = trace_of(
        span(1, "root", CHAIN),
        span(3, "second", {**RETRIEVER, **documents("b", "c")}, parent=1, ms=(20, 30)),
        span(2, "first", {**RETRIEVER, **documents("a", "b")}, parent=1, ms=(1, 25)),
    )
    assert [d.content for d in trace.contexts or ()] == ["a", "b", "c"]
    assert trace.timings.retrieval_ms == 29


def test_a_retriever_inside_a_tool_still_counts() -> None:
    tool = {"openinference.span.kind": "TOOL", "tool.name": "search", "input.value": "x"}
    trace = trace_of(
        span(1, "root", CHAIN),
        span(2, "search", tool, parent=1),
        span(3, "r", {**RETRIEVER, **documents("a")}, parent=2),
        span(4, "inner", {**RETRIEVER, **documents("a")}, parent=3),
    )
    assert len(trace.retrievals) == 1
    assert [hit.kind for hit in trace.hits] == [
        HitKind.WORKFLOW,
        HitKind.PLUGIN,
        HitKind.KNOWLEDGE_BASE,
    ]


def test_wrappers_around_a_model_call_do_not_double_its_tokens() -> None:
    counted = {**LLM, "llm.token_count.prompt": 5, "llm.token_count.completion": 2}
    trace = trace_of(
        span(1, "root", CHAIN),
        span(2, "predict", counted, parent=1),
        span(3, "between", {"openinference.span.kind": "CHAIN"}, parent=2),
        span(4, "complete", counted, parent=3),
    )
    assert (trace.usage.input_tokens, trace.usage.output_tokens) == (5, 2)


def test_one_call_without_tokens_makes_the_sum_unknown() -> None:
    trace = trace_of(
        span(1, "root", CHAIN),
        span(2, "one", {**LLM, "llm.token_count.prompt": 5}, parent=1),
        span(3, "two", LLM, parent=1),
    )
    assert trace.usage.input_tokens is None


def test_a_call_reported_by_two_instrumentations_counts_once() -> None:
    call = {**LLM, "llm.token_count.prompt": 5, "gen_ai.response.id": "r-1"}
    trace = trace_of(span(1, "root", CHAIN), span(2, "a", call, parent=1),
                     span(3, "b", call, parent=1))  # fmt: skip
    assert trace.usage.input_tokens == 5


def test_the_project_of_openinference_is_the_app() -> None:
    resource = {"service.name": "unknown_service:python", "openinference.project.name": "faq"}
    assert trace_of(span(1, "root", CHAIN), resource=resource).app == "faq"
    assert trace_of(span(1, "root", CHAIN), resource={"service.name": "unknown_service"}).app == (
        "unknown"
    )


# --- OpenLLMetry and vector databases ---


def test_milvus_events_give_ids_and_distances_as_strings() -> None:
    events = [
        ("db.search.result", 1, {"db.search.result.id": f"d{n}",
                                 "db.search.result.distance": str(n / 10)})
        for n in range(2)
    ]  # fmt: skip
    trace = trace_of(
        span(1, "w", {"traceloop.span.kind": "workflow", "traceloop.entity.name": "w",
                      "traceloop.entity.input": '{"inputs": {"question": "q?"}}'}),
        span(2, "milvus.search", {"db.system": "milvus", "db.operation": "search",
             "db.milvus.search.collection_name": "faq"}, parent=1, events=events),
    )  # fmt: skip
    assert trace.question == "q?"
    assert [(d.id, d.score, d.metadata["distance"]) for d in trace.contexts or ()] == [
        ("d0", None, 0.0),
        ("d1", None, 0.1),
    ]
    assert trace.retrievals[0].knowledge_base == "faq"


def test_retrievers_are_known_by_the_end_of_their_name() -> None:
    def task(number: int, name: str, **extra: object) -> dict[str, Any]:
        found = {"traceloop.span.kind": "task", "traceloop.entity.name": name, **extra}
        return span(number, name, found, parent=1)

    trace = trace_of(
        span(1, "engine", {"traceloop.span.kind": "workflow",
                           "traceloop.entity.input": '{"query_str": "q?"}'}),
        task(2, "RetrieverQueryEngine.task"),
        task(3, "BM25Retriever.task", **{"traceloop.entity.output": '["{\\"node\\": '
             '{\\"id_\\": \\"n\\", \\"text\\": \\"t\\"}, \\"score\\": 0.5}"]'}),
    )  # fmt: skip
    assert [(d.id, d.content, d.score) for d in trace.contexts or ()] == [("n", "t", 0.5)]
    assert len(trace.retrievals) == 1


# --- Langfuse ---


def test_langfuse_keys_win_and_cached_tokens_are_added() -> None:
    trace = trace_of(
        span(
            1,
            "ask",
            {
                "langfuse.observation.type": "span",
                "langfuse.trace.input": '{"user_question": "q?"}',
                "langfuse.trace.output": '{"answer": "a."}',
                "langfuse.trace.tags": ["web"],
                "langfuse.release": "r2",
                "langfuse.environment": "eu",
                "langfuse.user.id": "u",
                "langfuse.session.id": "s",
            },
        ),
        span(
            2,
            "gen",
            {
                "langfuse.observation.type": "generation",
                "langfuse.observation.model.name": "m",
                "langfuse.observation.usage_details": '{"input": 4, "input_cache_read": 3,'
                ' "output": 2}',
            },
            parent=1,
        ),
        resource={"service.name": "shop", "service.version": "r1"},
    )
    assert (trace.question, trace.answer) == ("q?", "a.")
    assert (trace.release, trace.environment, trace.user_id, trace.session_id) == (
        "r2", "eu", "u", "s",
    )  # fmt: skip
    assert (trace.tags, trace.usage.input_tokens, trace.app) == (("web",), 7, "shop")
