"""A crowd of applications: an app name per pod, and scrapers that give up.

One server takes in the traces of one app for a while, then of thousands, at the same rate, while
two scrapers ask for `/metrics` and somebody asks whether it is ready. At the end it is told to stop
in the middle of all that. What ingest, scrapes and readiness take is compared within one run.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import random
import re
import signal
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.ingest import Template
from rag_monitor.server.process import tune_interpreter
from rag_monitor.store import migration
from tests.chaos.askers import ASKED, Asked, Askers, ask
from tests.chaos.fleet import Member, serving

READY_S, SCRAPE_S, STOP_S, RATIO = 1.0, 0.05, 5.0, 3.0
"""Bounds: of `/readyz`, of a scrape, of the end beyond the drain time, of ingest's p99."""
MEMORY_MIB = 1_500
INGEST = "/v1/traces"
_SENDERS = 24
"""So many that the rate is kept while each waits for its answer."""
_BATCH = 2
"""Traces of one request."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How many, how fast, how long."""

    apps: int = 20_000
    per_second: float = 200.0
    alone_s: float = 120.0
    """With one app, to compare with."""
    crowd_s: float = 600.0
    settle_s: float = 20.0
    """At the beginning of each part, in which nothing is measured."""
    scrapers: int = 2
    scrape_every_s: float = 5.0
    gives_up_s: float = 2.0
    drain_s: float = 10.0
    judge: str = "embedded-lexical"
    names: int = 1_000
    """Names of apps that the server keeps apart."""

    def askers(self, port: int) -> Askers:
        """Who asks meanwhile."""
        return Askers(port, self.scrapers, self.scrape_every_s, self.gives_up_s)


@dataclass(frozen=True, slots=True)
class _Part:
    """What was measured in one part of the run, in seconds."""

    ingest: list[float]
    scrapes: list[float]
    ready: list[float]
    alive: list[float]
    """`/healthz`, which does nothing: what the machine adds to every other figure."""
    statuses: Counter[str]
    seconds: float

    @classmethod
    def of(cls, asked: Asked, part: tuple[float, float]) -> _Part:
        """What was asked between two moments."""
        by_path = {path: asked.between(path, *part) for path in (INGEST, *ASKED)}
        statuses = Counter(
            f"{path} {one.status}" for path, answers in by_path.items() for one in answers
        )
        return cls(
            *([one.seconds for one in by_path[path]] for path in (INGEST, *ASKED)),
            statuses=statuses,
            seconds=part[1] - part[0],
        )

    def summary(self) -> dict[str, Any]:
        return {
            "requests": len(self.ingest),
            "traces_per_s": round(_BATCH * len(self.ingest) / self.seconds, 1),
            "ingest_p50_ms": _ms(_quantile(self.ingest, 0.5)),
            "ingest_p90_ms": _ms(_quantile(self.ingest, 0.9)),
            "ingest_p99_ms": _ms(_quantile(self.ingest, 0.99)),
            "scrapes": len(self.scrapes),
            "scrape_p50_ms": _ms(_quantile(self.scrapes, 0.5)),
            "scrape_max_ms": _ms(max(self.scrapes, default=0.0)),
            "ready_p50_ms": _ms(_quantile(self.ready, 0.5)),
            "ready_max_ms": _ms(max(self.ready, default=0.0)),
            "healthz_p50_ms": _ms(_quantile(self.alive, 0.5)),
            "healthz_max_ms": _ms(max(self.alive, default=0.0)),
            "healthz_over_scrape_bound": sum(one > SCRAPE_S for one in self.alive),
            "answers": dict(self.statuses),
        }


@dataclass
class _Scene:
    """The server and those around it, on threads that end with the run."""

    plan: Plan
    server: Member
    stop: threading.Event = field(default_factory=threading.Event)
    crowded: bool = False
    sent: Asked = field(default_factory=Asked)
    acknowledged: list[str] = field(default_factory=list)
    memory: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Have the requests ready: making them takes longer than sending them."""
        self._templates = [
            Template(_BATCH, passages=2, words=30, app=_name(0)) for _ in range(_SENDERS)
        ]

    def send(self, number: int) -> None:
        """Bring traces at a pace, each request of another app once it is crowded."""
        draw = random.Random(number)
        template = self._templates[number]
        every = _BATCH * _SENDERS / self.plan.per_second
        due = time.monotonic() + every * number / _SENDERS
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=10)
        with contextlib.closing(connection):
            while not self.stop.wait(max(0.0, due - time.monotonic())):
                due = max(due + every, time.monotonic() - 1)
                template.rename(_name(draw.randrange(self.plan.apps) if self.crowded else 0))
                body, began = bytes(template.renew()), time.monotonic()
                status, reply = ask(connection, "POST", INGEST, body)
                self.sent.note(INGEST, began, status, reply)
                if status == 200:
                    self.acknowledged += template.trace_ids()
                else:
                    connection.close()  # the next request opens it again

    def weigh(self) -> None:
        """Note how much memory it has."""
        while not self.stop.wait(0.5):
            with contextlib.suppress(OSError):
                self.memory.append(_resident_mib(self.server.pid))

    def part(self, seconds: float, *, crowded: bool) -> tuple[float, float]:
        """Let one part of the run go by; from when, settled, until when it lasted."""
        self.crowded = crowded
        time.sleep(self.plan.settle_s)
        began = time.monotonic()
        time.sleep(seconds)
        return began, time.monotonic()

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        """With everybody at work; afterwards nobody is."""
        work = [threading.Thread(target=self.weigh, daemon=True)]
        work += [
            threading.Thread(target=self.send, args=(number,), daemon=True)
            for number in range(_SENDERS)
        ]
        for thread in work:
            thread.start()
        try:
            yield
        finally:
            self.stop.set()
            for thread in work:
                thread.join(30)


def run(plan: Plan, url: str | None = None) -> dict[str, Any]:
    """Everything, and what came of it; on SQLite where no database is named."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        url = url or f"sqlite:///{folder / 'monitor.db'}"
        migration.upgrade(url)
        (folder / "rag_monitor.toml").write_text(
            f'judge = "{plan.judge}"\n[names]\napp = {plan.names}\n'
            f"[worker]\ndrain_s = {plan.drain_s}\n",
            encoding="utf-8",
        )
        server = serving("all", 1, url, folder, {})
        scene = _Scene(plan, server)
        server.start()
        try:
            _await(server)
            with plan.askers(server.port) as askers, scene.running():
                alone = scene.part(plan.alone_s, crowded=False)
                crowd = scene.part(plan.crowd_s, crowded=True)
                began = time.monotonic()
                server.send(signal.SIGTERM)
                status = server.wait(plan.drain_s + 60)
                ended_s = time.monotonic() - began
            asked = askers.asked.and_of(scene.sent)
            parts = _Part.of(asked, alone), _Part.of(asked, crowd)
            return _report(plan, scene, asked, parts, ended_s, status, _stored(url))
        finally:
            server.end()


