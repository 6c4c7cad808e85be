"""FastAPI, Starlette and Flask, the real packages through their own test clients."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import rag_monitor as rm
from tests.integrations.captured import ANSWER, PASSAGES, QUESTION, Captured, check_story, hits
from tests.integrations.readme import run_example

WORDS = [word if n == 0 else f" {word}" for n, word in enumerate(ANSWER.split(" "))]


def search(question: str) -> list[dict[str, str]]:
    return [{"id": i, "content": text} for i, text in PASSAGES.items()]


def llm(question: str, documents: list[Any]) -> str:
    with rm.plugin("calculator"):
        pass
    with rm.generation("fake-1"):
        return ANSWER


def streamed(question: str, *, broken: bool = False) -> Iterator[str]:
    with rm.retrieval(knowledge_base="manuals") as found:
        found.documents = search(question)
    llm(question, [])
    for number, word in enumerate(WORDS):
        if broken and number == 2:
            raise TimeoutError("model timed out")
        yield f"data: {word}\n\n"


STORY_HITS = [("knowledge_base", "manuals", True), ("plugin", "calculator", True)]


class TestFastApi:
    """FastAPI on Starlette."""

    @pytest.fixture
    def app(self) -> Any:
        pytest.importorskip("fastapi", reason="needs fastapi")
        pytest.importorskip("httpx", reason="the test client needs httpx")
        names = run_example("fastapi", search=search, llm=llm)
        app = names["app"]
        from fastapi import Body
        from fastapi.responses import StreamingResponse

        @app.post("/chat/stream")
        def stream(question: str = Body(embed=True), broken: bool = Body(False)) -> Any:
            return StreamingResponse(
                streamed(question, broken=broken), media_type="text/event-stream"
            )

        @app.post("/chat/broken")
        def broken(question: str = Body(embed=True)) -> Any:
            raise TimeoutError("model timed out")

        @app.post("/other")
        def other() -> str:
            return "fine"

        return app

    async def post(self, app: Any, path: str, **body: Any) -> Any:
        import httpx

        transport = httpx.ASGITransport(app=app)
        async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
            return await client.post(path, json={"question": QUESTION, **body})

    async def test_the_readme_example_records_a_trace(self, app: Any, captured: Captured) -> None:
        import rag_monitor_fastapi

        reply = await self.post(app, "/chat")

        assert reply.json() == {"answer": ANSWER}
        trace = captured.trace
        check_story(trace, streamed=False, model="fake-1")
        assert hits(trace) == STORY_HITS
        assert reply.headers[rag_monitor_fastapi.TRACE_HEADER] == trace.trace_id

    async def test_a_stream_is_recorded(self, app: Any, captured: Captured) -> None:
        await self.post(app, "/chat/stream")

        check_story(captured.trace, streamed=True)
        assert hits(captured.trace) == STORY_HITS

    @pytest.mark.parametrize("path", ["/chat/broken", "/chat/stream"])
    async def test_a_failure_is_an_error(self, app: Any, captured: Captured, path: str) -> None:
        with pytest.raises(TimeoutError):
            await self.post(app, path, broken=True)

        trace = captured.trace
        assert (trace.status, trace.question) == ("error", QUESTION)
        assert trace.error == "TimeoutError: model timed out"

    async def test_a_stream_that_breaks_below_a_middleware_of_starlettes_is_an_error(
        self, captured: Captured
    ) -> None:
        """It ends the response as if it were complete, and raises then."""
        fastapi = pytest.importorskip("fastapi", reason="needs fastapi")
        from fastapi.responses import StreamingResponse

        import rag_monitor_fastapi

        app = fastapi.FastAPI()

        @app.middleware("http")
        async def passing(request: Any, call_next: Any) -> Any:
            return await call_next(request)

        rag_monitor_fastapi.instrument(app)
        app.post("/ask")(
            lambda: StreamingResponse(streamed("q", broken=True), media_type="text/event-stream")
        )
        with pytest.raises(TimeoutError):
            await self.post(app, "/ask")

        trace = captured.trace
        assert (trace.status, trace.error) == ("error", "TimeoutError: model timed out")
        assert trace.answer == "".join(WORDS[:2])

    async def test_a_task_that_fails_after_the_answer_is_no_error_of_it(
        self, captured: Captured
    ) -> None:
        fastapi = pytest.importorskip("fastapi", reason="needs fastapi")
        from starlette.background import BackgroundTask
        from starlette.responses import JSONResponse

        import rag_monitor_fastapi

        app = fastapi.FastAPI()
        rag_monitor_fastapi.instrument(app)
        task = BackgroundTask(int, "no number")
        app.post("/ask")(lambda: JSONResponse({"answer": ANSWER}, background=task))
        with pytest.raises(ValueError, match="no number"):
            await self.post(app, "/ask")

        assert (captured.trace.status, captured.trace.answer) == ("ok", ANSWER)

    async def test_other_paths_are_left_alone(self, app: Any, captured: Captured) -> None:
        reply = await self.post(app, "/other")

        assert captured.traces == []
        assert len(reply.headers) == 2

    async def test_who_asks_is_said_by_the_application(self, captured: Captured) -> None:
        fastapi = pytest.importorskip("fastapi", reason="needs fastapi")
        import rag_monitor_fastapi

        app = fastapi.FastAPI()
        rag_monitor_fastapi.instrument(
            app,
            identify=lambda request: {"session_id": request.headers["host"], "tags": ["web"]},
            trace_header=False,
        )
        app.post("/ask")(lambda: {"answer": ANSWER})
        await self.post(app, "/ask")
        rag_monitor_fastapi.uninstrument(app)
        await self.post(app, "/ask")

        trace = captured.trace
        assert (trace.session_id, trace.tags, trace.answer) == ("test", ("web",), ANSWER)


class TestFlask:
    """Flask on Werkzeug."""

    @pytest.fixture
    def app(self) -> Any:
        flask = pytest.importorskip("flask", reason="needs flask")
        app = run_example("flask", search=search, llm=llm)["app"]

        @app.post("/chat/stream")
        def stream() -> Any:
            body = flask.request.json
            pieces = streamed(body["question"], broken=body.get("broken", False))
            return flask.Response(pieces, mimetype="text/event-stream")

        @app.post("/chat/broken")
        def broken() -> Any:
            raise TimeoutError(flask.request.json["question"])

        return app

    def post(self, app: Any, path: str, **body: Any) -> Any:
        with app.test_client().post(path, json={"question": QUESTION, **body}) as reply:
            reply.get_data()
            return reply

    def test_the_readme_example_records_a_trace(self, app: Any, captured: Captured) -> None:
        import rag_monitor_flask

        reply = self.post(app, "/chat")

        assert reply.json == {"answer": ANSWER}
        trace = captured.trace
        check_story(trace, streamed=False, model="fake-1")
        assert hits(trace) == STORY_HITS
        assert reply.headers[rag_monitor_flask.TRACE_HEADER] == trace.trace_id

    def test_a_stream_is_recorded(self, app: Any, captured: Captured) -> None:
        self.post(app, "/chat/stream")

        check_story(captured.trace, streamed=True)
        assert hits(captured.trace) == STORY_HITS

    def test_a_failing_handler_is_an_error(self, app: Any, captured: Captured) -> None:
        assert self.post(app, "/chat/broken").status_code == 500

        trace = captured.trace
        assert (trace.status, trace.question) == ("error", QUESTION)

    def test_a_failing_stream_keeps_what_was_said(self, app: Any, captured: Captured) -> None:
        with pytest.raises(TimeoutError):
            self.post(app, "/chat/stream", broken=True)

        trace = captured.trace
        assert (trace.status, trace.answer) == ("error", "".join(WORDS[:2]))

    def test_who_asks_is_said_by_the_application(self, captured: Captured) -> None:
        flask = pytest.importorskip("flask", reason="needs flask")
        import rag_monitor_flask

        app = flask.Flask("asked")
        rag_monitor_flask.instrument(
            app, identify=lambda request: {"user_id": request.headers["Host"]}, trace_header=False
        )
        app.post("/ask")(lambda: {"answer": ANSWER})
        assert rag_monitor_flask.TRACE_HEADER not in self.post(app, "/ask").headers
        rag_monitor_flask.uninstrument(app)
        self.post(app, "/ask")

        assert (captured.trace.user_id, captured.trace.answer) == ("localhost", ANSWER)
