"""What the Vercel AI SDK and MLflow really sent, see fixtures/otlp/generate_products.py."""

from __future__ import annotations

import json

import pytest

from rag_monitor.domain.trace import TraceStatus
from tests.unit.ingest.evidence import span, trace_of
from tests.unit.ingest.test_generated_payloads import ANSWER, PASSAGES, PRODUCTS, QUESTION, read

AI_SDK = tuple(name for name in PRODUCTS if name.startswith("ai_sdk_"))
TOLD = ("ai_sdk_4_whole", "ai_sdk_6_rerank", "ai_sdk_6_stream", "ai_sdk_6_tool")
"""Version 7 sends no metadata by itself."""


@pytest.mark.parametrize("name", PRODUCTS)
def test_question_and_answer_are_found(name: str) -> None:
    trace = read(name)

    assert (trace.question, trace.answer) == (QUESTION, ANSWER)
    assert (trace.app, trace.status) == ("travel-faq", TraceStatus.OK)
    assert trace.timings.end_to_end_ms is not None


@pytest.mark.parametrize("name", [*AI_SDK, "mlflow"])
def test_model_and_tokens_are_found(name: str) -> None:
    trace = read(name)

    calls = 2 if name == "ai_sdk_6_tool" else 1
    assert trace.model == "fake-chat-2"
    assert (trace.usage.input_tokens, trace.usage.output_tokens) == (61 * calls, 14 * calls)


@pytest.mark.parametrize("name", TOLD)
def test_the_ai_sdk_tells_session_user_and_tags_in_its_metadata(name: str) -> None:
    trace = read(name)

    assert (trace.session_id, trace.user_id, trace.tags) == ("s-9", "u-3", ("web",))
    assert trace.convention == "vercel_ai"


@pytest.mark.parametrize("name", ["ai_sdk_6_stream", "ai_sdk_7_stream", "mlflow_stream"])
def test_the_first_byte_of_a_streamed_answer_comes_before_its_end(name: str) -> None:
    trace = read(name)

    first, whole = trace.timings.first_byte_ms, trace.timings.end_to_end_ms
    assert trace.streamed is True
    assert first is not None
    assert whole is not None
    assert 0 < first < whole


@pytest.mark.parametrize("name", ["ai_sdk_4_whole", "ai_sdk_6_tool"])
def test_an_answer_in_one_piece_comes_with_the_end(name: str) -> None:
    trace = read(name)

    assert trace.streamed is False
    assert trace.timings.first_byte_ms == trace.timings.end_to_end_ms


def test_a_tool_of_the_ai_sdk_is_a_plugin() -> None:
    trace = read("ai_sdk_6_tool")

    assert [(hit.kind.value, hit.name, hit.items) for hit in trace.hits] == [
        ("workflow", "answer", None),
        ("plugin", "search", 2),
    ]
    (tool,) = trace.attributes["tools"]
    assert tool["arguments"] == {"question": QUESTION}
    assert tool["result"][0]["content"] == PASSAGES[0][1]


def test_a_reranking_of_the_ai_sdk_gives_the_passages_in_its_order() -> None:
    trace = read("ai_sdk_6_rerank")

    texts = [text for _, text, _ in PASSAGES]
    found = [(d.rank, d.content, d.score) for d in trace.contexts or ()]
    assert found == [(1, texts[1], 0.8), (2, texts[0], 0.3)]
    assert [retrieval.reranked for retrieval in trace.retrievals] == [True]


@pytest.mark.parametrize("ranking", [None, ['{"index":9}', "broken", '{"index":-1}'], "text"])
def test_a_ranking_that_cannot_be_read_invents_no_passage(ranking: object) -> None:
    rerank = {"ai.operationId": "ai.rerank.doRerank", "ai.documents": ['"one"']}
    said = {} if ranking is None else {"ai.ranking": ranking}
    trace = trace_of(span(1, "ai.rerank.doRerank", rerank | said))

    assert not trace.contexts


def test_what_the_ai_sdk_reranks_may_be_objects() -> None:
    document = json.dumps({"id": "d-1", "text": "The warranty lasts 24 months."})
    rerank = {
        "ai.operationId": "ai.rerank.doRerank",
        "ai.documents": [document],
        "ai.ranking": ['{"index":0,"relevanceScore":0.7}'],
    }
    (found,) = trace_of(span(1, "ai.rerank.doRerank", rerank)).contexts or ()

    assert (found.id, found.content, found.score) == ("d-1", "The warranty lasts 24 months.", 0.7)


def _generate(number: int, prompt: str, text: str, ms: tuple[float, float]) -> object:
    attributes = {
        "ai.operationId": "ai.generateText",
        "ai.prompt": json.dumps({"prompt": prompt}),
        "ai.response.text": text,
    }
    return span(number, "ai.generateText", attributes, parent=1, ms=ms)


def test_of_several_calls_below_a_web_request_the_one_that_ends_last_answers() -> None:
    """A rewriting first, and the name of the conversation beside, are not what the user saw."""
    trace = trace_of(
        span(1, "POST /api/chat", ms=(0, 100)),
        _generate(2, "Rewrite: and how long?", "How long is the warranty?", (0, 20)),
        _generate(3, "How long is the warranty?", "24 months.", (25, 95)),
        _generate(4, "Name this: and how long?", "Warranty", (26, 50)),
    )

    assert (trace.question, trace.answer) == ("How long is the warranty?", "24 months.")


