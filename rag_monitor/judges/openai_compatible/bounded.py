"""Replies are read up to a size, and what is compressed is counted as it comes out.

A server that never stops, or one whose few kilobytes unpack to gigabytes, would else fill the
memory of the worker before its time ran out.
"""

from __future__ import annotations

import zlib
from collections.abc import AsyncIterable, AsyncIterator
from functools import cache
from importlib import import_module
from typing import Any, Final

MAX_REPLY_BYTES: Final = 16 * 1024 * 1024
"""A page of verdicts with logprobs is less than one, a batch of embeddings a few."""
ENCODING: Final = "gzip"
"""The only compression that is asked for, and unpacked here."""
_GZIP: Final = 16 + zlib.MAX_WBITS


class ReplyRefusedError(Exception):
    """The server sent more than is read, or packed it in a way that cannot be."""


async def bound(response: Any) -> None:
    """Have the body of a response read up to `MAX_REPLY_BYTES`.

    An event hook for the client of httpx, or of whichever library like it the `openai` client uses.
    """
    packed = response.headers.get("content-encoding", "identity").strip().lower()
    gzip = packed in {ENCODING, f"x-{ENCODING}"}
    if gzip:
        del response.headers["content-encoding"]  # it is unpacked before the library sees it
    elif packed not in {"", "identity"}:
        raise ReplyRefusedError(f"the reply is packed as {packed[:40]!r}, not as {ENCODING}")
    library = import_module(type(response).__module__.partition(".")[0])
    response.stream = _bounded(library.AsyncByteStream)(response.stream, gzip=gzip)


@cache
def _bounded(base: Any) -> Any:
    """A stream that fails after so much; the library takes none but of its own kind."""

    class Bounded(base):  # type: ignore[misc] # known at run time only
        def __init__(self, inner: Any, *, gzip: bool) -> None:
            self._inner = inner
            self._gzip = gzip

        def __aiter__(self) -> AsyncIterator[bytes]:
            return _read(self._inner, gzip=self._gzip)

        async def aclose(self) -> None:
            await self._inner.aclose()

    return Bounded


async def _read(parts: AsyncIterable[bytes], *, gzip: bool) -> AsyncIterator[bytes]:
    unpack = zlib.decompressobj(_GZIP).decompress if gzip else None
    left = MAX_REPLY_BYTES
    async for part in parts:
        plain = part
        if unpack is not None:
            try:  # one byte beyond what is left tells that there is more
                plain = unpack(part, left + 1)
            except zlib.error:
                raise ReplyRefusedError(f"the reply is not {ENCODING} as it says") from None
        left -= len(plain)
        if left < 0:
            raise ReplyRefusedError(f"the reply is longer than {MAX_REPLY_BYTES:,} bytes")
        yield plain
