"""One owner of retries: backoff, Retry-After, deadline, concurrency, breaker."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from rag_monitor.errors import (
    JudgeOutputInvalid,
    JudgeRefused,
    JudgeTimeout,
    JudgeUnavailable,
    QuotaExhausted,
)
from rag_monitor.judges.limits import (
    LimitOptions,
    Limits,
    Overloaded,
    PoisonRequest,
)


class Time:
    """Seconds that pass only while somebody sleeps."""

    def __init__(self) -> None:
        self.now = 0.0
        self.slept: list[float] = []

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds
        await asyncio.sleep(0)


def make(time: Time, **options: float) -> Limits:
    return Limits(
        LimitOptions(**options),  # type: ignore[arg-type]
        now=lambda: time.now,
        sleep=time.sleep,
        draw=lambda: 1.0,
    )


def failing(times: int, error: Exception) -> tuple[list[int], object]:
    calls: list[int] = []

    async def attempt() -> str:
        calls.append(1)
        if len(calls) <= times:
            raise error
        return "answer"

    return calls, attempt


async def test_waits_double_up_to_a_cap_and_then_the_answer_comes() -> None:
    time = Time()
    limits = make(time, backoff_s=1.0, backoff_cap_s=3.0)
    calls, attempt = failing(4, JudgeUnavailable())

    assert await limits.call(attempt, limits.deadline()) == "answer"
    assert time.slept == [1.0, 2.0, 3.0, 3.0]
    assert len(calls) == 5


async def test_the_server_s_own_waiting_time_is_respected() -> None:
    time = Time()
    limits = make(time, backoff_s=0.5)
    _, attempt = failing(1, Overloaded("429", retry_after_s=7.0))

    await limits.call(attempt, limits.deadline())

    assert time.slept == [7.5]


async def test_nothing_is_tried_when_the_wait_would_pass_the_deadline() -> None:
    time = Time()
    limits = make(time, deadline_s=5.0)
    calls, attempt = failing(99, Overloaded("429", retry_after_s=60.0))

    with pytest.raises(Overloaded):
        await limits.call(attempt, limits.deadline())
    assert len(calls) == 1
    assert time.slept == []


BROKEN = (JudgeTimeout(), JudgeUnavailable("cut"), Overloaded("500", broke=True))


@pytest.mark.parametrize("error", BROKEN, ids=str)
@pytest.mark.parametrize("others", [True, False])
@pytest.mark.parametrize("may_split", [True, False])
async def test_a_request_that_alone_fails_is_given_up_early_if_it_can_be_divided(
    error: Exception, others: bool, may_split: bool
) -> None:
    limits = make(Time(), isolated_attempts=3, breaker_failures=99)
    calls, failing_attempt = failing(99, error)

    async def attempt() -> str:
        if others:
            await limits.call(failing(0, error)[1], limits.deadline())  # type: ignore[arg-type]
        return await failing_attempt()  # type: ignore[operator,no-any-return]

    with pytest.raises((JudgeUnavailable, JudgeTimeout)) as caught:
        await limits.call(attempt, replace(limits.deadline(), may_split=may_split))

    early = others and may_split
    assert (caught.type is PoisonRequest) == early
    assert len(calls) == (3 if early else limits.options.attempts)


async def test_a_server_that_asks_for_a_pause_gets_no_more_requests_instead() -> None:
    limits = make(Time(), isolated_attempts=3)
    _, failing_attempt = failing(9, Overloaded("429"))

    async def attempt() -> str:
        await limits.call(failing(0, ValueError())[1], limits.deadline())  # type: ignore[arg-type]
        return await failing_attempt()  # type: ignore[operator,no-any-return]

    assert await limits.call(attempt, replace(limits.deadline(), may_split=True)) == "answer"


@pytest.mark.parametrize("error", [JudgeOutputInvalid(), JudgeRefused("key refused")])
async def test_what_will_not_get_better_is_not_tried_again(error: Exception) -> None:
    time = Time()
    limits = make(time)
    calls, attempt = failing(99, error)

    with pytest.raises(type(error)):
        await limits.call(attempt, limits.deadline())
    assert len(calls) == 1


async def test_after_a_used_up_quota_nothing_is_sent_until_one_call_may_try_again() -> None:
    time = Time()
    limits = make(time, breaker_open_s=10.0, deadline_s=500.0)
    calls, attempt = failing(1, QuotaExhausted("answered 402: no credit"))

    for _ in range(5):
        with pytest.raises(QuotaExhausted, match="no credit"):
            await limits.call(attempt, limits.deadline())  # type: ignore[arg-type]
    assert len(calls) == 1
    assert time.slept == [], "nobody waits for what only a person can end"

    time.now += 11.0
    assert await limits.call(attempt, limits.deadline()) == "answer"  # type: ignore[arg-type]


async def test_calls_that_wait_for_a_slot_are_not_sent_once_the_quota_is_used_up() -> None:
    limits = make(Time(), concurrency=2)
    calls, attempt = failing(99, QuotaExhausted("answered 402"))

    async def slow() -> str:
        await asyncio.sleep(0)
        return await attempt()  # type: ignore[operator,no-any-return]

    deadline = limits.deadline()
    results = await asyncio.gather(
        *(limits.call(slow, deadline) for _ in range(20)), return_exceptions=True
    )

    assert {type(result) for result in results} == {QuotaExhausted}
    assert len(calls) == 2


async def test_tries_are_counted_once_whatever_the_error() -> None:
    time = Time()
    limits = make(time, attempts=3, breaker_failures=99)
    calls, attempt = failing(99, JudgeUnavailable())

    with pytest.raises(JudgeUnavailable):
        await limits.call(attempt, limits.deadline())
    assert len(calls) == limits.attempts == 3


async def test_a_hanging_try_is_cut_off_and_tried_again() -> None:
    limits = Limits(LimitOptions(attempt_timeout_s=0.02, backoff_s=0.001))
    calls: list[int] = []

    async def attempt() -> str:
        calls.append(1)
        if len(calls) == 1:
            await asyncio.Event().wait()
        return "answer"

    assert await limits.call(attempt, limits.deadline()) == "answer"


async def test_a_judge_that_always_hangs_times_out() -> None:
    limits = Limits(LimitOptions(attempt_timeout_s=0.01, backoff_s=0.001, attempts=2))

    async def attempt() -> str:
        await asyncio.Event().wait()
        return "never"

    with pytest.raises(JudgeTimeout):
        await limits.call(attempt, limits.deadline())


async def test_no_more_calls_than_allowed_are_in_flight() -> None:
    limits = Limits(LimitOptions(concurrency=3))
    running, most = 0, 0

    async def attempt() -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0)
        running -= 1

    await asyncio.gather(*(limits.call(attempt, limits.deadline()) for _ in range(12)))

    assert most == 3


async def test_the_breaker_spares_a_dead_server_and_lets_one_try_through() -> None:
    time = Time()
    limits = make(time, attempts=1, breaker_failures=2, breaker_open_s=10.0, deadline_s=5.0)
    calls, attempt = failing(2, JudgeUnavailable())
    for _ in range(2):
        with pytest.raises(JudgeUnavailable):
            await limits.call(attempt, limits.deadline())

    with pytest.raises(JudgeUnavailable, match="nothing is sent"):
        await limits.call(attempt, limits.deadline())
    assert len(calls) == 2

    time.now += 10.0
    assert await limits.call(attempt, limits.deadline()) == "answer"
    assert await limits.call(attempt, limits.deadline()) == "answer"


@pytest.mark.parametrize("outage_s", [10.0, 60.0])
async def test_an_outage_shorter_than_the_deadline_loses_nothing(outage_s: float) -> None:
    time = Time()
    limits = make(time, deadline_s=180.0, attempts=30, breaker_failures=5)

    async def attempt() -> str:
        if time.now < outage_s:
            raise Overloaded("503")
        return "answer"

    answers = await asyncio.gather(*(limits.call(attempt, limits.deadline()) for _ in range(20)))

    assert answers == ["answer"] * 20
