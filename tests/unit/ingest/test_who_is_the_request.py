"""Of several spans that could be the request, the one that answered; what is no request."""

from __future__ import annotations

import json
from typing import Any

import pytest

from rag_monitor.telemetry import REGISTRY
from tests.unit.ingest.evidence import derived, span, trace_of

ASKED = "May I take my dog on the ferry?"
SAID = "Yes, on a lead."
PASSAGE = "Dogs travel on deck, on a lead."
WEB = span(1, "POST /ask", {"http.request.method": "POST"}, kind=2, ms=(0, 200))
Span = dict[str, Any]


def _step(kind: str, given: str | None = None, said: str | None = None) -> dict[str, object]:
    found: dict[str, object] = {"openinference.span.kind": kind}
    if given is not None:
        found["input.value"] = given
    if said is not None:
        found["output.value"] = said
    return found


def _call(asked: str | None = None, said: str | None = None, system: str = "") -> dict[str, object]:
    found: dict[str, object] = {"openinference.span.kind": "LLM", "llm.model_name": "m"}
    for place, (role, text) in enumerate((("system", system), ("user", asked))):
        if text:
            found[f"llm.input_messages.{place}.message.role"] = role
            found[f"llm.input_messages.{place}.message.content"] = text
    if said is not None:
        found["llm.output_messages.0.message.role"] = "assistant"
        found["llm.output_messages.0.message.content"] = said
    return found


def _told(*spans: Span) -> tuple[str | None, str | None]:
    trace = trace_of(*spans)
    return trace.question, trace.answer


RAG = span(9, "rag", _step("CHAIN", ASKED, SAID), parent=1, ms=(20, 150))
ANSWERING = span(9, "chat m", _call(ASKED, SAID), parent=1, ms=(31, 100))


@pytest.mark.parametrize("ms", [(0, 5), (151, 160)], ids=["before", "after"])
@pytest.mark.parametrize("said", ['{"passed": true}', "safe"])
@pytest.mark.parametrize(
    "attributes",
    [
        *(
            {"openinference.span.kind": kind, "input.value": "Be kind: {text}"}
            for kind in ("GUARDRAIL", "PROMPT", "EMBEDDING", "EVALUATOR", "TOOL", "RERANKER")
        ),
        *(
            {"langfuse.observation.type": kind, "langfuse.observation.input": "Be kind: {text}"}
            for kind in ("guardrail", "event", "evaluator", "embedding", "tool")
        ),
        *(
            {"mlflow.spanType": f'"{kind}"', "mlflow.spanInputs": '"Be kind: {text}"'}
            for kind in ("GUARDRAIL", "PARSER", "EVALUATOR")
        ),
        {"cozeloop.span_type": "prompt", "cozeloop.input": "Be kind: {text}"},
        {"gen_ai.span.kind": "GUARDRAIL", "input.value": "Be kind: {text}"},
        {"gen_ai.operation.name": "moderation", "gen_ai.request.model": "m",
         "gen_ai.input.messages": '[{"role":"user","content":"Be kind: {text}"}]'},
        {"db.system": "postgresql", "db.statement": "select 1"},
    ],
)  # fmt: skip
def test_a_step_beside_is_not_the_request(
    attributes: dict[str, object], said: str, ms: tuple[float, float]
) -> None:
    outputs = ("output.value", "langfuse.observation.output", "cozeloop.output")
    step = {**attributes, **dict.fromkeys(outputs, said), "mlflow.spanOutputs": json.dumps(said)}
    own = {key for key in outputs if key.partition(".")[0] in " ".join(attributes)}
    kept = {key: value for key, value in step.items() if key not in outputs or key in own}
    if not any(key.startswith("mlflow") for key in attributes):
        del kept["mlflow.spanOutputs"]
    assert _told(WEB, span(2, "step", kept, parent=1, ms=ms), RAG) == (ASKED, SAID)


