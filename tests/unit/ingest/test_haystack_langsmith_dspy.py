"""Spans of Haystack's own tracer, of LangSmith's exporter, of DSPy and of Spring AI's events."""

from __future__ import annotations

import json
from typing import Any

import pytest

from rag_monitor.domain.trace import Trace
from tests.unit.ingest.evidence import span, trace_of

ASKED = "露营地几点关门？"
SAID = "晚上十点关门。"
FIRST, SECOND = "露营地晚上十点关门。", "The gate opens at seven."
BOTH = [("c1", FIRST), ("c2", SECOND)]


def _told(trace: Trace) -> tuple[Any, ...]:
    passages = [(d.id, d.content) for d in trace.contexts or ()]
    return trace.question, trace.answer, passages


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


# --- Haystack ---

DOCUMENTS = [
    {"id": "c1", "content": FIRST, "blob": None, "score": 0.9, "embedding": None, "page": 3},
    {"id": "c2", "content": SECOND, "blob": None, "score": 0.5, "embedding": None},
]
ANSWERS = [
    {"type": "haystack.dataclasses.answer.GeneratedAnswer",
     "init_parameters": {"data": SAID, "query": ASKED, "documents": DOCUMENTS, "meta": {}}}
]  # fmt: skip
MESSAGE = {"role": "assistant", "meta": {"model": "gpt-x"}, "name": None,
           "content": [{"text": SAID}]}  # fmt: skip
OLDER_MESSAGE = {"_role": "assistant", "_content": [{"text": SAID}], "_name": None, "_meta": {}}


def _component(
    number: int, name: str, kind: str, given: object, found: object, ms: tuple[float, float]
) -> dict[str, Any]:
    attributes = {
        "haystack.component.name": name,
        "haystack.component.type": kind,
        "haystack.component.input_types": '{"query": "str"}',
        "haystack.component.visits": 1,
        "haystack.component.input": _json(given),
        "haystack.component.output": _json(found),
    }
    return span(number, "haystack.component.run", attributes, parent=1, ms=ms)


def _pipeline(inputs: object, outputs: object, *components: dict[str, Any]) -> Trace:
    root = {
        "haystack.pipeline.input_data": _json(inputs),
        "haystack.pipeline.output_data": _json(outputs),
        "haystack.pipeline.metadata": "{}",
        "haystack.pipeline.max_runs_per_component": 100,
    }
    return trace_of(span(1, "haystack.pipeline.run", root, ms=(0, 200)), *components)


RETRIEVER = _component(
    2, "retriever", "InMemoryBM25Retriever", {"query": ASKED, "top_k": None},
    {"documents": DOCUMENTS}, (5, 20),
)  # fmt: skip
PROMPT = _component(
    3, "prompt_builder", "PromptBuilder", {"documents": DOCUMENTS, "question": ASKED},
    {"prompt": f"Answer from {FIRST}: {ASKED}"}, (21, 22),
)  # fmt: skip
GENERATOR = _component(
    4, "llm", "OpenAIGenerator", {"prompt": f"Answer from {FIRST}: {ASKED}"},
    {"replies": [SAID], "meta": [
        {"model": "gpt-x", "usage": {"prompt_tokens": 20, "completion_tokens": 6}}]}, (25, 150),
)  # fmt: skip
GIVEN = {"retriever": {"query": ASKED}, "prompt_builder": {"question": ASKED}}


@pytest.mark.parametrize(
    "outputs",
    [
        {"llm": {"replies": [SAID], "meta": [{"model": "gpt-x"}]}},
        {"answer_builder": {"answers": ANSWERS}},
        {"llm": {"replies": [MESSAGE]}},
        {"llm": {"replies": [OLDER_MESSAGE]}},
        {"answer_builder": {"answers": ANSWERS}, "retriever": {"documents": DOCUMENTS}},
        {},
    ],
)
def test_haystack(outputs: object) -> None:
    trace = _pipeline(GIVEN, outputs, RETRIEVER, PROMPT, GENERATOR)

    assert _told(trace) == (ASKED, SAID, BOTH)
    assert (trace.convention, trace.model) == ("haystack", "gpt-x")
    assert (trace.usage.input_tokens, trace.usage.output_tokens) == (20, 6)
    assert trace.retrievals[0].documents[0].score == 0.9


def test_haystack_with_a_chat_an_embedder_and_a_ranker() -> None:
    asked = {"role": "user", "meta": {}, "name": None, "content": [{"text": ASKED}]}
    trace = _pipeline(
        {"embedder": {"text": ASKED}, "ranker": {"query": ASKED}, "prompt": {"question": ASKED}},
        {"llm": {"replies": [MESSAGE]}},
        _component(2, "embedder", "SentenceTransformersTextEmbedder", {"text": ASKED},
                   {"embedding": [0.1]}, (1, 4)),
        _component(3, "retriever", "QdrantEmbeddingRetriever", {"query_embedding": [0.1]},
                   {"documents": DOCUMENTS[::-1]}, (5, 20)),
        _component(4, "ranker", "TransformersSimilarityRanker",
                   {"query": ASKED, "documents": DOCUMENTS[::-1]},
                   {"documents": DOCUMENTS}, (21, 30)),
        _component(5, "prompt", "ChatPromptBuilder", {"question": ASKED},
                   {"prompt": [asked]}, (31, 32)),
        _component(6, "llm", "haystack.components.OpenAIChatGenerator", {"messages": [asked]},
                   {"replies": [MESSAGE, MESSAGE]}, (33, 90)),
    )  # fmt: skip

    assert _told(trace) == (ASKED, SAID, BOTH)
    assert trace.retrievals[-1].reranked


