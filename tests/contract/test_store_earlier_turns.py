"""The turns before a trace, as judges are given them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from sqlalchemy import event

from rag_monitor.domain.conversation import LONGEST_ANSWER, MOST_TURNS, EarlierTurn
from rag_monitor.domain.decision import SamplingDecision, SamplingReason
from rag_monitor.domain.trace import Trace
from rag_monitor.store.store import Store
from rag_monitor.testing import EPOCH, make_task, make_trace
from tests.contract.evidence import ingest


def _turn(session: str | None, minute: float, **fields: Any) -> Trace:
    return make_trace(
        fields.pop("question", f"Question at {minute}?"),
        fields.pop("answer", f"Answer at {minute}."),
        id=f"{session} {minute} {fields.get('project')}",
        session_id=session,
        started_at=EPOCH + timedelta(minutes=minute),
        **fields,
    )


def _before(store: Store, traces: Sequence[Trace]) -> list[tuple[EarlierTurn, ...]]:
    return store.earlier_turns.before([make_task(trace) for trace in traces])


def _questions(turns: tuple[EarlierTurn, ...] | list[EarlierTurn]) -> list[str]:
    return [turn.question for turn in turns]


def test_the_newest_turns_before_a_trace_are_read_in_order(store: Store) -> None:
    turns = [_turn("a", minute) for minute in range(6)]
    ingest(store, *turns, _turn("b", 2), _turn(None, 3))

    [before] = _before(store, [turns[4]])

    assert _questions(before) == ["Question at 1?", "Question at 2?", "Question at 3?"]
    assert len(before) == MOST_TURNS
    assert [turn.trace_id for turn in before] == [turn.trace_id for turn in turns[1:4]]
    assert before[-1].answer == "Answer at 3."


def test_of_the_same_moment_the_order_of_pages_counts(store: Store) -> None:
    first, second = sorted(
        [_turn("a", 0), _turn("a", 0.0, question="Also?", project="default")],
        key=lambda trace: trace.trace_id,
    )
    ingest(store, first, second)

    none, one = _before(store, [first, second])

    assert none == ()
    assert [turn.trace_id for turn in one] == [first.trace_id]


def test_each_trace_gets_its_own_turns(store: Store) -> None:
    traces = [_turn(session, minute) for session in "abc" for minute in range(3)]
    ingest(store, *traces)
    alone = _turn(None, 9)

    found = _before(store, [traces[2], alone, traces[4], traces[6]])

    assert [_questions(turns) for turns in found] == [
        ["Question at 0?", "Question at 1?"],
        [],
        ["Question at 0?"],
        [],
    ]


def test_only_the_day_of_a_trace_and_the_one_before_are_looked_into(store: Store) -> None:
    ingest(store, _turn("a", 0), at=EPOCH)
    later = _turn("a", 60 * 40)
    ingest(store, later, at=EPOCH + timedelta(days=2))

    def turns(days: int) -> list[str]:
        on = EPOCH.date() + timedelta(days=days)
        [found] = store.earlier_turns.before([make_task(later, received_on=on)])
        return _questions(found)

    assert turns(0) == turns(1) == ["Question at 0?"]
    assert turns(2) == []
    claimed = [store.tasks.claim("w", 10, 60.0, EPOCH + timedelta(days=3)) for _ in range(2)]
    tasks = [task for part in claimed for task in part]
    assert {task.received_on for task in tasks} == {
        EPOCH.date(),
        EPOCH.date() + timedelta(days=2),
    }


def test_another_project_keeps_its_turns_to_itself(store: Store) -> None:
    ingest(store, _turn("a", 0, project="theirs"))

    assert _before(store, [_turn("a", 1)]) == [()]
    assert store.earlier_turns.named("default", [_turn("a", 0, project="theirs").trace_id]) == []


def test_long_turns_are_cut_and_withheld_questions_left_out(store: Store) -> None:
    ingest(store, _turn("a", 0, answer="x" * 9_000), _turn("a", 1, question=None, answer="secret"))

    [before] = _before(store, [_turn("a", 2)])

    assert _questions(before) == ["Question at 0?"]
    assert len(before[0].answer) == LONGEST_ANSWER


def test_a_batch_is_one_statement(store: Store) -> None:
    traces = [_turn(f"s{n}", minute) for n in range(20) for minute in range(2)]
    ingest(store, *traces)
    statements: list[str] = []
    with store._database.read() as connection:
        engine = connection.engine

    def note(_connection: Any, _cursor: Any, statement: str, *_rest: Any) -> None:
        statements.append(statement)

    event.listen(engine, "before_cursor_execute", note)
    try:
        found = _before(store, traces[1::2])
    finally:
        event.remove(engine, "before_cursor_execute", note)

    assert [len(turns) for turns in found] == [1] * 20
    assert sum("session_id" in statement for statement in statements) == 1


def test_more_traces_than_a_statement_takes_are_read_in_parts(store: Store) -> None:
    traces = [_turn(f"s{n % 7}", n) for n in range(230)]
    ingest(store, *traces)

    found = _before(store, traces)

    assert sum(map(len, found)) == sum(min(MOST_TURNS, n // 7) for n in range(230))


def test_named_turns_come_in_order_and_erased_ones_are_left_out(store: Store) -> None:
    turns = [_turn("a", 0, user_id="u"), _turn("a", 1), _turn("a", 2)]
    ingest(store, *turns)
    ids = [turn.trace_id for turn in reversed(turns)]

    assert _questions(store.earlier_turns.named("default", ids)) == [
        "Question at 0?",
        "Question at 1?",
        "Question at 2?",
    ]
    store.traces.erase_user("default", "u")
    assert _questions(store.earlier_turns.named("default", ids)) == [
        "Question at 1?",
        "Question at 2?",
    ]
    assert store.earlier_turns.named("default", []) == []


def test_what_a_judge_was_given_is_kept_with_its_decision(store: Store) -> None:
    trace = _turn("a", 1)
    ingest(store, _turn("a", 0), trace)
    decision = SamplingDecision(
        judge="embedded",
        included=True,
        probability=1.0,
        reason=SamplingReason.ALWAYS,
        history=("1" * 32, "2" * 32),
    )
    tasks = store.tasks.claim("w", 10, 60.0, EPOCH + timedelta(hours=1))
    store.tasks.complete_many(
        [(task, (), (decision,)) for task in tasks if task.trace.trace_id == trace.trace_id]
    )

    [kept] = store.traces.get("default", trace.trace_id).decisions
    assert kept == decision


def test_turns_that_a_trace_tells_of_are_stored_with_it_and_erased_with_it(store: Store) -> None:
    history = (EarlierTurn(question="What do adults pay?", answer="14 euros."),)
    trace = _turn(None, 0, history=history, user_id="u")
    ingest(store, trace)

    assert store.traces.get("default", trace.trace_id).trace.history == history
    store.traces.erase_user("default", "u")
    with store._database.read() as connection:
        rows = connection.exec_driver_sql("SELECT history FROM traces").all()
    assert rows == []
