"""Questions and answers inside HTTP bodies: JSON, server-sent events, plain text.

Runs on the sender's thread, on bytes the middleware kept.
"""

from __future__ import annotations

import zlib
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final
from urllib.parse import parse_qs

from rag_monitor.sdk.event_stream import (
    BLANK,
    begins_json,
    events_text,
    is_events,
    lines_text,
    parse,
    where_text_begins,
)
from rag_monitor.sdk.text import QUESTION_KEYS, answer_of, question_in

_MAX_PLAIN_BYTES: Final = 1_048_576
_ANY_HEADER: Final = zlib.MAX_WBITS | 32
"""For zlib: gzip or zlib, whichever it is."""
_WINDOW: Final = 4096
"""How much is decompressed at once: what follows a member is copied, so it must be little."""
_MAX_FIELDS: Final = 1_000
_PHRASES: Final = {status.value: status.phrase for status in HTTPStatus}
MAX_BODY_BYTES: Final = 262_144
"""How much of a request body is looked at."""


@dataclass(frozen=True, slots=True)
class RequestBody:
    """The start of a request body, and the address's query string, that may hold the question."""

    data: bytes
    query_string: bytes = b""
    keys: Sequence[str] = QUESTION_KEYS
    extract: Callable[[bytes], str | None] | None = None
    """The host's own way to find it; a failure means unknown."""


def question_in_body(body: object) -> str | None:
    """The question of a request: of its JSON body, else of its form or of its query string."""
    if not isinstance(body, RequestBody):
        return None
    if body.extract is not None and body.data:
        return question_in(body.extract(body.data))
    parsed = parse(body.data)
    if isinstance(parsed, dict | list):
        found = question_in(parsed, body.keys)
        if found is not None:
            return found
    return _form_field(body.data, body.keys) or _form_field(body.query_string, body.keys)


def _form_field(data: bytes, keys: Sequence[str]) -> str | None:
    """The first field of that name, as a form or an address holds it; None where it is no form."""
    if b"=" not in data:
        return None
    try:
        fields = parse_qs(data.decode("ascii"), errors="replace", max_num_fields=_MAX_FIELDS)
    except ValueError:  # other characters, more fields
        return None
    return next((fields[key][0] for key in keys if key in fields), None)


def plain_body(data: bytes, encoding: str) -> bytes | None:
    """A body, or the start of one, without its content encoding; None where that cannot be read.

    Compression that the standard library does not know (br, zstd) cannot.
    """
    if encoding in ("", "identity"):
        return data
    if encoding not in ("gzip", "x-gzip", "deflate"):
        return None
    return _inflated(data)


def first_piece_with_text(
    data: bytes, encoding: str, times: Sequence[int], *, in_bytes: bool, keys: Sequence[str] = ()
) -> int | None:
    """When the first piece of an answer came that held text of it; None where none did.

    Args:
        data: The answer as it was sent, a stream of events or of JSON lines.
        encoding: Its content encoding; where that cannot be read the first piece counts.
        times: For each piece, how much of the answer came before it, and when it came.
        in_bytes: That is bytes of `data`; else characters.
        keys: As for `answer_in_body`.
    """
    plain = plain_body(data, encoding)
    if plain is None:
        return times[1]
    text = plain.decode("utf-8", "replace")
    place = where_text_begins(text, keys)
    if place is None:
        return None
    begins = times[::2]
    if in_bytes:
        place = len(text[:place].encode())
    if plain is not data:  # compressed: look for the shortest start that holds the text
        ends = [*begins[1:], len(data)]

        def readable(end: int) -> int:
            return len(plain_body(data[:end], encoding) or b"")

        return times[2 * min(bisect_left(ends, place, key=readable), len(ends) - 1) + 1]
    return times[2 * max(0, bisect_left(begins, place) - 1) + 1]


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


def answer_in_body(data: bytes, status: int = 200, keys: Sequence[str] = ()) -> str | None:
    """The answer of a response body: joined events, an answer field, or the text itself.

    JSON that cannot be read, because it was cut or nests too much, leaves the answer unknown.

    Args:
        data: The body.
        status: The response's HTTP status; the page of an error is nobody's answer.
        keys: The fields that hold the answer, where the host named them; no other one then does.
    """
    text = data.decode("utf-8", "replace")
    if is_events(text):
        return events_text(text, keys)
    if text.lstrip(BLANK).startswith(("{", "[", '"')):
        parsed = parse(data)
        if parsed is not None:
            return answer_of(parsed, keys=keys)
        lines = lines_text(text, keys)
        if lines is not None:
            return lines
        if begins_json(text):
            return None
    return None if status >= 400 and _tells_the_error(text, status) else text


def _tells_the_error(text: str, status: int) -> bool:
    """Whether the text of an error response is the server's word on it: a page, a phrase.

    What fails on the server's side (5xx) answers nothing, whoever worded it.
    """
    start = text.lstrip(BLANK)[:14].lower()
    if status >= 500 or start.startswith(("<!doctype html", "<html")):
        return True
    return status in _PHRASES and text.strip() == _PHRASES[status]
