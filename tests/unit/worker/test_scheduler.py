"""When jobs run, and what is said of those that fail."""

from __future__ import annotations

import asyncio
import logging
import time
from functools import partial

import pytest

from rag_monitor import telemetry
from rag_monitor.errors import StoreUnavailable
from rag_monitor.store import outage
from rag_monitor.worker import scheduler
from rag_monitor.worker.scheduler import Scheduler


@pytest.fixture
def settles_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outage, "SETTLED_S", 0.5)


async def _end_of_outage(caplog: pytest.LogCaptureFixture) -> None:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        if any(": over after" in message for message in caplog.messages):
            return
        await asyncio.sleep(0.02)


async def test_a_job_that_fails_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    schedule = Scheduler()
    tried = asyncio.Event()

    async def fail() -> int:
        tried.set()
        raise RuntimeError("out of order")

    with caplog.at_level(logging.INFO):
        schedule.every(0.05, "fail", fail)
        schedule.start()
        await asyncio.wait_for(tried.wait(), 10)
        await schedule.stop(1.0)
        await asyncio.sleep(0)

    told = [record for record in caplog.records if record.exc_info]
    assert [record.getMessage() for record in told] == ["job fail failed"]


async def test_jobs_that_share_a_turn_work_one_at_a_time_and_waiting_is_no_work() -> None:
    schedule, turn = Scheduler(), asyncio.Lock()
    at_work, most, done = 0, 0, asyncio.Event()
    runs = {"one": 0, "other": 0}

    async def work(name: str) -> int:
        nonlocal at_work, most
        at_work += 1
        most = max(most, at_work)
        await asyncio.sleep(0.1 if name == "one" else 0)
        at_work -= 1
        runs[name] += 1
        if min(runs.values()) >= 3:
            done.set()
        return 0

    for name in runs:
        schedule.every(0.01, f"turn {name}", partial(work, name), turn=turn)
    schedule.start()
    await asyncio.wait_for(done.wait(), 30)
    await schedule.stop(1.0)

    assert most == 1
    assert telemetry.JOB_SECONDS.labels(job="turn other")._sum.get() < 0.1


async def test_a_job_that_hangs_stops_none_that_shares_its_turn(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(scheduler, "_PATIENCE_S", 0.05)
    schedule, turn, ran = Scheduler(), asyncio.Lock(), asyncio.Event()

    async def hang() -> int:
        await asyncio.sleep(3600)
        return 0

    async def work() -> int:
        assert turn.locked()
        ran.set()
        return 0

    await turn.acquire()
    schedule.every(0.01, "hangs", hang, turn=turn)
    schedule.every(0.01, "works", work, turn=turn)
    schedule.start()
    await asyncio.wait_for(ran.wait(), 30)
    await schedule.stop(0.1)


@pytest.mark.usefixtures("settles_soon")
async def test_an_outage_of_the_database_is_told_when_it_begins_and_when_it_is_over(
    caplog: pytest.LogCaptureFixture,
) -> None:
    schedule = Scheduler()
    tries = 0
    over = asyncio.Event()

    async def evaluate() -> int:
        nonlocal tries
        tries += 1
        if tries <= 20:
            raise StoreUnavailable("connection refused")
        over.set()
        return 0

    with caplog.at_level(logging.INFO):
        schedule.every(0.02, "evaluate", evaluate, lanes=4)
        schedule.start()
        await asyncio.wait_for(over.wait(), 10)
        await _end_of_outage(caplog)
        await schedule.stop(1.0)

    first, last = (record.getMessage() for record in caplog.records)
    assert first == "jobs wait for the database: connection refused"
    assert last.startswith("jobs wait for the database: over after ")


@pytest.mark.usefixtures("settles_soon")
async def test_an_outage_is_over_when_every_job_that_failed_went_through(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """A job that only the leader does asks nothing while nobody leads."""
    schedule = Scheduler()
    idle, tries, over = 0, 0, asyncio.Event()

    async def lead() -> int:
        nonlocal idle
        idle += 1
        return 0

    async def derive() -> int:
        nonlocal tries
        tries += 1
        if idle < 5:
            raise StoreUnavailable("connection refused")
        over.set()
        return 0

    with caplog.at_level(logging.INFO):
        schedule.every(0.02, "lead", lead)
        schedule.every(0.02, "derive", derive)
        schedule.start()
        await asyncio.wait_for(over.wait(), 10)
        await _end_of_outage(caplog)
        await schedule.stop(1.0)

    assert tries > 2
    assert len(caplog.records) == 2
