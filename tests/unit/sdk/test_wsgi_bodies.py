"""A WSGI server finds the response as it would without the middleware."""

from __future__ import annotations

import io
import json
from typing import Any
from wsgiref.handlers import SimpleHandler

import pytest

from rag_monitor.sdk import wsgi
from rag_monitor.testing import InMemoryExporter

BODY = json.dumps({"question": "利率?"}).encode()


class File:
    """A server's `wsgi.file_wrapper`."""

    def __init__(self, file: Any) -> None:
        self.read = file.read

    def __iter__(self) -> Any:
        return iter(lambda: self.read(8), b"")


def _wsgi_response(environ: dict[str, Any], body: Any) -> Any:
    asked = {"REQUEST_METHOD": "POST", "PATH_INFO": "/chat", "wsgi.input": io.BytesIO(BODY)}

    def app(environ: Any, start_response: Any) -> Any:
        environ["wsgi.input"].read()
        start_response("200 OK", [("Content-Type", "text/plain")])
        return body

    return wsgi.RagMonitorMiddleware(app)({**asked, **environ}, lambda *_: None)


def test_a_body_has_a_length_where_the_applications_has_one(captured: InMemoryExporter) -> None:
    sized, unsized = _wsgi_response({}, [b"3.4%"]), _wsgi_response({}, iter([b"3.4%"]))

    assert len(sized) == 1
    assert not hasattr(unsized, "__len__")
    assert [list(sized), list(unsized)] == [[b"3.4%"], [b"3.4%"]]
    assert [r["answer"] for r in captured.records] == ["3.4%", "3.4%"]


def test_a_wsgi_server_still_states_the_content_length(captured: InMemoryExporter) -> None:
    def app(environ: Any, start_response: Any) -> list[bytes]:
        start_response("200 OK", [("Content-Type", "text/plain")])
        return [b"3.4%"]

    said = []
    for served in (app, wsgi.RagMonitorMiddleware(app)):
        out = io.BytesIO()
        environ = {"REQUEST_METHOD": "POST", "PATH_INFO": "/chat", "SERVER_PROTOCOL": "HTTP/1.0"}
        SimpleHandler(io.BytesIO(BODY), out, io.StringIO(), environ).run(served)
        said.append(out.getvalue())

    assert said[1] == said[0]
    assert b"Content-Length: 4\r\n" in said[0]
    assert [r["answer"] for r in captured.records] == ["3.4%"]


@pytest.mark.parametrize("kind", ["class", "function"])
def test_a_file_reaches_the_server_as_it_is(captured: InMemoryExporter, kind: str) -> None:
    file = io.BytesIO(b"the whole manual")
    body = File(file) if kind == "class" else file
    wrapper: Any = File if kind == "class" else lambda given: given

    assert _wsgi_response({"wsgi.file_wrapper": wrapper}, body) is body
    (record,) = captured.records
    assert (record["question"], record.get("answer"), record["status"]) == ("利率?", None, "ok")
    assert record["timings"]["end_to_end_ms"] >= 0
