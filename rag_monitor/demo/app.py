"""The demo assistant over HTTP: a streaming `/chat`, and `/break` for the story.

Run it by hand beside a running monitor:
`python -m rag_monitor.demo.app --port 8800 --endpoint http://127.0.0.1:8700`.
"""

from __future__ import annotations

import argparse
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from ipaddress import ip_address

import uvicorn
from fastapi import FastAPI, HTTPException, Request
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, Field

import rag_monitor as rm
from rag_monitor.demo.answerer import ModelGenerator
from rag_monitor.demo.assistant import Assistant, Faults

APP_NAME = "service-desk"


class ChatRequest(BaseModel):
    """One question of one user."""

    question: str = Field(min_length=1, max_length=2000)
    session_id: str | None = None
    user_id: str | None = None
    expected: dict[str, list[str]] | None = None
    """What should be called for it, where that is known: kind to names."""


class BreakRequest(BaseModel):
    """Which parts to break; a part left out is mended."""

    retriever: bool = False
    invent: bool = False
    release: str | None = Field(default=None, max_length=50)
    """The release under which the application answers from now on."""


def create_app(assistant: Assistant) -> FastAPI:
    """The HTTP application around one assistant."""

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        if isinstance(assistant.generator, ModelGenerator):
            await assistant.generator.close()
        rm.shutdown()

    app = FastAPI(title="rag-monitor demo assistant", lifespan=lifespan)

    @app.get("/healthz")
    async def healthz() -> dict[str, str]:
        return {"status": "ok"}

    @app.post("/chat")
    async def chat(body: ChatRequest) -> StreamingResponse:
        stream = assistant.answer(
            body.question,
            session_id=body.session_id,
            user_id=body.user_id,
            expected=body.expected,
        )
        return StreamingResponse(stream, media_type="text/plain; charset=utf-8")

    @app.post("/break")
    async def break_parts(body: BreakRequest, request: Request) -> BreakRequest:
        if not _is_loopback(request):
            raise HTTPException(403, "only this machine may break the demo")
        assistant.faults = Faults(**body.model_dump())
        return body

    return app


def _is_loopback(request: Request) -> bool:
    if request.client is None:
        return False
    try:
        return ip_address(request.client.host).is_loopback
    except ValueError:
        return False


def main(argv: Sequence[str] | None = None) -> None:
    """Serve the assistant until it is told to stop."""
    options = _parser().parse_args(argv)
    rm.configure(
        app=options.app,
        endpoint=options.endpoint,
        environment="demo",
        release=options.release,
    )
    generator = None
    if options.model_url:
        generator = ModelGenerator(options.model_url, options.model)
    app = create_app(Assistant(generator=generator))
    uvicorn.run(app, host=options.host, port=options.port, log_level="warning")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Serve the rag-monitor demo assistant.")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8800)
    parser.add_argument("--app", default=APP_NAME, help="name in the monitor")
    parser.add_argument("--release", default="1.0")
    parser.add_argument("--endpoint", default="http://127.0.0.1:8700", help="the monitor")
    parser.add_argument("--model-url", default="", help="an OpenAI-compatible address")
    parser.add_argument("--model", default="", help="model name at that address")
    return parser


if __name__ == "__main__":
    main()
