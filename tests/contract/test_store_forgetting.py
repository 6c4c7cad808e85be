"""Erasure and retention in small steps, and the passages they leave, on each database."""

from __future__ import annotations

from datetime import timedelta

import pytest
from sqlalchemy import select

from rag_monitor.domain.score import Score, ScoreStatus
from rag_monitor.domain.stored import RetentionPolicy, TraceQuery
from rag_monitor.errors import StoreUnavailable
from rag_monitor.store import erasure
from rag_monitor.store.erasure import doubt_passages, settle_passages
from rag_monitor.store.store import Store
from rag_monitor.store.tables import passages, scores, spans, trace_keys
from rag_monitor.testing import EPOCH, make_trace
from tests.contract.evidence import claim, ingest


def _passages(store: Store) -> set[str]:
    with store._database.read() as connection:
        return set(connection.execute(select(passages.c.content)).scalars())


def _questions(store: Store) -> list[str | None]:
    return [item.question for item in store.traces.search(TraceQuery(project="default")).items]


def _doubt_everything(store: Store) -> None:
    with store._database.write() as connection:
        every = list(connection.execute(select(passages.c.sha256)).scalars())
        doubt_passages(connection, "default", every)


def test_a_user_with_many_traces_is_erased_some_at_a_time(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(erasure, "ERASED_AT_ONCE", 2)
    ingest(store, *(make_trace(f"q{n}", "a", (f"p{n}",), id=str(n), user_id="u") for n in range(5)))
    ingest(store, make_trace("kept", "a", ("p1", "own"), id="k", user_id="v"))

    report = store.traces.erase_user("default", "u")

    assert (report.traces, report.passages) == (5, 4)
    assert _questions(store) == ["kept"]
    assert _passages(store) == {"p1", "own"}
    assert store.traces.erase_user("default", "u").traces == 0


def test_an_erasure_that_broke_off_is_finished_by_the_next(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    ingest(store, make_trace("mine", "a", ("p",), user_id="u"))

    def fail(*_: object) -> int:
        raise StoreUnavailable("gone")

    monkeypatch.setattr(erasure, "settle_passages", fail)
    with pytest.raises(StoreUnavailable):
        store.traces.erase_user("default", "u")
    monkeypatch.undo()
    assert _passages(store) == {"p"}

    assert store.traces.erase_user("default", "u").passages == 1
    assert _passages(store) == set()


def test_passages_in_doubt_that_a_trace_names_keep_their_day(store: Store) -> None:
    ingest(store, make_trace("one", "a", ("p",)))
    _doubt_everything(store)

    store.retention.run(EPOCH, RetentionPolicy())

    assert _passages(store) == {"p"}
    store.retention.run(EPOCH + timedelta(days=31), RetentionPolicy())
    assert _passages(store) == set()


def test_a_trace_saved_while_a_passage_is_in_doubt_saves_it(store: Store) -> None:
    ingest(store, make_trace("one", "a", ("p",), id="1", user_id="u"))
    _doubt_everything(store)

    ingest(store, make_trace("two", "a", ("p",), id="2"))

    assert settle_passages(store._database, "default") == 0
    assert _passages(store) == {"p"}


def test_days_are_counted_from_the_arrival_of_a_trace_whenever_it_began(store: Store) -> None:
    imported = make_trace("old", "a", None, id="1", started_at=EPOCH - timedelta(days=300))
    ingest(store, imported)
    arrived = EPOCH.replace(hour=0, minute=0)
    last_minute = arrived + timedelta(days=31, minutes=-1)

    assert store.retention.run(last_minute, RetentionPolicy(traces_days=30)).traces == 0
    assert _questions(store) == ["old"]
    assert store.retention.run(arrived + timedelta(days=31), RetentionPolicy()).traces == 1


def test_one_app_may_keep_its_traces_for_a_shorter_time(store: Store) -> None:
    ingest(
        store,
        make_trace("short", "a", ("shared", "only short"), id="1", app="short-lived"),
        make_trace("long", "a", ("shared",), id="2"),
    )
    for task in claim(store):
        score = Score(metric="faithfulness", status=ScoreStatus.SCORED, value=0.5)
        store.tasks.complete(task, [score], [])
    later = EPOCH + timedelta(days=9)
    ingest(store, make_trace("new", "a", None, id="3", app="short-lived"), at=later)
    policy = RetentionPolicy(apps={"short-lived": 7}, batch=1)

    report = store.retention.run(later, policy)

    assert report.traces == 1
    assert sorted(_questions(store)) == ["long", "new"]
    assert _passages(store) == {"shared"}
    with store._database.read() as connection:
        for table, left in ((spans, 2), (trace_keys, 2), (scores, 2)):
            assert len(connection.execute(select(table.c.trace_id)).all()) == left
    assert store.retention.run(later, policy).traces == 0


@pytest.mark.parametrize("days", [0, -1])
def test_a_policy_that_would_forget_everything_is_refused(days: int) -> None:
    with pytest.raises(ValueError, match="at least one day"):
        RetentionPolicy(apps={"a": days})
    with pytest.raises(ValueError, match="at least one day"):
        RetentionPolicy(traces_days=days)
