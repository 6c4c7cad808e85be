"""What handlers are and return in real applications: methods, tuples, classes by mistake."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Iterator
from typing import Any, NamedTuple

import pytest

import rag_monitor as rm
from rag_monitor.testing import InMemoryExporter

USER = [{"role": "system", "content": "s"}, {"role": "user", "content": "the question"}]


class Chain:
    """Keeps a prompt, as chains do."""

    def __init__(self) -> None:
        self.prompt = "You are a helpful assistant."
        self.query = "of the request before"

    @rm.trace
    def answer(self, messages: Any) -> str:
        return "the answer"

    @rm.trace
    def begin(self) -> str:
        return "Good morning."

    @classmethod
    @rm.trace
    def first(cls, messages: Any) -> str:
        return "the answer"

    @rm.retrieval("manuals")
    def search(self, request: Any) -> list[str]:
        return ["a passage"]


def test_what_a_method_is_called_on_is_no_question(captured: InMemoryExporter) -> None:
    chain = Chain()
    chain.answer(USER)
    chain.begin()
    Chain.first(USER)
    rm.trace(chain.answer)(USER)

    assert [r.get("question") for r in captured.records] == [
        "the question",
        None,
        "the question",
        "the question",
    ]


def test_what_a_retrievers_method_is_called_on_is_no_query(captured: InMemoryExporter) -> None:
    with rm.trace("chat", question="q"):
        Chain().search(object())
        Chain().search({"query": "rewritten"})

    assert [s.get("query") for s in captured.records[0]["retrievals"]] == [None, "rewritten"]


class Reply(NamedTuple):
    sources: list[str]
    answer: str


@pytest.mark.parametrize(
    "result",
    [
        ("the answer", ["a passage"]),
        (["a passage"], "the answer"),
        ({"answer": "the answer"}, 201, {"content-type": "application/json"}),
        Reply(["a passage"], "the answer"),
        ((None, ("the answer", 1)),),
    ],
)
def test_the_answer_in_a_tuple_is_found(captured: InMemoryExporter, result: Any) -> None:
    assert rm.trace(lambda question: result)("q") is result
    assert captured.records[0]["answer"] == "the answer"


def test_a_tuple_without_an_answer_has_none(captured: InMemoryExporter) -> None:
    rm.trace(lambda question: (1, ["a"], None))("q")

    assert captured.records[0].get("answer") is None


async def test_a_stream_in_a_tuple_is_watched(captured: InMemoryExporter) -> None:
    def pieces() -> Iterator[str]:
        yield "the "
        yield "answer"

    async def asynchronous() -> AsyncIterator[str]:
        yield "the "
        yield "answer"

    passages = ["a passage"]
    stream, same = rm.trace(lambda question: (pieces(), passages))("q")
    assert same is passages
    assert captured.records == []
    assert list(stream) == ["the ", "answer"]
    same, later = rm.trace(lambda question: (passages, asynchronous()))("q")
    assert [piece async for piece in later] == ["the ", "answer"]

    assert [(r["answer"], r["streamed"]) for r in captured.records] == [("the answer", True)] * 2


def test_flasks_views_may_return_a_status_beside_the_body(captured: InMemoryExporter) -> None:
    flask = pytest.importorskip("flask", reason="needs flask")

    def whole() -> Any:
        return flask.jsonify(answer="the answer"), 201

    def streamed() -> Any:
        return (piece for piece in ("the ", "answer")), 202

    app = flask.Flask("test")
    for view in (whole, streamed):
        app.post(f"/{view.__name__}")(rm.trace(view))
    replies = [app.test_client().post(path) for path in ("/whole", "/streamed")]

    assert [(r.status_code, r.data) for r in replies] == [
        (201, b'{"answer":"the answer"}\n'),
        (202, b"the answer"),
    ]
    assert [r["answer"] for r in captured.records] == ["the answer"] * 2


@pytest.mark.parametrize("decorate", [rm.trace, rm.trace("chat"), rm.plugin("bot")])
def test_a_class_stays_a_class(
    captured: InMemoryExporter, caplog: pytest.LogCaptureFixture, decorate: Any
) -> None:
    class Bot:
        def answer(self, question: str) -> str:
            return "the answer"

    with caplog.at_level(logging.WARNING):
        decorated = decorate(Bot)

    assert decorated is Bot
    assert "methods of Bot" in caplog.text
