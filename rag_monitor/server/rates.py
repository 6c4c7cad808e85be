"""How often callers may ask: so many requests of one key, so many wrong keys of one address.

Both are counted by this process alone: behind a load balancer with n processes the bound is n
times as high.
"""

from __future__ import annotations

import math
import threading
from collections import OrderedDict, deque
from dataclasses import dataclass
from typing import Final

from rag_monitor.server.problems import ProblemError

_BURST_S: Final = 10.0
"""A key may use the requests of this many seconds at once."""
_REMEMBERED: Final = 10_000


@dataclass(slots=True)
class _Bucket:
    """Requests that may still be made now."""

    tokens: float
    at: float


class KeyLimit:
    """A token bucket per key. Thread-safe; keys that have long been quiet are forgotten."""

    def __init__(self, per_minute: int) -> None:
        self._per_minute = per_minute
        self._lock = threading.Lock()
        self._buckets: OrderedDict[str, _Bucket] = OrderedDict()

    def admit(self, key_id: str, own_per_minute: int | None, now: float) -> None:
        """Count one request of the key.

        Args:
            key_id: Whose request it is.
            own_per_minute: The key's own limit; None: the server's.
            now: Monotonic seconds.

        Raises:
            ProblemError: 429 with the seconds until the next request will be taken.
        """
        per_minute = self._per_minute if own_per_minute is None else own_per_minute
        if per_minute <= 0:
            return
        rate = per_minute / 60
        burst = max(1.0, rate * _BURST_S)
        with self._lock:
            bucket = self._buckets.get(key_id)
            if bucket is None:
                bucket = self._buckets[key_id] = _Bucket(tokens=burst, at=now)
                while len(self._buckets) > _REMEMBERED:
                    self._buckets.popitem(last=False)
            self._buckets.move_to_end(key_id)
            bucket.tokens = min(burst, bucket.tokens + (now - bucket.at) * rate)
            bucket.at = now
            if bucket.tokens >= 1:
                bucket.tokens -= 1
                return
            wait = max(1, math.ceil((1 - bucket.tokens) / rate))
        raise ProblemError(
            429,
            "This key may make {per_minute} requests a minute; try again in {wait} s.",
            per_minute=per_minute,
            wait=wait,
            kind="rate-limited",
            headers={"Retry-After": str(wait)},
        )


class FailureLimit:
    """Slows down whoever guesses keys: so many wrong ones per minute and address."""

    def __init__(self, per_minute: int = 30, addresses: int = _REMEMBERED) -> None:
        self._per_minute = per_minute
        self._addresses = addresses
        self._failures: OrderedDict[str, deque[float]] = OrderedDict()

    def check(self, address: str, now: float) -> None:
        """Raise 429 when the address has failed too often in the last minute."""
        failures = self._failures.get(address)
        if failures is None:
            return
        while failures and failures[0] <= now - 60:
            failures.popleft()
        if len(failures) >= self._per_minute:
            wait = max(1, int(failures[0] + 60 - now))
            raise ProblemError(
                429,
                "Too many wrong keys from this address; try again in {wait} s.",
                wait=wait,
                kind="too-many-failures",
                headers={"Retry-After": str(wait)},
            )

    def record(self, address: str, now: float) -> None:
        """Remember a failure."""
        failures = self._failures.setdefault(address, deque(maxlen=self._per_minute))
        failures.append(now)
        self._failures.move_to_end(address)
        while len(self._failures) > self._addresses:
            self._failures.popitem(last=False)