def test_haystack_without_contents_says_nothing_wrong() -> None:
    bare = {"haystack.component.name": "llm", "haystack.component.type": "OpenAIGenerator"}
    trace = trace_of(
        span(1, "haystack.pipeline.run", {"haystack.pipeline.metadata": "{}"}, ms=(0, 99)),
        span(2, "haystack.component.run", bare, parent=1, ms=(1, 90)),
    )

    assert _told(trace) == (None, None, [])


# --- LangSmith ---

LANGCHAIN = [
    {"page_content": FIRST, "metadata": {"source": "a.md"}, "type": "Document", "id": "c1"},
    {"page_content": SECOND, "metadata": {}, "type": "Document", "id": "c2"},
]
WRITTEN = [
    {"lc": 1, "type": "constructor", "id": ["langchain", "schema", "document", "Document"],
     "kwargs": {"page_content": text, "metadata": {"_id": name}}}
    for name, text in BOTH
]  # fmt: skip
HUMAN = {"lc": 1, "type": "constructor", "id": ["langchain", "schema", "messages", "HumanMessage"],
         "kwargs": {"content": f"Use {FIRST}: {ASKED}", "type": "human"}}  # fmt: skip
AI = {"lc": 1, "type": "constructor", "id": ["langchain", "schema", "messages", "AIMessage"],
      "kwargs": {"content": SAID, "type": "ai"}}  # fmt: skip


def _run(
    number: int, kind: str, given: object, found: object, ms: tuple[float, float], **more: object
) -> dict[str, Any]:
    operations = {
        "llm": "chat",
        "retriever": "embeddings",
        "prompt": "chat",
        "tool": "execute_tool",
    }
    attributes = {
        "langsmith.span.kind": kind,
        "langsmith.trace.name": f"run {number}",
        "gen_ai.operation.name": operations.get(kind, kind),
        "gen_ai.prompt": _json(given),
        "gen_ai.completion": _json(found),
        **more,
    }
    return span(number, f"run {number}", attributes, parent=1 if number > 1 else None, ms=ms)


@pytest.mark.parametrize(
    "found",
    [{"documents": LANGCHAIN}, {"output": LANGCHAIN}, LANGCHAIN, {"documents": WRITTEN}],
)
@pytest.mark.parametrize(
    ("given", "returned"),
    [
        ({"question": ASKED}, {"output": SAID}),
        ({"input": ASKED}, {"answer": SAID, "context": LANGCHAIN}),
        ({"messages": [{"role": "user", "content": ASKED}]},
         {"messages": [{"role": "user", "content": ASKED},
                       {"role": "assistant", "content": SAID}]}),
        (ASKED, SAID),
    ],
)  # fmt: skip
def test_langsmith(given: object, returned: object, found: object) -> None:
    trace = trace_of(
        _run(1, "chain", given, returned, (0, 200),
             **{"langsmith.metadata.thread_id": "t-1", "langsmith.span.tags": "a, b"}),
        _run(2, "retriever", {"query": ASKED}, found, (5, 30)),
        _run(3, "prompt", {"question": ASKED}, {"output": "Use {context}"}, (31, 32)),
        _run(4, "llm", {"messages": [[HUMAN]]},
             {"generations": [[{"text": SAID, "message": AI}]], "llm_output": None}, (35, 190),
             **{"gen_ai.request.model": "gpt-x"}),
    )  # fmt: skip

    assert _told(trace) == (ASKED, SAID, BOTH)
    assert (trace.convention, trace.model, trace.session_id) == ("langsmith", "gpt-x", "t-1")
    assert trace.tags == ("a", "b")


# --- DSPy ---

PROMPTED = (
    f"[[ ## context ## ]]\n[1] «{FIRST}»\n[2] «{SECOND}»\n\n[[ ## question ## ]]\n{ASKED}\n\n"
    "Respond with the corresponding output fields, starting with the field "
    "`[[ ## reasoning ## ]]`, then `[[ ## answer ## ]]`, and then ending with the marker for "
    "`[[ ## completed ## ]]`."
)
REPLIED = (
    f"[[ ## reasoning ## ]]\nIt says so.\n\n[[ ## answer ## ]]\n{SAID}\n\n[[ ## completed ## ]]\n"
)
REPLIES = [
    REPLIED,
    f"[[ ## answer ## ]]\n{SAID}\n\n[[ ## completed ## ]]",
    f"[[ ## response ## ]]\n{SAID}",
    f"[[ ## reasoning ## ]]\nSo.\n\n[[ ## summary_of_rules ## ]]\n{SAID}\n[[ ## completed ## ]]",
    f"[[ ## answer ## ]] {SAID}",
]


