"""How many traces a second become durable, over real HTTP into a real server process.

    python benchmarks/ingest.py [--seconds 8] [--postgresql URL] [--roles ingest all] [--batch 100]

Starts `rag-monitor serve` on a fresh database, posts batches of what our SDK sends (one root span
per trace, 5 passages of 200 words) from 4 kept-alive connections, and counts a trace when its 200
has arrived. A 200 comes after the commit; afterwards the rows in the database are counted and must
equal the acknowledged traces. Prints one JSON object: durable traces per second, latency of a
request, CPU of the server per trace, and the server's resident memory idle and at its peak.

The load generator encodes nothing while it measures: it patches ids into a ready request. It shares
the machine with the server, as the figures' `cpus` says.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import os
import platform
import random
import re
import socket
import sqlite3
import struct
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

CONNECTIONS = 4
WARM_UP_S = 2.0


class Template:
    """A request of our SDK's with `count` traces, and where its ids stand.

    Args:
        count: Traces in it.
        passages: Passages of each trace.
        words: Words of each passage.
        question: What is asked; `{}` stands for the trace's id.
        app: Which application sends it.
    """

    def __init__(
        self,
        count: int,
        *,
        passages: int = 5,
        words: int = 200,
        question: str = "How long does the standard warranty last?",
        app: str = "bench",
    ) -> None:
        self.body = bytearray(_request(count, passages, words, question, app))
        self.count = count
        self._app = len(app)
        self._apps = [m.start() for m in re.finditer(re.escape(app.encode()), self.body)]
        self._spots: list[tuple[int, list[int]]] = []
        for number in range(count):
            raw = _id(number).to_bytes(16, "big")
            text = raw.hex().encode()
            places = [m.start() for m in re.finditer(re.escape(text), self.body)]
            self._spots.append((self.body.index(raw), places))
        self._clocks = [_clock(self.body, at) for at, _ in self._spots]

    def trace_ids(self) -> list[str]:
        """The trace ids it holds now."""
        return [self.body[at : at + 16].hex() for at, _ in self._spots]

    def rename(self, app: str) -> None:
        """Have another application send it; its name must be as long."""
        name = app.encode()
        assert len(name) == self._app
        for place in self._apps:
            self.body[place : place + len(name)] = name

    def renew(self) -> bytearray:
        """The request with fresh trace ids, begun just now, in place.

        Old times would give the databases more to do than they have: an index by time grows at its
        end, one of equal times wherever a random id belongs.
        """
        body = self.body
        for at, places in self._spots:
            raw = os.urandom(16)
            body[at : at + 16] = raw
            text = raw.hex().encode()
            for place in places:
                body[place : place + 32] = text
        now = time.time_ns()
        for number, clock in enumerate(self._clocks):
            clock.set(body, now + number * 1000)
        return body


@dataclass(frozen=True)
class _Clock:
    """Where the times of one trace stand in a request."""

    span: int
    """Of start and end in the span, as two fields of 1 + 8 bytes."""
    record: int
    """Of the ISO 8601 text in our record."""
    lasted_ns: int

    def set(self, body: bytearray, start_ns: int) -> None:
        """Let the trace begin then."""
        struct.pack_into(
            "<cQcQ", body, self.span, _START, start_ns, _END, start_ns + self.lasted_ns
        )
        moment = datetime.fromtimestamp(start_ns / 1e9, UTC)
        text = moment.isoformat(timespec="microseconds").encode()
        body[self.record : self.record + len(text)] = text


_START, _END = b"\x39", b"\x41"
"""Fields 7 and 8 of a span, of 64 fixed bits."""


def _clock(body: bytearray, at: int) -> _Clock:
    """The times of the span whose trace id stands at `at`."""
    span = re.compile(_START + b"(.{8})" + _END + b"(.{8})", re.DOTALL).search(body, at)
    record = re.compile(rb'"started_at":"(.{32})"').search(body, at)
    if span is None or record is None:
        raise SystemExit("the SDK sends other times than this benchmark knows")
    start, end = (int.from_bytes(part, "little") for part in span.groups())
    return _Clock(span.start(), record.start(1), end - start)


def _request(count: int, passages: int, length: int, question: str, app: str) -> bytes:
    """What the SDK sends for `count` answered questions with different passages."""
    from rag_monitor.testing import InMemoryExporter

    draw = random.Random(7)
    syllables = [a + b for a in "bcdfgklmnprstvw" for b in ("a", "en", "i", "or", "us")]
    words = ["".join(draw.choices(syllables, k=draw.randint(1, 4))) for _ in range(3000)]
    with InMemoryExporter(app=app, max_queue=count + 1) as captured:
        for number in range(count):
            texts = [" ".join(draw.choices(words, k=length)) for _ in range(passages)]
            _record(captured.client, _id(number), draw, question, texts)
        captured.client.flush(30.0)
        bodies = captured.bodies("/v1/traces")
    if len(bodies) != 1:
        raise SystemExit(f"{count} traces do not fit one request of the SDK; choose --batch lower")
    return bodies[0]


def _record(
    client: Any, trace_id: int, draw: random.Random, question: str, texts: list[str]
) -> None:
    from rag_monitor.sdk.record import LiveTrace
    from rag_monitor.sdk.steps import RetrievalStep

    live = LiveTrace(client, "answer", trace_id, draw.getrandbits(64) | 1)
    live.question = question.format(trace_id.to_bytes(16, "big").hex())
    step = RetrievalStep("manuals", None, False)
    step.live, step.started = live, live.started
    step.documents = [
        {"id": f"doc-{n}", "content": text, "score": 0.9 - n / 10} for n, text in enumerate(texts)
    ]
    step.__exit__(None, None, None)
    live.answer = "The standard warranty lasts 24 months from the day of purchase. " * 5
    live.finish()


def _id(number: int) -> int:
    return 0xFEED_FACE_0000_0000_C0FF_EE00_0000_0000 + number


@dataclass
class Load:
    """Posts requests over one connection until the time is up, or so many are acknowledged."""

    port: int
    template: Template
    until: float = math.inf
    most: float = math.inf
    """Traces."""
    sent: int = 0
    """Traces whose request has begun."""
    acknowledged: int = 0
    counted: int = 0
    refused: int = 0
    latencies: list[float] = field(default_factory=list)
    count_from: float = 0.0

    def run(self) -> None:
        """Post, wait for the answer, post again."""
        template, batch = self.template, self.template.count
        head = (
            f"POST /v1/traces HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\n"
            "Content-Type: application/x-protobuf\r\n"
            f"Content-Length: {len(template.body)}\r\n\r\n"
        ).encode()
        with socket.create_connection(("127.0.0.1", self.port)) as connection:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            while time.monotonic() < self.until and self.acknowledged < self.most:
                body = template.renew()
                self.sent += batch
                start = time.monotonic()
                connection.sendall(head)
                connection.sendall(body)
                status = _status(connection)
                end = time.monotonic()
                if status == 200:
                    self.acknowledged += batch
                    if start >= self.count_from:
                        self.counted += batch
                        self.latencies.append(end - start)
                else:
                    self.refused += 1
                    time.sleep(0.1)


def _status(connection: socket.socket) -> int:
    reply = b""
    while b"\r\n\r\n" not in reply:
        reply += _received(connection)
    head, _, rest = reply.partition(b"\r\n\r\n")
    length = re.search(rb"(?i)content-length: *(\d+)", head)
    left = (int(length[1]) if length else 0) - len(rest)
    while left > 0:
        left -= len(_received(connection))
    return int(head.split(None, 2)[1])


def _received(connection: socket.socket) -> bytes:
    data = connection.recv(65536)
    if not data:
        raise SystemExit("the server closed the connection")
    return data


@contextlib.contextmanager
def server(role: str, url: str) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """A server process and its port."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "RAG_MONITOR_DATABASE_URL": url,
        "RAG_MONITOR_PORT": str(port),
    }
    command = [sys.executable, "-m", "rag_monitor"]
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([*command, "migrate"], env=environment, cwd=folder, check=True,
                       stdout=subprocess.DEVNULL)  # fmt: skip
        log = (Path(folder) / "log").open("wb")
        process = subprocess.Popen(
            [*command, "serve", "--role", role], env=environment, cwd=folder, stderr=log
        )
        try:
            _await_ready(port, process)
            yield process, port
        except BaseException:
            sys.stderr.write((Path(folder) / "log").read_text()[-4000:])
            raise
        finally:
            process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(15)
            process.kill()
            process.wait()
            log.close()


