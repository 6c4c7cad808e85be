"""Decompression under a total cap: a small body must not become a large memory."""

from __future__ import annotations

import zlib
from typing import Final

from rag_monitor.errors import MalformedPayload, PayloadTooLarge, UnsupportedMediaType

_CHUNK: Final = 64 * 1024
_MAX_MEMBERS: Final = 1024
_WINDOW_BITS: Final = {"gzip": 31, "x-gzip": 31, "deflate": 15}


def inflate(body: bytes, content_encoding: str | None, limit: int) -> bytes:
    """The body without its content encoding.

    All gzip members are read (RFC 1952 allows several), and each must reach its end, so that a cut
    stream is not taken for a short one.

    Args:
        body: The body as received.
        content_encoding: Value of the header, or None.
        limit: Largest size in bytes, before and after inflating.

    Raises:
        PayloadTooLarge: More than `limit` bytes.
        UnsupportedMediaType: Neither gzip, deflate nor identity, or several of them.
        MalformedPayload: The stream is damaged, cut, or is not compressed at all.
    """
    if len(body) > limit:
        raise PayloadTooLarge(_too_large(limit))
    encoding = (content_encoding or "").strip().lower()
    if encoding in ("", "identity"):
        return body
    bits = _WINDOW_BITS.get(encoding)
    if bits is None:
        raise UnsupportedMediaType(
            "content-encoding is not supported; send gzip, deflate or no encoding"
        )
    try:
        return _inflate(body, bits, limit)
    except zlib.error as error:
        raise MalformedPayload(
            f"the body is not valid {encoding}: {error}; compress it again or drop the header"
        ) from error


def _inflate(body: bytes, bits: int, limit: int) -> bytes:
    parts: list[bytes] = []
    total = 0
    members = 1
    stream = zlib.decompressobj(bits)
    # Fed in chunks: `unused_data` copies what follows a member, and copying the whole rest after
    # each of many tiny members would take quadratic time.
    for start in range(0, len(body), _CHUNK):
        pending = body[start : start + _CHUNK]
        while pending:
            if stream.eof:
                pending = pending.lstrip(b"\0") if bits > 15 else pending
                if not pending:
                    break
                members = _next_member(members, bits)
                stream = zlib.decompressobj(bits)
            part = stream.decompress(pending, limit + 1 - total)
            total += len(part)
            if total > limit:
                raise PayloadTooLarge(_too_large(limit))
            parts.append(part)
            pending = stream.unused_data if stream.eof else stream.unconsumed_tail
    if not stream.eof:
        raise MalformedPayload("the compressed body is cut off; send it again in full")
    return b"".join(parts)


def _next_member(members: int, bits: int) -> int:
    if bits == 15:
        raise MalformedPayload("data follows the end of the deflate stream; send one stream")
    if members >= _MAX_MEMBERS:
        raise MalformedPayload(f"more than {_MAX_MEMBERS} gzip members; send one")
    return members + 1


def _too_large(limit: int) -> str:
    return (
        f"the body is larger than {limit} bytes (after decompression); "
        "send smaller batches, or raise `http.max_body_bytes` of the server"
    )
