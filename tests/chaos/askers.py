"""Who asks a server again and again: scrapers that give up, and somebody who asks if it is ready.

They have a process of their own, as a Prometheus has: what senders compute in theirs must not count
as the server's time.
"""

from __future__ import annotations

import gzip
import http.client
import multiprocessing
import threading
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from multiprocessing.synchronize import Event
from types import MappingProxyType

ASKED = ("/metrics", "/readyz", "/healthz")
_REASON = 300
"""Characters of a refusal that are kept."""


@dataclass(frozen=True, slots=True)
class Answered:
    """One question and how long its answer took."""

    path: str
    at: float
    """Monotonic, the same clock in all processes of a machine."""
    seconds: float
    status: int
    """0: there was no answer in time."""


@dataclass
class Asked:
    """Everything that was asked."""

    answers: list[Answered] = field(default_factory=list)
    page: str = ""
    """The newest `/metrics`."""
    refusals: Counter[str] = field(default_factory=Counter)
    """Status and body of what was refused."""

    def note(self, path: str, began: float, status: int, body: bytes) -> None:
        """Note an answer that came just now."""
        self.answers.append(Answered(path, began, time.monotonic() - began, status))
        if status not in {0, 200}:
            self.refusals[f"{status} {body[:_REASON].decode(errors='replace')}"] += 1

    def and_of(self, other: Asked) -> Asked:
        """Both together."""
        return Asked(
            self.answers + other.answers, self.page or other.page, self.refusals + other.refusals
        )

    def between(self, path: str, begin: float, end: float) -> list[Answered]:
        """What was asked, and answered, in a time."""
        return [
            one
            for one in self.answers
            if one.path == path and begin <= one.at and one.at + one.seconds <= end
        ]


class Askers:
    """Asks from the beginning to the end of a `with` block; `asked` is there afterwards."""

    def __init__(self, port: int, scrapers: int, every_s: float, gives_up_s: float) -> None:
        context = multiprocessing.get_context("spawn")
        self.asked = Asked()
        self._stop = context.Event()
        self._reports, ours = context.Pipe(duplex=False)
        self._process = context.Process(
            target=_ask_all,
            args=(port, scrapers, every_s, gives_up_s, self._stop, ours),
            daemon=True,
        )

    def __enter__(self) -> Askers:
        self._process.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        if self._reports.poll(60):
            self.asked = self._reports.recv()
        self._process.join(30)


def ask(
    connection: http.client.HTTPConnection,
    method: str,
    path: str,
    body: bytes | None = None,
    headers: Mapping[str, str] = MappingProxyType({"Content-Type": "application/x-protobuf"}),
) -> tuple[int, bytes]:
    """Status and body; 0 where there was no answer in time."""
    try:
        connection.request(method, path, body, dict(headers))
        response = connection.getresponse()
        return response.status, response.read()
    except (OSError, http.client.HTTPException):
        return 0, b""


def _ask_all(
    port: int, scrapers: int, every_s: float, gives_up_s: float, stop: Event, report: Connection
) -> None:
    asked = Asked()
    work = [threading.Thread(target=_look, args=(port, stop, asked))]
    work += [
        threading.Thread(
            target=_scrape,
            args=(port, every_s * number / max(1, scrapers), every_s, gives_up_s, stop, asked),
        )
        for number in range(scrapers)
    ]
    for thread in work:
        thread.start()
    for thread in work:
        thread.join()
    report.send(asked)


def _scrape(
    port: int, first_s: float, every_s: float, gives_up_s: float, stop: Event, asked: Asked
) -> None:
    """Ask for `/metrics` as Prometheus does, and give up soon."""
    stop.wait(first_s)
    while not stop.is_set():
        began = time.monotonic()
        body = _get(port, "/metrics", gives_up_s, asked, {"Accept-Encoding": "gzip"})
        if body:
            asked.page = gzip.decompress(body).decode()
        stop.wait(max(0.0, every_s - (time.monotonic() - began)))


def _look(port: int, stop: Event, asked: Asked) -> None:
    """Ask whether it lives and is ready."""
    while not stop.wait(0.5):
        for path in ("/healthz", "/readyz"):
            _get(port, path, 10.0, asked)


def _get(
    port: int,
    path: str,
    timeout_s: float,
    asked: Asked,
    headers: Mapping[str, str] = MappingProxyType({}),
) -> bytes:
    """The body of a page that was given, else nothing."""
    began = time.monotonic()
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout_s)
    status, body = ask(connection, "GET", path, headers=headers)
    asked.note(path, began, status, body)
    connection.close()
    return body if status == 200 else b""
