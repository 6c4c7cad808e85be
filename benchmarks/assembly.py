"""How fast acknowledged traces become visible, beside how fast they are taken in, on one core each.

    python -m benchmarks.assembly [--traces 20000] [--postgresql URL]

For each database, in one run: a process with the role `ingest` takes traces in as fast as four
connections can send them (ingest's own figure); then one with the role `worker` assembles what the
first has left (assembly's figure, and its ratio to the other); then one process with the role `all`
does both while the same traces are sent again, and twice a second the sum of what
`GET /api/v1/summary` shows as traces and as being assembled is held against what was acknowledged
until the request and sent until the answer. What `/metrics` says of the queue is of up to two
seconds ago: it must not exceed what was sent, and be 0 in the end.

Rates are per second of wall time, and per second of the server's processor time: with other work on
the machine only the second says much. Judging waits for assembling but for a batch each five
seconds, which is part of what is measured. Prints one JSON object.
"""

from __future__ import annotations

import argparse
import bisect
import contextlib
import json
import os
import re
import sqlite3
import subprocess
import sys
import threading
import time
import urllib.request
from dataclasses import dataclass, field
from typing import Any

from benchmarks import ingest

_BATCH = 100
_TELL_EVERY_S = 0.1
_LOOK_EVERY_S = 0.5
_LONGEST_S = 1800.0
_TELLS_WITHIN_S = 60.0
_WAITING = "SELECT count(*) FROM trace_keys WHERE due_at IS NOT NULL"
_TRACES = "SELECT count(*) FROM traces"
_DEPTH = re.compile(r'^rag_monitor_queue_depth\{queue="assembly"\} (\S+)$', re.MULTILINE)


def count(url: str, query: str) -> int:
    """The answer of a counting query, asked past our own code."""
    if url.startswith("sqlite"):
        with contextlib.closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as database:
            return int(database.execute(query).fetchone()[0])
    import psycopg

    with psycopg.connect(url.replace("+psycopg", "")) as connection:
        row = connection.execute(query).fetchone()
        return int(row[0]) if row else 0


