"""One connection: kept while both sides agree, one deadline a request, through a proxy or not."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing

import pytest

from rag_monitor.outbound.connection import Connection, Deadline, NoAnswer, Proxy, Reply
from rag_monitor.outbound.proxies import proxy_for
from tests.unit.outbound.receiver import Receiver, receiving

Serve = Callable[[socket.socket], None]


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as running:
        yield running


@pytest.fixture
def serving() -> Iterator[Callable[[Serve], int]]:
    """Starts a server that does as it is told with each connection; gives its port."""
    listeners: list[socket.socket] = []
    threads: list[threading.Thread] = []

    def start(serve: Serve) -> int:
        listener = socket.create_server(("127.0.0.1", 0))
        listeners.append(listener)

        def accept() -> None:
            while True:
                try:
                    stream, _ = listener.accept()
                except OSError:
                    return
                with stream:
                    try:
                        serve(stream)
                    except OSError:
                        continue

        threads.append(threading.Thread(target=accept, daemon=True))
        threads[-1].start()
        return int(listener.getsockname()[1])

    yield start
    for listener in listeners:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
    for thread in threads:
        thread.join(5)


def _get(connection: Connection, *, most: int | None = None, seconds: float = 5.0) -> Reply:
    return connection.request("GET", "/x", deadline=Deadline(seconds), max_reply_bytes=most)


def _answer(body: bytes, *headers: str) -> bytes:
    lines = ["HTTP/1.1 200 OK", f"Content-Length: {len(body)}", *headers, "", ""]
    return "\r\n".join(lines).encode() + body


def test_two_requests_share_a_connection(serving: Callable[[Serve], int]) -> None:
    connections: list[int] = []

    def serve(stream: socket.socket) -> None:
        connections.append(1)
        while stream.recv(65_536):
            stream.sendall(_answer(b"yes"))

    with closing(Connection("127.0.0.1", serving(serve))) as connection:
        assert not connection.is_open
        assert _get(connection).body == b"yes"
        assert connection.is_open
        assert _get(connection).body == b"yes"
    assert connections == [1]


def test_a_long_answer_before_the_server_closes_is_read_whole(
    serving: Callable[[Serve], int],
) -> None:
    body = b"x" * 300_000

    def serve(stream: socket.socket) -> None:
        stream.recv(65_536)
        stream.sendall(_answer(body, "Connection: close"))

    with closing(Connection("127.0.0.1", serving(serve))) as connection:
        assert _get(connection).body == body
        assert not connection.is_open


def test_an_answer_is_cut_where_it_may_be_no_longer(serving: Callable[[Serve], int]) -> None:
    def serve(stream: socket.socket) -> None:
        stream.recv(65_536)
        stream.sendall(_answer(b"x" * 100))
        stream.recv(65_536)

    port = serving(serve)
    with closing(Connection("127.0.0.1", port)) as connection:
        reply = _get(connection, most=99)
        assert (len(reply.body), reply.whole, connection.is_open) == (99, False, False)
    with closing(Connection("127.0.0.1", port)) as connection:
        reply = _get(connection, most=100)
        assert (len(reply.body), reply.whole, connection.is_open) == (100, True, True)


@pytest.mark.parametrize("most", [None, 1_000])
def test_an_answer_that_breaks_off_is_none(
    serving: Callable[[Serve], int], most: int | None
) -> None:
    def serve(stream: socket.socket) -> None:
        stream.recv(65_536)
        stream.sendall(_answer(b"x" * 100)[:-1])

    with (
        closing(Connection("127.0.0.1", serving(serve))) as connection,
        pytest.raises(NoAnswer, match="IncompleteRead"),
    ):
        _get(connection, most=most)


def test_a_server_that_reads_slowly_is_given_up_at_the_deadline(
    serving: Callable[[Serve], int],
) -> None:
    over = threading.Event()

    def serve(stream: socket.socket) -> None:
        stream.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        while not over.wait(0.02) and stream.recv(1_000):
            pass

    connection = Connection("127.0.0.1", serving(serve))
    begun = time.monotonic()
    with closing(connection), pytest.raises(NoAnswer, match=r"no whole answer within 0\.3 s"):
        connection.request("POST", "/x", b"x" * 50_000_000, deadline=Deadline(0.3))
    over.set()
    assert time.monotonic() - begun < 5


def test_the_next_address_is_tried(receiver: Receiver) -> None:
    addresses = ["127.0.0.2", "127.0.0.1"]  # on the first of them nobody listens
    connection = Connection("hooks.example", receiver.port, addresses=addresses)
    with closing(connection):
        assert _get(connection).ok
    assert receiver.requests[0].headers["host"] == f"hooks.example:{receiver.port}"


def test_a_proxy_is_told_the_whole_address(receiver: Receiver) -> None:
    proxy = Proxy("127.0.0.1", receiver.port, "Basic eDp5")
    connection = Connection("rag.example", 8700, proxy=proxy)
    with closing(connection):
        assert _get(connection).ok
    (seen,) = receiver.requests
    assert seen.path == "http://rag.example:8700/x"
    assert seen.headers["proxy-authorization"] == "Basic eDp5"
    assert seen.headers["host"] == "rag.example:8700"


def test_a_tunnel_that_the_proxy_refuses_is_no_answer(serving: Callable[[Serve], int]) -> None:
    heard: list[bytes] = []

    def serve(stream: socket.socket) -> None:
        heard.append(stream.recv(65_536))
        stream.sendall(b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n")

    proxy = Proxy("127.0.0.1", serving(serve))
    connection = Connection("rag.example", 443, tls=True, proxy=proxy)
    with closing(connection), pytest.raises(NoAnswer, match="the proxy answered 407"):
        _get(connection)
    assert heard[0].startswith(b"CONNECT rag.example:443 HTTP/1.1\r\n")


def test_the_environment_names_the_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("https_proxy", "http://me:a%20b@proxy.example:3128")
    monkeypatch.setenv("no_proxy", "near.example")
    monkeypatch.delenv("http_proxy", raising=False)

    assert proxy_for("https", "rag.example") == Proxy("proxy.example", 3128, "Basic bWU6YSBi")
    assert proxy_for("https", "near.example") is None
    assert proxy_for("https", "127.0.0.1") is None
    assert proxy_for("http", "rag.example") is None


def test_a_proxy_of_another_kind_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "socks5://proxy.example:1080")

    with pytest.raises(NoAnswer, match="socks5"):
        proxy_for("http", "rag.example")