def _await_ready(port: int, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and process.poll() is None:
        with contextlib.suppress(OSError):
            urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=2).close()
            return
        time.sleep(0.1)
    raise SystemExit("the server did not become ready")


def memory_mib(pid: int, name: str) -> float:
    """`VmRSS` or `VmHWM` (the peak) of a process."""
    status = Path(f"/proc/{pid}/status").read_text()
    found = re.search(rf"{name}:\s+(\d+) kB", status)
    return round(int(found[1]) / 1024, 1) if found else 0.0


def cpu_s(pid: int) -> float:
    """CPU seconds of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measure(role: str, url: str, seconds: float, batch: int) -> dict[str, Any]:
    """Load one server; the generator is another process, so that it has its own interpreter."""
    with server(role, url) as (process, port):
        time.sleep(3.0)
        idle = memory_mib(process.pid, "VmRSS")
        before = cpu_s(process.pid)
        command = [sys.executable, __file__, "--load", str(port), "--batch", str(batch)]
        done = subprocess.run(
            [*command, "--seconds", str(seconds)], capture_output=True, text=True, check=False
        )
        if done.returncode:
            return {"failed": done.stderr[-800:]}
        result: dict[str, Any] = json.loads(done.stdout)
        used = cpu_s(process.pid) - before
        result["server_cpu_us_per_trace"] = round(used / max(1, result["acknowledged"]) * 1e6, 1)
        result["rss_mib"] = {"idle": idle, "peak": memory_mib(process.pid, "VmHWM")}
        result["stored"] = stored(url)
    result["lost"] = result["acknowledged"] - result["stored"]
    return result


def load(port: int, seconds: float, batch: int) -> dict[str, Any]:
    """All connections at once."""
    templates = [Template(batch) for _ in range(CONNECTIONS)]
    start = time.monotonic() + WARM_UP_S
    loads = [Load(port, one, start + seconds, count_from=start) for one in templates]
    threads = [threading.Thread(target=one.run) for one in loads]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    took = time.monotonic() - start
    latencies = sorted(value for one in loads for value in one.latencies) or [0.0]
    return {
        "traces_per_s": round(sum(one.counted for one in loads) / took, 1),
        "acknowledged": sum(one.acknowledged for one in loads),
        "refused_requests": sum(one.refused for one in loads),
        "request_ms": {
            name: round(latencies[int(share * (len(latencies) - 1))] * 1e3, 1)
            for name, share in (("p50", 0.5), ("p99", 0.99))
        },
        "bytes_per_trace": len(templates[0].body) // batch,
    }


def stored(url: str) -> int:
    """How many traces the database holds, asked past our own code."""
    if url.startswith("sqlite"):
        with contextlib.closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as database:
            return int(database.execute("SELECT count(*) FROM trace_keys").fetchone()[0])
    import psycopg

    with psycopg.connect(url.replace("+psycopg", "")) as connection:
        row = connection.execute("SELECT count(*) FROM trace_keys").fetchone()
        return int(row[0]) if row else 0


@contextlib.contextmanager
def database(kind: str, base: str | None) -> Iterator[str]:
    """A fresh database: a SQLite file, or one made in the PostgreSQL server at `base`."""
    if base is None:
        with tempfile.TemporaryDirectory(prefix=f"bench-{kind}-") as folder:
            yield f"sqlite:///{folder}/bench.db"
        return
    import psycopg

    name = f"bench_{uuid.uuid4().hex[:12]}"
    plain = base.replace("+psycopg", "")
    with psycopg.connect(plain, autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}"')
        try:
            yield f"{base.rpartition('/')[0]}/{name}"
        finally:
            connection.execute(f'DROP DATABASE "{name}" WITH (FORCE)')


def report(given: argparse.Namespace) -> dict[str, Any]:
    """Every role on every database."""
    out: dict[str, Any] = {
        "python": platform.python_version(),
        "cpus": os.cpu_count(),
        "load_average_before": os.getloadavg(),
        "connections": CONNECTIONS,
        "traces_per_request": given.batch,
        "results": {},
    }
    bases = [("sqlite", None)] + ([("postgresql", given.postgresql)] if given.postgresql else [])
    for kind, base in bases:
        for role in given.roles:
            with database(kind, base) as url:
                found = measure(role, url, given.seconds, given.batch)
            out["results"][f"{kind}/{role}"] = found
    return out


def main() -> None:
    """Parse and run."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("--seconds", type=float, default=8.0)
    parser.add_argument("--batch", type=int, default=100, help="traces per request")
    parser.add_argument("--postgresql", help="URL of a server in which a database may be made")
    parser.add_argument("--roles", nargs="+", default=["ingest", "all"], choices=["ingest", "all"])
    parser.add_argument("--load", type=int, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.load:
        print(json.dumps(load(given.load, given.seconds, given.batch)))
    else:
        print(json.dumps(report(given), indent=2))


if __name__ == "__main__":
    main()
