"""Several changes as one transaction, on each database."""

from __future__ import annotations

import threading
from datetime import timedelta

import pytest

from rag_monitor.domain.alert import AlertRule, RuleKind
from rag_monitor.domain.stored import AuditEvent, KeyScope
from rag_monitor.errors import NotFound, StoreError
from rag_monitor.store.keys import Keys
from rag_monitor.store.store import Store
from rag_monitor.testing import EPOCH, ManualClock


def event(action: str) -> AuditEvent:
    return AuditEvent(project="p", at=EPOCH, actor="k1", action=action)


def test_what_is_done_together_is_done_and_can_be_read_inside(store: Store) -> None:
    def work() -> tuple[str, list[str]]:
        secret, _ = store.keys.create("p", "app", {KeyScope.READ})
        store.audit.add(event("key.create"))
        return secret, [key.name for key in store.keys.list("p")]

    secret, seen = store.together(work)

    assert seen == ["app"]
    key = store.keys.authenticate(secret)
    assert key is not None
    assert key.name == "app"
    assert [e.action for e in store.audit.list("p")] == ["key.create"]


def test_whatever_is_raised_undoes_all_of_it(store: Store) -> None:
    def work() -> None:
        store.rules.save(AlertRule(project="p", name="r", kind=RuleKind.DROP, metric="m"))
        store.keys.create("p", "app", {KeyScope.READ})
        store.audit.add(event("rule.save"))
        store.keys.revoke("p", "nobody")

    with pytest.raises(NotFound):
        store.together(work)

    assert (store.rules.all("p"), store.keys.list("p"), store.audit.list("p")) == ([], [], [])


def test_a_first_key_that_was_undone_leaves_no_secret_behind(
    store: Store, clock: ManualClock
) -> None:
    """The secret under which keys are stored is made with the first one."""

    def work() -> None:
        store.keys.create("p", "app", {KeyScope.READ})
        store.keys.rotate("p", "nobody", timedelta(0))

    with pytest.raises(NotFound):
        store.together(work)
    secret, key = store.keys.create("p", "app", {KeyScope.READ})

    found = Keys(store._database, clock).authenticate(secret)  # remembers nothing
    assert found is not None
    assert found.id == key.id


def test_other_threads_stay_out_of_it(store: Store) -> None:
    seen: list[int] = []

    def work() -> None:
        store.audit.add(event("key.create"))
        other = threading.Thread(target=lambda: seen.append(len(store.audit.list("p"))))
        other.start()
        other.join()

    store.together(work)

    assert seen == [0]
    assert len(store.audit.list("p")) == 1


def test_one_inside_another_is_part_of_it(store: Store) -> None:
    def outer() -> None:
        store.together(lambda: store.audit.add(event("a")))
        store.keys.revoke("p", "nobody")

    with pytest.raises(NotFound):
        store.together(outer)

    assert store.audit.list("p") == []


def test_what_is_read_within_reading_goes_over_one_connection(store: Store) -> None:
    store.audit.add(event("a"))
    seen: list[object] = []

    with store.reading():
        for _ in range(3):
            with store._database.read() as connection:
                seen.append(connection)
            assert len(store.audit.list("p")) == 1
        with store.reading(), store._database.read() as connection:
            seen.append(connection)

    assert len(set(map(id, seen))) == 1
    with store._database.read() as connection:
        assert connection is not seen[0]


def test_what_fails_within_reading_fails_as_ever_and_leaves_nothing_behind(store: Store) -> None:
    with pytest.raises(StoreError), store.reading(), store._database.read() as connection:
        connection.exec_driver_sql("SELECT no_such_column")

    assert store.audit.list("p") == []


def test_writing_within_reading_is_a_transaction_of_its_own(store: Store) -> None:
    with store.reading():
        store.audit.add(event("a"))
        with pytest.raises(NotFound):
            store.keys.revoke("p", "nobody")

    assert len(store.audit.list("p")) == 1
