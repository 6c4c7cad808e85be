"""Strings from strangers, made safe to store, index and send."""

from __future__ import annotations

import re
from typing import Final

_UNSTORABLE: Final = re.compile("[\x00\ud800-\udfff]")
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+")
_REPLACEMENT: Final = "\ufffd"


def clean_text(text: str) -> str:
    """`text` without NUL and lone surrogates (U+FFFD instead): both stores refuse them."""
    if text.isascii() and "\0" not in text:
        return text
    return _UNSTORABLE.sub(_REPLACEMENT, text)


def clean_name(text: str, limit: int = 200) -> str:
    """A one-line name: control characters become spaces, the length is capped."""
    return _CONTROL.sub(" ", clean_text(text)).strip()[:limit].strip()
