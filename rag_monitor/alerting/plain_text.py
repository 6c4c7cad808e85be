"""Text from anywhere as one line of visible characters."""

from __future__ import annotations

import unicodedata


def plain(text: str, limit: int) -> str:
    """One line of visible characters, cut to `limit`.

    Control characters, line breaks and direction overrides become spaces: they could forge a second
    line or turn text around.
    """
    cleaned = "".join(
        " " if unicodedata.category(char) in ("Cc", "Cf", "Cs", "Zl", "Zp") else char
        for char in text[: limit * 4]
    )
    joined = " ".join(cleaned.split())
    return joined if len(joined) <= limit else joined[: limit - 1] + "…"
