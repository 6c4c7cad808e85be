"""A follow-up question of a session is judged with the turns before it, over a real store."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import select

from rag_monitor.config.options import WorkerOptions
from rag_monitor.domain.conversation import EarlierTurn
from rag_monitor.domain.trace import Trace
from rag_monitor.evaluation.pipeline import Pipeline
from rag_monitor.evaluation.plan import EvaluationPlan
from rag_monitor.judges.embedded import create_lexical
from rag_monitor.sampling.sampler import Sampler
from rag_monitor.store.options import StoreOptions
from rag_monitor.store.store import Store
from rag_monitor.store.tables import decisions, traces
from rag_monitor.store.tables import scores as scores_of
from rag_monitor.testing import EPOCH, ManualClock, make_trace
from rag_monitor.worker.evaluating import Evaluation
from rag_monitor.worker.fault_finding import FaultFinder
from tests.contract.evidence import claim, ingest

PRICES = "A day ticket costs 14 euros for adults and 9 euros for students."
REPEATED = "Adults pay 14 euros for a day ticket."


def turn(question: str, answer: str, minute: int, session: str | None, **fields: Any) -> Trace:
    return make_trace(
        question,
        answer,
        (PRICES,),
        id=f"{session} {minute}",
        session_id=session,
        started_at=EPOCH + timedelta(minutes=minute),
        **fields,
    )


FIRST = turn("What do adults pay for a day ticket?", REPEATED, 0, "s", user_id="u")
SECOND = turn("And for students?", REPEATED, 1, "s", user_id="v")
ALONE = turn("And for students?", REPEATED, 1, None)
WHOLE = turn("How much is a day ticket for students?", "Students pay 9 euros.", 2, "s")
WHOLE_ALONE = turn("How much is a day ticket for students?", "Students pay 9 euros.", 2, None)


@pytest.fixture
def store(database_url: str) -> Iterator[Store]:
    with Store.open(
        StoreOptions(url=database_url, auto_migrate=True, ballast_bytes=0, partitions_ahead=1),
        ManualClock(),
    ) as opened:
        opened.writer.start()
        yield opened


async def judge(store: Store, *traces: Trace) -> None:
    """Take traces in and judge them, all in one batch."""
    clock = ManualClock()
    pipeline = Pipeline(EvaluationPlan(baseline=create_lexical({})), Sampler(), clock)
    faults = FaultFinder(store.earlier_passages, clock)
    evaluation = Evaluation(
        store.tasks, pipeline, clock, WorkerOptions(), faults, store.earlier_turns
    )
    await asyncio.to_thread(ingest, store, *traces)
    await evaluation.run(claim(store))


def scores(store: Store, trace: Trace) -> dict[str, float | None]:
    stored = store.traces.get("default", trace.trace_id)
    return {score.metric: score.value for score in stored.scores}


async def test_a_follow_up_is_judged_with_the_turns_before_it(store: Store) -> None:
    await judge(store, FIRST, SECOND, ALONE)

    told, untold = (scores(store, trace)["answer_relevance"] for trace in (SECOND, ALONE))
    assert told is not None
    assert untold is not None
    assert told < 0.1 < 0.5 < untold
    [decision] = store.traces.get("default", SECOND.trace_id).decisions
    assert decision.history == (FIRST.trace_id,)


async def test_what_a_trace_tells_of_itself_goes_before_its_session(store: Store) -> None:
    own = EarlierTurn(question="What do adults pay?", answer="14 euros.")
    telling = replace(SECOND, history=(own,))
    await judge(store, FIRST, telling)

    [decision] = store.traces.get("default", telling.trace_id).decisions
    assert decision.history == ()


async def test_a_question_that_stands_alone_has_the_scores_that_it_has_alone(store: Store) -> None:
    await judge(store, FIRST, WHOLE, WHOLE_ALONE)

    assert scores(store, WHOLE) == scores(store, WHOLE_ALONE)
    [decision] = store.traces.get("default", WHOLE.trace_id).decisions
    assert decision.history == ()


async def test_what_was_given_goes_with_the_user_who_said_it(store: Store) -> None:
    """Only the ids of turns are kept: what they said is read from their own traces."""
    await judge(store, FIRST, SECOND)
    store.traces.erase_user("default", "u")

    [decision] = store.traces.get("default", SECOND.trace_id).decisions
    assert store.earlier_turns.named("default", decision.history) == []
    with store._database.read() as connection:
        for table in (traces, decisions, scores_of):
            assert "What do adults pay" not in repr(connection.execute(select(table)).all())
