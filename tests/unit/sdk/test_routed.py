"""What the path of a request gave is no question, though no middleware sees the request."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import rag_monitor as rm
from rag_monitor.sdk import arguments
from rag_monitor.testing import InMemoryExporter

fastapi = pytest.importorskip("fastapi")

app = fastapi.FastAPI()
router = fastapi.APIRouter(prefix="/shops/{shop}")


@app.get("/sync/{product}")
@rm.trace
def product_page(product: str) -> str:
    return "24 months"


@router.get("/sync/{product}")
@rm.trace
def shop_page(shop: str, product: str) -> str:
    return "24 months"


@app.get("/sync/{product}/asked")
@rm.trace
def asked_of_a_product(product: str, say: str) -> str:
    return "24 months"


app.include_router(router)


async def get(application: Any, path: str, query: bytes = b"") -> int:
    status = 0

    async def receive() -> Any:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Any) -> None:
        nonlocal status
        status = message.get("status", status)

    scope = {
        "type": "http", "method": "GET", "path": path, "raw_path": path.encode(), "headers": [],
        "query_string": query, "root_path": "", "http_version": "1.1", "scheme": "http",
        "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 80),
        "asgi": {"version": "3.0", "spec_version": "2.3"},
    }  # fmt: skip
    await application(scope, receive, send)
    return status


async def of_one(product: str) -> str:
    return "24 months"


async def of_two(area: str, thing: str) -> str:
    return "24 months"


async def of_the_second(thing: str) -> str:
    return "24 months"


@pytest.mark.parametrize(
    ("template", "path", "handler"),
    [
        ("/products/{product}", "/products/kettle", of_one),
        ("/{area}/things/{thing}", "/north/things/kettle", of_two),
        ("/{area}/things/{thing}", "/north/things/kettle", of_the_second),
        ("/files/{product:path}", "/files/a/kettle", of_one),
    ],
)
def test_an_async_handler_of_any_application_is_not_asked_what_the_path_gave(
    captured: InMemoryExporter, template: str, path: str, handler: Any
) -> None:
    mine = fastapi.FastAPI()
    mine.get(template)(rm.trace(handler))

    assert asyncio.run(get(mine, path)) == 200
    assert captured.records[0].get("question") is None


@pytest.mark.parametrize("path", ["/sync/kettle", "/shops/north/sync/kettle"])
def test_a_handler_on_a_thread_is_known_by_the_routes_of_its_module(
    captured: InMemoryExporter, path: str
) -> None:
    assert asyncio.run(get(app, path)) == 200
    assert captured.records[0].get("question") is None


def test_the_text_beside_the_path_is_still_the_question(captured: InMemoryExporter) -> None:
    mine = fastapi.FastAPI()

    @mine.get("/products/{product}")
    @rm.trace
    async def handler(product: str, say: str) -> str:
        return "24 months"

    assert asyncio.run(get(mine, "/products/kettle", b"say=How+long")) == 200
    assert asyncio.run(get(app, "/sync/kettle/asked", b"say=How+long")) == 200
    assert [record["question"] for record in captured.records] == ["How long"] * 2


def test_a_call_past_the_framework_takes_the_only_text(captured: InMemoryExporter) -> None:
    @rm.trace
    def handler(product: str) -> str:
        return "24 months"

    handler("How long?")
    assert captured.records[0]["question"] == "How long?"


def test_a_module_without_such_a_route_is_looked_through_seldom(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looks = []

    def looked(handler: object) -> list[str]:
        looks.append(handler)
        return ["tenant"] if len(looks) == 5 else []

    monkeypatch.setattr(arguments, "_routed", looked)
    known = arguments.Routes(looked)
    found = [known.names() for _ in range(1000)]

    assert len(looks) == 5
    assert found[0] == ()
    assert found[-1] == ("tenant",), "a route that comes late is found, and stays"
