"""When jobs run, and what is said of those that fail."""

from __future__ import annotations

import asyncio
import logging

import pytest

from rag_monitor.worker.scheduler import Scheduler


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
