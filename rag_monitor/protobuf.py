"""Protobuf fields written by hand, where message objects would cost more than the bytes."""

from __future__ import annotations

from typing import Final

_SMALL: Final = [bytes((value,)) for value in range(0x80)]


def varint(value: int) -> bytes:
    """A non-negative integer as protobuf writes it."""
    if value < 0x80:
        return _SMALL[value]
    out = bytearray()
    while value > 0x7F:
        out.append((value & 0x7F) | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def varint_field(number: int, value: int) -> bytes:
    """A field of number 1 to 15 that holds a non-negative integer."""
    return _SMALL[number << 3] + varint(value)


def length_prefix(number: int, length: int) -> bytes:
    """What stands before the content of a field (1 to 15) that holds bytes, a text or a message."""
    return _SMALL[number << 3 | 2] + varint(length)


def length_delimited(number: int, content: bytes) -> bytes:
    """A field of number 1 to 15 that holds bytes, a text or a message."""
    return length_prefix(number, len(content)) + content


def rpc_status(code: int, message: str) -> bytes:
    """A `google.rpc.Status` with code and message."""
    return varint_field(1, code) + length_delimited(2, message.encode("utf-8", "replace"))
