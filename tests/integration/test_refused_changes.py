"""A whole process while its database takes no changes: one line in the log, and a counter."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from rag_monitor import telemetry
from rag_monitor.config import Settings
from rag_monitor.config.options import WorkerOptions
from rag_monitor.domain.clock import SystemClock
from rag_monitor.errors import StoreError
from rag_monitor.server import wiring
from rag_monitor.server.readiness import HealthReport
from rag_monitor.server.services import Services
from rag_monitor.store import write_probe
from rag_monitor.store.store import Store
from rag_monitor.worker.runtime import build_runtime
from tests.contract.harm import harm, impatient

LASTS_S = 2.5
BUSY = WorkerOptions(
    poll_s=0.05, derive_batch=2, evaluate_batch=2, rules_every_s=0.3, deliver_every_s=0.1,
    fold_every_s=0.2, retention_every_s=0.5, lease_s=5.0, drain_s=5.0,
)  # fmt: skip
"""Batches are small, so that something waits for every job when the outage begins."""


class Process:
    """A store, its worker and its HTTP side, and senders that give it no rest."""

    def __init__(self, store: Store, services: Services) -> None:
        self.store = store
        self._services = services
        self._count = 0
        self.refused = 0

    def health(self) -> HealthReport:
        return self._services.health()

    async def send(self) -> bool:
        """One trace, whose question was asked just now; False: it was refused."""
        self._count += 1
        row = {
            "id": f"t-{self._count}", "app": "shop", "question": f"question {self._count}?",
            "contexts": ["a passage " * 200], "answer": "an answer",
        }  # fmt: skip
        try:
            await self._services.receiver.receive_json(json.dumps([row]).encode(), "default")
        except StoreError:
            self.refused += 1
            return False
        return True

    async def busy(self, seconds: float) -> list[HealthReport]:
        """Send, and ask for readiness, for so long."""
        reports, until = [], time.monotonic() + seconds
        while time.monotonic() < until:
            await asyncio.gather(*(self.send() for _ in range(3)))
            reports.append(await asyncio.to_thread(self.health))
            await asyncio.sleep(0.02)
        return reports

    async def well(self) -> None:
        """Wait until it is ready, takes traces in and has assembled and judged everything."""
        deadline = time.monotonic() + 90
        while time.monotonic() < deadline:
            if (await asyncio.to_thread(self.health)).ready and await self.send():
                break
            await asyncio.sleep(0.05)
        while time.monotonic() < deadline:
            now = SystemClock().now()
            waiting = await asyncio.to_thread(self.store.tasks.backlog, now)
            assembling = await asyncio.to_thread(self.store.spans.assembling, now)
            if not waiting.waiting and not assembling.traces:
                return
            await asyncio.sleep(0.05)
        raise AssertionError("it did not recover")


@asynccontextmanager
async def process(url: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Process]:
    monkeypatch.setattr(write_probe, "EVERY_S", 0.2)
    clock = SystemClock()
    settings = Settings(database_url=url, worker=BUSY, judge="embedded-lexical")
    with await asyncio.to_thread(Store.open, impatient(url, monkeypatch), clock) as store:
        runtime = build_runtime(settings, store, clock, "test")
        assert runtime.worker is not None
        services = wiring.wire_services(settings, store, runtime, clock)
        store.writer.start()
        await runtime.worker.start()
        try:
            yield Process(store, services)
        finally:
            await runtime.worker.stop()
            await runtime.close()


async def _ends(caplog: pytest.LogCaptureFixture) -> list[str]:
    """Lines that an outage is over, as soon as there is one."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if lines := [message for message in caplog.messages if ": over after" in message]:
            return lines
        await asyncio.sleep(0.1)
    raise AssertionError("its end was not told")


def failures() -> float:
    """Of assembly, judging, roll-ups and retention."""
    jobs = ("derive", "evaluate", "roll_up", "retain")
    return sum(telemetry.JOB_FAILURES.labels(job=job)._value.get() for job in jobs)


@pytest.mark.parametrize("kind", ["read_only", "locked", "full"])
async def test_a_long_outage_of_writing_is_one_line_and_its_end_another(
    kind: str,
    database_url: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO, logger="rag_monitor")
    counter = telemetry.STORE_REFUSED.labels(reason=kind)._value
    async with process(database_url, monkeypatch) as busy:
        await busy.busy(0.5)
        await asyncio.gather(*(busy.send() for _ in range(60)))
        counted, failed = counter.get(), failures()
        with harm(kind, busy.store, database_url):
            reports = await busy.busy(LASTS_S)
            meanwhile = failures()
        await busy.well()
        (end,) = await _ends(caplog)

    assert busy.refused > 3
    assert counter.get() - counted > 5
    # On PostgreSQL only one table is locked, which few jobs change.
    assert meanwhile - failed > (0 if kind == "locked" else 2)
    if kind != "full":  # what fits into the pages that are there, as the probe, is still taken
        assert not any(report.ready for report in reports[len(reports) // 2 :])
    ours = [record for record in caplog.records if record.name.startswith("rag_monitor")]
    lines = [record for record in ours if record.levelno >= logging.WARNING]
    assert [line.exc_info for line in lines] == [None], [line.getMessage() for line in lines]
    assert end.startswith(lines[0].getMessage().partition(":")[0])
