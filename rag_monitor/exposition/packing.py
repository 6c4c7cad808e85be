"""Gzip of prepared parts: each is compressed once, whoever asks gets them put together.

A scraper that is handed megabytes takes them in many pieces, and between two of them everything
else gets its turn. Compressed to a twentieth they leave in one.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

_LEVEL: Final = 1
_HEADER: Final = b"\x1f\x8b\x08\0\0\0\0\0\0\xff"
"""Deflated, no name, no time, of no particular system (RFC 1952)."""
_LAST_BLOCK: Final = b"\x03\0"
"""An empty block that says that it is the last one (RFC 1951)."""
_TRAILER: Final = struct.Struct("<LL")
_MODULO: Final = 2**32


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of a page."""

    text: bytes
    deflated: bytes
    """Whole blocks, none of them the last one, that end with a byte and refer to nothing before."""

    @classmethod
    def of(cls, text: bytes) -> Part:
        """The text, compressed."""
        deflate = zlib.compressobj(_LEVEL, zlib.DEFLATED, -zlib.MAX_WBITS)
        return cls(text, deflate.compress(text) + deflate.flush(zlib.Z_FULL_FLUSH))


def plain(parts: Iterable[Part]) -> bytes:
    """All of them as they are."""
    return b"".join(part.text for part in parts)


def gzipped(parts: Iterable[Part]) -> bytes:
    """All of them as one gzip file of one member: not every client reads several."""
    found, check, size = [_HEADER], 0, 0
    for part in parts:
        found.append(part.deflated)
        check = zlib.crc32(part.text, check)
        size += len(part.text)
    return b"".join((*found, _LAST_BLOCK, _TRAILER.pack(check, size % _MODULO)))