def test_a_failed_call_of_the_ai_sdk_has_a_question_and_an_error() -> None:
    attributes = {"ai.operationId": "ai.streamText", "ai.prompt": '{"prompt":"q?"}'}
    failed = {"status": {"code": 2, "message": "the model is away"}}
    trace = trace_of(span(1, "ai.streamText", attributes, **failed))

    assert (trace.question, trace.answer, trace.status) == ("q?", None, TraceStatus.ERROR)


@pytest.mark.parametrize("name", ["mlflow", "mlflow_stream"])
def test_documents_of_mlflow_have_text_id_and_score(name: str) -> None:
    trace = read(name)

    assert [(d.id, d.content, d.score) for d in trace.contexts or ()] == PASSAGES
    assert trace.convention == "mlflow"


def test_steps_of_mlflow_are_hits() -> None:
    hits = [(hit.kind.value, hit.name, hit.items) for hit in read("mlflow").hits]

    assert hits == [
        ("workflow", "answer", None),
        ("knowledge_base", "faq", 2),
        ("plugin", "lead_time", None),
    ]


@pytest.mark.parametrize(
    ("pieces", "answer"),
    [
        (["24 ", "months."], "24 months."),
        ([{"choices": [{"delta": {"content": "24 "}}]}, {"choices": []}], "24 "),
        ([{"type": "AIMessageChunk", "content": "24 "}, {"content": ""}], "24 "),
        ([{"odd": 1}], None),  # better none than the last piece for the whole
    ],
)
def test_pieces_that_a_generator_yielded_are_one_answer(
    pieces: list[object], answer: str | None
) -> None:
    attributes = {
        "mlflow.spanType": '"CHAIN"',
        "mlflow.spanInputs": '{"question": "q?"}',
        "mlflow.spanOutputs": json.dumps(pieces),
    }
    events = [(f"mlflow.chunk.item.{n}", 10.0 + n, {}) for n in range(len(pieces))]
    trace = trace_of(span(1, "answer", attributes, events=events))

    assert (trace.question, trace.answer) == ("q?", answer)


@pytest.mark.parametrize(("operation", "streamed"), [("doStream", True), ("doGenerate", False)])
def test_what_langfuse_adds_to_spans_of_the_ai_sdk_does_not_hide_how_it_answered(
    operation: str, streamed: bool
) -> None:
    """Langfuse's processor for JavaScript puts its own attributes on every span."""
    extra = {"langfuse.environment": "production"}
    name = f"ai.streamText.{operation}" if streamed else f"ai.generateText.{operation}"
    outer = {"ai.operationId": name.rpartition(".")[0], "ai.prompt": '{"prompt":"q?"}'}
    inner = {"ai.operationId": name, "ai.response.text": "a.", "gen_ai.system": "openai"}
    trace = trace_of(
        span(1, "outer", outer | extra | {"ai.response.text": "a."}),
        span(2, "inner", inner | extra, parent=1, ms=(10, 90)),
    )

    assert (trace.question, trace.answer, trace.environment) == ("q?", "a.", "production")
    assert trace.streamed is streamed


def test_a_span_of_ones_own_around_the_search_gives_the_ai_sdk_its_passages() -> None:
    """As docs/integrations.md advises, for the SDK has no span for a search."""
    search = {
        "gen_ai.operation.name": "retrieval",
        "gen_ai.retrieval.documents": json.dumps([{"id": "d-1", "content": "one", "score": 0.9}]),
    }
    embed = {"ai.operationId": "ai.embed", "ai.value": '"q?"'}
    answer = {
        "ai.operationId": "ai.generateText",
        "ai.prompt": '{"prompt":"q?"}',
        "ai.response.text": "a.",
    }
    trace = trace_of(
        span(1, "POST /api/chat"),
        span(2, "search", search, parent=1, ms=(5, 25)),
        span(3, "ai.embed", embed, parent=2, ms=(6, 20)),
        span(4, "ai.generateText", answer, parent=1, ms=(30, 95)),
    )

    assert (trace.question, trace.answer) == ("q?", "a.")
    assert [(d.id, d.content, d.score) for d in trace.contexts or ()] == [("d-1", "one", 0.9)]
    assert trace.timings.retrieval_ms == 20


@pytest.mark.parametrize(("lost", "first_byte_ms"), [({}, 40), ({"droppedEventsCount": 3}, None)])
def test_tokens_of_mlflows_langchain_autologging_tell_when_the_first_came(
    lost: dict[str, int], first_byte_ms: float | None
) -> None:
    """Past 128 events the first are evicted: then the earliest left is not the first."""
    chain = {
        "mlflow.spanType": '"CHAIN"',
        "mlflow.spanInputs": '"q?"',
        "mlflow.spanOutputs": '"a."',
    }
    message = {"choices": [{"message": {"role": "assistant", "content": "a."}}]}
    model = {"mlflow.spanType": '"CHAT_MODEL"', "mlflow.spanOutputs": json.dumps(message)}
    events = [("new_token", 40.0, {"token": "a"}), ("new_token", 60.0, {"token": "."})]
    trace = trace_of(
        span(1, "RunnableSequence", chain),
        span(2, "ChatOpenAI", model, parent=1, ms=(10, 90), events=events, **lost),
    )

    assert (trace.question, trace.answer, trace.streamed) == ("q?", "a.", True)
    assert trace.timings.first_byte_ms == first_byte_ms
