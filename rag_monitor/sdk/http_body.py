"""Questions and answers inside HTTP bodies: JSON, server-sent events, plain text.

Runs on the sender's thread, on bytes the middleware kept. Bytes in no character set that is
declared or marked are no text: unknown is better than other characters in the place of those that
somebody wrote. A few damaged bytes in a text become U+FFFD each, and the log says so.
"""

from __future__ import annotations

import codecs
import json
import re
import zlib
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
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
from rag_monitor.sdk.guard import GUARD
from rag_monitor.sdk.question import Ranked, question_in, ranked_in
from rag_monitor.sdk.sealed import in_message, opened_of
from rag_monitor.sdk.text import CODED_LINE, answer_of

_DECLARED: Final = re.compile(r";\s*charset\s*=\s*[\"']?([\w.:+-]{1,40})", re.IGNORECASE)
_MARKS: Final = (codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
"""UTF-32's begins as one of UTF-16's does."""
_ANY: Final = "cp1252"
_WIDER: Final = {
    "gb2312": "gb18030", "gbk": "gb18030", "big5": "big5hkscs", "cp950": "big5hkscs",
    "shift_jis": "cp932", "euc_kr": "cp949", "iso8859-1": _ANY, "ascii": _ANY, "cp1252": _ANY,
    "utf-16": "utf-16-le", "utf-32": "utf-32-le",
}  # fmt: skip
"""What browsers read under the name, which senders rely on; a mark of the order goes before."""
_BYTES_PER_DAMAGE: Final = 10
"""How many bytes a text has at least for each that is damaged."""
_REPLACEMENT: Final = "\ufffd"


def charset_of(content_type: str) -> str:
    """The character set that a content type declares; empty: none."""
    declared = _DECLARED.search(content_type)
    return declared[1] if declared else ""


def text_in(data: bytes, declared: str = "") -> tuple[str, str] | None:
    """The text, and the encoding it is in; None where nobody can tell which.

    Args:
        data: The bytes, which may end inside a character.
        declared: The name of a character set; empty: none, or one that nobody knows.
    """
    likely = json.detect_encoding(data)
    codec = _codec_of(declared)
    if data.startswith(_MARKS):
        codec = None
    unasked = codec == _ANY  # servers declare it so, and whatever it is can be read in it
    names = (likely,) if codec is None or unasked else (codec, likely)
    for name in names:
        text = _decoded(data, name, "strict")
        if text is not None:
            return text, name
    for name in reversed(names):  # what is UTF-8 shows it, also in part
        text = _repaired(data, name, None if codec is None else codec == name)
        if text is not None:
            return text, name
    text = _decoded(data, _ANY, "strict") if unasked else None
    return None if text is None else (text, _ANY)


def _repaired(data: bytes, name: str, declared: bool | None) -> str | None:
    """A text of which a few bytes are damaged; None where too much of it is.

    Other characters than ASCII's must show that it is in the encoding where another one is
    declared, or where none is and damage stands beside damage: so look characters of another one.

    Args:
        data: The bytes, which may end inside a character.
        name: The encoding.
        declared: Whether this one is declared; None: none is.
    """
    text = _decoded(data, name, "replace")
    damaged = 0 if text is None else text.count(_REPLACEMENT)
    if text is None or damaged * _BYTES_PER_DAMAGE > len(data):
        return None
    doubtful = 2 * _REPLACEMENT in text if declared is None else not declared
    if doubtful and sum(not char.isascii() for char in text) <= 2 * damaged:
        return None
    GUARD.warn_once("damaged text", "a text has damaged bytes; each is kept as U+FFFD")
    return text


def _decoded(data: bytes, name: str, errors: str) -> str | None:
    try:
        return codecs.getincrementaldecoder(name)(errors).decode(data)
    except UnicodeDecodeError:
        return None


def rewritten(text: str, rest: bytes, declared: str) -> str | None:
    """A text that was read as UTF-8 piece by piece; None where it is in nobody knows what.

    Args:
        text: The text; bytes that are no UTF-8 are escaped as lone surrogates.
        rest: What could not be read at its end.
        declared: As for `text_in`.
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        pass
    else:
        return text
    try:
        read = text_in(text.encode("utf-8", "surrogateescape") + rest, declared)
    except UnicodeEncodeError:  # half a pair that somebody wrote
        return text
    return None if read is None else read[0]


def _codec_of(name: str) -> str | None:
    try:
        codec = codecs.lookup(name).name
        b"".decode(codec)  # some codecs make no text
    except (LookupError, ValueError):
        return None
    return _WIDER.get(codec, codec)


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
    headers: Iterable[tuple[bytes, bytes]] = ()
    """Those of the request; its content type is looked for among them."""
    keys: Sequence[str] | None = None
    """Fields that hold it, where the host named them."""
    extract: Callable[[bytes], str | None] | None = None
    """The host's own way to find it; a failure means unknown."""


def question_in_body(body: object) -> Ranked | None:
    """The question of a request, and how sure it is: of its JSON, its form or its query string."""
    if not isinstance(body, RequestBody):
        return None
    if body.extract is not None and body.data:
        text = question_in(body.extract(body.data))
        return None if text is None else (0.0, text)
    charset = charset_of(content_type_in(body.headers))
    read = text_in(body.data, charset)
    parsed = None if read is None else parse(read[0])
    places = (parsed if isinstance(parsed, dict | list) else None, body.data, body.query_string)
    for place in places:
        fields = _form(place, charset) if isinstance(place, bytes) else place
        ranked = opened_of(ranked_in(fields, body.keys))
        if ranked is not None:
            return (0.0, ranked[1]) if body.keys is not None else ranked
    message = None if read is None else in_message(read[0])
    return None if message is None else (0.0, message)


def content_type_in(headers: Iterable[tuple[bytes, bytes]]) -> str:
    """The content type among headers; empty: none is said."""
    for name, value in headers:
        if name.lower() == b"content-type":
            return value.decode("latin-1")
    return ""


def _form(data: bytes, charset: str) -> dict[str, str]:
    """The fields of a form or of an address; none where it is no such thing.

    A field in an unknown character set is left out.
    """
    if b"=" not in data:
        return {}
    try:
        # each character stands for a byte
        fields = parse_qs(data.decode("ascii"), encoding="latin-1", max_num_fields=_MAX_FIELDS)
    except ValueError:  # other characters, more fields
        return {}
    read = ((_read(name, charset), _read(values[0], charset)) for name, values in fields.items())
    return {name: value for name, value in read if name is not None and value is not None}


def _read(written: str, charset: str) -> str | None:
    read = text_in(written.encode("latin-1"), charset)
    return None if read is None else read[0]


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
    data: bytes, encoding: str, times: Sequence[int], content_type: str, keys: Sequence[str] = ()
) -> int | None:
    """When the first piece of an answer came that held text of it; None where none did.

    Args:
        data: The answer as it was sent, a stream of events or of JSON lines.
        encoding: Its content encoding; where that cannot be read the first piece counts.
        times: For each piece, how many bytes of `data` came before it, and when it came.
        content_type: As for `answer_in_body`.
        keys: As for `answer_in_body`.
    """
    plain = plain_body(data, encoding)
    read = None if plain is None else text_in(plain, charset_of(content_type))
    if plain is None or read is None:
        return times[1]
    text, charset = read
    place = where_text_begins(text, keys)
    if place is None:
        return None
    begins = times[::2]
    place = len(text[:place].encode(charset))
    if plain is not data:  # compressed: look for the shortest start that holds the text
        ends = [*begins[1:], len(data)]

        def readable(end: int) -> int:
            return len(plain_body(data[:end], encoding) or b"")

        return times[2 * min(bisect_left(ends, place, key=readable), len(ends) - 1) + 1]
    return came(times, place)