@pytest.mark.parametrize("replied", REPLIES)
def test_dspy_in_a_call_alone(replied: str) -> None:
    flat = {
        "openinference.span.kind": "LLM", "llm.model_name": "m",
        "llm.input_messages.0.message.role": "system",
        "llm.input_messages.0.message.content": "Your input fields are:\n1. `context`",
        "llm.input_messages.1.message.role": "user",
        "llm.input_messages.1.message.content": PROMPTED,
        "llm.output_messages.0.message.role": "assistant",
        "llm.output_messages.0.message.content": replied,
    }  # fmt: skip

    assert _told(trace_of(span(1, "LM.__call__", flat)))[:2] == (ASKED, SAID)


@pytest.mark.parametrize(
    "attributes",
    [
        {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m",
         "gen_ai.input.messages": _json([{"role": "user", "content": PROMPTED}]),
         "gen_ai.output.messages": _json([{"role": "assistant", "content": REPLIED}])},
        {"mlflow.spanType": '"CHAT_MODEL"',
         "mlflow.spanInputs": _json({"messages": [{"role": "user", "content": PROMPTED}]}),
         "mlflow.spanOutputs": _json([REPLIED])},
        {"langfuse.observation.type": "generation",
         "langfuse.observation.input": _json([{"role": "user", "content": PROMPTED}]),
         "langfuse.observation.output": _json({"role": "assistant", "content": REPLIED})},
        {"openinference.span.kind": "LLM", "input.value": _json({"prompt": PROMPTED}),
         "output.value": _json([REPLIED])},
    ],
)  # fmt: skip
def test_dspy_in_other_conventions(attributes: dict[str, object]) -> None:
    assert _told(trace_of(span(1, "call", attributes)))[:2] == (ASKED, SAID)


def test_dspy_with_its_modules() -> None:
    module = {
        "openinference.span.kind": "CHAIN",
        "input.value": _json({"question": ASKED}),
        "output.value": f"Prediction(\n    reasoning='So.',\n    answer='{SAID}'\n)",
    }
    search = {
        "openinference.span.kind": "RETRIEVER",
        "input.value": _json({"query": ASKED}),
        "output.value": _json([FIRST, SECOND]),
    }
    call = {
        "openinference.span.kind": "LLM",
        "input.value": _json({"messages": [{"role": "user", "content": PROMPTED}]}),
        "output.value": _json([REPLIED]),
    }
    trace = trace_of(
        span(1, "RAG.forward", module, ms=(0, 100)),
        span(2, "Retrieve.forward", search, parent=1, ms=(1, 9)),
        span(3, "LM.__call__", call, parent=1, ms=(10, 90)),
    )

    assert _told(trace) == (ASKED, SAID, [(None, FIRST), (None, SECOND)])


def test_what_the_fields_do_not_say_is_unknown() -> None:
    replied = "[[ ## reasoning ## ]]\nSo.\n[[ ## title ## ]]\na\n[[ ## score ## ]]\n3"
    call = {
        "openinference.span.kind": "LLM", "input.value": _json({"prompt": PROMPTED}),
        "output.value": _json([replied]),
    }  # fmt: skip

    assert _told(trace_of(span(1, "LM.__call__", call)))[:2] == (ASKED, None)


# --- Spring AI ---

STORE = {
    "spring.ai.kind": "vector_store", "db.system": "pg_vector", "db.operation.name": "query",
    "db.collection.name": "faq", "db.vector.query.content": ASKED,
}  # fmt: skip
EVENTS: list[tuple[str, dict[str, object]]] = [
    ("db.vector.content.query.response", {"db.vector.query.content": [FIRST, SECOND]}),
    ("db.vector.content.query.response", {"db.vector.query.content": _json([FIRST, SECOND])}),
    ("db.vector.content.query.response", {"db.vector.query.response.documents": [FIRST, SECOND]}),
    ("documents", {"db.vector.query.response.documents": f'["{FIRST}", "{SECOND}"]'}),
]


@pytest.mark.parametrize(("name", "attributes"), EVENTS)
def test_spring_ai_in_events(name: str, attributes: dict[str, object]) -> None:
    store = span(2, "pg_vector query", STORE, parent=1, events=[(name, 5.0, attributes)])
    chat = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m"}

    trace = trace_of(span(1, "chat", chat), store)

    assert [d.content for d in trace.contexts or ()] == [FIRST, SECOND]


def test_spring_ai_with_objects() -> None:
    documents = [{"id": "c1", "text": FIRST, "score": 0.9}, {"id": "c2", "text": SECOND}]
    store = STORE | {"db.vector.query.response.documents": _json(documents)}
    chat = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m"}

    trace = trace_of(span(1, "chat", chat), span(2, "query", store, parent=1))

    assert _told(trace)[2] == BOTH
