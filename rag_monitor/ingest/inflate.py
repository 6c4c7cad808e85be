"""Decompression that cannot be made to fill memory."""

from __future__ import annotations

import zlib

from rag_monitor.errors import MalformedPayload, PayloadTooLarge, UnsupportedMediaType

_CHUNK = 64 * 1024


def inflate(body: bytes, encoding: str | None, max_bytes: int) -> bytes:
    """`body` as it was before `Content-Encoding`.

    Several gzip members in a row are one stream; the total is capped while inflating, and a stream
    that ends early is refused.

    Raises:
        PayloadTooLarge: More than `max_bytes` come out.
        MalformedPayload: The stream is broken or cut off.
        UnsupportedMediaType: The encoding is none of gzip, deflate, identity.
    """
    kind = (encoding or "identity").strip().lower()
    if kind in ("identity", ""):
        if len(body) > max_bytes:
            raise too_large(max_bytes)
        return body
    if kind in ("gzip", "x-gzip"):
        return _members(body, zlib.MAX_WBITS | 16, max_bytes)
    if kind == "deflate":
        return _members(body, zlib.MAX_WBITS, max_bytes)
    raise UnsupportedMediaType(f"content encoding {kind!r} is not read; send gzip or none")


def too_large(max_bytes: int) -> PayloadTooLarge:
    """The error for a body above the limit."""
    return PayloadTooLarge(
        f"the body is larger than {max_bytes} bytes after decompression; send smaller batches "
        "(or raise [ingest] max_bytes)"
    )


def _members(body: bytes, wbits: int, max_bytes: int) -> bytes:
    parts: list[bytes] = []
    total = 0
    rest = body
    while rest:
        engine = zlib.decompressobj(wbits)
        while not engine.eof:
            try:
                part = engine.decompress(rest, _CHUNK)
            except zlib.error as error:
                raise MalformedPayload(f"the compressed body is broken: {error}") from None
            rest = engine.unconsumed_tail
            total += len(part)
            if total > max_bytes:
                raise too_large(max_bytes)
            parts.append(part)
            if not part and not rest and not engine.eof:
                raise MalformedPayload("the compressed body ends early")
        rest = engine.unused_data
    return b"".join(parts)
