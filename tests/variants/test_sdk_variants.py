"""Handlers, passages, streams and threads that the SDK was not tuned for."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextvars
import importlib
import inspect
import logging
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from types import SimpleNamespace as Made
from typing import Any

import pytest

import rag_monitor as rm
from rag_monitor.testing import InMemoryExporter
from tests.variants import shapes

QUESTION = "周末几点开门？"
OPAQUE = "opaque-token-5c21"


@pytest.fixture
def captured() -> Iterator[InMemoryExporter]:
    with InMemoryExporter(app="variants", interval_s=0.05) as exporter:
        yield exporter


class TestS01TheQuestionIsWhatTheUserAsked:
    """A token, a user or a tenant is never the question."""

    @pytest.fixture
    def client(self, captured: InMemoryExporter) -> Any:
        pytest.importorskip("fastapi", reason="needs fastapi")
        pytest.importorskip("httpx", reason="the test client needs httpx")
        from fastapi.testclient import TestClient

        return TestClient(importlib.import_module("tests.variants.web").app)

    @pytest.mark.parametrize(
        ("path", "asked", "request_"),
        [
            ("/header", QUESTION, {"params": {"question": QUESTION}}),
            ("/default", QUESTION, {"params": {"q": QUESTION}}),
            ("/tenants/acme-eu/v2/ask", QUESTION, {"params": {"query": QUESTION}}),
            ("/body", QUESTION, {"json": {"session": "s-77", "question": QUESTION}}),
            ("/security", QUESTION, {"json": {"message": QUESTION}}),
            (
                "/bearer",
                QUESTION,
                {"json": {"model": "m", "messages": [{"role": "user", "content": QUESTION}]}},
            ),
            ("/one/acme-eu", QUESTION, {"json": {"satz": QUESTION}}),
            ("/header", OPAQUE, {"params": {"question": OPAQUE}}),
        ],
        ids=["header", "Depends by default", "path", "body model", "api key", "bearer and cookie",
             "one text beside the path", "near miss: a question like a token"],
    )  # fmt: skip
    def test_in_fastapi(
        self,
        client: Any,
        captured: InMemoryExporter,
        path: str,
        asked: str,
        request_: dict[str, Any],
    ) -> None:
        client.cookies.set("csrf", "csrf-1f")
        headers = {"Authorization": f"Bearer {OPAQUE}", "x-api-key": "key-88"}
        method = "POST" if "json" in request_ else "GET"
        reply = client.request(method, path, headers=headers, **request_)

        assert reply.status_code == 200, reply.text
        assert captured.records[0]["question"] == asked
        assert captured.records[0]["answer"] == "Nine to five."

    def test_and_nothing_where_a_handler_has_only_a_path_and_a_user(
        self, client: Any, captured: InMemoryExporter
    ) -> None:
        assert client.get("/only/acme-eu").status_code == 200

        assert captured.records[0].get("question") is None

    def test_a_handler_below_the_middleware_keeps_the_question_that_was_read(
        self, captured: InMemoryExporter
    ) -> None:
        pytest.importorskip("fastapi", reason="needs fastapi")
        pytest.importorskip("httpx", reason="the test client needs httpx")
        from fastapi.testclient import TestClient

        import rag_monitor_fastapi

        app = importlib.import_module("tests.variants.web").behind
        rag_monitor_fastapi.instrument(app, paths=["/t"])
        try:
            reply = TestClient(app).post("/t/acme-eu/chat", json={"question": QUESTION})
        finally:
            rag_monitor_fastapi.uninstrument(app)

        assert reply.json() == {"answer": "1 fields"}
        assert [record["question"] for record in captured.records] == [QUESTION]

    def test_in_plain_functions_by_the_name_of_the_argument(
        self, captured: InMemoryExporter
    ) -> None:
        class Desk:
            @rm.trace
            def answer(self, user_id: str, question: str) -> str:
                return "ok"

        @rm.trace
        def reply(session_id: str, api_key: str, prompt: str) -> str:
            return "ok"

        @rm.trace
        def 回答(用户: str, 问题: str) -> str:  # noqa: N802, N803 - names people do use
            return "ok"

        @rm.trace
        def 答复(用户名: str, 用户的问题: str) -> str:  # noqa: N802, N803 - names people do use
            return "ok"

        @rm.trace
        def 重写(历史问题: str, 系统提示词: str, 客户提问: str) -> str:  # noqa: N802, N803 - as above
            return "ok"

        @rm.trace
        def chat(tenant: str, messages: list[dict[str, str]]) -> str:
            return "ok"

        Desk().answer("u-7", QUESTION)
        reply("s-1", "sk-none", prompt=QUESTION)
        回答("u-7", QUESTION)

        @rm.trace
        def 总结(文档文本: str, 客户内容: str) -> str:  # noqa: N802, N803 - as above
            return "ok"

        总结("一份文档。", QUESTION)
        答复("u-7", QUESTION)
        重写("几点关门？", "你是客服。", QUESTION)
        chat("acme", [{"role": "system", "content": "x"}, {"role": "user", "content": QUESTION}])

        assert [record["question"] for record in captured.records] == [QUESTION] * 7

    def test_the_only_text_is_the_question_whatever_it_is_called(
        self, captured: InMemoryExporter
    ) -> None:
        @rm.trace
        def handle(top_k: int, satz: str, verbose: bool = False) -> str:
            return "ok"

        handle(3, QUESTION)

        assert captured.records[0]["question"] == QUESTION

    def test_of_two_texts_without_telling_names_none_is_taken_and_it_is_said_once(
        self, captured: InMemoryExporter, caplog: pytest.LogCaptureFixture
    ) -> None:
        @rm.trace
        def handle(alpha: str, beta: str) -> str:
            return "ok"

        with caplog.at_level(logging.WARNING, logger="rag_monitor"):
            handle("acme-eu", QUESTION)
            handle("acme-us", QUESTION)

        assert [record.get("question") for record in captured.records] == [None, None]
        said = [r.getMessage() for r in caplog.records if "question" in r.getMessage()]
        assert len(said) == 1


class TestS00WhatIsSetIsHandedBack:
    """`found.documents` is the application's own object, in the block and behind it."""

    @pytest.mark.parametrize("shape", ["list", "tuple", "own class", "iterator", "response"])
    def test_after_the_block(self, captured: InMemoryExporter, shape: str) -> None:
        class Passages(list[str]):
            pass

        given: Any = {
            "list": ["a", "b"],
            "tuple": ("a", "b"),
            "own class": Passages(["a", "b"]),
            "iterator": iter(["a", "b"]),
            "response": Made(matches=[{"id": "1", "metadata": {"text": "a"}}]),
        }[shape]
        seen: list[Any] = []

        @rm.trace
        def handle(question: str) -> str:
            with rm.retrieval(knowledge_base="kb") as found:
                found.query = "rewritten"
                found.documents = given
                seen.append(found.documents)
            seen.extend((found.documents, found.query))
            return "ok"

        handle(QUESTION)

        assert seen[0] is given
        assert seen[1] is given
        assert seen[2] == "rewritten"
        if shape == "iterator":
            assert list(given) == ["a", "b"], "the application's iterator was consumed"

    async def test_in_an_async_block_and_after_an_error(self, captured: InMemoryExporter) -> None:
        given = [{"id": "1", "content": "x", "mine": object()}]
        kept: list[Any] = []

        @rm.trace
        async def handle(question: str) -> str:
            try:
                async with rm.retrieval(knowledge_base="kb") as found:
                    found.documents = given
                    raise KeyError("x")
            except KeyError:
                kept.append(found.documents)
            return "ok"

        await handle(QUESTION)

        assert kept[0] is given
        assert set(given[0]) == {"id", "content", "mine"}