def _report(
    plan: Plan,
    scene: _Scene,
    asked: Asked,
    parts: tuple[_Part, _Part],
    ended_s: float,
    status: int,
    stored: set[str],
) -> dict[str, Any]:
    alone, crowd = parts
    ratio = _quantile(crowd.ingest, 0.99) / max(_quantile(alone.ingest, 0.99), 1e-9)
    lost = len(set(scene.acknowledged) - stored)
    peak = max(scene.memory, default=0.0)
    refused = sum(n for what, n in (alone.statuses + crowd.statuses).items() if "200" not in what)
    broken = [
        what
        for what, holds in (
            ("ingest p99", ratio <= RATIO),
            ("readyz", max(crowd.ready, default=9.0) <= READY_S),
            ("metrics", max(crowd.scrapes, default=9.0) <= SCRAPE_S),
            ("end", ended_s <= plan.drain_s + STOP_S),
            ("exit status", status == 0),
            ("memory", peak <= MEMORY_MIB),
            ("answers", refused == 0),
            ("acknowledged traces", lost == 0),
        )
        if not holds
    ]
    return {
        "broken": broken,
        "plan": asdict(plan),
        "alone": alone.summary(),
        "crowd": crowd.summary(),
        "refusals": dict(asked.refusals.most_common(20)),
        "log": [
            line
            for line in scene.server.log(20_000).splitlines()
            if "WARN" in line or "ERR" in line
        ],
        "ingest_p99_ratio": round(ratio, 2),
        "scrapes_over_bound": sum(one > SCRAPE_S for one in crowd.scrapes),
        "sigterm_s": round(ended_s, 1),
        "exit_status": status,
        "memory_peak_mib": round(peak),
        "memory_mib": [round(m) for m in scene.memory[:: max(1, len(scene.memory) // 12)]],
        "acknowledged": len(scene.acknowledged),
        "lost": lost,
        "series": len([line for line in asked.page.splitlines() if not line.startswith("#")]),
        "apps_folded": _figure(asked.page, "rag_monitor_apps_folded"),
        "names_folded": _figure(asked.page, 'rag_monitor_names_folded_total{kind="app"}'),
        "cpus": os.cpu_count(),
        "load_average": round(os.getloadavg()[0], 1),
    }


def _name(number: int) -> str:
    return f"pod-{number:05d}"


def _await(server: Member, within_s: float = 60.0) -> None:
    ends = time.monotonic() + within_s
    while server.get("/readyz") != 200:
        if time.monotonic() > ends or not server.runs:
            raise RuntimeError(f"the server does not answer: {server.log()}")
        time.sleep(0.1)


def _stored(url: str) -> set[str]:
    """The traces in the database, asked past our own code."""
    statement = "SELECT trace_id FROM trace_keys"
    if url.startswith("sqlite"):
        import sqlite3

        with contextlib.closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as connection:
            return {row[0] for row in connection.execute(statement)}
    import psycopg

    with psycopg.connect(url.replace("+psycopg", "")) as connection:
        return {row[0] for row in connection.execute(statement)}


def _resident_mib(pid: int) -> float:
    text = Path(f"/proc/{pid}/status").read_text()
    found = re.search(r"VmRSS:\s+(\d+) kB", text)
    return int(found[1]) / 1024 if found else 0.0


def _figure(page: str, name: str) -> float | None:
    found = re.search(rf"^{re.escape(name)} (\S+)$", page, re.MULTILINE)
    return float(found[1]) if found else None


def _quantile(values: list[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else 0.0


def _ms(seconds: float) -> float:
    return round(seconds * 1000, 1)


def main(options: Any) -> dict[str, Any]:
    """The whole of it, as the command line asks for it."""
    # Whoever scrapes shares this process with those who send.
    tune_interpreter()
    plan = Plan(
        apps=options.apps,
        per_second=options.per_second or 200.0,
        crowd_s=options.seconds,
        alone_s=max(10.0, options.seconds / 5),
        names=options.names,
    )
    report = run(plan, options.database)
    print(json.dumps(report, indent=2))
    return report
