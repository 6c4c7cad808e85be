"""Words that answers put in each other's place: 不要钱 for 免费, "hand in" for "submit"."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from importlib import resources

from rag_monitor.language.stems import stem


@cache
def _table() -> dict[str, frozenset[str]]:
    """Each word, English ones as stems, to the others of its groups."""
    text = (resources.files(__package__) / "synonyms.txt").read_text(encoding="utf-8")
    table: dict[str, set[str]] = {}
    for line in text.splitlines():
        if line.startswith("#"):
            continue
        group = {stem(word) if word.isascii() else word for word in line.split()}
        for word in group:
            table.setdefault(word, set()).update(group - {word})
    return {word: frozenset(others) for word, others in table.items()}


@cache
def _by_first() -> dict[str, tuple[str, ...]]:
    """The Chinese words of the table by their first character, the longest first."""
    found: dict[str, list[str]] = {}
    for word in sorted(_table(), key=len, reverse=True):
        if not word.isascii():
            found.setdefault(word[0], []).append(word)
    return {first: tuple(words) for first, words in found.items()}


@cache
def _first_characters() -> re.Pattern[str]:
    return re.compile(f"[{''.join(_by_first())}]")


def others(stemmed: str) -> frozenset[str]:
    """What else an English stem, or a Chinese word, may be called."""
    return _table().get(stemmed, frozenset())


def han_words(folded: str) -> Iterator[tuple[str, frozenset[str]]]:
    """The Chinese words of folded text that have other names, the longest first, and those."""
    table, by_first, done = _table(), _by_first(), 0
    for match in _first_characters().finditer(folded):
        place = match.start()
        for word in by_first[match.group()] if place >= done else ():
            if folded.startswith(word, place):
                done = place + len(word)
                yield word, table[word]
                break