class TestS03BytesBecomeTheTextTheyAre:
    """Wherever a character is cut."""

    @pytest.mark.parametrize("size", [1, 2, 3, 5])
    @pytest.mark.parametrize("text", ["标准保修期为24个月。", "Grüße, 👩‍🚀 ok", "плановый срок"])
    def test_in_pieces_of_any_size(self, captured: InMemoryExporter, text: str, size: int) -> None:
        @rm.trace
        def handle(question: str) -> Iterator[bytes]:
            yield from shapes.split(text, size)

        assert b"".join(handle(QUESTION)) == text.encode()
        assert captured.records[0]["answer"] == text

    async def test_in_two_async_streams_at_once(self, captured: InMemoryExporter) -> None:
        @rm.trace
        async def handle(question: str, text: str) -> AsyncIterator[bytes]:
            for piece in shapes.split(text, 2):
                await asyncio.sleep(0)
                yield piece

        async def read(text: str) -> bytes:
            return b"".join([piece async for piece in handle(QUESTION, text)])

        texts = ["甲乙丙丁戊", "一二三四五"]
        assert await asyncio.gather(*map(read, texts)) == [text.encode() for text in texts]
        assert sorted(r["answer"] for r in captured.records) == sorted(texts)

    def test_in_server_sent_events_cut_inside_a_character(self, captured: InMemoryExporter) -> None:
        events = "".join(f'data: {{"answer": "{word}"}}\n\n' for word in ("保修", "两年"))

        @rm.trace
        def handle(question: str) -> Iterator[bytes]:
            yield from shapes.split(events + "data: [DONE]\n\n", 4)

        assert b"".join(handle(QUESTION)).decode().startswith(events)
        assert captured.records[0]["answer"] == "保修两年"

    def test_near_miss_a_stream_that_ends_inside_a_character_keeps_what_was_whole(
        self, captured: InMemoryExporter
    ) -> None:
        @rm.trace
        def handle(question: str) -> Iterator[bytes]:
            yield "好的".encode()
            yield "月".encode()[:2]

        assert len(b"".join(handle(QUESTION))) == 8
        assert captured.records[0]["answer"].startswith("好的")
        assert captured.records[0]["status"] == "ok"

    def test_near_miss_bytes_of_no_text_change_nothing_for_the_caller(
        self, captured: InMemoryExporter
    ) -> None:
        raw = [b"\x89PNG\r\n", b"\xff\xfe\x00"]

        @rm.trace
        def handle(question: str) -> Iterator[bytes]:
            yield from raw

        assert list(handle(QUESTION)) == raw
        assert len(captured.records) == 1


