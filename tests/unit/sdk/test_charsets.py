"""Bodies and pieces in other character sets than UTF-8, and frames of JSON around an answer."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Any
from urllib.parse import quote

import pytest

import rag_monitor as rm
from rag_monitor.sdk import asgi, wsgi
from rag_monitor.sdk.guard import GUARD
from rag_monitor.testing import InMemoryExporter

TEXT = "保修期是二十四月。"
BIG5 = "營業時間為上午九點。"


def _post(
    captured: InMemoryExporter,
    pieces: Sequence[bytes],
    content_type: str,
    *,
    request: bytes = b'{"question": "q"}',
    request_type: str = "application/json",
    traced: bool = False,
) -> Any:
    """The record of one request to an ASGI application."""

    @rm.trace
    async def answer(question: str) -> AsyncIterator[bytes]:
        for piece in pieces:
            yield piece

    async def untraced(question: str) -> AsyncIterator[bytes]:
        for piece in pieces:
            yield piece

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await receive()
        headers = [(b"content-type", content_type.encode())]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        async for piece in (answer if traced else untraced)("q"):
            await send({"type": "http.response.body", "body": piece, "more_body": True})
        await send({"type": "http.response.body", "body": b""})

    async def serve() -> None:
        async def receive() -> Any:
            return {"type": "http.request", "body": request, "more_body": False}

        async def send(message: Any) -> None:
            del message

        headers = [(b"Content-Type", request_type.encode())]
        scope = {"type": "http", "path": "/chat", "method": "POST", "headers": headers}
        await asgi.RagMonitorMiddleware(app)(scope, receive, send)

    asyncio.run(serve())
    return captured.records[0]


def _each(data: bytes) -> list[bytes]:
    return [data[at : at + 1] for at in range(len(data))]


DECLARED = [
    ("gbk", TEXT), ("GB2312", TEXT), ("gb18030", TEXT), ("big5", BIG5), ("utf-16", TEXT),
    ("utf-16-le", TEXT), ("utf-16be", TEXT), ("shift_jis", "営業時間は九時です。"),
    ("euc-kr", "영업시간은 아홉시입니다."), ("windows-1252", "Ça ferme à 17 h."), ("utf-8", TEXT),
]  # fmt: skip


@pytest.mark.parametrize(("charset", "text"), DECLARED)
@pytest.mark.parametrize("traced", [False, True])
def test_an_answer_is_read_in_the_character_set_that_is_declared(
    captured: InMemoryExporter, charset: str, text: str, traced: bool
) -> None:
    record = _post(
        captured, _each(text.encode(charset)), f'text/plain; charset="{charset}"', traced=traced
    )

    assert record["answer"] == text


@pytest.mark.parametrize(("charset", "text"), DECLARED)
def test_json_and_events_are_read_in_it_too(
    captured: InMemoryExporter, charset: str, text: str
) -> None:
    document = json.dumps({"answer": text}, ensure_ascii=False).encode(charset)
    whole = _post(captured, [document], f"application/json;charset={charset}")
    assert whole["answer"] == text

    captured.clear()
    event = f"data: {json.dumps({'content': text}, ensure_ascii=False)}\n\ndata: [DONE]\n\n"
    data = event.encode(charset)
    record = _post(captured, [data[:9], data[9:]], f"text/event-stream; charset={charset}")
    assert record["answer"] == text
    assert record["timings"]["first_byte_ms"] is not None


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig", "utf-32"])
def test_a_byte_order_mark_says_it_as_well(captured: InMemoryExporter, encoding: str) -> None:
    assert _post(captured, [TEXT.encode(encoding)], "text/plain")["answer"] == TEXT


@pytest.mark.parametrize("content_type", ["text/plain", "text/plain; charset=x-nobodys", ""])
def test_an_answer_in_nobody_knows_what_is_unknown(
    captured: InMemoryExporter, content_type: str
) -> None:
    assert _post(captured, [TEXT.encode("gbk")], content_type).get("answer") is None


def test_what_servers_declare_unasked_does_not_break_utf_8(captured: InMemoryExporter) -> None:
    record = _post(captured, [TEXT.encode()], "text/html; charset=ISO-8859-1")

    assert record["answer"] == TEXT


LONGER = "发票在付款之后的三个工作日内开具。"


@pytest.mark.parametrize("traced", [False, True])
@pytest.mark.parametrize(
    "content_type",
    ["text/plain", "text/plain; charset=utf-8", "text/plain; charset=iso-8859-1"],
)
@pytest.mark.parametrize(
    ("damaged", "kept"),
    [
        (LONGER.encode().replace("三".encode(), b"\xe4\xb8"), LONGER.replace("三", "\ufffd")),
        (LONGER.encode().replace("三".encode(), "三".encode() + b"\xff"),
         LONGER.replace("三", "三\ufffd")),
    ],
    ids=["a byte is gone", "a byte is added"],
)  # fmt: skip
def test_of_a_text_with_a_damaged_byte_the_others_are_kept_and_the_log_says_so(
    captured: InMemoryExporter, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch,
    damaged: bytes, kept: str, content_type: str, traced: bool,
) -> None:  # fmt: skip
    monkeypatch.setattr(GUARD, "_logged_at", {})
    record = _post(captured, [damaged[:20], damaged[20:]], content_type, traced=traced)

    assert record["answer"] == kept
    assert "damaged bytes" in caplog.text


def test_so_it_is_in_another_character_set_that_is_declared(captured: InMemoryExporter) -> None:
    damaged = LONGER.encode("gbk").replace("三".encode("gbk"), b"\xff")
    record = _post(captured, [damaged], "text/plain; charset=gbk")

    assert record["answer"] == LONGER.replace("三", "\ufffd")


def test_so_is_a_question_with_a_damaged_byte(captured: InMemoryExporter) -> None:
    data = json.dumps({"question": LONGER}, ensure_ascii=False).encode()
    data = data.replace("三".encode(), b"\xe4\xb8")
    record = _post(captured, [b"ok"], "text/plain", request=data)

    assert record["question"] == LONGER.replace("三", "\ufffd")


def test_near_miss_accents_in_what_servers_declare_unasked_are_no_damage(
    captured: InMemoryExporter,
) -> None:
    text = "The café opens at nine, and it closes at noon on Saturdays."
    record = _post(captured, [text.encode("cp1252")], "text/plain; charset=iso-8859-1")

    assert record["answer"] == text


def test_a_declaration_that_is_wrong_yields_to_what_the_bytes_are(
    captured: InMemoryExporter,
) -> None:
    assert _post(captured, ["三天。".encode()], "text/plain; charset=big5")["answer"] == "三天。"


@pytest.mark.parametrize(
    ("request_body", "request_type", "question"),
    [
        (f"question={quote('多久？', encoding='gbk')}", "application/x-www-form-urlencoded", None),
        (f"question={quote('多久？', encoding='gbk')}", "x/y; charset=gbk", "多久？"),
        (f"question={quote('多久？')}", "x/y; charset=utf-8", "多久？"),
        ('{"question": "多久？"}'.encode("gbk"), "application/json; charset=gbk", "多久？"),
        ('{"question": "多久？"}'.encode("gbk"), "application/json", None),
        (
            '{"question": "多久？", "user_id": "5f1c3e0a-1111-2222-3333-abcdefabcdef"}'.encode(
                "gbk"
            ),
            "application/json",
            None,
        ),
        (
            b'{"question": "Does the caf\xe9 open at nine on Saturdays?"}',
            "application/json",
            "Does the caf\ufffd open at nine on Saturdays?",
        ),
        ('{"question": "多久？"}'.encode("utf-16"), "application/json", "多久？"),
    ],
)
def test_so_is_a_question(
    captured: InMemoryExporter, request_body: str | bytes, request_type: str, question: str | None
) -> None:
    data = request_body.encode() if isinstance(request_body, str) else request_body
    record = _post(captured, [b"ok"], "text/plain", request=data, request_type=request_type)

    assert record.get("question") == question


def test_wsgi_reads_it_in_the_same_way(captured: InMemoryExporter) -> None:
    def app(environ: Any, start_response: Any) -> list[bytes]:
        environ["wsgi.input"].read()
        start_response("200 OK", [("Content-Type", "text/html; charset=gbk")])
        data = TEXT.encode("gbk")
        return [data[:3], data[3:]]

    class Stream:
        def read(self) -> bytes:
            return '{"question": "多久？"}'.encode("gbk")

    environ = {
        "REQUEST_METHOD": "POST", "PATH_INFO": "/chat", "wsgi.input": Stream(),
        "CONTENT_TYPE": "application/json; charset=GBK",
    }  # fmt: skip
    list(wsgi.RagMonitorMiddleware(app)(environ, lambda *_: None))

    record = captured.records[0]
    assert (record["question"], record["answer"]) == ("多久？", TEXT)


class Response:
    """As Starlette's."""

    def __init__(self, body: bytes, content_type: str) -> None:
        self.body = body
        self.raw_headers = [(b"content-type", content_type.encode())]


