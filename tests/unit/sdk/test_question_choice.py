"""Which argument, or which field of a request, is the question; and what never is."""

from __future__ import annotations

import json
import logging
from dataclasses import dataclass
from typing import Annotated, Any, NewType, Optional

import pytest

import rag_monitor as rm
from rag_monitor.sdk import asgi
from rag_monitor.testing import InMemoryExporter

ASKED = "How long is the warranty?"
SECRET = "opaque-4c1d77"


# The shapes of FastAPI's marks: what counts is the name of the class.
class Depends:
    """The shape of FastAPI's mark."""

    def __init__(self, dependency: Any = None) -> None:
        self.dependency = dependency


class Security(Depends):
    """Below it."""


class Header:
    """The shape of FastAPI's mark."""


class Cookie(Header):
    """Below it."""


class Path(Header):
    """Beside it."""


class Query:
    """A mark under which a question may come."""

    def __init__(self, alias: str | None = None) -> None:
        self.alias = alias
        self.default = ...


@dataclass
class Ask:
    user_id: str
    question: str


@dataclass
class Turn:
    tenant: str
    text: str


CurrentUser = Annotated[str, Depends()]
UserId = NewType("UserId", str)


def asked(captured: InMemoryExporter, handler: Any, *args: Any, **kwargs: Any) -> str | None:
    rm.trace(handler)(*args, **kwargs)
    found: str | None = captured.records[-1].get("question")
    return found


def annotated(token: Annotated[str, Depends()], question: str) -> None: ...
def after(question: str, token: str = Depends()) -> None: ...  # type: ignore[assignment]
def optional(token: Annotated[str, Security()] | None, question: str) -> None: ...
def old_optional(token: Optional[Annotated[str, Header()]], question: str) -> None: ...  # noqa: UP045
def named_alias(user: CurrentUser, question: str) -> None: ...
def cookie(session: Annotated[str, Cookie()], question: str) -> None: ...
def path(tenant: Annotated[str, Path()], question: str) -> None: ...
def unknown_name(token: Annotated[str, Depends()], ask_me: str) -> None: ...
def by_label(tenant: str, region: str, ask_me: str) -> None: ...
def by_alias(first: Annotated[str, Query("question")], second: str) -> None: ...
def new_type(owner: UserId, ask_me: str) -> None: ...
def chinese(租户: str, 问题: str) -> None: ...  # noqa: N803
def chinese_label(用户编号: str, 说: str) -> None: ...  # noqa: N803
def pinyin(yonghu: str, wenti: str) -> None: ...
def required(ask_me: str, style_of_it: str = "short") -> None: ...
def annotated_first(flavour, ask_me: str) -> None: ...  # type: ignore[no-untyped-def]
def by_type_word(index_name: str, query_str: str) -> None: ...
def prompt_after_system(system_prompt: str, prompt: str) -> None: ...


@pytest.mark.parametrize(
    "handler",
    [
        annotated, optional, old_optional, named_alias, cookie, path, unknown_name, new_type,
        chinese, chinese_label, pinyin, by_type_word, prompt_after_system,
    ],
)  # fmt: skip
def test_what_stands_before_the_question_is_not_taken(
    captured: InMemoryExporter, handler: Any
) -> None:
    assert asked(captured, handler, SECRET, ASKED) == ASKED


def test_defaults_aliases_and_annotations_tell_the_question(captured: InMemoryExporter) -> None:
    assert asked(captured, after, ASKED, token=SECRET) == ASKED
    assert asked(captured, by_label, "acme", "eu", ASKED) == ASKED
    assert asked(captured, by_alias, ASKED, "other") == ASKED
    assert asked(captured, required, ASKED, "long") == ASKED
    assert asked(captured, annotated_first, "vanilla", ASKED) == ASKED


@pytest.mark.parametrize("mark", [Depends, Security, Header, Cookie, Path])
def test_what_a_framework_supplies_is_never_the_question(
    captured: InMemoryExporter, mark: Any
) -> None:
    def alone(question: str = mark()) -> None: ...
    def beside(question: str, k: int) -> None: ...

    beside.__annotations__["question"] = Annotated[str, mark()]
    assert asked(captured, alone, question=SECRET) is None
    assert asked(captured, beside, SECRET, 3) is None


def test_an_annotation_that_cannot_be_evaluated_is_read_as_text(
    captured: InMemoryExporter,
) -> None:
    local = Depends()

    def handler(token: Annotated[str, Depends(local)], ask_me: str) -> None: ...

    handler.__annotations__ = {"token": "Annotated[str, Depends(nowhere)]", "ask_me": "str"}
    assert asked(captured, handler, SECRET, ASKED) == ASKED


@pytest.mark.parametrize("name", ["token", "user_id", "tenant", "api_key", "用户编号", "lang"])
def test_a_lone_text_that_is_named_like_a_label_is_no_question(
    captured: InMemoryExporter, name: str
) -> None:
    names: dict[str, Any] = {}
    exec(f"def handler({name}): ...", names)  # noqa: S102

    assert asked(captured, names["handler"], SECRET) is None


