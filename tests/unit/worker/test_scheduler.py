"""When jobs run, and what is said of those that fail."""

from __future__ import annotations

import asyncio
import logging

import pytest

from rag_monitor.errors import StoreUnavailable
from rag_monitor.worker import scheduler
from rag_monitor.worker.scheduler import Job, Scheduler


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
        await schedule.stop(1.0)

    first, last = (record.getMessage() for record in caplog.records)
    assert first == "evaluate waits for the database: connection refused"
    assert last.startswith("the database is back after ")


async def test_a_long_outage_is_told_again_with_all_that_waits(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scheduler, "_TELL_EVERY_S", 0.0)
    schedule = Scheduler()
    told = asyncio.Event()
    seen: set[str] = set()

    def failing(name: str) -> Job:
        async def fail() -> int:
            if seen == {"derive", "evaluate"}:
                told.set()
            seen.add(name)
            raise StoreUnavailable("connection refused")

        return fail

    with caplog.at_level(logging.INFO):
        schedule.every(0.02, "evaluate", failing("evaluate"))
        schedule.every(0.02, "derive", failing("derive"))
        schedule.start()
        await asyncio.wait_for(told.wait(), 10)
        await schedule.stop(1.0)

    assert "(derive, evaluate): connection refused" in caplog.records[-1].getMessage()
