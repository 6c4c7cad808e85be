"""Decompression under a total cap: a small body must not become a large memory."""

from __future__ import annotations

import sys
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Final, Protocol

from rag_monitor.errors import MalformedPayload, PayloadTooLarge, UnsupportedMediaType
from rag_monitor.installation import install_command

zstd: Any
try:
    zstd = import_module("compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd")
except ImportError:
    zstd = None

_CHUNK: Final = 64 * 1024
_MAX_MEMBERS: Final = 1024
_ZSTD_WINDOW_LOG: Final = 23
"""8 MiB, the largest window of zstd as a content encoding (RFC 9659): a decoder holds that much."""
_BROKEN: Final = (zlib.error,) if zstd is None else (zlib.error, zstd.ZstdError)


class _Stream(Protocol):
    """One compressed stream on its way in, as `zlib` and `compression.zstd` have it."""

    @property
    def eof(self) -> bool: ...

    @property
    def unused_data(self) -> bytes: ...

    def decompress(self, data: bytes, max_length: int, /) -> bytes: ...


@dataclass(frozen=True, slots=True)
class _Coding:
    """A content encoding."""

    begin: Callable[[], _Stream]
    many: bool = True
    """Whether several streams may follow each other: members of gzip, frames of zstd."""
    padded: bool = False
    """Whether zeros may follow a stream."""


def _zstd_stream() -> _Stream:
    if zstd is None:
        raise UnsupportedMediaType(
            "this server cannot read zstd; send gzip or deflate, or install on the server: "
            "{command}",
            command=install_command("server"),
        )
    options = {zstd.DecompressionParameter.window_log_max: _ZSTD_WINDOW_LOG}
    stream: _Stream = zstd.ZstdDecompressor(options=options)
    return stream


_GZIP: Final = _Coding(lambda: zlib.decompressobj(31), padded=True)
_CODINGS: Final = {
    "gzip": _GZIP,
    "x-gzip": _GZIP,
    "deflate": _Coding(lambda: zlib.decompressobj(15), many=False),
    "zstd": _Coding(_zstd_stream),
}


def inflate(body: bytes, content_encoding: str | None, limit: int) -> bytes:
    """The body without its content encoding.

    All gzip members and zstd frames are read (RFC 1952 and RFC 8878 allow several), and each must
    reach its end, so that a cut stream is not taken for a short one.

    Args:
        body: The body as received.
        content_encoding: Value of the header, or None.
        limit: Largest size in bytes, before and after inflating.

    Raises:
        PayloadTooLarge: More than `limit` bytes.
        UnsupportedMediaType: Not gzip, deflate, zstd or identity, or several of them.
        MalformedPayload: The stream is damaged, cut, or is not compressed at all.
    """
    if len(body) > limit:
        raise _too_large(limit)
    encoding = (content_encoding or "").strip().lower()
    if encoding in ("", "identity"):
        return body
    coding = _CODINGS.get(encoding)
    if coding is None:
        raise UnsupportedMediaType(
            "content-encoding is not supported; send gzip, deflate, zstd or no encoding"
        )
    try:
        return _inflate(body, coding, limit)
    except _BROKEN as error:
        raise MalformedPayload(
            "the body is not valid {encoding}: {reason}; compress it again or drop the header",
            encoding=encoding,
            reason=error,
        ) from error


def _inflate(body: bytes, coding: _Coding, limit: int) -> bytes:
    parts: list[bytes] = []
    total = 0
    members = 1
    stream = coding.begin()
    # Fed in chunks: `unused_data` copies what follows a member, and copying the whole rest after
    # each of many tiny members would take quadratic time.
    for start in range(0, len(body), _CHUNK):
        pending = body[start : start + _CHUNK]
        while pending:
            if stream.eof:
                pending = pending.lstrip(b"\0") if coding.padded else pending
                if not pending:
                    break
                members = _next_member(members, coding)
                stream = coding.begin()
            part = stream.decompress(pending, limit + 1 - total)
            total += len(part)
            if total > limit:
                raise _too_large(limit)
            parts.append(part)
            # Less came out than was allowed, so the stream has taken in all that belongs to it.
            pending = stream.unused_data if stream.eof else b""
    if not stream.eof:
        raise MalformedPayload("the compressed body is cut off; send it again in full")
    return b"".join(parts)


def _next_member(members: int, coding: _Coding) -> int:
    if not coding.many:
        raise MalformedPayload("data follows the end of the deflate stream; send one stream")
    if members >= _MAX_MEMBERS:
        raise MalformedPayload(
            "more than {most} compressed streams in one body; send one", most=_MAX_MEMBERS
        )
    return members + 1


def _too_large(limit: int) -> PayloadTooLarge:
    return PayloadTooLarge(
        "the body is larger than {most} bytes (after decompression); send smaller batches, or "
        "raise `http.max_body_bytes` of the server",
        most=limit,
    )
