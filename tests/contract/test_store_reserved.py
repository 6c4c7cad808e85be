"""What must not wait for pages has connections of its own, on each database."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from rag_monitor.errors import StoreUnavailable
from rag_monitor.store.options import StoreOptions
from rag_monitor.store.outage import Pulse
from rag_monitor.store.store import Store
from rag_monitor.testing import EPOCH, ManualClock
from tests.contract.evidence import blob, write

POOL = 4


@pytest.fixture
def busy(database_url: str, clock: ManualClock) -> Iterator[Store]:
    """A store all of whose ordinary connections are held by pages."""
    options = StoreOptions(
        url=database_url, pool_size=POOL, pool_timeout_s=0.2, ballast_bytes=0, partitions_ahead=1
    )
    with Store.open(options, clock) as store, ExitStack() as held:
        store.writer.start()
        release = threading.Event()
        ready = threading.Barrier(POOL + 1)

        def page() -> None:
            try:
                with store.reading():
                    ready.wait(10)
                    release.wait(30)
            except StoreUnavailable:  # on PostgreSQL some of the pool are set aside
                ready.wait(10)

        threads = [threading.Thread(target=page) for _ in range(POOL)]
        for thread in threads:
            thread.start()
            held.callback(thread.join)
        held.callback(release.set)
        ready.wait(15)
        yield store


def test_pages_cannot_use_up_the_connections_of_others(busy: Store) -> None:
    with pytest.raises(StoreUnavailable):
        busy.traces.projects()

    busy.ping()
    lease = busy.leases.acquire("leader", "me", 60)
    assert lease is not None
    busy.leases.renew(lease, 60)
    with busy.reserved():
        assert busy.keys.list() == []
    assert write(busy, blob(complete=True), at=EPOCH).new == 1


def test_a_database_that_hangs_is_told_from_one_that_answers() -> None:
    release, asked = threading.Event(), threading.Event()

    def ask() -> None:
        if asked.is_set():
            release.wait(20)
        asked.set()

    pulse = Pulse(ask, every_s=0.01, patience_s=0.1)
    assert pulse.up, "asked on the spot while no thread asks"
    asked.clear()
    pulse.start()
    try:
        ends = time.monotonic() + 10
        while pulse.up:
            assert time.monotonic() < ends
            time.sleep(0.01)
        release.set()
        while not pulse.up:
            assert time.monotonic() < ends
            time.sleep(0.01)
    finally:
        release.set()
        pulse.stop()


def test_a_database_that_refuses_is_down_at_once() -> None:
    def refuse() -> None:
        raise StoreUnavailable("connection refused")

    assert not Pulse(refuse).up