@pytest.mark.parametrize("ms", [(0, 9), (151, 190)], ids=["before", "after"])
@pytest.mark.parametrize("kind", ["GUARDRAIL", "EVALUATOR", "RERANKER", "RETRIEVER", "EMBEDDING"])
def test_a_model_that_helps_a_step_does_not_answer(kind: str, ms: tuple[float, float]) -> None:
    step = span(2, "step", _step(kind, "x", "y"), parent=1, ms=ms)
    helper = span(3, "chat m", _call("Is it safe?", "SAFE"), parent=2, ms=ms)
    assert _told(WEB, step, helper, ANSWERING)[1] == SAID


@pytest.mark.parametrize(
    ("name", "asked", "said", "system"),
    [
        ("title", ASKED, "Dogs on board", ""),
        ("chat m", f"Write a short title for this conversation: {ASKED}", "Dogs on board", ""),
        ("chat m", ASKED, "Dogs on board", "You generate a concise title for the chat."),
        ("chat m", "请为以下对话生成一个简短的标题", "带狗乘船", ""),
        ("route_question", ASKED, "ferry", ""),
        ("chat m", ASKED, "ferry", "Classify the question into one of: ferry, train."),
        ("chat m", ASKED, '{"route": "ferry"}', ""),
        ("condense", ASKED, "dog ferry", ""),
        ("input guardrail", ASKED, "allowed", ""),
        ("grade_documents", ASKED, "relevant", ""),
        ("summarize_history", ASKED, "They talk of dogs.", ""),
        ("chat m", "Summarize the conversation so far.", "They talk of dogs.", ""),
    ],
)
@pytest.mark.parametrize("ms", [(1, 30), (101, 190), (5, 150)], ids=["before", "after", "beside"])
def test_a_call_beside_the_answer_is_not_the_answer(
    name: str, asked: str, said: str, system: str, ms: tuple[float, float]
) -> None:
    beside = span(2, name, _call(asked, said, system), parent=1, ms=ms)
    assert _told(WEB, beside, ANSWERING) == (ASKED, SAID)
    silent = span(1, "run", _step("CHAIN", "Run()", "Done()"), ms=(0, 200))
    assert _told(silent, beside, ANSWERING) == (ASKED, SAID)


def test_a_chain_beside_that_checks_or_chooses_is_not_the_request() -> None:
    for name, said, ms in (
        ("input_guardrail", "allowed", (0, 9)),
        ("output_guardrail", "allowed", (151, 190)),
        ("router", "ferry", (0, 9)),
        ("generate_title", "Dogs on board", (151, 190)),
    ):
        step = span(2, name, _step("CHAIN", "x", said), parent=1, ms=ms)
        assert _told(WEB, step, RAG) == (ASKED, SAID)


def test_a_call_after_the_response_has_gone_does_not_answer() -> None:
    later = span(
        2, "chat m", _call("In three words: dogs", "Dogs on board"), parent=1, ms=(201, 230)
    )
    assert _told(WEB, ANSWERING, later) == (ASKED, SAID)


def test_the_call_that_saw_the_passages_answers() -> None:
    found = _step("RETRIEVER", ASKED) | {"retrieval.documents.0.document.content": PASSAGE}
    prompt = f"Context:\n{PASSAGE}\n\nQuestion: {ASKED}"
    assert _told(
        WEB,
        span(2, "search", found, parent=1, ms=(1, 9)),
        span(3, "chat m", _call(prompt, SAID), parent=1, ms=(10, 90)),
        span(4, "chat m", _call("Hm", "Something else."), parent=1, ms=(91, 120)),
    ) == (ASKED, SAID)


def test_a_rewritten_query_is_not_the_question_where_the_model_was_asked() -> None:
    found = _step("RETRIEVER", "dogs ferry rules") | {
        "retrieval.documents.0.document.content": PASSAGE
    }
    trace = trace_of(
        WEB,
        span(2, "search", found, parent=1, ms=(1, 9)),
        span(3, "chat m", _call(ASKED, SAID, f"Context: {PASSAGE}"), parent=1, ms=(10, 90)),
    )
    assert (trace.question, trace.query) == (ASKED, "dogs ferry rules")


