"""Applications that send traces until they are acknowledged, and people who look at them."""

from __future__ import annotations

import contextlib
import http.client
import itertools
import threading
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from benchmarks.ingest import Template
from tests.chaos.fleet import Member
from tests.chaos.judge import QUESTION

BATCH = 20


@dataclass
class Sender:
    """One application: keeps a pace, goes on to the next server when one does not answer."""

    servers: Sequence[Member]
    stop: threading.Event
    per_second: float
    timeout_s: float = 5.0
    acknowledged: list[str] = field(default_factory=list)
    acknowledgements: list[tuple[float, str]] = field(default_factory=list)
    """When each batch was acknowledged, and by whom."""
    statuses: Counter[int] = field(default_factory=Counter)
    """Of every answer; 0: none."""
    resent: int = 0
    """Batches sent more than once."""

    def run(self) -> None:
        """Send until told to stop; the last batch is still brought to its end."""
        turn = itertools.cycle(self.servers)
        server, connection = next(turn), None
        template = Template(BATCH, passages=2, words=30, question=QUESTION)
        due = time.monotonic()
        while not self.stop.is_set():
            body, tries = bytes(template.renew()), 0
            while True:
                if connection is None:
                    connection = http.client.HTTPConnection(
                        "127.0.0.1", server.port, timeout=self.timeout_s
                    )
                status = _post(connection, body)
                self.statuses[status] += 1
                if status == 200:
                    break
                connection.close()
                server, connection, tries = next(turn), None, tries + 1
                time.sleep(0.1)
            self.resent += tries > 0
            self.acknowledged += template.trace_ids()
            self.acknowledgements.append((time.monotonic(), server.name))
            if len(self.acknowledgements) % 10 == 0:  # as a load balancer would
                connection.close()
                server, connection = next(turn), None
            due = max(due + template.count / self.per_second, time.monotonic() - 5)
            time.sleep(max(0.0, due - time.monotonic()))
        if connection is not None:
            connection.close()


def _post(connection: http.client.HTTPConnection, body: bytes) -> int:
    try:
        connection.request("POST", "/v1/traces", body, {"Content-Type": "application/x-protobuf"})
        response = connection.getresponse()
        response.read()
    except (OSError, http.client.HTTPException):
        return 0
    return response.status


@dataclass
class Reader:
    """Somebody who looks at the pages all the time."""

    servers: Sequence[Member]
    stop: threading.Event
    statuses: Counter[int] = field(default_factory=Counter)
    good: list[tuple[float, str]] = field(default_factory=list)
    """When each good answer came, and from whom."""

    def run(self) -> None:
        """Ask every server in turn."""
        paths = itertools.cycle(("/api/v1/traces?limit=5", "/readyz", "/metrics"))
        while not self.stop.wait(0.4):
            path = next(paths)
            for server in self.servers:
                status = server.get(path)
                self.statuses[status] += 1
                if status == 200 and path != "/metrics":
                    self.good.append((time.monotonic(), server.name))


@contextlib.contextmanager
def running(workers: Sequence[Sender | Reader], stop: threading.Event):
    """Run each in a thread; afterwards they have come to their end."""
    threads = [threading.Thread(target=worker.run, daemon=True) for worker in workers]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        for thread in threads:
            thread.join(180)
        assert not any(thread.is_alive() for thread in threads), "a batch was never acknowledged"
