"""`capture_content=False`: what a user wrote stays in the process, in errors and paths too."""

from __future__ import annotations

from typing import Any

import pytest

import rag_monitor as rm
from rag_monitor.sdk.asgi import RagMonitorMiddleware
from rag_monitor.testing import InMemoryExporter

SECRET = "my salary is 5000"


class RefusalError(ValueError):
    """An error whose message quotes the user."""


@pytest.fixture
def closed() -> Any:
    with InMemoryExporter(capture_content=False, steps=True) as exporter:
        yield exporter


def sent(exporter: InMemoryExporter) -> bytes:
    exporter.client.flush(5)
    return b"".join(body for _, body in exporter._bodies)


def _fail() -> None:
    with rm.trace(question=SECRET):
        with rm.retrieval(knowledge_base="loans", query=SECRET) as found:
            found.documents = 7
        with rm.plugin("lookup") as hit:
            hit.error = f"name: {SECRET}"
        raise RefusalError(f"no answer for: {SECRET}")


def test_of_an_error_only_the_type_goes(closed: InMemoryExporter) -> None:
    with pytest.raises(RefusalError):
        _fail()

    assert b"salary" not in sent(closed)
    (record,) = closed.records
    assert record["error"] == "RefusalError"
    assert record["retrievals"][0]["error"] == "documents of unknown type int"
    root, retrieval, lookup = closed.spans
    assert root.status.message == "RefusalError"
    types = [
        a.value.string_value
        for s in (retrieval, lookup)
        for a in s.attributes
        if a.key == "error.type"
    ]
    assert types == ["documents of unknown type int", "error"]


def test_with_content_the_message_goes(captured: InMemoryExporter) -> None:
    with pytest.raises(RefusalError):
        _fail()

    (record,) = captured.records
    assert record["error"] == f"RefusalError: no answer for: {SECRET}"


def test_the_error_of_a_step_is_redacted_on_its_span() -> None:
    with InMemoryExporter(steps=True, redact=lambda _, text: text.replace("5000", "#")) as exporter:
        with rm.trace(question="q"), rm.plugin("lookup") as hit:
            hit.error = SECRET

        assert b"5000" not in sent(exporter)


def test_a_comment_stays(closed: InMemoryExporter) -> None:
    rm.feedback("a" * 32, 0.0, metric="faithfulness", comment=SECRET)

    (note,) = closed.feedback
    assert note == {"trace_id": "a" * 32, "value": 0.0, "metric": "faithfulness"}


@pytest.mark.parametrize(
    ("path", "name"), [("/ask/my salary", "/ask/*"), ("/ask", "/ask"), ("/ask/", "/ask/")]
)
async def test_of_a_path_only_the_first_part_goes(
    closed: InMemoryExporter, path: str, name: str
) -> None:
    async def app(_: Any, __: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 500, "headers": []})
        await send({"type": "http.response.body", "body": SECRET.encode()})

    async def nothing(*_: Any) -> dict[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    scope = {"type": "http", "method": "POST", "path": path, "headers": []}
    await RagMonitorMiddleware(app, paths=["/ask"])(scope, nothing, nothing)

    assert b"salary" not in sent(closed)
    assert closed.spans[0].name == f"invoke_workflow {name}"
    assert closed.records[0]["error"] == "HTTP 500"
