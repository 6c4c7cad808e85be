"""Rotating keys, limits of keys, and the audit log, on each database."""

from __future__ import annotations

from datetime import timedelta

import pytest

from rag_monitor.domain.stored import AuditEvent, KeyScope, RetentionPolicy
from rag_monitor.errors import NotFound, StoreFull, StoreUnavailable
from rag_monitor.store.store import Store
from rag_monitor.testing import EPOCH, ManualClock


def event(action: str, project: str = "p", **fields: object) -> AuditEvent:
    return AuditEvent(project=project, at=EPOCH, actor="k1", action=action, **fields)


def test_a_rotated_key_hands_everything_on_and_works_through_its_grace(
    store: Store, clock: ManualClock
) -> None:
    old, key = store.keys.create(
        "p", "bank", {KeyScope.INGEST}, expires_at=EPOCH + timedelta(days=9), requests_per_minute=7
    )

    new, made = store.keys.rotate("p", key.id, timedelta(hours=1))

    assert (made.name, made.scopes, made.project) == (key.name, key.scopes, "p")
    assert (made.expires_at, made.requests_per_minute) == (key.expires_at, 7)
    assert made.id != key.id
    assert store.keys.authenticate(old).id == key.id
    assert store.keys.authenticate(new).id == made.id
    clock.advance(3601)
    assert store.keys.authenticate(old) is None
    assert store.keys.authenticate(new).id == made.id


def test_without_grace_the_old_key_ends_at_once(store: Store) -> None:
    old, key = store.keys.create("p", "bank", {KeyScope.READ})

    new, _ = store.keys.rotate("p", key.id, timedelta(0))

    assert store.keys.authenticate(old) is None
    assert store.keys.authenticate(new) is not None


def test_grace_never_makes_a_key_live_longer(store: Store, clock: ManualClock) -> None:
    old, key = store.keys.create(
        "p", "short", {KeyScope.READ}, expires_at=EPOCH + timedelta(minutes=5)
    )

    store.keys.rotate("p", key.id, timedelta(days=1))
    clock.advance(301)

    assert store.keys.authenticate(old) is None


def test_a_rotated_key_may_be_given_another_end(store: Store, clock: ManualClock) -> None:
    _, key = store.keys.create("p", "short", {KeyScope.READ}, expires_at=EPOCH + timedelta(hours=1))
    later = EPOCH + timedelta(days=90)

    new, made = store.keys.rotate("p", key.id, timedelta(0), expires_at=later)
    clock.advance(7200)

    assert made.expires_at == later
    assert store.keys.authenticate(new).id == made.id


@pytest.mark.parametrize("error", [StoreFull, StoreUnavailable])
def test_a_key_opens_where_its_use_cannot_be_noted(
    store: Store,
    clock: ManualClock,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    error: type[StoreUnavailable],
) -> None:
    text, key = store.keys.create("p", "reader", {KeyScope.READ})

    def refuse(*_: object, **__: object) -> None:
        raise error

    with monkeypatch.context() as full:
        full.setattr(store._database, "transact", refuse)
        for _ in range(3):
            assert store.keys.authenticate(text).id == key.id
            clock.advance(61)
    assert store.keys.authenticate(text).id == key.id

    assert caplog.text.count("the last use of keys is not noted") == 1
    assert store.keys.list("p")[0].last_used_at == clock.now()


def test_only_a_valid_key_of_the_project_is_rotated(store: Store, clock: ManualClock) -> None:
    _, revoked = store.keys.create("p", "a", {KeyScope.READ})
    store.keys.revoke("p", revoked.id)
    _, over = store.keys.create("p", "b", {KeyScope.READ}, expires_at=EPOCH + timedelta(hours=1))
    _, mine = store.keys.create("p", "c", {KeyScope.READ})
    clock.advance(3600)

    for project, id in (("p", revoked.id), ("p", over.id), ("q", mine.id), ("p", "nothing")):
        with pytest.raises(NotFound):
            store.keys.rotate(project, id, timedelta(0))
    assert len(store.keys.list("p")) == 3


def test_revoking_again_keeps_the_first_moment(store: Store, clock: ManualClock) -> None:
    _, key = store.keys.create("p", "a", {KeyScope.READ})
    store.keys.revoke("p", key.id)
    clock.advance(60)
    store.keys.revoke("p", key.id)

    assert store.keys.list("p")[0].revoked_at == EPOCH


def test_events_come_back_newest_first_and_page_by_page(store: Store) -> None:
    details = {"name": "银行 \x00 'a", "count": 3, "all": True}
    store.audit.add(event("key.create", target="k2", actor_name="mei", details=details))
    store.audit.add(event("key.revoke", target="k2"))
    store.audit.add(event("keys", target="k2"))
    store.audit.add(event("key.create", project="q"))

    found = store.audit.list("p")
    assert [e.action for e in found] == ["keys", "key.revoke", "key.create"]
    assert found[2].details == {"name": "银行 \x00 'a", "count": 3, "all": True}
    assert (found[2].actor, found[2].actor_name, found[2].at) == ("k1", "mei", EPOCH)
    assert [e.action for e in store.audit.list("p", action="key")] == ["key.revoke", "key.create"]
    assert [e.action for e in store.audit.list("p", action="key.create")] == ["key.create"]
    first = store.audit.list("p", limit=2)
    rest = store.audit.list("p", before=first[-1].id, limit=2)
    assert [e.id for e in first + rest] == [e.id for e in found]


def test_the_audit_log_is_kept_as_long_as_scores(store: Store) -> None:
    store.audit.add(event("login"))
    policy = RetentionPolicy(traces_days=30, scores_days=400)

    store.retention.run(EPOCH + timedelta(days=399), policy)
    assert len(store.audit.list("p")) == 1
    store.retention.run(EPOCH + timedelta(days=401), policy)
    assert store.audit.list("p") == []
