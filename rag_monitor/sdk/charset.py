"""Bytes as text, in the character set that their sender declares. Runs on the sender's thread.

Bytes that are in none that is declared or marked are no text: unknown is better than other
characters in the place of those that somebody wrote.
"""

from __future__ import annotations

import codecs
import json
import re
from typing import Final

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
    if codec is None or data.startswith(_MARKS):
        names: tuple[str, ...] = (likely,)
    elif codec == _ANY:  # whatever it is, it can be read so: servers declare it unasked
        names = (likely, codec)
    else:
        names = (codec, likely)
    for name in names:
        try:
            return codecs.getincrementaldecoder(name)().decode(data), name
        except UnicodeDecodeError:
            continue
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
