"""The client against a server that answers "later"."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from typing import Any

import pytest

from rag_monitor.client import Client, ClientError

GOOD = {"items": [], "apps": [], "points": [], "trace_id": "0" * 32}
TRACE = "0" * 32


class Sometimes:
    """Answers each request with the next of `answers`, then for ever with the last of them."""

    def __init__(self, *answers: tuple[int, dict[str, str]]) -> None:
        self.seen: list[str] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def answer(self) -> None:
                self.rfile.read(int(self.headers.get("content-length", 0)))
                status, headers = answers[min(len(outer.seen), len(answers) - 1)]
                outer.seen.append(self.command)
                found = GOOD if status == 200 else {"detail": "Too much at once."}
                body = json.dumps(found).encode()
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            do_GET = answer  # noqa: N815 - the name http.server calls
            do_POST = answer  # noqa: N815 - the name http.server calls

            def log_message(self, *_: Any) -> None:
                """Nothing to say."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()


@pytest.fixture
def answering() -> Iterator[Callable[..., Sometimes]]:
    servers: list[Sometimes] = []

    def start(*answers: tuple[int, dict[str, str]]) -> Sometimes:
        servers.append(Sometimes(*answers))
        return servers[-1]

    yield start
    for server in servers:
        server.server.shutdown()
        server.server.server_close()


@pytest.mark.parametrize("status", [429, 503])
def test_later_is_heard_and_asked_again(answering: Callable[..., Sometimes], status: int) -> None:
    server = answering((status, {"Retry-After": "3"}), (status, {"Retry-After": "4"}), (200, {}))
    waits: list[float] = []

    assert Client(server.url, sleep=waits.append).traces() == []

    assert server.seen == ["GET"] * 3
    assert 3 <= waits[0] <= 4
    assert 4 <= waits[1] <= 5


def test_a_date_is_understood(answering: Callable[..., Sometimes]) -> None:
    until = format_datetime(datetime.now(UTC) + timedelta(seconds=20), usegmt=True)
    server = answering((503, {"Retry-After": until}), (200, {}))
    waits: list[float] = []

    Client(server.url, sleep=waits.append).summary()

    assert 5 < waits[0] <= 21


@pytest.mark.parametrize("asked", [None, "soon", "nan", "-5", "0", "Mon, 99 Foo 99999 00:00:00"])
def test_without_a_wish_the_pauses_grow(
    answering: Callable[..., Sometimes], asked: str | None
) -> None:
    headers = {} if asked is None else {"Retry-After": asked}
    server = answering(*[(503, headers)] * 5, (200, {}))
    waits: list[float] = []

    Client(server.url, sleep=waits.append).trace(TRACE)

    assert len(waits) == 5
    assert all(0.25 <= wait <= 8 for wait in waits)
    assert all(earlier < 2 * later for earlier, later in pairwise(waits))
    assert sum(waits) > 5


def test_patience_ends_and_what_happened_is_told(answering: Callable[..., Sometimes]) -> None:
    server = answering((429, {"Retry-After": "10"}))
    waits: list[float] = []

    with pytest.raises(ClientError) as caught:
        Client(server.url, sleep=waits.append).summary()

    assert caught.value.status == 429
    assert caught.value.retry_after_s == 10
    text = str(caught.value)
    assert "Too much at once. (HTTP 429); asked 3 times in 2" in text
    assert "it asks to wait 10 s more (retry_s=30)" in text
    assert len(server.seen) == 3
    assert sum(waits) <= 30


def test_a_wish_beyond_patience_is_not_waited_for(answering: Callable[..., Sometimes]) -> None:
    server = answering((503, {"Retry-After": "3600"}))
    waits: list[float] = []

    with pytest.raises(ClientError, match="asked once, and it asks to wait 3600 s"):
        Client(server.url, sleep=waits.append).traces()

    assert waits == []


def test_without_patience_the_first_answer_counts(answering: Callable[..., Sometimes]) -> None:
    server = answering((429, {}), (200, {}))

    with pytest.raises(ClientError, match="HTTP 429"):
        Client(server.url, retry_s=0).traces()

    assert server.seen == ["GET"]


@pytest.mark.parametrize("status", [400, 401, 404, 422, 500, 502])
def test_other_refusals_are_final(answering: Callable[..., Sometimes], status: int) -> None:
    server = answering((status, {"Retry-After": "0"}), (200, {}))

    with pytest.raises(ClientError, match=f"HTTP {status}"):
        Client(server.url, sleep=lambda _: None).summary()

    assert server.seen == ["GET"]


@pytest.mark.parametrize(
    ("status", "author", "tries"),
    [(429, None, 2), (429, "ada", 2), (503, "ada", 2), (503, None, 1)],
)
def test_a_mark_is_sent_again_only_if_it_cannot_count_twice(
    answering: Callable[..., Sometimes], status: int, author: str | None, tries: int
) -> None:
    server = answering((status, {}), (200, {}))
    client = Client(server.url, sleep=lambda _: None)

    if tries == 1:
        with pytest.raises(ClientError, match=f"HTTP {status}"):
            client.feedback(TRACE, 1.0, author=author)
    else:
        client.feedback(TRACE, 1.0, author=author)

    assert server.seen == ["POST"] * tries