def came(times: Sequence[int], place: int) -> int:
    """When the piece came that reached `place`; `times` as for `first_piece_with_text`."""
    return times[2 * max(0, bisect_left(times[::2], place) - 1) + 1]


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


def answer_in_body(
    data: bytes, status: int = 200, keys: Sequence[str] = (), content_type: str = ""
) -> str | None:
    """The answer of a response body: joined events, an answer field, or the text itself.

    JSON that cannot be read, because it was cut or nests too much, leaves the answer unknown.

    Args:
        data: The body.
        status: The response's HTTP status; the page of an error is nobody's answer.
        keys: The fields that hold the answer, where the host named them; no other one then does.
        content_type: As the response declares it; its character set is the body's. A body in a
            character set that nobody can tell has no text.
    """
    read = text_in(data, charset_of(content_type))
    if read is None:
        return None
    text = read[0]
    if is_events(text):
        return events_text(text, keys)
    if CODED_LINE.match(text):
        coded = lines_text(text, keys)
        if coded is not None:
            return coded
    if text.lstrip(BLANK).startswith(("{", "[", '"')):
        parsed = parse(text.lstrip(BLANK))
        if parsed is not None:
            answer = answer_of(parsed, keys=keys)
            listed = answer is None and isinstance(parsed, list) and len(parsed) > 1
            return lines_text(text, keys) or None if listed else answer
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
