"""What decorators write of the functions they trace: the question is among the arguments."""

from __future__ import annotations

import json

import pytest

from tests.unit.ingest.evidence import derived, span, trace_of


def _called(*args: object, **kwargs: object) -> str:
    return json.dumps({"args": args, "kwargs": kwargs})


CALLS = [
    (_called("How long?"), "How long?"),
    (_called("How long?", 3, {"top_k": 5}), "How long?"),
    (_called(top_k=3, question="How long?"), "How long?"),
    (_called(user="u-7", prompt="How long?"), "How long?"),
    (_called(user_text="How long?", top_k=3), "How long?"),
    (_called("RagPipeline", "How long?"), "How long?"),  # a method: `self` by its class
    (_called("Warranty"), "Warranty"),
    (_called({"messages": [{"role": "user", "content": "How long?"}]}), "How long?"),
    (_called(None, 3, True), None),
    (_called(), None),
]


@pytest.mark.parametrize(("written", "question"), CALLS)
def test_the_question_is_found_among_the_arguments_of_openllmetry(
    written: str, question: str | None
) -> None:
    workflow = {
        "traceloop.span.kind": "workflow",
        "traceloop.entity.name": "answer",
        "traceloop.entity.input": written,
        "traceloop.entity.output": json.dumps("24 months."),
    }
    model = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m"}
    trace = trace_of(span(1, "answer.workflow", workflow), span(2, "chat", model, parent=1))
    assert (trace.question, trace.answer) == (question, "24 months.")


@pytest.mark.parametrize(("written", "question"), CALLS)
def test_the_question_is_found_among_the_arguments_of_langfuse(
    written: str, question: str | None
) -> None:
    observed = {
        "langfuse.observation.type": "span",
        "langfuse.observation.input": written,
        "langfuse.observation.output": "24 months.",
    }
    found = derived(span(1, "answer", observed))
    assert (found.question if found else None) == question


def test_a_traced_function_without_a_model_call_below_is_a_request() -> None:
    workflow = {
        "traceloop.span.kind": "workflow",
        "traceloop.entity.name": "answer",
        "traceloop.entity.input": _called(question="How long?", top_k=3),
        "traceloop.entity.output": json.dumps({"answer": "24 months."}),
    }
    trace = trace_of(span(1, "answer.workflow", workflow))
    assert (trace.question, trace.answer) == ("How long?", "24 months.")


@pytest.mark.parametrize(
    "given",
    [
        {"prompt": "How long?", "session": "s-1"},
        {"user_message": "How long?", "history": [], "session": "s-1"},
        {"text": "How long?", "language": "en"},
        {"words": "How long?", "top_k": 3, "stream": True},
        [{"type": "text", "text": "How long?"}],
    ],
)
def test_the_question_is_found_under_the_names_people_give_it(given: object) -> None:
    chain = {
        "openinference.span.kind": "CHAIN",
        "input.value": json.dumps(given),
        "output.value": "24 months.",
    }
    assert trace_of(span(1, "chain", chain)).question == "How long?"


def test_of_several_texts_without_a_known_name_none_is_taken() -> None:
    chain = {
        "openinference.span.kind": "CHAIN",
        "input.value": json.dumps({"tenant": "t-1", "words": "How long?"}),
        "output.value": "24 months.",
    }
    model = {"openinference.span.kind": "LLM", "llm.model_name": "m"}
    trace = trace_of(span(1, "chain", chain), span(2, "llm", model, parent=1))
    assert trace.question is None


@pytest.mark.parametrize("missing", ["None", "null", "undefined", '"None"'])
def test_a_value_that_is_missing_is_no_question(missing: str) -> None:
    root = {
        "openinference.span.kind": "CHAIN",
        "input.value": missing,
        "output.value": "Say what you look for.",
    }

    trace = trace_of(span(1, "chain", root))

    assert (trace.question, trace.answer) == (None, "Say what you look for.")


@pytest.mark.parametrize("missing", ["None", "null", "nil", "undefined", "NaN"])
def test_a_value_that_is_missing_is_no_passage_and_nobodys_name(missing: str) -> None:
    root = {
        "openinference.span.kind": "CHAIN",
        "input.value": "Any allergies?",
        "output.value": missing,
        "user.id": missing,
        "session.id": missing,
    }
    retriever = {
        "openinference.span.kind": "RETRIEVER",
        "retrieval.documents.0.document.id": "p1",
        "retrieval.documents.0.document.content": missing,
    }

    trace = trace_of(span(1, "chain", root), span(2, "search", retriever, parent=1))

    assert (trace.user_id, trace.session_id) == (None, None)
    assert [(d.id, d.content) for r in trace.retrievals for d in r.documents] == [("p1", None)]
    assert trace.answer == missing


def test_what_a_user_is_said_to_have_said_is_no_missing_value() -> None:
    model = {
        "openinference.span.kind": "LLM",
        "llm.input_messages.0.message.role": "user",
        "llm.input_messages.0.message.content": "How long?",
        "llm.input_messages.1.message.role": "user",
        "llm.input_messages.1.message.content": "None",
        "llm.output_messages.0.message.role": "assistant",
        "llm.output_messages.0.message.content": "24 months.",
    }

    assert trace_of(span(1, "llm", model)).question == "How long?"