@dataclass
class Sender:
    """The load generator, in a process of its own; what it has done, moment by moment."""

    port: int
    traces: int
    moments: list[float] = field(default_factory=list)
    """Of the monotonic clock, which all processes share."""
    sent: list[int] = field(default_factory=list)
    acknowledged: list[int] = field(default_factory=list)

    def run(self) -> None:
        """Send everything; returns when all of it is acknowledged."""
        command = [sys.executable, "-m", "benchmarks.assembly", "--load", str(self.port)]
        command += ["--traces", str(self.traces)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            for line in process.stdout or ():
                moment, sent, acknowledged = json.loads(line)
                self.sent.append(sent)
                self.acknowledged.append(acknowledged)
                self.moments.append(moment)
        if process.returncode:
            raise SystemExit("the load generator failed")

    @property
    def seconds(self) -> float:
        """From the first request to the last acknowledgement."""
        return self.moments[-1] - self.moments[0]

    def acknowledged_by(self, moment: float) -> int:
        """At least so many were acknowledged."""
        place = bisect.bisect_right(self.moments, moment) - 1
        return self.acknowledged[place] if place >= 0 else 0

    def sent_by(self, moment: float) -> int:
        """At most so many were sent."""
        place = bisect.bisect_left(self.moments, moment)
        return self.sent[min(place, len(self.sent) - 1)]


def load(port: int, traces: int) -> None:
    """Send traces over four connections, telling how far it is."""
    each = -(-traces // ingest.CONNECTIONS // _BATCH) * _BATCH
    loads = [
        ingest.Load(port, ingest.Template(_BATCH), most=each) for _ in range(ingest.CONNECTIONS)
    ]
    threads = [threading.Thread(target=one.run) for one in loads]

    def tell() -> None:
        acknowledged = sum(one.acknowledged for one in loads)
        sent = sum(one.sent for one in loads)
        sys.stdout.write(json.dumps([time.monotonic(), sent, acknowledged]) + "\n")
        sys.stdout.flush()

    tell()
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        time.sleep(_TELL_EVERY_S)
        tell()
    tell()


def taken_in(url: str, traces: int) -> dict[str, Any]:
    """Ingest's own figure."""
    with ingest.server("ingest", url) as (process, port):
        before = ingest.cpu_s(process.pid)
        sender = Sender(port, traces)
        sender.run()
        used = ingest.cpu_s(process.pid) - before
    return figures(sender.acknowledged[-1], sender.seconds, used)


def assembled(url: str) -> dict[str, Any]:
    """What one worker makes of what waits."""
    waiting = count(url, _WAITING)
    with ingest.server("worker", url) as (process, _):
        start, before = time.monotonic(), ingest.cpu_s(process.pid)
        left = count(url, _WAITING)
        began = waiting - left
        while left and time.monotonic() < start + _LONGEST_S:
            time.sleep(0.2)
            left = count(url, _WAITING)
        took, used = time.monotonic() - start, ingest.cpu_s(process.pid) - before
    return figures(waiting - began - left, took, used)


def figures(traces: int, seconds: float, used: float) -> dict[str, Any]:
    """Rates of a stage."""
    return {
        "traces": traces,
        "seconds": round(seconds, 1),
        "per_second": round(traces / seconds, 1),
        "cpu_us_per_trace": round(used / traces * 1e6, 1),
        "per_cpu_second": round(traces / used, 1),
    }


@dataclass
class Watcher:
    """Asks a server again and again what it shows."""

    port: int
    every_s: float = _LOOK_EVERY_S
    stop: threading.Event = field(default_factory=threading.Event)
    seen: list[tuple[float, float, int, int]] = field(default_factory=list)
    """When it was asked, when it answered, traces, and those that are being assembled."""
    depths: list[tuple[float, int]] = field(default_factory=list)
    """When it answered, and how long the queue is by its own figures."""
    ready: dict[str, int] = field(default_factory=dict)

    def run(self) -> None:
        """Look until it is stopped."""
        while not self.stop.wait(self.every_s):
            self.look()
            self.depth()

    def look(self) -> int:
        """One look; returns how many are being assembled."""
        asked = time.monotonic()
        summary = self._get("/api/v1/summary")
        answered = time.monotonic()
        traces = sum(sum(app["traces"].values()) for app in summary["apps"])
        waiting = int(summary["assembling"]["traces"])
        self.seen.append((asked, answered, traces, waiting))
        status = str(self._get("/readyz")["status"])
        self.ready[status] = self.ready.get(status, 0) + 1
        return waiting

    def depth(self) -> int:
        """How long the queue is by `/metrics`."""
        found = _DEPTH.search(self._ask("/metrics"))
        depth = int(float(found[1])) if found else 0
        self.depths.append((time.monotonic(), depth))
        return depth

    def wrong(self, sender: Sender) -> list[tuple[int, ...]]:
        """What was shown and cannot be: neither what was acknowledged before nor what was sent."""
        return [
            (shown, waiting)
            for asked, answered, shown, waiting in self.seen
            if not sender.acknowledged_by(asked) <= shown + waiting <= sender.sent_by(answered)
        ] + [(depth,) for answered, depth in self.depths if depth > sender.sent_by(answered)]

    def _get(self, path: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self._ask(path))
        return found

    def _ask(self, path: str) -> str:
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=60) as reply:
            body: bytes = reply.read()
        return body.decode()


def together(url: str, traces: int, look_every_s: float = _LOOK_EVERY_S) -> dict[str, Any]:
    """One process that takes in, assembles and shows."""
    with ingest.server("all", url) as (process, port):
        before = ingest.cpu_s(process.pid)
        sender, watcher = Sender(port, traces), Watcher(port, look_every_s)
        thread = threading.Thread(target=watcher.run)
        thread.start()
        sender.run()
        last = time.monotonic()
        watcher.stop.set()
        thread.join()
        behind = watcher.look()
        while watcher.look() and time.monotonic() < last + _LONGEST_S:
            time.sleep(_LOOK_EVERY_S)
        ended, used = time.monotonic(), ingest.cpu_s(process.pid) - before
        while watcher.depth() and time.monotonic() < ended + _TELLS_WITHIN_S:
            time.sleep(_LOOK_EVERY_S)
    return {
        "acknowledged": sender.acknowledged[-1],
        "stored": count(url, _TRACES),
        "taken_in_per_second": round(sender.acknowledged[-1] / sender.seconds, 1),
        "behind_when_all_was_sent": behind,
        "most_behind": max(waiting for _, _, _, waiting in watcher.seen),
        "all_visible_after_s": round(ended - last, 1),
        "visible_per_second": round(sender.acknowledged[-1] / (ended - sender.moments[0]), 1),
        "cpu_us_per_trace": round(used / sender.acknowledged[-1] * 1e6, 1),
        "looks": len(watcher.seen),
        "looks_that_do_not_add_up": watcher.wrong(sender),
        "shown_at_the_end": watcher.seen[-1][2],
        "queue_depth_at_the_end": watcher.depths[-1][1],
        "readiness": watcher.ready,
    }


def measure(base: str | None, traces: int) -> dict[str, Any]:
    """One database."""
    with ingest.database("assembly", base) as url:
        own = taken_in(url, traces)
        rest = assembled(url)
    with ingest.database("together", base) as url:
        both = together(url, traces)
    return {
        "ingest": own,
        "assembly": rest,
        "ratio": {
            "wall": round(rest["per_second"] / own["per_second"], 2),
            "cpu": round(rest["per_cpu_second"] / own["per_cpu_second"], 2),
        },
        "together": both,
    }


def main() -> None:
    """Parse and run."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("--traces", type=int, default=20_000)
    parser.add_argument("--postgresql", help="URL of a server in which a database may be made")
    parser.add_argument("--load", type=int, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.load:
        load(given.load, given.traces)
        return
    out: dict[str, Any] = {"cpus": os.cpu_count(), "load_average_before": os.getloadavg()}
    out["sqlite"] = measure(None, given.traces)
    if given.postgresql:
        out["postgresql"] = measure(given.postgresql, given.traces)
    print(json.dumps(out, indent=2))


if __name__ == "__main__":
    main()
