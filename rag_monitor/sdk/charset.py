"""Bytes as text, in the character set that their sender declares. Runs on the sender's thread.

Bytes that are in none that is declared or marked are no text: unknown is better than other
characters in the place of those that somebody wrote. A few damaged bytes in a text become U+FFFD
each, and the log says so.
"""

from __future__ import annotations

import codecs
import json
import re
from typing import Final

from rag_monitor.sdk.guard import GUARD

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
        text = _repaired(data, name, declared=codec in (None, name))
        if text is not None:
            return text, name
    text = _decoded(data, _ANY, "strict") if unasked else None
    return None if text is None else (text, _ANY)


def _repaired(data: bytes, name: str, *, declared: bool) -> str | None:
    """A text of which a few bytes are damaged; None where too much of it is.

    Args:
        data: The bytes, which may end inside a character.
        name: The encoding.
        declared: Nothing else is declared; else other characters than ASCII's must show that it
            is in this encoding.
    """
    text = _decoded(data, name, "replace")
    damaged = 0 if text is None else text.count(_REPLACEMENT)
    if text is None or damaged * _BYTES_PER_DAMAGE > len(data):
        return None
    if not declared and sum(not char.isascii() for char in text) <= 2 * damaged:
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
