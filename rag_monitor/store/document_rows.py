"""What a trace was counted as, as JSON, and the rows that it adds to."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from datetime import date
from typing import Any, Final, NamedTuple

from rag_monitor.domain.document import (
    SHARES,
    DocumentConflict,
    DocumentKey,
    DocumentKind,
    DocumentUse,
    JudgedUses,
    ShareSums,
    TraceUses,
)
from rag_monitor.store.document_tables import SUMS
from rag_monitor.store.types import storable_name

APP_TOTAL: Final = DocumentKey("", DocumentKind.ALL, "")
COUNTS: Final = ("retrieved", "ranks", "in_context")
COLUMNS: Final = (*COUNTS, *(f"{share}_{part}" for share in SHARES for part in SUMS))
"""Those of `document_days` that are added up."""


class Group(NamedTuple):
    """The documents whose number is bounded together."""

    project: str
    knowledge_base: str
    app: str
    day: date


class RowKey(NamedTuple):
    """The primary key of `document_days` below its group."""

    kind: str
    document: str
    judge: str


Sums = dict[str, float]
"""By column; without zeros."""


def dump_uses(uses: TraceUses) -> dict[str, Any]:
    """As JSON; knowledge bases and places are written once."""
    return {
        "app": uses.app,
        "day": uses.day.isoformat(),
        "documents": [[*use.key, use.rank, int(use.in_context)] for use in uses.documents],
        "judges": {
            judge: [
                judged.weight,
                {share: _places(by_place) for share, by_place in judged.verdicts.items()},
            ]
            for judge, judged in uses.judges.items()
        },
        "conflicts": [[*c.used, *c.other, int(c.outdated)] for c in uses.conflicts],
    }


def load_uses(value: Mapping[str, Any]) -> TraceUses:
    """What `dump_uses` wrote."""
    return TraceUses(
        app=value["app"],
        day=date.fromisoformat(value["day"]),
        documents=tuple(
            DocumentUse(key=_key(base, kind, name), rank=rank, in_context=bool(in_context))
            for base, kind, name, rank, in_context in value["documents"]
        ),
        judges={
            judge: JudgedUses(
                weight=weight,
                verdicts={
                    share: dict.fromkeys(no, False) | dict.fromkeys(yes, True)
                    for share, (yes, no) in by_place.items()
                },
            )
            for judge, (weight, by_place) in value["judges"].items()
        },
        conflicts=tuple(
            DocumentConflict(_key(*item[:3]), _key(*item[3:6]), bool(item[6]))
            for item in value["conflicts"]
        ),
    )


def _places(by_place: Mapping[int, bool]) -> tuple[list[int], list[int]]:
    """Those of yes and those of no."""
    return (
        sorted(place for place, holds in by_place.items() if holds),
        sorted(place for place, holds in by_place.items() if not holds),
    )


def _key(knowledge_base: str, kind: str, document: str) -> DocumentKey:
    return DocumentKey(knowledge_base, DocumentKind(kind), document)


class Changes:
    """What many traces add to `document_days`, or take from it."""

    def __init__(self) -> None:
        self.groups: dict[Group, dict[RowKey, Sums]] = defaultdict(dict)

    def add(self, project: str, uses: TraceUses, sign: int) -> None:
        """Add a trace; with `sign` -1 take it away."""
        for key, judge, sums in _parts(uses):
            group = Group(
                project, storable_name(key.knowledge_base), storable_name(uses.app), uses.day
            )
            row = RowKey(key.kind.value, storable_name(key.document), storable_name(judge))
            into = self.groups[group].setdefault(row, {})
            for column, value in sums.items():
                into[column] = into.get(column, 0) + sign * value

    def nonzero(self) -> Iterator[tuple[Group, dict[RowKey, Sums]]]:
        """What changes, group by group in one fixed order, as everybody locks them."""
        for group in sorted(self.groups):
            rows = {
                key: changed
                for key, sums in self.groups[group].items()
                if (changed := {column: value for column, value in sums.items() if value})
            }
            if rows:
                yield group, rows


def _parts(uses: TraceUses) -> Iterator[tuple[DocumentKey, str, Sums]]:
    for use in uses.documents:
        counts: Sums = {"in_context": int(use.in_context)}
        if use.rank is not None:
            counts |= {"retrieved": 1, "ranks": use.rank}
        yield use.key, "", counts
    if any(use.in_context for use in uses.documents):
        yield APP_TOTAL, "", {"in_context": 1}
    for judge, judged in uses.judges.items():
        for place, use in enumerate(uses.documents):
            sums: Sums = {}
            for share, by_place in judged.verdicts.items():
                if place in by_place:
                    sums |= _one(share, judged.weight, by_place[place])
            if sums:
                yield use.key, judge, sums
        faults = judged.verdicts.get("at_fault")
        if faults:
            yield APP_TOTAL, judge, _one("at_fault", judged.weight, any(faults.values()))


def _one(share: str, weight: float, holds: bool) -> Sums:
    values = (1, weight, weight if holds else 0.0, weight * weight)
    return {f"{share}_{part}": value for part, value in zip(SUMS, values, strict=True)}


def load_shares(row: Any) -> dict[str, ShareSums]:
    """The shares of a row with `COLUMNS`."""
    values = row._mapping
    return {
        share: ShareSums(**{part: values[f"{share}_{part}"] for part in SUMS}) for share in SHARES
    }


def keys_of(uses: Iterable[TraceUses]) -> set[DocumentKey]:
    """Every document of them, as stored."""
    return {
        DocumentKey(storable_name(k.knowledge_base), k.kind, storable_name(k.document))
        for one in uses
        for k in (use.key for use in one.documents)
    }