def test_a_response_that_a_handler_returns_declares_it(captured: InMemoryExporter) -> None:
    @rm.trace
    def handle(question: str) -> Response:
        return Response(TEXT.encode("gbk"), "text/plain; charset=gbk")

    handle("q")

    assert captured.records[0]["answer"] == TEXT


def _yield(captured: InMemoryExporter, pieces: Sequence[Any]) -> Any:
    @rm.trace
    def handle(question: str) -> Iterator[Any]:
        yield from pieces

    assert list(handle("q")) == list(pieces)
    return captured.records[0]


def test_bytes_that_nobody_says_the_character_set_of_are_no_answer(
    captured: InMemoryExporter,
) -> None:
    assert _yield(captured, [TEXT.encode("gbk")]).get("answer") is None


LINES = [json.dumps({"token": part}, ensure_ascii=False) + "\n" for part in ("朝九", "晚五", "。")]
CODED = ['f:{"messageId":"m"}\n', '0:"朝九"\n', '0:"晚五。"\n', 'd:{"finishReason":"stop"}\n']


@pytest.mark.parametrize(
    "pieces",
    [
        LINES,
        [line.encode() for line in LINES],
        [line.strip() for line in LINES],
        ["".join(LINES)],
        [part for line in LINES for part in (line.strip(), "\n")],
        ['{"type": "sources", "sources": [{"id": 1}]}\n', *LINES],
        [*LINES, '{"type": "done", "usage": {"tokens": 3}}\n'],
        [*LINES[:2], '{"token": "。"}'],
        [*LINES, '{"type": "us'],
        [f"\x1e{line}" for line in LINES],
        [*LINES[:2], {"content": "。"}],
        CODED,
        [line.encode() for line in CODED],
        ["".join(LINES).encode()[:17], "".join(LINES).encode()[17:]],
    ],
)
def test_lines_of_json_are_frames_around_the_answer(
    captured: InMemoryExporter, pieces: list[Any]
) -> None:
    record = _yield(captured, pieces)

    assert record["answer"] == "朝九晚五。"
    assert record["timings"]["first_byte_ms"] is not None


