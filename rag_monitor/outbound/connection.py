"""HTTP/1.1 over one connection, with one deadline for the whole of a request.

The timeout of a socket is per operation, so a server that sends a byte a second would never meet
one. Here every operation gets what is left of the deadline: connecting, the TLS handshake, each
piece that is sent and each that is read. Only the system's resolver knows no deadline;
`guard.resolve` gives it one.

Redirects are not followed and nothing is decompressed. Needs only the standard library, and of it
`http.client`, which no tracing instrumentation patches: the SDK sends by it, too.
"""

from __future__ import annotations

import codecs
import http.client
import io
import socket
import ssl
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, Final

from rag_monitor.errors import RagMonitorError

codecs.lookup("idna")  # else the first connection imports it: a child forked then never connects

_TOO_LATE: Final = "no whole answer within {seconds:g} s"


class NoAnswer(RagMonitorError):  # noqa: N818 - named after what happened
    """The other side did not answer as HTTP, in time; `__cause__` is the error behind it."""


class Deadline:
    """The moment by which a request must be over.

        >>> deadline = Deadline(30.0)
        >>> 29.0 < deadline.left() <= 30.0, deadline.passed
        (True, False)

    Args:
        seconds: From now on.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._ends_at = time.monotonic() + seconds

    @property
    def passed(self) -> bool:
        """Whether no time is left."""
        return time.monotonic() >= self._ends_at

    def left(self) -> float:
        """Seconds that are left, above 0.

        Raises:
            TimeoutError: None are.
        """
        left = self._ends_at - time.monotonic()
        if left <= 0:
            raise self.error()
        return left

    def error(self) -> TimeoutError:
        """What is raised when it has passed."""
        return TimeoutError(_TOO_LATE.format(seconds=self._seconds))


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """An answer."""

    status: int
    reason: str = ""
    """The words behind the status."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """Names in lower case."""
    body: bytes = b""
    whole: bool = True
    """False: the body went on, and only its beginning was read."""

    @property
    def ok(self) -> bool:
        """A status of 200 to 299."""
        return 200 <= self.status < 300


@dataclass(frozen=True, slots=True)
class Proxy:
    """An HTTP proxy on the way."""

    host: str
    port: int
    authorization: str | None = None
    """The value of Proxy-Authorization."""

    @property
    def headers(self) -> dict[str, str]:
        """What it is told besides the request."""
        return {} if self.authorization is None else {"Proxy-Authorization": self.authorization}


class Connection:
    """One connection, opened by the first request and kept for the next while both sides agree.

        connection = Connection("rag.example.com", 443, tls=True)
        reply = connection.request("GET", "/livez", deadline=Deadline(10.0))

    For one thread at a time.

    Args:
        host: Name or address, without brackets; the certificate must be for it.
        port: Where it listens.
        tls: Whether to speak TLS, with the certificates that the system trusts.
        addresses: Where to connect instead of asking the resolver for `host`.
        proxy: Whom to send the requests through.
    """

    def __init__(
        self,
        host: str,
        port: int,
        *,
        tls: bool = False,
        addresses: Sequence[str] = (),
        proxy: Proxy | None = None,
    ) -> None:
        self._tls = tls
        self._addresses = addresses
        self._proxy = proxy
        self._host, self._port = host, port
        self._http: http.client.HTTPConnection | None = None

    @property
    def is_open(self) -> bool:
        """Whether the next request goes over a connection that has served before."""
        return self._http is not None

    def request(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        *,
        deadline: Deadline,
        max_reply_bytes: int | None = None,
    ) -> Reply:
        """Send one request and read its answer.

        Args:
            method: `POST` and so on.
            path: With the query.
            body: Sent as it is; None: there is none.
            headers: Besides Host, Content-Length and Accept-Encoding.
            deadline: For all of it, connecting included.
            max_reply_bytes: Where a longer answer is cut; None: nowhere.

        Raises:
            NoAnswer: No usable answer; the connection is closed.
        """
        if self._proxy is not None and not self._tls:
            path = f"http://{self._authority}{path}"
            headers = {**(headers or {}), **self._proxy.headers}
        try:
            connection = self._http or self._open(deadline)
            stream: Any = connection.sock
            stream.deadline = deadline
            connection.request(method, path, body, headers or {})
            return self._answer(connection, max_reply_bytes)
        except (OSError, http.client.HTTPException, ValueError) as error:
            self.close()
            raise NoAnswer(str(error) or type(error).__name__) from error

    def close(self) -> None:
        """Close the connection; the next request opens another."""
        connection, self._http = self._http, None
        if connection is not None:
            connection.close()

    def _answer(self, connection: http.client.HTTPConnection, most: int | None) -> Reply:
        with connection.getresponse() as response:
            reply = _read(response, most)
            if response.will_close or not reply.whole:
                self.close()
        return reply

    @property
    def _authority(self) -> str:
        host = f"[{self._host}]" if ":" in self._host else self._host
        return f"{host}:{self._port}"

    def _open(self, deadline: Deadline) -> http.client.HTTPConnection:
        connection = http.client.HTTPConnection(self._host, self._port)
        connection.default_port = 443 if self._tls else 80  # not named in the Host header
        connection.sock = self._connect(deadline)
        self._http = connection
        return connection

    def _connect(self, deadline: Deadline) -> Any:
        """What `http.client` takes for a socket."""
        host, port = self._host, self._port
        if self._proxy is not None:
            host, port = self._proxy.host, self._proxy.port
        sock = _dial(self._addresses or _addresses_of(host, port), port, deadline)
        try:
            if self._tls and self._proxy is not None:
                self._tunnel(_DeadlineSocket(sock, deadline), self._proxy)
            if self._tls:
                sock = ssl.create_default_context().wrap_socket(
                    sock, server_hostname=self._host, do_handshake_on_connect=False
                )
                sock.settimeout(deadline.left())
                sock.do_handshake()
        except TimeoutError:
            sock.close()
            raise deadline.error() from None
        except BaseException:
            sock.close()
            raise
        return _DeadlineSocket(sock, deadline)

    def _tunnel(self, stream: _DeadlineSocket, proxy: Proxy) -> None:
        lines = [f"CONNECT {self._authority} HTTP/1.1", f"Host: {self._authority}"]
        lines += [f"{name}: {value}" for name, value in proxy.headers.items()]
        stream.sendall("\r\n".join([*lines, "", ""]).encode("ascii"))
        response = http.client.HTTPResponse(stream, method="CONNECT")  # type: ignore[arg-type]
        try:
            response.begin()
            if response.status != HTTPStatus.OK:
                raise OSError(f"the proxy answered {response.status} {response.reason}")
        finally:
            response.close()


class _DeadlineSocket:
    """What `http.client` needs of a socket, each operation bounded by what is left."""

    def __init__(self, sock: socket.socket, deadline: Deadline) -> None:
        self._sock = sock
        self.deadline = deadline

    def sendall(self, data: Any) -> None:
        self._sock.settimeout(self.deadline.left())
        try:
            self._sock.sendall(data)  # its timeout is for all of the data
        except TimeoutError:
            raise self.deadline.error() from None

    def makefile(self, mode: str) -> io.BufferedReader:
        del mode
        return io.BufferedReader(_DeadlineReader(self, self._sock))

    def close(self) -> None:
        self._sock.close()


class _DeadlineReader(io.RawIOBase):
    """Reads of a socket that share one deadline."""

    def __init__(self, owner: _DeadlineSocket, sock: socket.socket) -> None:
        self._owner = owner
        self._sock = sock
        self._file = sock.makefile("rb", buffering=0)  # the socket stays open as long as this does

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        self._sock.settimeout(self._owner.deadline.left())
        try:
            return self._file.readinto(buffer)
        except TimeoutError:
            raise self._owner.deadline.error() from None

    def close(self) -> None:
        self._file.close()
        super().close()


def _addresses_of(host: str, port: int) -> list[str]:
    entries = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [str(entry[4][0]) for entry in entries]


def _dial(addresses: Sequence[str], port: int, deadline: Deadline) -> socket.socket:
    """A connection to the first of the addresses that takes one; one that is silent has its share.

    Raises:
        OSError: None of them did.
    """
    error: OSError = OSError("the host has no address")
    untried = list(dict.fromkeys(addresses))
    while untried:
        share = deadline.left() / len(untried)
        try:
            sock = socket.create_connection((untried.pop(0), port), timeout=share)
        except TimeoutError:
            error = deadline.error()
        except OSError as problem:
            error = problem
        else:
            # Head and body are two sends: the second must not wait until the first is acknowledged.
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return sock
    raise error


def _read(response: http.client.HTTPResponse, most: int | None) -> Reply:
    body = response.read(most)
    whole = most is None or response.isclosed() or not response.read(1)
    if whole and response.length:
        raise http.client.IncompleteRead(body, response.length)
    return Reply(
        status=response.status,
        reason=response.reason,
        headers={name.lower(): value for name, value in response.getheaders()},
        body=body,
        whole=whole,
    )
