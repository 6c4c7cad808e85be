"""One gzip file put together of parts that were compressed before.

Putting it together touches only the compressed bytes: the checksum of the whole comes from those of
the parts. Reading megabytes for it at each scrape would give the interpreter up, and a thread of a
busy process waits long to get it back.
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
_POLYNOMIAL: Final = 0xEDB88320
"""Of CRC-32, the coefficient of x^0 in the highest bit (RFC 1952, section 8)."""
_ONE: Final = 1 << 31
_BYTE: Final = 1 << 23
"""x^8: what a byte of zeros multiplies a checksum by."""


def _times(a: int, b: int) -> int:
    """The product of two polynomials over GF(2), modulo that of CRC-32."""
    product = 0
    for power in range(31, -1, -1):
        if a >> power & 1:
            product ^= b
        b = b >> 1 ^ (_POLYNOMIAL if b & 1 else 0)
    return product


def _shift(size: int) -> int:
    """x^(8 * size): what `size` more bytes multiply the checksum before them by."""
    shift, square = _ONE, _BYTE
    while size:
        if size & 1:
            shift = _times(shift, square)
        square = _times(square, square)
        size >>= 1
    return shift


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of a page."""

    text: bytes
    deflated: bytes
    """Whole blocks, none of them the last one, that end with a byte and refer to nothing before."""
    crc: int
    """CRC-32 of the text."""
    shift: int
    """What the text multiplies the CRC-32 of all before it by."""

    @classmethod
    def of(cls, text: bytes) -> Part:
        """The text, compressed."""
        deflate = zlib.compressobj(_LEVEL, zlib.DEFLATED, -zlib.MAX_WBITS)
        deflated = deflate.compress(text) + deflate.flush(zlib.Z_FULL_FLUSH)
        return cls(text, deflated, zlib.crc32(text), _shift(len(text)))


def plain(parts: Iterable[Part]) -> bytes:
    """All of them as they are."""
    return b"".join(part.text for part in parts)


def gzipped(parts: Iterable[Part]) -> bytes:
    """All of them as one gzip file of one member: not every client reads several."""
    chunks, crc, size = [_HEADER], 0, 0
    for part in parts:
        chunks.append(part.deflated)
        # CRC(AB) = CRC(A) * x^(8|B|) + CRC(B), as zlib's crc32_combine has it.
        crc = _times(part.shift, crc) ^ part.crc
        size += len(part.text)
    return b"".join((*chunks, _LAST_BLOCK, _TRAILER.pack(crc, size % _MODULO)))