@pytest.mark.parametrize(
    "pieces",
    [
        ['{"name": "x"}'],
        ['{"', "na", 'me"', ": ", '"x"', "}"],
        ['{"', "a", '": ', "1}", "\n", '{"', "a", '": ', "2}"],
        [{"content": '{"name":'}, {"content": ' "x"}\n'}],
        ["0", ": never"],
        ["3:", " because"],
    ],
)
def test_json_that_a_model_writes_is_the_answer(
    captured: InMemoryExporter, pieces: list[Any]
) -> None:
    record = _yield(captured, pieces)

    texts = [piece["content"] if isinstance(piece, dict) else piece for piece in pieces]
    assert record["answer"] == "".join(texts)
    assert record["timings"]["first_byte_ms"] is not None


def test_the_first_line_with_text_stops_the_clock(captured: InMemoryExporter) -> None:
    @rm.trace
    def handle(question: str) -> Iterator[str]:
        yield '{"type": "sources", "sources": []}\n'
        time.sleep(0.05)
        yield LINES[0]
        yield LINES[1]

    list(handle("q"))

    assert captured.records[0]["timings"]["first_byte_ms"] >= 50


def test_lines_of_another_shape_are_no_answer(captured: InMemoryExporter) -> None:
    assert _yield(captured, ['{"a": 1}\n', '{"b": 2}\n']).get("answer") in (None, "")


def test_a_coded_body_is_read_like_lines(captured: InMemoryExporter) -> None:
    record = _post(captured, [line.encode() for line in CODED], "text/plain; charset=utf-8")

    assert record["answer"] == "朝九晚五。"
