"""Scores of other tools on each database."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from rag_monitor.domain.score import ReportedScore, ReportedSessionScore
from rag_monitor.domain.stored import RetentionPolicy, TraceQuery
from rag_monitor.store import annotations
from rag_monitor.store.store import Store
from rag_monitor.testing import EPOCH, make_trace
from tests.contract.evidence import ingest

TRACE = make_trace("q", "a", ("p",), user_id="u")
SCORE = ReportedScore(
    project="default",
    trace_id=TRACE.trace_id,
    source="ragas-nightly",
    name="faithfulness",
    value=0.75,
    label="pass",
    explanation="两条陈述都有依据",
    reported_at=EPOCH,
    received_at=EPOCH,
)


def _said(store: Store) -> list[ReportedScore]:
    return list(store.traces.get("default", TRACE.trace_id).reported)


def test_a_score_may_overtake_its_trace_and_stands_beside_it(store: Store) -> None:
    store.reported.add([SCORE])
    ingest(store, TRACE)
    assert _said(store) == [SCORE]


def test_the_latest_reported_counts_whatever_order_they_come_in(store: Store) -> None:
    ingest(store, TRACE)
    later = replace(SCORE, value=0.25, label=None, reported_at=EPOCH + timedelta(seconds=5))
    store.reported.add([later, SCORE])
    store.reported.add([SCORE])
    assert _said(store) == [later]
    failed = replace(later, value=None, error="timeout")
    store.reported.add([failed])  # at the same moment: the last word
    assert _said(store) == [failed]


def test_sources_names_and_spans_stand_side_by_side_and_projects_apart(store: Store) -> None:
    ingest(store, TRACE)
    others = [
        replace(SCORE, span_id="b7ad6b7169203331"),
        replace(SCORE, name="tone", value=4.0),
        replace(SCORE, source="deepeval"),
    ]
    store.reported.add([SCORE, *others, replace(SCORE, project="another", value=0.0)])
    assert _said(store) == [others[2], SCORE, others[0], others[1]]


def test_names_that_differ_only_beyond_what_is_stored_are_one(store: Store) -> None:
    ingest(store, TRACE)
    long = replace(SCORE, name="n" * 300)
    store.reported.add([long, replace(long, name="n" * 301, value=0.5)])
    (found,) = _said(store)
    assert (found.name, found.value) == ("n" * 200, 0.5)


def test_they_enter_no_score_no_list_and_no_rollup(store: Store) -> None:
    ingest(store, TRACE)
    store.reported.add([SCORE])
    stored = store.traces.get("default", TRACE.trace_id)
    assert stored.scores == ()
    (listed,) = store.traces.search(TraceQuery(project="default")).items
    assert listed.scores == {}
    worst = TraceQuery(project="default", metric="faithfulness", below=1.0)
    assert store.traces.search(worst).items == ()


def test_they_go_with_the_user_and_with_time(store: Store) -> None:
    ingest(store, TRACE, make_trace("other", "a", ("p",), id="k", user_id="v"))
    other = replace(SCORE, trace_id=make_trace(id="k").trace_id)
    store.reported.add([SCORE, other])
    assert store.traces.erase_user("default", "u").reported_scores == 1
    assert _count(store) == 1
    store.retention.run(EPOCH + timedelta(days=29), RetentionPolicy())
    assert _count(store) == 1
    store.retention.run(EPOCH + timedelta(days=31), RetentionPolicy())
    assert _count(store) == 0


def test_an_app_that_keeps_less_keeps_less_of_them(store: Store) -> None:
    ingest(store, TRACE)
    store.reported.add([SCORE])
    policy = RetentionPolicy(apps={TRACE.app: 2})
    store.retention.run(EPOCH + timedelta(days=4), policy)
    assert _count(store) == 0


def test_a_page_stays_readable(store: Store, monkeypatch) -> None:
    monkeypatch.setattr(annotations, "MOST_SHOWN", 2)
    ingest(store, TRACE)
    store.reported.add(
        [
            replace(SCORE, name=f"n{index}", reported_at=EPOCH + timedelta(seconds=index))
            for index in range(4)
        ]
    )
    assert [score.name for score in _said(store)] == ["n2", "n3"]


def _count(store: Store) -> int:
    with store._database.read() as connection:
        return len(connection.execute(annotations.reported_scores.select()).all())


def test_what_is_said_of_a_session_stands_beside_it_and_goes_with_its_user(store: Store) -> None:
    turn = make_trace("q", id="turn", session_id="会话/1", user_id="u")
    said = ReportedSessionScore(
        project="default",
        session_id="会话/1",
        source="phoenix / HUMAN",
        name="helpful",
        value=0.5,
        reported_at=EPOCH,
        received_at=EPOCH,
    )
    later = replace(said, value=1.0, reported_at=EPOCH + timedelta(seconds=5))
    store.reported.add_of_sessions([later, said])
    store.reported.add_of_sessions([said, replace(said, project="other")])
    ingest(store, turn)

    assert store.sessions.get("default", "会话/1").reported == (later,)
    assert store.traces.get("default", turn.trace_id).reported == ()

    store.traces.erase_user("default", "u")
    ingest(store, replace(turn, user_id="v"), payload=b"v2")
    assert store.sessions.get("default", "会话/1").reported == ()


def test_what_is_said_of_a_session_goes_with_time(store: Store) -> None:
    said = ReportedSessionScore(
        project="default",
        session_id="s",
        source="x",
        name="helpful",
        value=0.5,
        reported_at=EPOCH,
        received_at=EPOCH,
    )
    store.reported.add_of_sessions([said])
    store.retention.run(EPOCH + timedelta(days=31), RetentionPolicy(traces_days=30))
    ingest(store, make_trace("q", session_id="s"), at=EPOCH + timedelta(days=31))
    assert store.sessions.get("default", "s").reported == ()
