"""Metrics of sessions, worked out by hand: one value a session, however many turns it has."""

from __future__ import annotations

from datetime import timedelta

import pytest

from rag_monitor.aggregation.comparison import compare
from rag_monitor.aggregation.estimates import Estimates
from rag_monitor.aggregation.session_sums import summarise_sessions
from rag_monitor.aggregation.sessions import outcome_of
from rag_monitor.domain.session import Session, Turn
from rag_monitor.domain.session_outcome import SESSION_METRICS, ChangedSession, SessionOutcome
from rag_monitor.domain.trace import TraceStatus
from rag_monitor.domain.window import Estimate
from rag_monitor.testing import EPOCH
from tests.unit.aggregation.memory import HOUR, MemoryRollups, series

GOOD = {"faithfulness": 1.0, "answer_relevance": 0.9, "refusal_rate": 0.0}


def turn(minute: float, question: str | None, faithfulness: float = 1.0, **fields: object) -> Turn:
    given = {"flagged": False, "release": "v1"} | fields
    return Turn(
        trace_id=f"{minute}",
        app="test-app",
        started_at=EPOCH + timedelta(minutes=minute),
        question=question,
        answer="An answer.",
        scores=GOOD | {"faithfulness": faithfulness},
        **given,  # type: ignore[arg-type]
    )


def outcome(name: str, *turns: Turn) -> SessionOutcome:
    session = Session(
        session_id=name,
        total=len(turns),
        first_at=turns[0].started_at,
        last_at=turns[-1].started_at,
        turns=turns,
    )
    changed = ChangedSession(
        project="default",
        session_id=name,
        version=1,
        session=session,
        days=(EPOCH.date(), EPOCH.date()),
    )
    counted = outcome_of(changed, timedelta(minutes=30))
    assert counted is not None
    return counted


def restless() -> SessionOutcome:
    """Three turns: the second asks again, the third complains."""
    return outcome(
        "restless",
        turn(0, "How long is the warranty of the kettle?", 0.25),
        turn(1, "I mean: what is the warranty length of the kettle?", 0.75),
        turn(2, "That's wrong, you didn't answer my question.", 0.5),
    )


def content() -> SessionOutcome:
    return outcome("content", turn(3, "How long is the warranty of the kettle?"))


def cut() -> SessionOutcome:
    """The stream of the last answer was cut."""
    return outcome(
        "cut",
        turn(4, "Where is the nearest shop?"),
        turn(5, "Which hours does it open on Sunday?", status=TraceStatus.ABANDONED),
    )


def estimate(metric: str, *outcomes: SessionOutcome, min_judged: int = 1) -> Estimate:
    source = MemoryRollups([])
    source.rows = summarise_sessions(outcomes)
    return Estimates(source).estimate(series(metric=metric), HOUR, min_judged=min_judged)


@pytest.mark.parametrize(
    ("metric", "value"),
    [
        ("session_turns", (3 + 1 + 2) / 3),
        ("session_faithfulness", (0.25 + 1.0 + 1.0) / 3),
        ("session_faithfulness_mean", (0.5 + 1.0 + 1.0) / 3),
        ("repeated_question_rate", 1 / 3),
        ("complaint_rate", 1 / 3),
        ("resolved_rate", 1 / 3),
        ("abandoned_rate", 1 / 3),
    ],
)
def test_each_session_counts_once(metric: str, value: float) -> None:
    found = estimate(metric, restless(), content(), cut())

    assert found.value == pytest.approx(value)
    assert (found.judged, found.traces) == (3, 3)
    assert metric in SESSION_METRICS


def test_a_session_ends_half_an_hour_after_its_last_turn_began() -> None:
    assert restless().minute == EPOCH + timedelta(minutes=32)
    assert cut().minute == EPOCH + timedelta(minutes=35)


def test_a_session_that_nothing_is_left_of_is_none() -> None:
    gone = ChangedSession(project="default", session_id="x", version=1, session=None)

    assert outcome_of(gone, timedelta(minutes=30)) is None


def test_a_session_belongs_to_the_release_of_its_last_turn() -> None:
    moved = outcome("moved", turn(0, "First?"), turn(1, "Second?", release="v2"))

    assert (moved.app, moved.release) == ("test-app", "v2")


def test_a_session_whose_last_answer_is_not_judged_is_neither_resolved_nor_not() -> None:
    unknown = outcome("unknown", turn(0, "First?", flagged=None))

    assert unknown.metrics["resolved_rate"] is None
    found = estimate("resolved_rate", unknown, content())
    assert (found.value, found.judged, found.traces) == (1.0, 1, 2)


def test_a_complaint_is_one_even_where_another_question_is_withheld() -> None:
    some = outcome("some", turn(0, None), turn(1, "That's wrong, you didn't answer my question."))
    none = outcome("none", turn(0, None), turn(1, "Where is the nearest shop?"))

    assert some.metrics["complaint_rate"] == 1.0
    assert none.metrics["complaint_rate"] is None
    assert none.metrics["abandoned_rate"] == 0.0


def test_the_interval_counts_sessions_and_not_turns() -> None:
    chats = [
        outcome(f"s-{n}", *(turn(m, f"Question {n} {m}?", float(n % 2)) for m in range(10)))
        for n in range(40)
    ]
    found = estimate("session_faithfulness", *chats)

    # Wilson at n = 39 (20 of 40, with the n - 1 variance): .5 ± 1.7843 · sqrt(.25/39 + .00063143).
    assert found.value == 0.5
    assert found.effective == pytest.approx(39.0)
    assert (found.lower, found.upper) == (
        pytest.approx(0.3503, abs=1e-4),
        pytest.approx(0.6497, abs=1e-4),
    )
    assert found.design_effect == 1.0


def test_turns_have_an_interval_that_may_lie_above_one() -> None:
    chats = [
        outcome(f"s-{n}", *(turn(m, f"Q {m}?") for m in range(2 + 2 * (n % 2)))) for n in range(20)
    ]
    found = estimate("session_turns", *chats)

    # Ten sessions of 2 and ten of 4: se = sqrt(20 / 19 / 20), t of 19 degrees 2.0930.
    assert found.value == 3.0
    assert found.lower == pytest.approx(3.0 - 2.0930 * (1 / 19) ** 0.5, abs=1e-4)
    assert found.upper == pytest.approx(3.0 + 2.0930 * (1 / 19) ** 0.5, abs=1e-4)
    assert estimate("session_turns", *chats, min_judged=21).lower is None
    change = compare(found, found)
    assert change.value == 0.0


def test_few_sessions_have_no_interval() -> None:
    found = estimate("resolved_rate", restless(), content(), min_judged=50)

    assert (found.value, found.lower, found.upper) == (0.5, None, None)
    assert "few_judged" in found.notes
