"""Sessions as they are counted: once each, and again after every change."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from rag_monitor.aggregation.estimates import Estimates
from rag_monitor.aggregation.rollup import summarise
from rag_monitor.aggregation.session_sums import summarise_sessions
from rag_monitor.aggregation.sessions import outcome_of
from rag_monitor.domain.feedback import Feedback
from rag_monitor.domain.rating import RatingKind
from rag_monitor.domain.score import Score, ScoreStatus
from rag_monitor.domain.stored import RetentionPolicy
from rag_monitor.domain.trace import Trace, TraceStatus
from rag_monitor.domain.window import Estimate, Series, Window
from rag_monitor.store.store import Store
from rag_monitor.testing import EPOCH, ManualClock, make_trace
from tests.contract.evidence import claim, ingest

IDLE = timedelta(minutes=30)
FIRST = "How long is the warranty of the kettle?"
AGAIN = "I mean: what is the warranty length of the kettle?"
COMPLAINT = "That's wrong, you didn't answer my question."
DAY = Window(EPOCH - timedelta(hours=1), EPOCH + timedelta(hours=23))


def _turn(session: str, minute: float, question: str = "Question?", **fields: Any) -> Trace:
    given = {"id": f"{session} {minute}", "app": "chat", "release": "v1"} | fields
    began = EPOCH + timedelta(minutes=minute)
    return make_trace(question, "An answer.", session_id=session, started_at=began, **given)


def _count(store: Store) -> int:
    """As the leader does: sessions, then minutes."""
    changed = store.session_outcomes.changed()
    store.session_outcomes.replace([(one, outcome_of(one, IDLE)) for one in changed])
    dirty = store.rollups.changed()
    sessions = store.session_outcomes.counted_in(dirty)
    rows = [*summarise(store.rollups.facts(dirty)), *summarise_sessions(sessions)]
    store.rollups.replace(dirty, rows)
    return len(changed)


def _estimate(store: Store, metric: str, window: Window = DAY, **series: Any) -> Estimate:
    named = {"project": "default", "app": "chat", "metric": metric, "judge": "combined"} | series
    return Estimates(store.rollups).estimate(Series(**named), window, min_judged=1)


def _sessions(store: Store, window: Window = DAY, **series: Any) -> int:
    return _estimate(store, "abandoned_rate", window, **series).judged


def test_a_session_counts_once_in_the_minute_in_which_it_has_been_idle(store: Store) -> None:
    ingest(store, _turn("a", 0), _turn("a", 3.5), _turn("b", 1))
    assert _count(store) == 2

    at_the_end = Window(EPOCH + timedelta(minutes=33), EPOCH + timedelta(minutes=34))
    before = Window(EPOCH, EPOCH + timedelta(minutes=31))
    assert _sessions(store) == 2
    assert _sessions(store, at_the_end) == 1
    assert _sessions(store, before) == 0
    assert _estimate(store, "session_turns").value == 1.5
    assert _estimate(store, "session_turns").traces == 2


def test_a_late_turn_moves_its_session(store: Store) -> None:
    ingest(store, _turn("a", 0, FIRST))
    _count(store)
    ingest(store, _turn("a", 40, AGAIN, release="v2"))
    _count(store)

    early = Window(EPOCH, EPOCH + timedelta(minutes=60))
    assert _sessions(store) == 1
    assert _sessions(store, early) == 0
    assert _estimate(store, "repeated_question_rate").value == 1.0
    assert (_sessions(store, release="v1"), _sessions(store, release="v2")) == (0, 1)


def test_late_scores_and_ratings_are_counted(store: Store) -> None:
    ingest(store, _turn("a", 0))
    _count(store)
    assert _estimate(store, "session_faithfulness").value is None
    assert _estimate(store, "resolved_rate").value is None

    for task in claim(store):
        score = {"status": ScoreStatus.SCORED, "created_at": EPOCH}
        scores = [Score(metric="faithfulness", value=0.75, **score)]
        store.tasks.complete(task, scores)
    _count(store)
    assert _estimate(store, "session_faithfulness").value == 0.75
    assert _estimate(store, "session_faithfulness_mean").value == 0.75

    store.feedback.add(
        Feedback(
            project="default",
            trace_id=_turn("a", 0).trace_id,
            value=0.0,
            kind=RatingKind.THUMB,
            created_at=EPOCH,
        )
    )
    _count(store)
    assert _estimate(store, "resolved_rate").value == 0.0
    assert _count(store) == 0


def test_a_trace_that_changes_its_session_leaves_the_other(store: Store) -> None:
    ingest(store, _turn("a", 0, id="x"), _turn("b", 1, id="y"))
    _count(store)
    ingest(store, _turn("b", 0, id="x"), payload=b"v2")
    _count(store)

    assert _sessions(store) == 1
    assert _estimate(store, "session_turns").value == 2.0


def test_an_erased_user_takes_their_turns_out_of_sessions(store: Store) -> None:
    mine, other = {"user_id": "u-1"}, {"user_id": "u-2"}
    ingest(
        store,
        _turn("mine", 0, FIRST, **mine),
        _turn("shared", 1, FIRST, **other),
        _turn("shared", 2, COMPLAINT, status=TraceStatus.CANCELLED, **mine),
    )
    _count(store)
    assert _estimate(store, "complaint_rate").value == 0.5
    assert _estimate(store, "abandoned_rate").value == 0.5

    store.traces.erase_user("default", "u-1")
    _count(store)

    assert _sessions(store) == 1
    assert _estimate(store, "complaint_rate").value == 0.0
    assert _estimate(store, "abandoned_rate").value == 0.0


def test_sums_of_sessions_outlive_their_traces(store: Store, clock: ManualClock) -> None:
    ingest(store, _turn("a", 0), _turn("a", 5), _turn("b", 1))
    _count(store)

    clock.set(EPOCH + timedelta(days=31))
    store.retention.run(clock.now(), RetentionPolicy(traces_days=30, scores_days=400))
    store.rollups.mark_changed(
        [("default", "chat", EPOCH + timedelta(minutes=m)) for m in (0, 31, 35)], clock.now()
    )
    _count(store)

    assert _sessions(store) == 2
    assert _estimate(store, "session_turns").value == 1.5


def test_a_session_part_of_which_is_gone_stands_as_it_was_counted(
    store: Store, clock: ManualClock
) -> None:
    ingest(store, _turn("a", 0), at=EPOCH)
    next_day = EPOCH + timedelta(days=1)
    clock.set(next_day)
    ingest(store, _turn("a", 24 * 60), at=next_day)
    _count(store)

    clock.set(EPOCH + timedelta(days=31))
    store.retention.run(clock.now(), RetentionPolicy(traces_days=30, scores_days=400))
    ingest(store, _turn("a", 24 * 60 + 1), at=clock.now())
    _count(store)

    window = Window(EPOCH, EPOCH + timedelta(days=40))
    assert _estimate(store, "session_turns", window).value == 2.0
    assert _sessions(store, window) == 1


def test_an_id_of_very_many_traces_is_no_session(store: Store) -> None:
    ingest(store, *(_turn("everybody", n / 60) for n in range(201)), _turn("a", 0))
    _count(store)

    assert _sessions(store) == 1


def test_withheld_questions_tell_nothing_of_complaints(store: Store) -> None:
    ingest(store, _turn("a", 0, FIRST), _turn("a", 1, None))
    _count(store)

    assert _estimate(store, "complaint_rate").judged == 0
    assert _estimate(store, "repeated_question_rate").judged == 0
    assert _sessions(store) == 1


def test_sessions_of_projects_are_apart(store: Store) -> None:
    ingest(store, _turn("a", 0), _turn("a", 1, project="other"))
    _count(store)

    assert _estimate(store, "session_turns").value == 1.0
    assert _estimate(store, "session_turns", project="other").value == 1.0
