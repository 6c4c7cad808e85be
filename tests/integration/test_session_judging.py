"""Sessions judged as a whole: from turns that end to the estimate, the API and the page."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from rag_monitor.aggregation.estimates import Estimates
from rag_monitor.aggregation.rollup import summarise
from rag_monitor.aggregation.session_sums import summarise_sessions
from rag_monitor.config import Settings
from rag_monitor.config.options import SessionOptions
from rag_monitor.domain.session_verdict import ConversationReply, ConversationRequest
from rag_monitor.domain.stored import RetentionPolicy
from rag_monitor.domain.window import Estimate, Series, Window
from rag_monitor.errors import (
    BudgetExhausted,
    ConfigurationError,
    JudgeError,
    JudgeOutputInvalid,
    JudgeUnavailable,
)
from rag_monitor.store.options import StoreOptions
from rag_monitor.store.session_tables import session_verdicts
from rag_monitor.store.store import Store
from rag_monitor.testing import EPOCH, ManualClock, make_trace
from rag_monitor.worker.session_counting import SessionCounting
from rag_monitor.worker.session_judging import SessionJudging, create_session_judging
from tests.contract.evidence import ingest
from tests.unit.server.conftest import open_client
from tests.unit.server.fakes import make_services
from tests.unit.server.test_pages import HTML

IDLE = timedelta(minutes=30)
DAY = Window(EPOCH - timedelta(hours=1), EPOCH + timedelta(hours=23))


class Scripted:
    """Says of each conversation what it is told, or fails so."""

    def __init__(self, *said: float | JudgeError | ConversationReply) -> None:
        self.said = list(said)
        self.asked: list[ConversationRequest] = []

    async def judge_conversation(self, request: ConversationRequest) -> ConversationReply:
        self.asked.append(request)
        said = self.said.pop(0) if len(self.said) > 1 else self.said[0]
        if isinstance(said, JudgeError):
            raise said
        if isinstance(said, ConversationReply):
            return said
        return ConversationReply(probability=said, judge="openai_compatible/m/abc")

    async def close(self) -> None:
        pass


@pytest.fixture
def store(database_url: str, clock: ManualClock) -> Iterator[Store]:
    options = StoreOptions(url=database_url, ballast_bytes=0, partitions_ahead=1)
    with Store.open(options, clock) as opened:
        opened.writer.start()
        yield opened


async def put(store: Store, session: str, *questions: str | None, at: datetime = EPOCH) -> None:
    turns = [
        make_trace(
            question,
            "An answer.",
            id=f"{session}-{at}-{place}",
            app="chat",
            user_id="u",
            session_id=session,
            started_at=at + timedelta(minutes=place),
        )
        for place, question in enumerate(questions)
    ]
    await asyncio.to_thread(ingest, store, *turns, at=at)  # it runs a loop of its own


def judging(store: Store, clock: ManualClock, judge: Scripted, **options: object) -> SessionJudging:
    given = SessionOptions(judge="x", **options)  # type: ignore[arg-type]
    return SessionJudging(store.session_verdicts, judge, clock, given, "salt")


async def count(store: Store, clock: ManualClock) -> None:
    counting = SessionCounting(store.session_outcomes, IDLE)
    while await counting.count_due():
        pass
    dirty = store.rollups.changed()
    rows = summarise_sessions(store.session_outcomes.counted_in(dirty))
    store.rollups.replace(dirty, [*summarise(store.rollups.facts(dirty)), *rows])


def estimate(store: Store) -> Estimate:
    series = Series(project="default", app="chat", metric="goal_reached_rate", judge="combined")
    return Estimates(store.rollups).estimate(series, DAY, min_judged=1)


async def test_a_session_is_judged_once_when_it_has_ended_and_again_when_it_went_on(
    store: Store, clock: ManualClock
) -> None:
    judge = Scripted(0.25, 0.75)
    job = judging(store, clock, judge)
    await put(store, "a", "First?", "Second?")
    await count(store, clock)
    assert await job.judge_due() == 0  # it goes on

    clock.advance(31 * 60 + 30)
    assert await job.judge_due() == 1
    assert await job.judge_due() == 0
    await count(store, clock)
    assert [turn.question for turn in judge.asked[0].turns] == ["First?", "Second?"]
    assert (estimate(store).value, estimate(store).judged) == (0.25, 1)

    await put(store, "a", "Third?", at=EPOCH + timedelta(minutes=31))
    await count(store, clock)
    session = store.sessions.get("default", "a")
    assert session.verdict is not None
    assert (session.verdict.value, session.goal_reached) == (0.25, None)
    assert estimate(store).value is None
    clock.advance(31 * 60)
    assert await job.judge_due() == 1
    await count(store, clock)
    assert (estimate(store).value, len(judge.asked)) == (0.75, 2)
    assert store.sessions.get("default", "a").goal_reached == 0.75


async def test_the_mean_over_sessions_has_an_interval(store: Store, clock: ManualClock) -> None:
    for number in range(60):
        await put(store, f"s{number}", "Question?")
    await count(store, clock)
    clock.advance(3600)
    job = judging(store, clock, Scripted(*[1.0, 0.0, 1.0, 1.0] * 15, 1.0))
    while await job.judge_due():
        pass
    await count(store, clock)

    found = estimate(store)
    assert (found.value, found.judged) == (0.75, 60)
    assert found.lower is not None
    assert found.upper is not None
    assert 0.6 < found.lower < 0.75 < found.upper < 0.9


async def test_a_bounded_part_of_a_long_session_is_shown(store: Store, clock: ManualClock) -> None:
    await put(store, "long", *(f"Question {n}?" for n in range(12)))
    await put(store, "withheld", None, None)
    await count(store, clock)
    clock.advance(3600)
    judge = Scripted(0.5)
    assert await judging(store, clock, judge, max_turns=5).judge_due() == 2

    (asked,) = judge.asked
    assert [turn.question for turn in asked.turns] == [f"Question {n}?" for n in range(7, 12)]
    assert asked.left_out == 7
    withheld = store.sessions.get("default", "withheld").verdict
    assert withheld is not None
    assert (withheld.value, withheld.reason) == (None, "no_questions")


@pytest.mark.parametrize("error", [JudgeUnavailable("down"), BudgetExhausted()])
async def test_what_passes_is_tried_again_later(
    store: Store, clock: ManualClock, error: JudgeError
) -> None:
    await put(store, "a", "Question?")
    await count(store, clock)
    clock.advance(3600)
    judge = Scripted(error, 0.5)
    job = judging(store, clock, judge)

    assert await job.judge_due() == 1
    assert await job.judge_due() == 0  # it waits
    clock.advance(660)
    assert await job.judge_due() == 1
    assert (store.sessions.get("default", "a").goal_reached, len(judge.asked)) == (0.5, 2)


async def test_a_judge_that_stays_away_is_given_up_on(store: Store, clock: ManualClock) -> None:
    await put(store, "a", "Question?")
    await count(store, clock)
    clock.advance(3600)
    judge = Scripted(JudgeUnavailable("down"))
    job = judging(store, clock, judge, attempts=3)
    for _ in range(6):
        await job.judge_due()
        clock.advance(1200)

    verdict = store.sessions.get("default", "a").verdict
    assert verdict is not None
    assert (verdict.reason, verdict.attempts, len(judge.asked)) == ("judge_unavailable", 3, 3)


async def test_what_is_of_no_use_is_said_and_not_asked_again(
    store: Store, clock: ManualClock
) -> None:
    await put(store, "a", "Question?")
    await put(store, "b", "Question?", at=EPOCH + timedelta(minutes=1))
    await count(store, clock)
    clock.advance(3600)
    plea = ConversationReply(probability=1.0, judge="j", suspect="injection_plea")
    judge = Scripted(JudgeOutputInvalid("no JSON"), plea)
    job = judging(store, clock, judge)
    assert await job.judge_due() == 2
    clock.advance(7200)
    assert await job.judge_due() == 0
    await count(store, clock)

    reasons = {name: store.sessions.get("default", name).verdict for name in "ab"}
    assert {one.reason for one in reasons.values() if one} == {
        "judge_output_invalid",
        "injection_plea",
    }
    assert estimate(store).value is None


async def test_a_part_is_drawn_and_history_is_left_alone(store: Store, clock: ManualClock) -> None:
    for number in range(40):
        await put(store, f"s{number}", "Question?")
    await count(store, clock)
    clock.advance(3600)
    judge = Scripted(0.5)
    job = judging(store, clock, judge, rate=0.5)
    while await job.judge_due():
        pass
    assert 8 <= len(judge.asked) <= 32

    clock.advance(86_400)
    await put(store, "old", "Question?", at=EPOCH + timedelta(hours=1))
    await count(store, clock)
    assert await job.judge_due() == 0


async def test_a_verdict_goes_with_its_user_and_with_time(store: Store, clock: ManualClock) -> None:
    def rows() -> int:
        with store._database.read() as connection:
            return len(connection.execute(session_verdicts.select()).all())

    await put(store, "a", "Question?")
    await count(store, clock)
    clock.advance(3600)
    job = judging(store, clock, Scripted(0.5))
    await job.judge_due()
    assert rows() == 1
    (verdict,) = [store.sessions.get("default", "a").verdict]
    store.traces.erase_user("default", "u")
    assert rows() == 0
    assert verdict is not None
    store.session_verdicts.save([verdict])  # it was asked for before the erasure
    assert rows() == 0

    await put(store, "b", "Question?", at=EPOCH + timedelta(hours=1))
    await count(store, clock)
    clock.advance(3600)
    await job.judge_due()
    assert rows() == 1
    store.retention.run(clock.now() + timedelta(days=31), RetentionPolicy(traces_days=30))
    assert rows() == 0


async def test_the_api_and_the_page_tell_it(store: Store, clock: ManualClock) -> None:
    await put(store, "a", "Question?")
    await count(store, clock)
    clock.advance(3600)
    services = replace(make_services(), traces=store.traces, sessions=store.sessions, clock=clock)
    async with open_client(services) as client:
        before = (await client.get("/api/v1/sessions/a")).json()["goal_reached"]
    await judging(store, clock, Scripted(0.37)).judge_due()
    async with open_client(services) as client:
        told = (await client.get("/api/v1/sessions/a")).json()["goal_reached"]
    async with open_client(services, headers=HTML) as client:
        text = (await client.get("/session", params={"id": "a"})).text

    assert before is None
    assert (told["value"], told["current"], told["turns"]) == (0.37, True, 1)
    assert told["judge"] == "openai_compatible/m/abc"
    assert "Served its user" in text
    assert "0.37" in text


def test_it_is_off_by_default_and_takes_a_judge_of_conversations(
    store: Store, clock: ManualClock
) -> None:
    assert create_session_judging(Settings(), store, clock) is None
    embedded = Settings(sessions=SessionOptions(judge="embedded-lexical"))
    with pytest.raises(ConfigurationError, match="judges no conversations"):
        create_session_judging(embedded, store, clock)
    pytest.importorskip("openai")
    table = {"kind": "openai_compatible", "base_url": "http://127.0.0.1:1/v1", "model": "m"}
    model = Settings(judges={"strict": table}, sessions=SessionOptions(judge="strict"))
    assert isinstance(create_session_judging(model, store, clock), SessionJudging)
