"""Spans of Spring AI and coze-loop, written as their documentation and sources describe them."""

from __future__ import annotations

import json

import pytest

from rag_monitor.domain.trace import TraceStatus
from tests.unit.ingest.evidence import START_NS, span, trace_of

QUESTION = "机场接送可以提前多久预订？"
ANSWER = "机场接送最晚需提前 6 小时预订。"
CLIENT = {
    "gen_ai.operation.name": "framework",
    "gen_ai.system": "spring_ai",
    "spring.ai.kind": "chat_client",
    "spring.ai.chat.client.conversation.id": "s-9",
}
STORE = {
    "spring.ai.kind": "vector_store",
    "db.system": "pg_vector",
    "db.operation.name": "query",
    "db.collection.name": "faq",
    "db.vector.query.content": QUESTION,
    "db.vector.query.top_k": "4",
}
CHAT = {
    "gen_ai.operation.name": "chat",
    "gen_ai.system": "openai",
    "gen_ai.request.model": "gpt-4o",
    "gen_ai.usage.input_tokens": "61",
    "gen_ai.usage.output_tokens": "14",
}


def _spring(**more: dict[str, object]) -> list[dict[str, object]]:
    return [
        span(1, "spring_ai chat_client", CLIENT | more.get("client", {}), ms=(0, 100)),
        span(2, "pg_vector query", STORE | more.get("store", {}), parent=1, ms=(5, 25)),
        span(3, "chat gpt-4o", CHAT | more.get("chat", {}), parent=1, ms=(30, 95)),
    ]


def test_spring_ai_by_itself_gives_the_query_and_no_text_of_passages() -> None:
    trace = trace_of(*_spring())

    assert (trace.question, trace.answer, trace.contexts) == (QUESTION, None, None)
    assert (trace.session_id, trace.model) == ("s-9", "gpt-4o")
    assert (trace.usage.input_tokens, trace.usage.output_tokens) == (61, 14)
    assert [(hit.kind.value, hit.name, hit.ok) for hit in trace.hits] == [
        ("knowledge_base", "faq", True)
    ]
    assert trace.timings.retrieval_ms == 20
    assert trace.convention == "spring_ai"


@pytest.mark.parametrize("conversation", ["default", "none"])
def test_the_conversation_that_everybody_has_is_no_session(conversation: str) -> None:
    spans = _spring(client={"spring.ai.chat.client.conversation.id": conversation})
    assert trace_of(*spans).session_id is None


@pytest.mark.parametrize(
    "completion",
    [f'["{ANSWER}"]', ANSWER, json.dumps([ANSWER])],
)
def test_prompt_and_completion_that_an_application_adds_are_read(completion: str) -> None:
    """An observation filter of Langfuse's guide writes them: lists whose texts are not escaped."""
    prompt = f'["Answer briefly.\nUse the context.", "{QUESTION}", ""]'
    trace = trace_of(*_spring(chat={"gen_ai.prompt": prompt, "gen_ai.completion": completion}))

    assert (trace.question, trace.answer) == (QUESTION, ANSWER)


def test_quotation_marks_in_a_completion_do_not_cut_it() -> None:
    added = {"gen_ai.prompt": '["Say "no", "yes" or both"]', "gen_ai.completion": '["It is "no"."]'}
    trace = trace_of(span(1, "chat gpt-4o", CHAT | added))

    assert trace.answer == 'It is "no".'
    assert trace.question is None  # nobody can tell where the texts of that list end


def test_events_of_older_releases_carry_lists_of_texts() -> None:
    events = [
        ("gen_ai.content.prompt", 1.0, {"gen_ai.prompt": ["Be brief.", "q?"]}),
        ("gen_ai.content.completion", 2.0, {"gen_ai.completion": ["a."]}),
    ]
    trace = trace_of(span(1, "chat gpt-4o", CHAT, events=events))

    assert (trace.question, trace.answer) == ("q?", "a.")


@pytest.mark.parametrize("documents", [["one", "two"], '["one", "two"]'])
def test_documents_on_the_span_of_a_vector_store_are_passages(documents: object) -> None:
    trace = trace_of(*_spring(store={"db.vector.query.response.documents": documents}))
    assert [d.content for d in trace.contexts or ()] == ["one", "two"]


def test_documents_may_be_added_under_the_name_of_the_conventions() -> None:
    documents = json.dumps([{"id": "d-1", "content": "one", "score": 0.9}])
    (found,) = trace_of(*_spring(store={"gen_ai.retrieval.documents": documents})).contexts or ()
    assert (found.id, found.content, found.score) == ("d-1", "one", 0.9)


def test_what_is_written_to_a_vector_store_is_no_search() -> None:
    spans = _spring(store={"db.operation.name": "add"})
    assert trace_of(*spans).retrievals == ()


