r"""Patterns of many alternatives, searched several times as fast as `re` searches them.

`re` tries every alternative at every place of a text, unless each begins with one certain
character: then it runs to the next of these. So an alternative that begins with a word is turned
round (`\bno answer` to `n(?<!\w.)o answer`), one that begins with a choice becomes several, and
those that begin with a Han character are left out where a text has none.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import Final

_GROUP: Final = "(?:"
_BEHIND: Final = ("(?<!", "(?<=")
_REPEATED: Final = ("?", "*", "+", "{")
_SPECIAL: Final = frozenset(".^$*+?{}[]\\|()")
_NEVER: Final = "(?!)"
_PLAIN_SET: Final = re.compile(r"\[((?:[^\\\]^-]|\\[\Wnt0])(?:[^\\\]-]|\\[\Wnt0])*-?)\]")
"""Without ranges, kinds of characters or a "none of these"."""
_IN_SET: Final = re.compile(r"\\?.", re.DOTALL)
_CONTROL: Final = frozenset((r"\n", r"\t", r"\0"))


class Alternatives:
    """Tells whether any alternative of a pattern stands in a text; compiled when first asked.

    Args:
        pattern: Without numbered or named groups.
    """

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern

    def found(self, text: str) -> bool:
        """Whether `re.search` finds the pattern in a text."""
        at_start, anywhere = self._in_ascii if text.isascii() else self._in_any
        return at_start.match(text) is not None or anywhere.search(text) is not None

    @cached_property
    def _in_any(self) -> _Search:
        return self._searched(list(_begun(self.pattern)))

    @cached_property
    def _in_ascii(self) -> _Search:
        return self._searched(
            [part for part in _begun(self.pattern) if not _begins_beyond_ascii(part)]
        )

    def _searched(self, parts: Sequence[str]) -> _Search:
        led = [_led(part) for part in parts if not part.startswith("^")]
        return (
            re.compile("|".join(part for part in parts if part.startswith("^")) or _NEVER),
            re.compile(self.pattern if None in led else _gathered(filter(None, led)) or _NEVER),
        )


def quick(pattern: str) -> re.Pattern[str]:
    """A pattern that matches the same stretches, in the same order, found faster.

    Raises:
        ValueError: Not every alternative begins with a certain character.
    """
    led = [_led(part) for part in _begun(pattern)]
    if None in led:
        raise ValueError(f"no certain beginning: {pattern}")
    return re.compile("|".join(head + rest for head, rest in filter(None, led)))


def _gathered(led: Iterable[tuple[str, str]]) -> str:
    """Alternatives with the same beginning as one; in which order, decides nothing here."""
    by_head: dict[str, list[str]] = {}
    for head, rest in led:
        by_head.setdefault(head, []).append(rest)
    return "|".join(f"{head}(?:{'|'.join(rests)})" for head, rests in by_head.items())


_Search = tuple[re.Pattern[str], re.Pattern[str]]
"""What stands at the beginning of a text, and what anywhere."""


def _led(part: str) -> tuple[str, str] | None:
    """An alternative as its first character, with what stands before it, and the rest.

    None when the first character is not certain.
    """
    behind, rest = "", part
    if rest.startswith(r"\b"):
        behind, rest = r"(?<!\w.)", rest[2:]
    elif rest.startswith(_BEHIND):
        end = _closing(rest, 1)
        behind, rest = f"{rest[:end]}(?s:.))", rest[end + 1 :]
        if "|" in behind:
            return None
    first = rest[:2] if rest.startswith("\\") else rest[:1]
    if len(first) == 2:
        certain = first in _CONTROL or not first[1].isalnum()
    else:
        certain = bool(first) and first not in _SPECIAL
    rest = rest[len(first) :]
    if not certain or rest.startswith(_REPEATED):
        return None
    # A word's boundary is one only before a letter of a word.
    if behind.startswith(r"(?<!\w") and not first.isalnum():
        return None
    return first + behind, rest


def _begins_beyond_ascii(part: str) -> bool:
    """Whether an alternative must begin with a character that no ASCII text has."""
    part = part.removeprefix("^")
    while part.startswith(_BEHIND):
        part = part[_closing(part, 1) + 1 :]
    return bool(part) and not part[0].isascii() and not part[1:].startswith(_REPEATED)


def _begun(pattern: str) -> Iterator[str]:
    """The alternatives of a pattern, one for each way in which they begin."""
    for part in _split(pattern):
        yield from _expanded(part)


def _expanded(part: str) -> Iterator[str]:
    """An alternative once for each word or character that it can begin with."""
    bound = r"\b" if part.startswith(r"\b") else ""
    opened = part[len(bound) :]
    if opened.startswith(_GROUP):
        end = _closing(opened, 1)
        options = list(_split(opened[len(_GROUP) : end]))
    elif not bound and (plain := _PLAIN_SET.match(opened)):
        end = plain.end() - 1
        options = [
            char if char in _CONTROL else re.escape(char[-1]) for char in _IN_SET.findall(plain[1])
        ]
    elif opened[:1] not in _SPECIAL and opened[1:2] == "?":
        end = 0
        options = [opened[0]]
    else:
        yield part
        return
    rest = opened[end + 1 :]
    optional = rest.startswith("?") and not rest.startswith(("??", "?+"))
    if optional:
        rest = rest[1:]
        options.append("")
    elif rest.startswith(_REPEATED):
        yield part
        return
    for option in options:
        yield from _expanded(bound + option + rest)


def _closing(pattern: str, start: int) -> int:
    """Where the group is closed whose inside begins at `start`."""
    return next(place for place, depth in _depths(pattern, start) if depth < 0)


def _split(pattern: str) -> Iterator[str]:
    """The alternatives of a pattern, or of the inside of a group."""
    start = 0
    for place, depth in _depths(pattern, 0):
        if depth == 0 and pattern[place] == "|":
            yield pattern[start:place]
            start = place + 1
    yield pattern[start:]


def _depths(pattern: str, start: int) -> Iterator[tuple[int, int]]:
    """The place of every character but those escaped or in a set, and how many groups are open."""
    depth, place = 0, start
    while place < len(pattern):
        char = pattern[place]
        if char == "\\":
            place += 2
        elif char == "[":
            place = _behind_set(pattern, place)
        else:
            depth += (char == "(") - (char == ")")
            yield place, depth
            place += 1


def _behind_set(pattern: str, place: int) -> int:
    """Where the set is over that begins at `place`; a bracket that it begins with is in it."""
    place += 2 if pattern.startswith("[^", place) else 1
    first = place
    while pattern[place] != "]" or place == first:
        place += 2 if pattern[place] == "\\" else 1
    return place + 1
