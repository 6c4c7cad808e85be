"""Questions and answers inside HTTP bodies: JSON, server-sent events, plain text.

Runs on the sender's thread, on bytes the middleware kept.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final

from rag_monitor.sdk.text import EVENT_LINES, QUESTION_KEYS, answer_of, chunk_text, question_in

_MAX_PLAIN_BYTES: Final = 1_048_576
_ANY_HEADER: Final = zlib.MAX_WBITS | 32
"""For zlib: gzip or zlib, whichever it is."""
_WINDOW: Final = 4096
"""How much is decompressed at once: what follows a member is copied, so it must be little."""
_BLANK: Final = "\ufeff \r\n\t"
_MAX_BRACKETS: Final = 10_000
_LOOKED_AT: Final = 4096
"""How much of a text tells whether it is the beginning of JSON."""
_PHRASES: Final = {status.value: status.phrase for status in HTTPStatus}
MAX_BODY_BYTES: Final = 262_144
"""How much of a request body is looked at."""


@dataclass(frozen=True, slots=True)
class RequestBody:
    """The start of a request body, with the keys that may hold the question."""

    data: bytes
    keys: Sequence[str] = QUESTION_KEYS
    extract: Callable[[bytes], str | None] | None = None
    """The host's own way to find it; a failure means unknown."""


def question_in_body(body: object) -> str | None:
    """The question of a JSON request body; None for any other body."""
    if not isinstance(body, RequestBody):
        return None
    if body.extract is not None:
        return question_in(body.extract(body.data))
    parsed = _json(body.data)
    return question_in(parsed, body.keys) if isinstance(parsed, dict | list) else None


def plain_body(data: bytes, encoding: str) -> bytes | None:
    """A body, or the start of one, without its content encoding; None where that cannot be read.

    Compression that the standard library does not know (br, zstd) cannot.
    """
    if encoding in ("", "identity"):
        return data
    if encoding not in ("gzip", "x-gzip", "deflate"):
        return None
    return _inflated(data)


def _inflated(data: bytes) -> bytes | None:
    """Decompressed, one member of gzip after the other: Django makes one of each piece it streams.

    Of what is damaged the part before counts; None when no member of it was whole.
    """
    plain = bytearray()
    member = zlib.decompressobj(_ANY_HEADER)
    begin, members = 0, 0
    while begin < len(data) and len(plain) < _MAX_PLAIN_BYTES:
        window = data[begin : begin + _WINDOW]
        try:
            plain += member.decompress(window, _MAX_PLAIN_BYTES - len(plain))
        except zlib.error:
            return bytes(plain) if members else None
        begin += len(window) - len(member.unused_data)
        if member.eof:
            member = zlib.decompressobj(_ANY_HEADER)
            members += 1
    return bytes(plain)


def answer_in_body(data: bytes, status: int = 200) -> str | None:
    """The answer of a response body: joined events, an answer field, or the text itself.

    JSON that cannot be read, because it was cut or nests too much, leaves the answer unknown.

    Args:
        data: The body.
        status: The response's HTTP status; the page of an error is nobody's answer.
    """
    text = data.decode("utf-8", "replace")
    start = text.lstrip(_BLANK)[:6]
    if start.startswith(EVENT_LINES) and _is_events(text):
        return _events(text)
    if start.startswith(("{", "[", '"')):
        parsed = _json(data)
        if parsed is not None:
            return answer_of(parsed)
        lines = _json_lines(text)
        if lines is not None:
            return lines
        if _begins_json(text):
            return None
    return None if status >= 400 and _tells_the_error(text, status) else text


def _tells_the_error(text: str, status: int) -> bool:
    """Whether the text of an error response is the server's word on it: a page, a phrase.

    What fails on the server's side (5xx) answers nothing, whoever worded it.
    """
    start = text.lstrip(_BLANK)[:14].lower()
    if status >= 500 or start.startswith(("<!doctype html", "<html")):
        return True
    return status in _PHRASES and text.strip() == _PHRASES[status]


def _is_events(text: str) -> bool:
    """Whether each line is one of server-sent events; the last may be cut in its name."""
    *lines, last = text.lstrip(_BLANK).split("\n")
    if not lines:  # one line, not even ended: rather a text than a comment or a name
        return last.startswith("data:")
    if not last.startswith(EVENT_LINES) and not any(name.startswith(last) for name in EVENT_LINES):
        return False
    return all(line.startswith(EVENT_LINES) for line in lines if line.strip())


def _begins_json(text: str) -> bool:
    """Whether a text is the beginning of a JSON object or array, and not one that a text quotes."""
    start = text.lstrip(_BLANK)[:_LOOKED_AT].rstrip()
    if not start.startswith(("{", "[")):
        return False
    try:
        json.JSONDecoder().raw_decode(start)
    except RecursionError:
        return True
    except json.JSONDecodeError as error:
        # a literal or an escape that the cut divides is reported where it begins
        near_the_end = len(start) - (6 if len(start) > _LOOKED_AT // 2 else 0)
        return error.msg.startswith("Unterminated string") or error.pos >= near_the_end
    return False


def _events(text: str) -> str:
    """The text of a stream of server-sent events."""
    parts: list[str] = []
    for event in text.replace("\r\n", "\n").split("\n\n"):
        lines = [line[5:].removeprefix(" ") for line in event.split("\n") if line[:5] == "data:"]
        if not lines:
            continue
        data = "\n".join(lines)
        if data.strip() == "[DONE]":
            continue
        parts.append(_event_text(data))
    return "".join(parts)


def _event_text(data: str) -> str:
    if data[:1] in ("{", "[", '"'):
        parsed = _json(data.encode("utf-8", "replace"))
        if parsed is not None:
            return chunk_text(parsed) or ""
    return data


def _json_lines(text: str) -> str | None:
    lines = [line for line in text.splitlines() if line.strip()]
    parsed = [_json(line.encode("utf-8", "replace")) for line in lines]
    if len(lines) > 2 and parsed[-1] is None and _begins_json(lines[-1]):
        del parsed[-1]  # the text was cut in it
    if len(lines) < 2 or any(item is None for item in parsed):
        return None
    return "".join(chunk_text(item) or "" for item in parsed)


def _json(data: bytes) -> object:
    if data.count(b"[") + data.count(b"{") > _MAX_BRACKETS:
        return None
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None
