"""Text from traces in channels that read markup: made inert, never trusted to be escaped away.

Chat systems know mentions (`@all`, `<at user_id="all">`, `<@user>`), links and images inside text,
and each escapes differently or not at all. Replacing the few characters that begin them with their
full-width twins is readable everywhere and means nothing anywhere.
"""

from __future__ import annotations

from typing import Final

_TWINS: Final = str.maketrans(
    {
        "<": "＜",
        ">": "＞",
        "@": "＠",
        "[": "［",
        "]": "］",
        "`": "｀",
        "*": "＊",
        "#": "＃",
        "!": "！",
        "|": "｜",
        "\\": "＼",
    }
)
_LINK: Final = "://"
_DEAD_LINK: Final = "：//"


def inert(text: str) -> str:
    """The text without any character that begins a mention, a link or an image."""
    return text.translate(_TWINS).replace(_LINK, _DEAD_LINK)


def cut_bytes(text: str, limit: int) -> str:
    """The text cut to `limit` bytes of UTF-8, never inside a character."""
    data = text.encode("utf-8", "replace")
    if len(data) <= limit:
        return data.decode("utf-8")
    return data[: limit - 3].decode("utf-8", "ignore") + "…"


def markdown(title: str, blocks: list[list[str]]) -> str:
    """Title and blocks of lines as the markdown that chat robots read; text must be inert."""
    parts = [f"**{title}**", *("\n\n".join(lines) for lines in blocks if lines)]
    return "\n\n".join(parts)