def test_what_a_loop_observes_is_not_the_question() -> None:
    seen = [
        ("user", ASKED),
        ("assistant", "Action: look up"),
        ("user", "Observation: dogs: on a lead"),
    ]
    second = {"openinference.span.kind": "LLM", "llm.output_messages.0.message.role": "assistant",
              "llm.output_messages.0.message.content": SAID}  # fmt: skip
    for place, (role, text) in enumerate(seen):
        second[f"llm.input_messages.{place}.message.role"] = role
        second[f"llm.input_messages.{place}.message.content"] = text
    first = span(2, "chat m", _call(ASKED, "Action: look up"), parent=1, ms=(1, 60))
    assert _told(WEB, first, span(3, "chat m", second, parent=1, ms=(70, 90))) == (ASKED, SAID)


def test_the_agent_that_is_handed_the_question_answers() -> None:
    assert _told(
        WEB,
        span(2, "desk", _step("AGENT"), parent=1, ms=(0, 60)),
        span(3, "chat m", _call(ASKED, "To the ferry desk."), parent=2, ms=(1, 59)),
        span(4, "ferry desk", _step("AGENT"), parent=1, ms=(61, 100)),
        span(5, "chat m", _call(ASKED, SAID), parent=4, ms=(62, 99)),
    ) == (ASKED, SAID)


def test_an_agent_below_a_tool_does_not_answer_the_user() -> None:
    assert _told(
        span(1, "agent", _step("AGENT"), ms=(0, 200)),
        span(2, "chat m", _call(ASKED), parent=1, ms=(1, 10)),
        span(3, "rules", _step("TOOL", "{}", "lead"), parent=1, ms=(11, 100)),
        span(4, "inner", _step("AGENT", "the rules?", "lead"), parent=3, ms=(12, 99)),
        span(5, "chat m", _call("the rules?", "lead"), parent=4, ms=(13, 98)),
        span(6, "chat m", _call(ASKED, SAID), parent=1, ms=(101, 190)),
    ) == (ASKED, SAID)


def test_a_call_that_was_tried_again_answers_at_last() -> None:
    failed = span(2, "chat m", _call(ASKED), parent=1, ms=(1, 20), status={"code": 2})
    assert _told(WEB, failed, ANSWERING) == (ASKED, SAID)


def test_a_chain_that_was_tried_again_answers_at_last() -> None:
    given_up = span(
        2, "rag", _step("CHAIN", ASKED, "overloaded"), parent=1, ms=(1, 190), status={"code": 2}
    )
    assert _told(WEB, given_up, RAG) == (ASKED, SAID)


@pytest.mark.parametrize("kind", ["GUARDRAIL", "PROMPT", "EMBEDDING", "RETRIEVER", "TOOL"])
def test_the_request_is_found_where_the_root_never_comes(kind: str) -> None:
    lost = 77
    step = span(2, "step", _step(kind, "x", "y"), parent=lost, ms=(0, 9))
    chain = span(9, "rag", _step("CHAIN", ASKED, SAID), parent=lost, ms=(20, 150))
    trace = trace_of(step, chain)
    assert (trace.question, trace.answer, trace.timings.end_to_end_ms) == (ASKED, SAID, None)
    call = span(9, "chat m", _call(ASKED, SAID), parent=lost, ms=(20, 150))
    assert _told(step, call)[1] == SAID


def test_what_the_innermost_call_leaves_out_is_read_from_the_calls_around_it() -> None:
    outer = {
        "gen_ai.operation.name": "acompletion",
        "gen_ai.usage.input_tokens": 7,
        "gen_ai.usage.output_tokens": 3,
        **MESSAGES,
    }
    trace = trace_of(
        span(1, "run", _step("CHAIN", "Run()", "Done()"), ms=(0, 200)),
        span(2, "request", outer, parent=1, ms=(1, 90)),
        span(3, "raw", {"gen_ai.request.model": "m-2026"}, parent=2, ms=(2, 80)),
    )
    assert (trace.question, trace.answer, trace.model) == (ASKED, SAID, "m-2026")
    assert (trace.usage.input_tokens, trace.usage.output_tokens) == (7, 3)


# --- what is kept ---

