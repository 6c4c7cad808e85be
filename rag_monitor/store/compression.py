"""Blobs in the zlib format. ISA-L writes it in a quarter of zlib's time, and reads it in half."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Any, Final

from rag_monitor.errors import MalformedPayload

_ZLIB_LEVEL: Final = 1
_ISAL_LEVEL: Final = 0
"""The fastest of each that compresses; ISA-L's next takes 40 % longer to gain a tenth."""


_Library = tuple[Callable[[bytes, int], bytes], int, Callable[[bytes], bytes], tuple[Any, ...]]
"""Writes, at this level; reads; raises these."""


def _library() -> _Library:
    try:
        from isal import isal_zlib
    except ImportError:  # no wheel for this machine; the format is the same
        return zlib.compress, _ZLIB_LEVEL, zlib.decompress, (zlib.error,)
    failures = (zlib.error, isal_zlib.error)
    return isal_zlib.compress, _ISAL_LEVEL, isal_zlib.decompress, failures


_compress, _level, _decompress, _failures = _library()


def compress(payload: bytes) -> bytes:
    """The payload, smaller; `decompress` gives it back."""
    return _compress(payload, _level)


def decompress(stored: bytes) -> bytes:
    """What was given to `compress`.

    Raises:
        MalformedPayload: The stored bytes are damaged.
    """
    try:
        return _decompress(stored)
    except _failures as error:
        raise MalformedPayload("stored evidence is damaged: {reason}", reason=error) from error
