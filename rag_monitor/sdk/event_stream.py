"""Answers that come as server-sent events or JSON lines: their text, and where it begins.

Runs on the sender's thread, on what the hot path kept.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Final

from rag_monitor.sdk.pieces import Piece, chunk_text, event_frame, read_piece, remainder
from rag_monitor.sdk.text import EVENT_LINES, is_beside

BLANK: Final = "\ufeff \r\n\t"
"""What may stand before a body's first character."""
_MAX_BRACKETS: Final = 10_000
_LOOKED_AT: Final = 4096
"""How much of a text tells whether it is the beginning of JSON."""
_BETWEEN: Final = re.compile(r"\r\n\r\n|\n\n|\r\r")


def is_events(text: str) -> bool:
    """Whether each line is one of server-sent events; the last may be cut in its name."""
    if not text.lstrip(BLANK).startswith(EVENT_LINES):
        return False
    *lines, last = text.lstrip(BLANK).split("\n")
    if not lines:  # one line, not even ended: rather a text than a comment or a name
        return last.startswith("data:")
    if not last.startswith(EVENT_LINES) and not any(name.startswith(last) for name in EVENT_LINES):
        return False
    return all(line.startswith(EVENT_LINES) for line in lines if line.strip())


def events_text(text: str, keys: Sequence[str] = ()) -> str | None:
    """The text of a stream of server-sent events; None when no event has a shape we know."""
    any_known, any_unknown = False, False
    answer = _StreamedText()
    for event, _, cut in _events(text):
        if not event:
            continue
        piece, whole = _event_piece(event, begun=answer.begun, cut=cut, keys=keys)
        any_known, any_unknown = any_known or piece is not None, any_unknown or piece is None
        answer.add(piece, whole=whole)
    return None if any_unknown and not any_known else answer.text


def lines_text(text: str, keys: Sequence[str] = ()) -> str | None:
    """The text of JSON lines; None when it is no such thing, or no line has a shape we know."""
    lines = [line for line in text.split("\n") if line.strip()]
    parsed = [parse(line) for line in lines]
    if len(lines) > 2 and parsed[-1] is None and begins_json(lines[-1]):
        del parsed[-1]  # the text was cut in it
    if len(lines) < 2 or any(item is None for item in parsed):
        return None
    answer = _StreamedText()
    for item in parsed:
        piece, whole = read_piece(item, begun=answer.begun, keys=keys)
        answer.add(piece, whole=whole)
    return answer.text


class _StreamedText:
    """The text of the pieces so far."""

    def __init__(self) -> None:
        self._parts: list[str] = []

    @property
    def begun(self) -> bool:
        return bool(self._parts)

    @property
    def text(self) -> str:
        return "".join(self._parts)

    def add(self, piece: str | None, *, whole: bool) -> None:
        if piece and whole and self._parts:
            self._parts = [self.text]
            piece = remainder(piece, self._parts[0])
        if piece:
            self._parts.append(piece)


def where_text_begins(text: str, keys: Sequence[str] = ()) -> int | None:
    """How many characters of a stream had come when the first of the answer could be read.

    Of a stream in which no event has a shape we know, that is its first event that holds data;
    None where all that came says nothing: roles, comments, pings.
    """
    if not is_events(text):
        start = text.lstrip(BLANK)
        if start.startswith("{"):
            return _line_with_text(text, keys)
        return len(text) - len(start) + 1 if start else None
    first = None
    any_known = False
    for event, end, cut in _events(text):
        if not event:
            continue
        piece, _ = _event_piece(event, begun=False, cut=cut, keys=keys)
        if piece:
            return end
        any_known = any_known or piece is not None
        first = end if first is None else first
    return None if any_known else first


def _line_with_text(text: str, keys: Sequence[str]) -> int | None:
    end = 0
    for line in text.split("\n"):
        end = min(len(text), end + len(line) + 1)
        if chunk_text(parse(line), keys=keys):
            return end
    return None


def _events(text: str) -> Iterator[tuple[str, int, bool]]:
    """Each event, where it ends in `text`, and whether it ends with it; empty: a comment."""
    begin = 0
    while begin < len(text):
        separator = _BETWEEN.search(text, begin)
        end, after = (separator.start(), separator.end()) if separator else (len(text), len(text))
        lines = text[begin:end].lstrip("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
        holds_data = any(line.startswith("data:") for line in lines.split("\n"))
        yield lines if holds_data else "", after, separator is None
        begin = after


def _event_piece(event: str, *, begun: bool, cut: bool, keys: Sequence[str]) -> Piece:
    """What one event adds to the answer; empty: nothing, None: that cannot be told.

    Of one that was cut, the beginning of JSON is nothing; of others it is text.
    """
    data: list[str] = []
    name = ""
    for line in event.split("\n"):
        if line.startswith("data:"):
            data.append(line[5:].removeprefix(" "))
        elif line.startswith("event:"):
            name = line[6:].strip()
    text = "\n".join(data)
    if text.strip() == "[DONE]" or (not keys and is_beside(name, begun=begun)):
        return "", False
    parsed = parse(text) if text.startswith(("{", "[", '"')) else None
    if parsed is None:
        return ("" if cut and begins_json(text) else text), False
    read = read_piece(parsed, begun=begun, keys=keys)
    inner = event_frame(parsed) if read[0] is None else None
    return read if inner is None else _event_piece(inner, begun=begun, cut=False, keys=keys)


def begins_json(text: str) -> bool:
    """Whether a text is the beginning of a JSON object or array, and not one that a text quotes."""
    start = text.lstrip(BLANK)[:_LOOKED_AT].rstrip()
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


def parse(text: str | bytes) -> object:
    """JSON, or None where it cannot be read: damaged, cut, nested too much."""
    if isinstance(text, bytes):
        brackets = text.count(b"[") + text.count(b"{")
    else:
        brackets = text.count("[") + text.count("{")
    if brackets > _MAX_BRACKETS:
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
