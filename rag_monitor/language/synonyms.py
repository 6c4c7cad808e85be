"""Words that answers put in each other's place: 不要钱 for 免费, "hand in" for "submit"."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib import resources

from rag_monitor.language.tokens import stem


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
def _longest() -> int:
    return max(len(word) for word in _table() if not word.isascii())


def others(stemmed: str) -> frozenset[str]:
    """What else an English stem, or a Chinese word, may be called."""
    return _table().get(stemmed, frozenset())


def han_words(folded: str) -> Iterator[tuple[str, frozenset[str]]]:
    """The Chinese words of folded text that have other names, the longest first, and those."""
    table, place = _table(), 0
    while place < len(folded):
        for size in range(min(_longest(), len(folded) - place), 0, -1):
            word = folded[place : place + size]
            if word in table and not word.isascii():
                yield word, table[word]
                place += size
                break
        else:
            place += 1