def _step(name: str) -> None:
    with rm.retrieval(knowledge_base=name) as found:
        found.documents = [f"passage of {name}"]


def _carried(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, bound to the trace of here by the SDK's own means."""
    copy = getattr(rm, "copy_context", None)
    assert copy is not None, "rag_monitor.copy_context is missing"
    if inspect.signature(copy).parameters:
        bound: Callable[..., Any] = copy(function)
        return bound

    def run(*args: Any) -> Any:
        return copy_of.run(function, *args)

    copy_of = copy()
    return run


class TestS09StepsInThreads:
    """A step in a pool belongs to the request that asked for it."""

    def test_with_copy_context_in_a_pool(self, captured: InMemoryExporter) -> None:
        @rm.trace
        def handle(question: str) -> str:
            with concurrent.futures.ThreadPoolExecutor(2) as pool:
                for future in [pool.submit(_carried(_step), name) for name in ("a", "b")]:
                    future.result()
            return "ok"

        handle(QUESTION)

        found = shapes.passages_of(captured.records[0])
        assert sorted(text or "" for _, text in found or []) == ["passage of a", "passage of b"]

    async def test_steps_side_by_side_are_kept_in_the_order_of_their_beginnings(
        self, captured: InMemoryExporter
    ) -> None:
        ended = asyncio.Event()

        async def slow() -> None:
            async with rm.retrieval(knowledge_base="slow") as found:
                await ended.wait()
                found.documents = ["from the slow base"]

        async def quick() -> None:
            async with rm.retrieval(knowledge_base="quick") as found:
                found.documents = ["from the quick base"]
            ended.set()

        @rm.trace
        async def handle(question: str) -> str:
            await asyncio.gather(slow(), quick())
            return "ok"

        await handle(QUESTION)

        assert shapes.passages_of(captured.records[0]) == [
            (None, "from the slow base"),
            (None, "from the quick base"),
        ]

    def test_with_copy_context_in_a_thread_of_its_own(self, captured: InMemoryExporter) -> None:
        @rm.trace
        def handle(question: str) -> str:
            thread = threading.Thread(target=_carried(_step), args=("a",))
            thread.start()
            thread.join()
            return "ok"

        handle(QUESTION)

        assert shapes.passages_of(captured.records[0]) == [(None, "passage of a")]

    async def test_with_copy_context_in_an_executor_of_the_loop(
        self, captured: InMemoryExporter
    ) -> None:
        @rm.trace
        async def handle(question: str) -> str:
            loop = asyncio.get_running_loop()
            await loop.run_in_executor(None, _carried(_step), question)
            return "ok"

        await asyncio.gather(handle("甲"), handle("乙"))

        assert {r["question"]: shapes.passages_of(r) for r in captured.records} == {
            "甲": [(None, "passage of 甲")],
            "乙": [(None, "passage of 乙")],
        }

    async def test_by_itself_in_to_thread(self, captured: InMemoryExporter) -> None:
        @rm.trace
        async def handle(question: str) -> str:
            await asyncio.to_thread(_step, "a")
            return "ok"

        await handle(QUESTION)

        assert shapes.passages_of(captured.records[0]) == [(None, "passage of a")]

    def test_with_a_context_of_the_standard_library(self, captured: InMemoryExporter) -> None:
        @rm.trace
        def handle(question: str) -> str:
            with concurrent.futures.ThreadPoolExecutor(1) as pool:
                pool.submit(contextvars.copy_context().run, _step, "a").result()
            return "ok"

        handle(QUESTION)

        assert shapes.passages_of(captured.records[0]) == [(None, "passage of a")]

    def test_near_miss_a_thread_of_nobody_adds_nothing(self, captured: InMemoryExporter) -> None:
        with concurrent.futures.ThreadPoolExecutor(1) as pool:

            @rm.trace
            def handle(question: str) -> str:
                return "ok"

            pool.submit(_step, "outside").result()
            handle(QUESTION)
            pool.submit(_step, "outside").result()

        assert [shapes.passages_of(record) for record in captured.records] == [None]
