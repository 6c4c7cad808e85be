"""What the judge behind a server pays for, and when: every call, before it is made."""

from __future__ import annotations

from dataclasses import replace

import pytest

pytest.importorskip("openai")

from benchmarks.stub_server import Answer, Body, completion
from rag_monitor.domain.judgement import JudgeUsage
from rag_monitor.domain.ports import BudgetState, Reservation
from rag_monitor.errors import BudgetExhausted, JudgeTimeout
from rag_monitor.testing import EPOCH
from tests.unit.judges.requests import knowing, loan, warranty
from tests.unit.judges.served import FAST, served, sure


class _Ledger:
    """Has so many tokens to give, and remembers what was asked for and settled."""

    def __init__(self, tokens: int) -> None:
        self.tokens = tokens
        self.reserved: list[tuple[str, int]] = []
        self.sent: list[int] = []
        self.decided: list[tuple[str, JudgeUsage]] = []

    def reserve(self, project: str, judge: str, estimate: JudgeUsage) -> Reservation | None:
        held = Reservation(
            id="r", project=project, judge=judge, day=EPOCH.date(), reserved=JudgeUsage()
        )
        return self.extend(held, estimate)

    def extend(self, reservation: Reservation, more: JudgeUsage) -> Reservation | None:
        tokens = _tokens(more)
        if tokens > self.tokens:
            return None
        self.tokens -= tokens
        self.reserved.append((reservation.project, tokens))
        return replace(reservation, reserved=more_of(reservation.reserved, more))

    def note_sent(self, reservation: Reservation, sent: JudgeUsage) -> Reservation:
        self.sent.append(sent.input_tokens)
        return replace(reservation, sent=sent)

    def settle(self, reservation: Reservation, actual: JudgeUsage) -> None:
        self.tokens += _tokens(reservation.reserved) - _tokens(actual)
        self.decided.append((reservation.project, actual))

    def state(self, project: str, judge: str) -> BudgetState:
        return BudgetState(remaining=1.0)


def _tokens(usage: JudgeUsage) -> int:
    return usage.input_tokens + usage.output_tokens


def more_of(one: JudgeUsage, other: JudgeUsage) -> JudgeUsage:
    return JudgeUsage(
        input_tokens=one.input_tokens + other.input_tokens,
        output_tokens=one.output_tokens + other.output_tokens,
    )


async def test_tokens_and_money_are_settled_and_an_empty_budget_stops_the_call() -> None:
    ledger = _Ledger(2000)
    price = {"input_per_million": 1.0, "output_per_million": 10.0}
    async with served(knowing, services={"ledger": ledger}, price=price) as (judge, server):
        results = await judge.judge_many([loan(project="p"), loan(key="other", project="p")])

    assert isinstance(results[1], BudgetExhausted)
    ((project, usage),) = ledger.decided
    assert project == "p"
    assert usage.cost == pytest.approx((900 + 10 * 90) / 1e6)
    assert len(server.requests) == 1


async def test_every_further_call_is_reserved_for_before_it_is_made() -> None:
    def garbage(_path: str, body: Body) -> Answer:
        return Answer(payload=completion("no JSON", input_tokens=400, output_tokens=50))

    ledger = _Ledger(2500)
    async with served(garbage, services={"ledger": ledger}) as (judge, server):
        with pytest.raises(BudgetExhausted):
            await judge.judge(warranty())

    made = len(server.requests)
    assert 1 < made < 6, "without a budget it would be asked six times"
    assert ledger.decided[0][1].input_tokens == made * 400
    assert ledger.tokens == 2500 - made * 450 >= 0


@pytest.mark.parametrize(
    "usage", [None, {}, {"prompt_tokens": 10**30, "completion_tokens": "7"}, {"prompt_tokens": -1}]
)
async def test_usage_that_a_server_does_not_tell_is_estimated(usage: object) -> None:
    def silent(path: str, body: Body) -> Answer:
        payload = sure(path, body).payload
        return Answer(payload={**payload, "usage": usage})

    async with served(silent) as (judge, server):
        judgement = await judge.judge(warranty())

    sent = sum(len(message["content"]) for message in server.requests[0][1]["messages"])
    assert sent / 6 < judgement.usage.input_tokens < sent / 2
    assert 20 < judgement.usage.output_tokens < 200


async def test_a_call_that_nobody_waited_for_counts_with_what_was_sent() -> None:
    slow = Answer(payload=completion("{}"), delay_s=5.0)
    impatient = FAST | {"attempt_timeout_s": 0.2, "deadline_s": 0.5}
    ledger = _Ledger(20_000)
    async with served(lambda *_: slow, services={"ledger": ledger}, limits=impatient) as (judge, _):
        with pytest.raises(JudgeTimeout):
            await judge.judge(warranty())

    ((_, usage),) = ledger.decided
    assert usage.calls >= 2
    assert usage.input_tokens > 300 * (usage.calls - 1)


async def test_what_is_sent_is_noted_before_it_is_and_once_a_judgement() -> None:
    """So that what a worker had sent when it was killed stays counted, and nothing else."""
    ledger = _Ledger(20_000)
    noted: list[list[int]] = []

    def looking(path: str, body: Body) -> Answer:
        noted.append(list(ledger.sent))
        return knowing(path, body)

    async with served(looking, services={"ledger": ledger}) as (judge, server):
        await judge.judge(loan())

    assert len(server.requests) == len(noted) == 1
    assert noted == [ledger.sent], "before the call, and not again"
    assert len(ledger.sent) == 1
    estimate, *_ = ledger.reserved
    assert 0 < ledger.sent[0] < estimate[1], "what may be written in reply is not on its way"


async def test_a_probe_is_paid_by_the_project_it_came_with() -> None:
    ledger = _Ledger(20_000)
    async with served(knowing, services={"ledger": ledger}, probe_every=1) as (judge, _):
        await judge.judge_many([loan(project="p")])

    assert {project for project, _ in ledger.reserved} == {"p"}