def test_a_tool_of_spring_ai_is_a_plugin() -> None:
    tool = {
        "gen_ai.operation.name": "framework",
        "spring.ai.kind": "tool_call",
        "spring.ai.tool.definition.name": "rates",
        "spring.ai.tool.call.arguments": '{"year": 2025}',
        "spring.ai.tool.call.result": '["3.3 %"]',
    }
    trace = trace_of(*_spring(), span(4, "tool_call rates", tool, parent=3, ms=(40, 50)))

    assert ("plugin", "rates", 1) in [(h.kind.value, h.name, h.items) for h in trace.hits]
    assert trace.attributes["tools"][0]["arguments"] == {"year": 2025}


def test_spring_ai_says_with_a_string_that_it_streams() -> None:
    assert trace_of(span(1, "chat", CHAT | {"gen_ai.request.stream": "true"})).streamed is True


def _loop(**more: dict[str, object]) -> list[dict[str, object]]:
    retriever = {
        "cozeloop.span_type": "retriever",
        "cozeloop.input": json.dumps({"query": "机场接送"}),
        "cozeloop.output": json.dumps(
            {"documents": [{"id": "d-1", "index": "0", "content": "最晚 6 小时。", "score": 0.9}]}
        ),
        "vikingdb_name": "faq",
    }
    model = {
        "cozeloop.span_type": "model",
        "cozeloop.input": json.dumps({"messages": [{"role": "user", "content": QUESTION}]}),
        "cozeloop.output": json.dumps(
            {"choices": [{"index": 0, "message": {"role": "assistant", "content": ANSWER}}]}
        ),
        "gen_ai.request.model": "doubao-pro",
        "gen_ai.usage.input_tokens": 61,
        "gen_ai.usage.output_tokens": 14,
        "cozeloop.stream": True,
        "cozeloop.time_to_first_token": (START_NS + 45_000_000) // 1000,
    }
    root = {
        "cozeloop.span_type": "custom",
        "cozeloop.input": QUESTION,
        "cozeloop.output": ANSWER,
        "session.id": "s-9",
        "user.id": "u-3",
    }
    return [
        span(1, "answer", root | more.get("root", {}), ms=(0, 100)),
        span(2, "search", retriever | more.get("retriever", {}), parent=1, ms=(5, 25)),
        span(3, "doubao", model | more.get("model", {}), parent=1, ms=(30, 95)),
    ]


def test_spans_of_coze_loop_are_a_trace_with_everything() -> None:
    trace = trace_of(*_loop())

    assert (trace.question, trace.answer) == (QUESTION, ANSWER)
    assert [(d.id, d.content, d.score) for d in trace.contexts or ()] == [
        ("d-1", "最晚 6 小时。", 0.9)
    ]
    assert trace.retrievals[0].query == "机场接送"
    assert (trace.model, trace.usage.input_tokens, trace.usage.output_tokens) == (
        "doubao-pro", 61, 14,
    )  # fmt: skip
    assert (trace.session_id, trace.user_id) == ("s-9", "u-3")
    assert (trace.streamed, trace.timings.first_byte_ms) == (True, 45)
    assert [(hit.kind.value, hit.name) for hit in trace.hits] == [("knowledge_base", "faq")]
    assert trace.convention == "coze_loop"


def test_a_first_token_that_is_no_moment_is_left_out() -> None:
    trace = trace_of(*_loop(model={"cozeloop.time_to_first_token": 15_000}))
    assert trace.timings.first_byte_ms is None


def test_a_template_is_not_the_question_and_the_model_is_asked_instead() -> None:
    prompt = {
        "cozeloop.span_type": "prompt",
        "cozeloop.input": json.dumps({"text": "Answer {{question}}"}),
        "cozeloop.output": json.dumps({"text": "Answer how long"}),
    }
    blank = {"cozeloop.input": "", "cozeloop.output": ""}
    trace = trace_of(*_loop(root=blank), span(4, "prompt", prompt, parent=1, ms=(1, 2)))

    assert trace.answer == ANSWER
    assert trace.question == "机场接送"  # what the retriever was asked


def test_a_status_code_of_coze_loop_is_a_failure() -> None:
    failed = {"cozeloop.status_code": -1, "error.message": "quota", "cozeloop.output": ""}
    trace = trace_of(*_loop(root=failed))

    assert (trace.status, trace.error) == (TraceStatus.ERROR, "quota")


def test_a_type_of_the_applications_own_leaves_the_word_to_the_operation() -> None:
    model = {"cozeloop.span_type": "my-model", "gen_ai.operation.name": "chat"}
    assert trace_of(*_loop(model=model)).model == "doubao-pro"


def test_a_judge_below_an_evaluator_does_not_answer() -> None:
    judge = {
        "openinference.span.kind": "LLM",
        "llm.model_name": "judge-1",
        "llm.token_count.prompt": 900,
        "output.value": "grounded",
    }
    trace = trace_of(
        *_spring(chat={"gen_ai.completion": ANSWER}),
        span(5, "grounded?", {"openinference.span.kind": "EVALUATOR"}, parent=1, ms=(96, 99)),
        span(6, "judge", judge, parent=5, ms=(97, 98)),
    )

    assert (trace.answer, trace.model, trace.usage.input_tokens) == (ANSWER, "gpt-4o", 61)
