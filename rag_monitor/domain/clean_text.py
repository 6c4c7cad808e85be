"""Text that every store takes: without NUL and lone surrogates."""

from __future__ import annotations

import re
from typing import Final

_UNSTORABLE: Final = re.compile("[\0\ud800-\udfff]")
_REPLACEMENT: Final = "\ufffd"


def clean_text(text: str) -> str:
    """`text` with NUL and lone surrogates replaced by U+FFFD: PostgreSQL and SQLite refuse them."""
    return text if is_clean(text) else _UNSTORABLE.sub(_REPLACEMENT, text)


def is_clean(text: str) -> bool:
    """Whether `clean_text` leaves it alone."""
    if "\0" in text:
        return False
    if text.isascii():
        return True
    try:  # encoding looks for lone surrogates many times faster than the expression does
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
