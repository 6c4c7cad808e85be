"""The client against servers that are slow, broken, or something else altogether."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from rag_monitor.client import Client, ClientError

Call = Callable[[Client], object]

CALLS: tuple[Call, ...] = (
    lambda c: c.traces(limit=5),
    lambda c: c.summary(),
    lambda c: c.series("a", "faithfulness"),
    lambda c: c.trace("0" * 32),
    lambda c: c.feedback("0" * 32, 1.0),
)


def reply(body: str, status: str = "200 OK", *headers: str) -> bytes:
    lines = [f"HTTP/1.1 {status}", f"content-length: {len(body.encode())}", *headers]
    return "\r\n".join([*lines, "connection: close", "", body]).encode()


@pytest.fixture
def answering() -> Iterator[Callable[..., str]]:
    """Starts a server that gives everybody one answer; `drip` sends blanks after it for ever."""
    listeners: list[socket.socket] = []
    over = threading.Event()

    def start(answer: bytes, *, drip: bool = False) -> str:
        listener = socket.create_server(("127.0.0.1", 0))
        listeners.append(listener)

        def serve() -> None:
            while not over.is_set():
                try:
                    stream, _ = listener.accept()
                except OSError:
                    return
                with stream:
                    stream.recv(65_536)
                    stream.sendall(answer)
                    while drip and not over.wait(0.05):
                        try:
                            stream.sendall(b" ")
                        except OSError:
                            break

        threading.Thread(target=serve, daemon=True).start()
        return f"http://127.0.0.1:{listener.getsockname()[1]}"

    yield start
    over.set()
    for listener in listeners:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize(
    "body",
    [
        "[]",
        "null",
        "{}",
        '"x"',
        '{"items": null, "apps": 1, "points": {}}',
        '{"items": [1], "apps": [null], "points": ["x"]}',
    ],
)
def test_json_of_another_shape_is_a_client_error(
    answering: Callable[..., str], call: Call, body: str
) -> None:
    with pytest.raises(ClientError, match="is it rag-monitor"):
        call(Client(answering(reply(body)), timeout_s=5))


def test_an_empty_page_that_leads_on_does_not_lead_on_for_ever(
    answering: Callable[..., str],
) -> None:
    url = answering(reply('{"items": [], "next_cursor": "x"}'))
    with pytest.raises(ClientError, match="empty page"):
        Client(url, timeout_s=5).traces(limit=None)


def test_an_answer_that_drips_is_given_up(answering: Callable[..., str]) -> None:
    url = answering(b"HTTP/1.1 200 OK\r\ncontent-length: 10000\r\n\r\n", drip=True)
    begun = time.monotonic()
    with pytest.raises(ClientError, match=r"no whole answer within 0\.5 s"):
        Client(url, timeout_s=0.5).summary()
    assert time.monotonic() - begun < 3


def test_an_answer_that_breaks_off_is_no_answer(answering: Callable[..., str]) -> None:
    cut = reply('{"apps": []}').replace(b"content-length: 12", b"content-length: 99")
    with pytest.raises(ClientError, match="does not answer"):
        Client(answering(cut), timeout_s=5).summary()


def test_an_answer_in_chunks_is_read_to_its_end(answering: Callable[..., str]) -> None:
    head = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n"
    chunks = "".join(f"{len(part):x}\r\n{part}\r\n" for part in ('{"apps"', ": [", "]}"))
    assert Client(answering(f"{head}{chunks}0\r\n\r\n".encode())).summary() == {"apps": []}


def test_where_a_redirect_leads_is_told(answering: Callable[..., str]) -> None:
    moved = reply("", "308 Permanent Redirect", "location: https://rag.example.com/api/v1/summary")
    with pytest.raises(ClientError, match=r"https://rag\.example\.com") as caught:
        Client(answering(moved), timeout_s=5).summary()
    assert caught.value.status == 308


def test_a_key_read_from_a_file_may_end_in_a_newline() -> None:
    client: Any = Client("http://127.0.0.1:9", " rm_key\r\n")
    assert client._headers["X-API-Key"] == "rm_key"


@pytest.mark.parametrize("key", ["ключ", "rm_\nkey", "rm_\x00key"])
def test_a_key_that_cannot_be_one_is_refused_as_such(key: str) -> None:
    with pytest.raises(ClientError, match="api_key"):
        Client("http://127.0.0.1:9", key)


@pytest.mark.parametrize("url", ["http://[::1", "http://", "https:///x", "//127.0.0.1"])
def test_an_address_that_cannot_be_one_is_refused_as_such(url: str) -> None:
    with pytest.raises(ClientError, match="http://"):
        Client(url)
