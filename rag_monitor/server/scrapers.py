"""Who scrapes: known from the scrape before, so that the present one need not wait."""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from fastapi import Request

from rag_monitor.errors import StoreUnavailable
from rag_monitor.server.problems import ProblemError

Holder = TypeVar("Holder")

_AGAIN_S: Final = 5.0
"""A key is looked up again this long after it was looked up last, once it is used."""
_BELIEVED_S: Final = 3600.0
"""A key that cannot be looked up is believed for so long."""
_REMEMBERED: Final = 1_000


@dataclass(slots=True)
class _Cached(Generic[Holder]):
    """The holder of a key."""

    holder: Holder
    confirmed_at: float
    asked_at: float


class Scrapers(Generic[Holder]):
    """Remembers the holders of keys; for one event loop.

    A key that was revoked elsewhere may scrape once more: it is looked up after the answer.

    Args:
        look_up: Asks the database who sent a request.
    """

    def __init__(self, look_up: Callable[[Request], Awaitable[Holder]]) -> None:
        self._look_up = look_up
        self._cache: OrderedDict[bytes, _Cached[Holder]] = OrderedDict()
        self._asking: set[asyncio.Task[None]] = set()

    async def identify(self, request: Request, shown: str) -> Holder:
        """Who sent the request.

        Args:
            request: What was sent.
            shown: The key or cookie in it, by which its sender is known again.

        Raises:
            ProblemError: Nobody whom we know.
            StoreUnavailable: They are new here, and the database does not answer.
        """
        digest = hashlib.sha256(shown.encode("utf-8", "surrogatepass")).digest()
        now = time.monotonic()
        cached = self._cache.get(digest)
        if cached is None or now - cached.confirmed_at > _BELIEVED_S:
            holder = await self._look_up(request)
            self._keep(digest, holder)
            return holder
        if now - cached.asked_at > _AGAIN_S:
            cached.asked_at = now
            task = asyncio.get_running_loop().create_task(self._confirm(digest, request))
            self._asking.add(task)
            task.add_done_callback(self._asking.discard)
        return cached.holder

    async def _confirm(self, digest: bytes, request: Request) -> None:
        try:
            self._keep(digest, await self._look_up(request))
        except StoreUnavailable:
            return  # believed meanwhile
        except ProblemError:
            self._cache.pop(digest, None)

    def _keep(self, digest: bytes, holder: Holder) -> None:
        now = time.monotonic()
        self._cache[digest] = _Cached(holder, now, now)
        self._cache.move_to_end(digest)
        while len(self._cache) > _REMEMBERED:
            self._cache.popitem(last=False)
