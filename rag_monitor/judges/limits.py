"""The one owner of retries: attempts with jitter, a deadline, concurrency and a circuit breaker.

Clients below it must not retry by themselves, or the tries multiply.
"""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final, TypeVar

from rag_monitor import telemetry
from rag_monitor.errors import (
    BudgetExhausted,
    ConfigurationError,
    JudgeRefused,
    JudgeTimeout,
    JudgeUnavailable,
    QuotaExhausted,
)
from rag_monitor.outbound.retry import backoff_s

T = TypeVar("T")
_log = logging.getLogger(__name__)

_MAX_RETRY_AFTER_S: Final = 300.0
FORMER_NAMES: Final = {"lonely_attempts": "isolated_attempts"}
"""Settings of `LimitOptions` that had another name; the old one still works."""


class Overloaded(JudgeUnavailable):
    """The judge asked us to come back later."""

    def __init__(
        self,
        text: str,
        /,
        *,
        retry_after_s: float | None = None,
        broke: bool = False,
        **params: object,
    ) -> None:
        super().__init__(text, **params)
        self.retry_after_s = retry_after_s
        """What the server said, in seconds; None when it said nothing."""
        self.broke = broke
        """It did not ask for anything: it broke over the request."""


class PoisonRequest(JudgeUnavailable):
    """The judge answers other requests, but fails at this one again and again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitOptions:
    """How patient to be with a judge that is reached over a network."""

    attempt_timeout_s: float = 30.0
    """One try, from sending to the last byte."""
    deadline_s: float = 120.0
    """One judgement with all its calls, tries and waits."""
    attempts: int = 12
    """Tries per call, the first included."""
    isolated_attempts: int = 3
    """Failed tries in a row, while others succeed, after which a request is split."""
    backoff_s: float = 0.5
    """Wait before the second try; doubles, with full jitter."""
    backoff_cap_s: float = 15.0
    concurrency: int = 16
    """Calls in flight at once."""
    breaker_failures: int = 10
    """So many failed tries in a row open the breaker."""
    breaker_open_s: float = 5.0
    """So long nothing is sent; then one call tries."""

    def __post_init__(self) -> None:
        for name in ("attempt_timeout_s", "deadline_s", "backoff_s", "backoff_cap_s"):
            if getattr(self, name) <= 0:
                raise ConfigurationError(
                    "{name} must be above 0, not {value}", name=name, value=getattr(self, name)
                )
        for name in ("attempts", "concurrency", "breaker_failures", "isolated_attempts"):
            if getattr(self, name) < 1:
                raise ConfigurationError(
                    "{name} must be at least 1, not {value}", name=name, value=getattr(self, name)
                )


@dataclass(frozen=True, slots=True)
class Deadline:
    """The moment, on a monotonic clock, when a judgement must be there."""

    at: float
    may_split: bool = False
    """Whether the caller can split the request, and prefers that to many tries of the whole."""


class Limits:
    """Runs calls within the limits. One per judge; all its calls share the breaker.

    Args:
        options: How patient to be.
        now: Monotonic seconds.
        sleep: Waits for seconds.
        draw: Uniform number in 0 to 1, for the jitter.
    """

    def __init__(
        self,
        options: LimitOptions,
        *,
        now: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        draw: Callable[[], float] = random.random,
    ) -> None:
        self.options = options
        self._now = now
        self._sleep = sleep
        self._draw = draw
        self._slots = asyncio.Semaphore(options.concurrency)
        self._breaker = _Breaker(options, now)
        self._answers = 0
        self._last_warning: str | None = None
        self._refusal: JudgeRefused | None = None
        """How the last call that failed was refused."""
        self._spent = 0
        """How often a call found the quota used up."""
        self.attempts = 0
        """Tries so far, for figures."""

    def deadline(self) -> Deadline:
        """The deadline of a judgement that starts now."""
        return Deadline(self._now() + self.options.deadline_s)

    async def call(self, attempt: Callable[[], Awaitable[T]], deadline: Deadline) -> T:
        """Run `attempt` until it answers.

        Tries again after `JudgeUnavailable` and `JudgeTimeout`; everything else is passed on.

        Raises:
            JudgeUnavailable: Every try failed, or the breaker stays open beyond the deadline.
            JudgeRefused: The server refuses us; not tried again. After `QuotaExhausted` nothing is
                sent until the breaker lets a call through.
            PoisonRequest: Where the caller may split it, see `LimitOptions.isolated_attempts`.
            JudgeTimeout: The deadline passed, or the last try took too long.
        """
        isolated, answers = 0, self._answers
        for number in range(1, self.options.attempts + 1):
            await self._wait_for_breaker(deadline)
            try:
                result = await self._once(attempt, deadline, self._spent)
            except (JudgeUnavailable, JudgeTimeout) as error:
                self._spent += isinstance(error, QuotaExhausted)
                self._breaker.failed(permanent=isinstance(error, QuotaExhausted))
                self._refusal = error if isinstance(error, JudgeRefused) else None
                if self._refusal is not None:
                    self._say(str(self._refusal))
                alone = self._answers > answers and _may_be_the_request(error)
                isolated = isolated + 1 if alone else 0
                if deadline.may_split and isolated >= self.options.isolated_attempts:
                    raise PoisonRequest(
                        "{reason}; other requests are answered", reason=error
                    ) from error
                pause = self._pause(number, error)
                last = number == self.options.attempts or isinstance(error, JudgeRefused)
                if last or self._now() + pause >= deadline.at:
                    raise
                telemetry.dropped("judges", error.reason)
                await self._sleep(pause)
            except BudgetExhausted:
                raise  # nothing was sent
            except Exception:
                self._answered()
                raise
            else:
                self._answered()
                return result
        raise JudgeUnavailable  # pragma: no cover - the last round returns or raises

    def _say(self, refusal: str) -> None:
        """Tell an operator once what to fix; every judgement would fail with the same words."""
        if refusal != self._last_warning:
            self._last_warning = refusal
            _log.warning("%s; nothing is judged until that is fixed", refusal.rstrip(".。"))

    def _answered(self) -> None:
        self._last_warning = None
        self._breaker.answered()
        self._answers += 1

    async def _once(self, attempt: Callable[[], Awaitable[T]], deadline: Deadline, spent: int) -> T:
        """One try; not sent when the quota was found used up while it waited for its slot."""
        left = deadline.at - self._now()
        if left <= 0:
            raise JudgeTimeout
        try:
            async with asyncio.timeout(left):
                await self._slots.acquire()
        except TimeoutError:
            raise JudgeTimeout("no free slot for a call before the deadline") from None
        try:
            if self._spent != spent and isinstance(self._refusal, QuotaExhausted):
                raise QuotaExhausted(str(self._refusal))
            self.attempts += 1
            limit = min(self.options.attempt_timeout_s, deadline.at - self._now())
            async with asyncio.timeout(max(0.0, limit)):
                return await attempt()
        except TimeoutError:
            raise JudgeTimeout(
                "the judge did not answer within {limit:.1f} s", limit=limit
            ) from None
        finally:
            self._slots.release()

    async def _wait_for_breaker(self, deadline: Deadline) -> None:
        while (pause := self._breaker.closed_in()) > 0:
            spent = isinstance(self._refusal, QuotaExhausted)  # waiting is no use
            if spent or self._now() + pause >= deadline.at:
                if self._refusal is not None:
                    raise type(self._refusal)(str(self._refusal))
                raise JudgeUnavailable(
                    "the judge failed {failures} times in a row; nothing is sent for another "
                    "{pause:.1f} s",
                    failures=self.options.breaker_failures,
                    pause=pause,
                )
            await self._sleep(pause)

    def _pause(self, number: int, error: Exception) -> float:
        retry_after_s = error.retry_after_s if isinstance(error, Overloaded) else None
        if retry_after_s is None:
            options = self.options
            return backoff_s(number, options.backoff_s, options.backoff_cap_s, self._draw)
        return (
            min(max(0.0, retry_after_s), _MAX_RETRY_AFTER_S) + self._draw() * self.options.backoff_s
        )


def _may_be_the_request(error: Exception) -> bool:
    """Whether the failure may lie in what was asked, not in how much is asked of the judge."""
    return error.broke if isinstance(error, Overloaded) else not isinstance(error, JudgeRefused)


class _Breaker:
    """Opens after failures in a row; then lets one call through per interval until one answers."""

    def __init__(self, options: LimitOptions, now: Callable[[], float]) -> None:
        self._options = options
        self._now = now
        self._failures = 0
        self._open_until = 0.0

    def closed_in(self) -> float:
        """Seconds until the caller may try; 0 gives it leave."""
        if self._failures < self._options.breaker_failures:
            return 0.0
        left = self._open_until - self._now()
        if left > 0:
            return left
        self._open_until = self._now() + self._options.breaker_open_s
        return 0.0

    def failed(self, *, permanent: bool = False) -> None:
        """Count a failed try; one that is for good opens the breaker by itself."""
        self._failures = max(self._failures + 1, self._options.breaker_failures * permanent)
        if self._failures >= self._options.breaker_failures:
            self._open_until = self._now() + self._options.breaker_open_s

    def answered(self) -> None:
        self._failures = 0