@pytest.mark.parametrize(
    "body",
    [
        Ask("u-7", ASKED),
        Turn("acme", ASKED),
        {"user": "u-7", "question": ASKED},
        {"user": "u-7", "data": {"query": ASKED}},
        {"customerQuestion": ASKED, "token": SECRET},
        {"问题": ASKED, "用户": "u-7"},
        {"model": "m", "messages": [{"role": "user", "content": ASKED}]},
        {"contents": [{"role": "user", "parts": [{"text": ASKED}]}]},
        {"messages": [("system", "be brief"), ("user", ASKED)]},
        [{"role": "user", "content": [{"type": "input_text", "text": ASKED}]}],
    ],
    ids=lambda body: str(body)[:40],
)
def test_the_question_stands_in_a_field_of_a_body(captured: InMemoryExporter, body: Any) -> None:
    def handler(tenant: str, body: Any) -> None: ...

    assert asked(captured, handler, "acme", body) == ASKED


def test_a_message_object_is_read(captured: InMemoryExporter) -> None:
    class Message:
        def __init__(self) -> None:
            self.content, self.author = ASKED, "u-7"

    def handler(message: Message) -> None: ...

    assert asked(captured, handler, Message()) == ASKED


def test_where_two_may_be_the_question_none_is_taken_and_the_log_says_so_once(
    captured: InMemoryExporter, caplog: pytest.LogCaptureFixture
) -> None:
    def handler(left: str, right: str) -> None: ...
    def bodies(one: Ask, two: Ask) -> None: ...

    with caplog.at_level(logging.WARNING):
        traced = rm.trace(handler)
        traced("a", "b")
        traced("c", "d")
        rm.trace(bodies)(Ask("u", "a"), Ask("u", "b"))

    assert [r.get("question") for r in captured.records] == [None] * 3
    told = [line for line in caplog.messages if "may be the question" in line]
    assert len(told) == 2
    assert "left, right" in told[0]
    assert "@rm.trace(question=" in told[0]


def test_the_host_may_say_which(captured: InMemoryExporter) -> None:
    rm.trace(question="right")(lambda left, right: None)("a", ASKED)

    assert captured.records[0]["question"] == ASKED


def test_a_decorated_retriever_finds_its_query_by_name(captured: InMemoryExporter) -> None:
    @rm.retrieval("manuals")
    def search(collection: str, question: str, query: str) -> list[str]:
        return ["a passage"]

    with rm.trace("chat", question="q"):
        search("manuals-v2", "as asked", "as rewritten")

    assert captured.records[0]["retrievals"][0]["query"] == "as rewritten"


async def _request(app: Any, body: bytes, query: bytes = b"", **route: str) -> None:
    async def receive() -> Any:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Any) -> None: ...

    scope = {"type": "http", "path": "/chat", "method": "POST", "query_string": query}
    await app({**scope, "path_params": route}, receive, send)


def _app(call: Any) -> Any:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        await receive()
        call()
        start = {"type": "http.response.start", "status": 200, "headers": []}
        await send(start)
        await send({"type": "http.response.body", "body": b"24 months"})

    return asgi.RagMonitorMiddleware(app)


@pytest.mark.parametrize(
    ("handler", "args", "question"),
    [
        (lambda prompt: None, ("Answer from the passages: …",), "of the body"),
        (lambda ask_me: None, ("only a guess",), "of the body"),
        (lambda query: None, ("rewritten",), "of the body"),
        (lambda question: None, ("of the handler",), "of the handler"),
    ],
)
async def test_the_surer_of_handler_and_request_says_the_question(
    captured: InMemoryExporter, handler: Any, args: Any, question: str
) -> None:
    body = json.dumps({"question": "of the body", "token": SECRET}).encode()
    await _request(_app(lambda: rm.trace(handler)(*args)), body)

    assert captured.records[0]["question"] == question


async def test_what_the_handler_was_asked_stands_where_the_request_names_nothing(
    captured: InMemoryExporter,
) -> None:
    await _request(_app(lambda: rm.trace(lambda ask_me: None)(ASKED)), b'{"k": 5}')

    assert captured.records[0]["question"] == ASKED


async def test_what_the_path_gave_is_not_guessed_to_be_the_question(
    captured: InMemoryExporter,
) -> None:
    await _request(_app(lambda: rm.trace(lambda product: None)("kettle")), b"", product="kettle")

    assert captured.records[0].get("question") is None


@pytest.mark.parametrize(
    ("query", "body", "question"),
    [
        (b"token=opaque&question=How", b"", "How"),
        (b"token=opaque&version=2", b"", None),
        (b"", b'{"token": "opaque", "user_id": "u-7"}', None),
        (b"", b'{"token": "opaque", "text": "How"}', "How"),
        (b"", b"csrf_token=opaque&message=How", "How"),
    ],
)
async def test_a_request_is_read_by_the_same_names(
    captured: InMemoryExporter, query: bytes, body: bytes, question: str | None
) -> None:
    await _request(_app(lambda: None), body, query)

    assert captured.records[0].get("question") == question
