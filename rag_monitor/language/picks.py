"""Which of the things listed in an answer a question means by its place: the second one, 后者."""

from __future__ import annotations

import re
from typing import Final

from rag_monitor.language.normalise import fold

_ENGLISH: Final = re.compile(
    r"\b(first|second|third|fourth|fifth|last) ones?\b|\bthe (former|latter)\b"
)
_CHINESE: Final = re.compile(r"第([一二三四五])[个种项款]|(前者|后者)|(最后)一[个种项款]")
_PLACES: Final = {
    "first": 0, "former": 0, "second": 1, "third": 2, "fourth": 3, "fifth": 4, "last": -1,
    "latter": -1, "一": 0, "前者": 0, "二": 1, "三": 2, "四": 3, "五": 4, "最后": -1, "后者": -1,
}  # fmt: skip
_LISTED: Final = re.compile(r"^\s*(?:[-*•]|\(?\d{1,2}[.)、])\s*(.+)$", re.MULTILINE)
_BETWEEN: Final = re.compile(r"\s*[,;，、；]\s*(?:and |or )?|\s+(?:and|or)\s+|以及|或者|[和与及或]")
_BEFORE: Final = re.compile(r"^.*[:：]")


def picked(question: str, answer: str) -> tuple[str, tuple[str, ...]] | None:
    """What a question means of the things that the answer before it lists, and the others.

        >>> picked("And the second one?", "There are two plans: Solo and Team.")
        ('team', ('solo',))

    None where the question names none by its place, or the answer has no such place.
    """
    folded = fold(question)
    match = _ENGLISH.search(folded) or _CHINESE.search(folded)
    if match is None:
        return None
    place = _PLACES[next(filter(None, match.groups()))]
    items = _items(answer)
    if len(items) < max(2, place + 1):
        return None
    chosen = items.pop(place)
    return chosen, tuple(items)


def _items(answer: str) -> list[str]:
    listed = _LISTED.findall(answer)
    if len(listed) > 1:
        return [fold(item) for item in listed]
    folded = _BEFORE.sub("", fold(answer)).strip(" .。!！")
    return [part for part in _BETWEEN.split(folded) if part.strip()]
