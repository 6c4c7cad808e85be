"""How fast /healthz answers while the largest bodies arrive: the event loop must stay free.

    python benchmarks/healthz.py --seconds 20

Starts a monitor on SQLite, sends it OTLP bodies of 16 MiB on several connections (gzip or plain),
asks /healthz meanwhile, and prints one JSON object. Exits 1 above the bound of 250 ms.
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
import zlib
from collections import Counter
from pathlib import Path

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

BOUND_MS = 250.0
_LARGEST = 16 * 1024 * 1024
_EVERY_S = 0.02


def body(size: int) -> bytes:
    """An OTLP request of nearly `size` bytes: traces with long passages."""
    request = ExportTraceServiceRequest()
    spans = request.resource_spans.add().scope_spans.add().spans
    text = "The standard warranty lasts 24 months from the day of purchase. " * 300
    count = size // (len(text) + 200)
    for number in range(count):
        span = spans.add()
        span.trace_id = (number + 1).to_bytes(16, "big")
        span.span_id = (number + 1).to_bytes(8, "big")
        span.name = "retrieve"
        span.start_time_unix_nano = time.time_ns()
        span.end_time_unix_nano = span.start_time_unix_nano + 1_000_000
        attribute = span.attributes.add()
        attribute.key = "input.value"
        attribute.value.string_value = text
    return request.SerializeToString()


class Sender(threading.Thread):
    """Sends the body again and again."""

    def __init__(self, port: int, data: bytes, encoding: str | None, stop: threading.Event) -> None:
        super().__init__(daemon=True)
        self._port, self._data, self._encoding, self._ended = port, data, encoding, stop
        self.codes: Counter[int] = Counter()

    def run(self) -> None:
        """Until told to stop."""
        headers = {"Content-Type": "application/x-protobuf"}
        if self._encoding:
            headers["Content-Encoding"] = self._encoding
        while not self._ended.is_set():
            connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=60)
            with contextlib.closing(connection):
                try:
                    connection.request("POST", "/v1/traces", self._data, headers)
                    answer = connection.getresponse()
                    answer.read()
                    self.codes[answer.status] += 1
                except OSError:
                    self.codes[0] += 1


def probe(port: int, seconds: float) -> list[float]:
    """Milliseconds of each /healthz, on one kept connection, asked every 20 ms."""
    found: list[float] = []
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    ends = time.monotonic() + seconds
    while time.monotonic() < ends:
        begun = time.perf_counter()
        connection.request("GET", "/healthz")
        answer = connection.getresponse()
        answer.read()
        found.append((time.perf_counter() - begun) * 1000)
        if answer.status != 200:
            raise SystemExit(f"/healthz answered {answer.status}")
        time.sleep(_EVERY_S)
    connection.close()
    return found


def quantile(values: list[float], q: float) -> float:
    """The smallest value that at least a share `q` of them does not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(q * len(ordered)))]


def start(folder: Path, port: int) -> subprocess.Popen[bytes]:
    """A monitor that takes traces in and does nothing else."""
    environment = {
        **os.environ,
        "PYTHONPATH": str(Path(__file__).resolve().parents[1]),
        "RAG_MONITOR_DATABASE_URL": f"sqlite:///{folder / 'monitor.db'}",
    }
    command = [sys.executable, "-m", "rag_monitor", "serve", "--role", "ingest"]
    with (folder / "monitor.log").open("wb") as log:
        process = subprocess.Popen(
            [*command, "--port", str(port)], cwd=folder, env=environment, stdout=log, stderr=log
        )
    for _ in range(600):
        with contextlib.suppress(OSError):
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=2)
            connection.request("GET", "/healthz")
            if connection.getresponse().status == 200:
                return process
        time.sleep(0.1)
    process.kill()
    raise SystemExit((folder / "monitor.log").read_text()[-2000:])


def main() -> int:
    """Measure idle, then under load."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--connections", type=int, default=4)
    parser.add_argument("--port", type=int, default=18799)
    given = parser.parse_args()
    data = body(_LARGEST)
    packed = zlib.compressobj(6, zlib.DEFLATED, 31)
    gzipped = packed.compress(data) + packed.flush()
    with tempfile.TemporaryDirectory() as name:
        process = start(Path(name), given.port)
        try:
            idle = probe(given.port, min(5.0, given.seconds))
            stop = threading.Event()
            senders = [
                Sender(given.port, *((gzipped, "gzip") if n % 2 else (data, None)), stop)
                for n in range(given.connections)
            ]
            for sender in senders:
                sender.start()
            loaded = probe(given.port, given.seconds)
            stop.set()
            for sender in senders:
                sender.join(90)
        finally:
            process.terminate()
            process.wait(30)
    codes: Counter[int] = Counter()
    for sender in senders:
        codes += sender.codes
    p99 = quantile(loaded, 0.99)
    print(
        json.dumps(
            {
                "body_bytes": len(data),
                "connections": given.connections,
                "bodies_by_status": dict(codes),
                "idle_p99_ms": round(quantile(idle, 0.99), 1),
                "probes": len(loaded),
                "p50_ms": round(quantile(loaded, 0.5), 1),
                "p99_ms": round(p99, 1),
                "max_ms": round(max(loaded), 1),
                "cores": os.cpu_count(),
                "load_average": round(os.getloadavg()[0], 1),
            }
        )
    )
    return 0 if p99 <= BOUND_MS else 1


if __name__ == "__main__":
    raise SystemExit(main())
