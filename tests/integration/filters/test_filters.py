"""Every number of every endpoint is of exactly the traces that its filters name."""

from __future__ import annotations

import asyncio
import os
import random
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta

import pytest

from rag_monitor.aggregation.estimates import Estimates
from rag_monitor.domain.alert import Alert, AlertState, Severity
from rag_monitor.server.backfill import Backfill
from rag_monitor.server.services import Services
from rag_monitor.store.options import StoreOptions
from rag_monitor.store.store import Store
from rag_monitor.testing import ManualClock
from tests.integration.filters.history import APPS, History
from tests.integration.filters.requests import Requests
from tests.unit.server.conftest import open_client
from tests.unit.server.fakes import FakeAlerts, make_services

CASES = int(os.environ.get("RAG_MONITOR_TEST_FILTER_CASES", "60"))
"""Requests of each database; `make test-filters` makes thousands of them."""
SEED = int(os.environ.get("RAG_MONITOR_TEST_FILTER_SEED", "28"))
BETWEEN = 20
"""Requests before the history goes on."""


@pytest.fixture
def store(database_url: str, clock: ManualClock) -> Iterator[Store]:
    options = StoreOptions(url=database_url, pool_size=4, ballast_bytes=0, partitions_ahead=1)
    with Store.open(options, clock) as opened:
        opened.writer.start()
        yield opened


def over(store: Store, clock: ManualClock, alerts: list[Alert]) -> Services:
    """A server over a real store; its alerts are what a test says."""
    return replace(
        make_services(clock=clock),
        traces=store.traces,
        estimates=Estimates(store.rollups),
        label_queue=store.label_queue,
        alerts=FakeAlerts(alerts),
        evaluations=Backfill(
            store.traces,
            store.tasks,
            ["embedded-lexical"],
            spending=store.spending,
            budget=None,  # type: ignore[arg-type]
        ),
    )


def some_alerts(clock: ManualClock, chance: random.Random) -> list[Alert]:
    """Alerts of the last days, open and over."""
    found = []
    for number in range(8):
        fired = clock.now() - timedelta(hours=chance.uniform(0, 200))
        over = fired + timedelta(hours=chance.uniform(0, 100))
        ended = over < clock.now()
        found.append(
            Alert(
                id=f"al-{number}",
                project="default",
                rule="a rule",
                app=chance.choice(APPS),
                state=AlertState.RESOLVED if ended else AlertState.FIRING,
                severity=Severity.PAGE,
                since=over if ended else fired,
                started_at=fired,
                fired_at=fired,
                resolved_at=over if ended else None,
            )
        )
    return found


@pytest.mark.timeout(3600)
async def test_every_number_is_of_the_traces_that_the_request_names(
    store: Store, clock: ManualClock
) -> None:
    chance = random.Random(SEED)
    history = History(store, clock, chance)
    made = 0
    while made < CASES:
        await asyncio.to_thread(history.go_on, chance.randint(4, 16))
        alerts = some_alerts(clock, chance)
        async with open_client(over(store, clock, alerts)) as client:
            requests = Requests(client, history, alerts, chance.randrange(2**32))
            for _ in range(BETWEEN):
                await requests.one()
            made += requests.made
