"""Context entity recall: share of the reference's names, dates and figures that were retrieved.

Needs no judge: names come from capital letters, quotes and (Chinese) jieba's parts of speech,
dates and quantities from our own readers, so that 4.25% and 百分之四点二五 are one entity.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from functools import lru_cache
from typing import Any, Final

from rag_monitor.errors import NotApplicable
from rag_monitor.language.dates import find_dates
from rag_monitor.language.entities import capitalised_words, quoted
from rag_monitor.language.normalise import fold
from rag_monitor.language.numbers import find_quantities
from rag_monitor.language.quantity import Quantity
from rag_monitor.language.script import has_han

_NAMES: Final = ("nr", "ns", "nt", "nz")
"""jieba's tags of people, places, organisations and other proper names."""


def context_entity_recall(reference: Collection[str], retrieved: Collection[str]) -> float:
    """Entities of the reference that occur among the retrieved / entities of the reference.

    Repeated entities count once.

    Raises:
        NotApplicable: The reference names none.
    """
    expected = set(reference)
    if not expected:
        raise NotApplicable("no_entities")
    return len(expected & set(retrieved)) / len(expected)


def entities_of(text: str) -> frozenset[str]:
    """Names, dates and quantities of a text in either language, in a form that compares."""
    folded = fold(text)
    dates = find_dates(folded)
    entities = {f"{d.year or ''}-{d.month or ''}-{d.day or ''}" for d in dates}
    spans = tuple((date.start, date.end) for date in dates)
    entities |= {_quantity(q) for q in find_quantities(folded, spans)}
    entities |= {word for word, _ in capitalised_words(text)}
    entities |= {fold(span) for span in quoted(text)}
    if has_han(folded):
        entities |= set(_chinese_names(folded))
    return frozenset(entities)


def entities_in(entities: Collection[str], text: str) -> frozenset[str]:
    """Those of the `entities` that `text` mentions, however its words are cut."""
    folded = fold(text).lower()
    own = entities_of(text)
    return frozenset(entity for entity in entities if entity in own or entity.lower() in folded)


def _quantity(quantity: Quantity) -> str:
    percent = "%" if quantity.kind == "percent" else ""
    return f"{quantity.value:g}{percent}{quantity.unit}"


def _chinese_names(folded: str) -> Iterator[str]:
    for word, tag in _tagger().cut(folded):
        if tag.startswith(_NAMES) and len(word) > 1:
            yield word


@lru_cache(maxsize=1)
def _tagger() -> Any:
    import jieba
    import jieba.posseg

    jieba.setLogLevel("ERROR")
    return jieba.posseg.POSTokenizer()