MESSAGES = {
    "gen_ai.request.model": "m",
    "gen_ai.input.messages": json.dumps([{"role": "user", "content": ASKED}]),
    "gen_ai.output.messages": json.dumps([{"role": "assistant", "content": SAID}]),
}


@pytest.mark.parametrize(
    "operation", ["responses", "aresponses", "acompletion", "my_own", "image_generation", ""]
)
def test_a_model_call_is_kept_whatever_its_operation_is_called(operation: str) -> None:
    call = {"gen_ai.operation.name": operation, **MESSAGES}
    assert _told(span(1, "request", call)) == (ASKED, SAID)
    inner = span(2, "raw", {"gen_ai.request.model": "m"}, parent=1, ms=(1, 9))
    assert _told(span(1, "request", call), inner) == (ASKED, SAID)


@pytest.mark.parametrize("kind", ["CHAIN", "AGENT"])
def test_an_answer_is_kept_without_a_question(kind: str) -> None:
    answered = _step(kind, None, SAID)
    assert _told(span(1, "run", answered)) == (None, SAID)
    assert _told(WEB, span(2, "run", answered, parent=1)) == (None, SAID)
    silent = span(1, "outer", _step("CHAIN"))
    assert _told(silent, span(2, "run", answered, parent=1)) == (None, SAID)


@pytest.mark.parametrize(
    ("tasks", "question"),
    [
        ([{"description": ASKED}], ASKED),
        ([{"description": "Look up the rules."}, {"description": ASKED}], ASKED),
        ([{"description": "Answer {question}"}], None),
        ([], None),
    ],
)
def test_a_crew_is_asked_what_its_last_task_says(tasks: list[object], question: str | None) -> None:
    crew = _step("CHAIN", None, SAID) | {"crew_tasks": json.dumps(tasks)}
    assert _told(span(1, "Crew.kickoff", crew)) == (question, SAID)


def test_passages_are_kept_without_anything_else() -> None:
    found = _step("RETRIEVER") | {"retrieval.documents.0.document.content": PASSAGE}
    trace = trace_of(WEB, span(2, "search", found, parent=1))
    assert [d.content for d in trace.contexts or ()] == [PASSAGE]


@pytest.mark.parametrize(
    "root",
    [
        {"gen_ai.operation.name": "create_agent"},
        _step("TOOL", "{}", "x"),
        _step("EMBEDDING", "x"),
        _step("GUARDRAIL", "x", "safe"),
        _step("PROMPT", "Answer {q}", "x"),
    ],
)
def test_a_root_of_any_kind_with_a_model_call_is_kept(root: dict[str, object]) -> None:
    helps = root.get("openinference.span.kind") in ("GUARDRAIL", "PROMPT", "EMBEDDING")
    told = _told(span(1, "root", root), span(2, "chat m", _call(ASKED, SAID), parent=1))
    assert told == ((None, None) if helps else (ASKED, SAID))


# --- what is not, and how it is counted ---


@pytest.mark.parametrize(
    ("attributes", "reason"),
    [
        ({"gen_ai.operation.name": "create_agent"}, "agent_created"),
        (_step("TOOL", "{}", "x"), "lone_tool"),
        (_step("EMBEDDING", "x"), "lone_embedding"),
        (_step("GUARDRAIL", "x", "safe"), "lone_guardrail"),
        (_step("PROMPT", "Answer {q}", "x"), "lone_prompt"),
        ({"langfuse.observation.type": "event", "langfuse.observation.input": "x"}, "lone_step"),
        (_step("EVALUATOR", "x", "y"), "evaluation"),
        (_step("CHAIN"), "nothing_said"),
        ({"http.request.method": "GET"}, "no_model_call"),
    ],
)
def test_what_is_no_request_is_counted_by_its_reason(
    attributes: dict[str, object], reason: str
) -> None:
    labels = {"stage": "derive", "reason": reason}
    before = REGISTRY.get_sample_value("rag_monitor_dropped_total", labels) or 0.0
    assert derived(span(1, "s", attributes)) is None
    assert REGISTRY.get_sample_value("rag_monitor_dropped_total", labels) == before + 1
