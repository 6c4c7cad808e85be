"""One request: to the checked address, bounded in time and size, never redirected."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler

import pytest

from rag_monitor.errors import OutboundRefused
from rag_monitor.outbound.connection import Reply
from rag_monitor.outbound.guard import OutboundPolicy
from rag_monitor.outbound.http import OutboundFailed, request
from tests.unit.outbound.receiver import Answer, Receiver, answer, receiving

LOCAL = OutboundPolicy(allow_private=True)


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as running:
        yield running


def _post(url: str, **kwargs: object) -> Reply:
    kwargs.setdefault("policy", LOCAL)
    return request("POST", url, body=b'{"a": 1}', **kwargs)  # type: ignore[arg-type]


def test_a_request_arrives_as_it_was_given(receiver: Receiver) -> None:
    receiver.says = answer({"ok": True}, X_Seen="yes")

    reply = _post(receiver.url + "?a=b", headers={"X-Mine": "1"})

    (seen,) = receiver.requests
    assert (seen.method, seen.path, seen.body) == ("POST", "/hook?a=b", b'{"a": 1}')
    assert seen.headers["host"] == f"127.0.0.1:{receiver.port}"
    assert seen.headers["x-mine"] == "1"
    assert (reply.status, reply.body, reply.headers["x-seen"]) == (200, b'{"ok": true}', "yes")


def test_it_connects_to_the_address_that_was_checked_and_asks_once(receiver: Receiver) -> None:
    asked: list[str] = []

    def resolver(host: str, port: int) -> list[str]:
        asked.append(host)
        return ["127.0.0.1"] if len(asked) == 1 else ["169.254.169.254"]

    reply = _post(f"http://hooks.example:{receiver.port}/x", resolver=resolver)

    assert reply.status == 200
    assert asked == ["hooks.example"]
    assert receiver.requests[0].headers["host"] == f"hooks.example:{receiver.port}"


def test_a_name_that_turned_private_is_refused_at_the_connection(receiver: Receiver) -> None:
    with pytest.raises(OutboundRefused):
        _post(
            f"http://hooks.example:{receiver.port}/",
            policy=OutboundPolicy(),
            resolver=lambda host, port: ["127.0.0.1"],
        )
    assert receiver.requests == []


@pytest.mark.parametrize(
    "location", ["http://169.254.169.254/", "file:///etc/passwd", "/elsewhere"]
)
def test_a_redirect_is_not_followed(receiver: Receiver, location: str) -> None:
    receiver.says = answer(status=302, Location=location)

    assert _post(receiver.url).status == 302
    assert len(receiver.requests) == 1


def test_a_huge_answer_is_cut_off(receiver: Receiver) -> None:
    receiver.says = Answer(body=b"x" * 70_000)

    with pytest.raises(OutboundFailed, match="longer than"):
        _post(receiver.url)


def test_a_server_that_hangs_is_given_up(receiver: Receiver) -> None:
    receiver.hangs = threading.Event()

    with pytest.raises(OutboundFailed, match="within"):
        _post(receiver.url, deadline_s=0.1)


def test_a_server_that_drips_is_given_up_however_often_it_sends(receiver: Receiver) -> None:
    stop = threading.Event()

    def drip(handler: BaseHTTPRequestHandler) -> None:
        try:
            handler.wfile.write(b"HTTP/1.1 200 OK\r\n")
            for number in range(1000):
                handler.wfile.write(f"X-{number}: y\r\n".encode())
                handler.wfile.flush()
                if stop.wait(0.01):
                    return
        except OSError:
            return

    receiver.drips = drip
    with pytest.raises(OutboundFailed, match=r"within|got more than"):
        _post(receiver.url, deadline_s=0.15)
    stop.set()


def test_a_dead_server_is_an_error_with_its_name() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]

    with pytest.raises(OutboundFailed, match=f"127.0.0.1:{port}"):
        _post(f"http://127.0.0.1:{port}/")


def test_something_that_speaks_no_http_is_an_error(receiver: Receiver) -> None:
    def talk(handler: BaseHTTPRequestHandler) -> None:
        handler.wfile.write(b"SSH-2.0-OpenSSH_9.2\r\n")

    receiver.drips = talk
    with pytest.raises(OutboundFailed):
        _post(receiver.url)


def test_a_header_cannot_smuggle_a_second_one(receiver: Receiver) -> None:
    with pytest.raises(OutboundFailed):
        _post(receiver.url, headers={"X-A": "b\r\nX-Evil: 1"})
    assert receiver.requests == []


def test_tls_to_a_plain_server_is_an_error(receiver: Receiver) -> None:
    with pytest.raises(OutboundFailed):
        _post(f"https://127.0.0.1:{receiver.port}/", deadline_s=2.0)
