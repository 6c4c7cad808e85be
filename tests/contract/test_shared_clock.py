"""Processes that share a database share its time; what its errors say holds no values."""

from __future__ import annotations

from datetime import timedelta

import pytest
from sqlalchemy import text

from rag_monitor.domain.clock import SharedClock, SystemClock
from rag_monitor.errors import StoreError
from rag_monitor.store.options import StoreOptions
from rag_monitor.store.store import Store
from rag_monitor.testing import EPOCH

SECRET = "what a customer asked"


def test_a_shared_clock_shows_the_machines_time_until_it_is_set() -> None:
    clock = SharedClock()

    assert abs(clock.now() - SystemClock().now()) < timedelta(seconds=5)


def test_a_shared_clock_goes_on_from_what_it_was_set_to() -> None:
    clock = SharedClock()
    clock.set(EPOCH, clock.monotonic() - 100)

    assert timedelta(seconds=100) <= clock.now() - EPOCH < timedelta(seconds=130)
    assert clock.now().utcoffset() == timedelta(0)


def test_opening_a_store_sets_the_clock_by_the_database(database_url: str) -> None:
    clock = SharedClock()
    wrong = EPOCH
    clock.set(wrong, clock.monotonic())

    with Store.open(StoreOptions(url=database_url), clock) as store:
        if database_url.startswith("sqlite"):  # it has no clock of its own
            assert clock.now() - wrong < timedelta(minutes=5)
        else:
            assert abs(clock.now() - store.leases.now()) < timedelta(seconds=5)
            assert clock.now() - wrong > timedelta(days=1)


def test_the_error_of_a_refused_statement_holds_none_of_its_values(store: Store) -> None:
    """Tracebacks reach the log; texts of traces must not."""
    with pytest.raises(StoreError) as caught, store.tasks._database.write() as connection:
        connection.execute(text("INSERT INTO nowhere VALUES (:value)"), {"value": SECRET})

    error: BaseException | None = caught.value
    while error is not None:
        assert SECRET not in str(error)
        error = error.__cause__
