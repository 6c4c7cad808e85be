"""Answers that come as server-sent events or JSON lines: their text, and where it begins.

Runs on the sender's thread, on what the hot path kept.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from rag_monitor.sdk.pieces import Piece, chunk_text, event_frame, read_piece, remainder
from rag_monitor.sdk.text import (
    CODED_LINE,
    EVENT_LINES,
    is_beside,
    may_begin_frames,
    without_repetition,
)

BLANK: Final = "\ufeff \r\n\t"
"""What may stand before a body's first character."""
_MAX_BRACKETS: Final = 10_000
_LOOKED_AT: Final = 4096
"""How much of a text tells whether it is the beginning of JSON."""
_NEXT: Final = re.compile(r"[\s\ufeff\x1e,]*")
_LIST: Final = re.compile(r"\s*\[(?=\s*\{)")
"""Where a list of objects begins, which some send piece by piece."""
_TEXT_CODES: Final = ("0:",)
"""Of the lines of the Vercel AI SDK those whose value is text of the answer."""
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
    """The text of JSON lines; None when it is no such thing."""
    lines = list(_values(text))
    return (
        _text_of(lines, keys) if len(lines) > 1 and not any(one.broken for one in lines) else None
    )


def answer_in_pieces(
    text: str, pieces: int, keys: Sequence[str] = ()
) -> tuple[str | None, int | None]:
    """The answer that a handler yielded, and how much had come when it began.

    It is the text itself, or what is in its frames. Lines of JSON are frames where they came about
    one by one: what a model writes comes in many more pieces, and is an answer even if it is JSON.

    Args:
        text: All pieces in one.
        pieces: How many they were.
        keys: As for `events_text`.

    Returns:
        The answer as `events_text` has it, and the characters as `where_text_begins` has them.
    """
    if is_events(text):
        return events_text(text, keys), where_text_begins(text, keys)
    lines = list(_values(text)) if may_begin_frames(text) else []
    if not _came_as_lines(text, lines, pieces, keys):
        return text, 0
    return _text_of(lines, keys), _place_of_text(text, lines, keys)


def _came_as_lines(text: str, lines: Sequence[_Line], pieces: int, keys: Sequence[str]) -> bool:
    if not lines or any(line.broken for line in lines) or pieces > 2 * len(lines) + 1:
        return False
    if len(lines) > 1 or CODED_LINE.match(text):
        return True
    return text.endswith("\n") and chunk_text(lines[0].value, keys=keys) is not None


@dataclass(frozen=True, slots=True)
class _Line:
    """One JSON value of a stream of them."""

    value: object
    end: int
    """Where it ends in the text."""
    beside: bool = False
    """Its code says that it is no text of the answer."""
    broken: bool = False
    """It is no JSON, and does not look like what was cut off."""


def _values(text: str) -> Iterator[_Line]:
    """JSON values one after another, on lines of their own or not; the last may be cut off."""
    decode = json.JSONDecoder().raw_decode
    opened = _LIST.match(text)
    place = 0 if opened is None else opened.end()
    while (start := _NEXT.match(text, place)) is not None and start.end() < len(text):
        place = start.end()
        if opened is not None and text[place] == "]":
            return
        code = CODED_LINE.match(text, place)
        place = place if code is None else code.end()
        try:
            value, place = decode(text, place)
        except (ValueError, RecursionError):
            if place == 0 or not begins_json(text[place:]):
                yield _Line(None, len(text), broken=True)
            return
        if code is None and not isinstance(value, dict | list | str):
            yield _Line(None, len(text), broken=True)
            return
        beside = code is not None and (code[0] not in _TEXT_CODES)
        yield _Line(value, place, beside)


def _text_of(lines: Sequence[_Line], keys: Sequence[str]) -> str:
    answer = _StreamedText()
    for line in lines:
        if not line.beside:
            piece, whole = read_piece(line.value, begun=answer.begun, keys=keys)
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
        return without_repetition(self._parts)

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
        if may_begin_frames(start):
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
    lines = list(_values(text))
    if not lines or any(line.broken for line in lines):
        return 1
    return _place_of_text(text, lines, keys)


def _place_of_text(text: str, lines: Sequence[_Line], keys: Sequence[str]) -> int | None:
    spoken = (line for line in lines if not line.beside and chunk_text(line.value, keys=keys))
    return next((min(len(text), line.end + 1) for line in spoken), None)


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
