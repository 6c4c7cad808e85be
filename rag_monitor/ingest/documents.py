"""Lists of passages put together: ranks, repeats, and what one list says of another's passages."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import repeat
from typing import Final

from rag_monitor.domain.trace import RetrievedDocument

DISTANCE: Final = "distance"
"""Key in `RetrievedDocument.metadata`: smaller is better, so it must not be stored as a score."""


def ranked(documents: Iterable[RetrievedDocument]) -> tuple[RetrievedDocument, ...]:
    """The documents with ranks 1, 2, … in this order."""
    return tuple(
        document if document.rank == rank else replace(document, rank=rank)
        for rank, document in enumerate(documents, start=1)
    )


def without_repeats(documents: Iterable[RetrievedDocument]) -> tuple[RetrievedDocument, ...]:
    """Each passage once; ranked anew.

    An id alone does not tell passages apart: pieces of one document may carry its id, and two
    knowledge bases may both count from 1. With another text it is another passage.
    """
    listed = list(documents)
    if len({document.id for document in listed}) == len(listed) and _all_have_text(listed):
        return ranked(listed)  # as nearly always; below, texts are compared
    texts: set[tuple[str | None, str]] = set()
    bases: dict[str, set[str | None]] = defaultdict(set)
    kept: list[RetrievedDocument] = []
    for document in with_text_from(listed, listed):
        if document.content is not None:
            repeated = (document.id, document.content) in texts
            texts.add((document.id, document.content))
        else:
            repeated = document.id is not None and _among(
                document.knowledge_base, bases[document.id]
            )
        if document.id is not None:
            bases[document.id].add(document.knowledge_base)
        if not repeated:
            kept.append(document)
    return ranked(kept)


def _all_have_text(documents: Iterable[RetrievedDocument]) -> bool:
    return None not in [document.content for document in documents]


def _among(base: str | None, bases: set[str | None]) -> bool:
    """Whether a knowledge base may be one of those; nobody says that an unknown one is another."""
    return bool(bases) and (base is None or None in bases or base in bases)


def with_text_from(
    documents: Iterable[RetrievedDocument], sources: Iterable[RetrievedDocument]
) -> tuple[RetrievedDocument, ...]:
    """The documents, with text that is missing taken from a source with the same id.

    Where the id names several texts, they are given out in order if there are as many documents to
    give them to; else nobody knows which is meant, and the text stays missing.
    """
    listed = tuple(documents)
    if _all_have_text(listed):
        return listed
    named: dict[str, list[RetrievedDocument]] = defaultdict(list)
    for source in sources:
        if source.id is not None and source.content is not None:
            named[source.id].append(source)
    missing = Counter((d.id, d.knowledge_base) for d in listed if d.content is None)
    texts = {
        (name, base): _given_out(named.get(name or "", ()), base, count)
        for (name, base), count in missing.items()
    }
    return tuple(
        replace(d, content=next(texts[d.id, d.knowledge_base])) if d.content is None else d
        for d in listed
    )


def _given_out(
    sources: Iterable[RetrievedDocument], base: str | None, count: int
) -> Iterator[str | None]:
    texts = dict.fromkeys(s.content for s in sources if _among(base, {s.knowledge_base}))
    if len(texts) == 1:
        return repeat(next(iter(texts)))
    return iter(texts) if len(texts) == count else repeat(None)


def with_ids_from(
    documents: Iterable[RetrievedDocument], sources: Iterable[RetrievedDocument]
) -> tuple[RetrievedDocument, ...]:
    """The documents, with an id that is missing taken from the only source with the same text."""
    saying: dict[str, dict[str, RetrievedDocument]] = defaultdict(dict)
    for source in sources:
        if source.id is not None and source.content is not None:
            saying[source.content].setdefault(source.id, source)
    return tuple(_named(document, saying) for document in documents)


def _named(
    document: RetrievedDocument, saying: Mapping[str, Mapping[str, RetrievedDocument]]
) -> RetrievedDocument:
    if document.id is not None or document.content is None:
        return document
    same = list(saying.get(document.content, {}).values())
    if len(same) != 1:
        return document
    base = document.knowledge_base or same[0].knowledge_base
    return replace(document, id=same[0].id, knowledge_base=base)


def indexed(attributes: Mapping[str, object], prefix: str) -> list[dict[str, object]]:
    """Lists flattened as `<prefix><index>.<suffix>`, gathered again in numeric order.

    What stands under `<prefix><index>` itself has the empty name.
    """
    items: dict[int, dict[str, object]] = {}
    for key, value in attributes.items():
        if not key.startswith(prefix):
            continue
        number, _, suffix = key[len(prefix) :].partition(".")
        if number.isascii() and number.isdigit() and len(number) < 9:
            items.setdefault(int(number), {})[suffix] = value
    return [items[number] for number in sorted(items)]
