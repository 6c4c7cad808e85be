"""What a trace carries, as an index: its tags, model, knowledge bases, documents, calls, language.

Each thing is a term, a number of 64 bits made of its kind and name: of a million different ones no
two are likely to share theirs, so that whoever has the term has the thing. All terms of a trace
stand in one row of one index: what has several of them is found by one question.

`traces.terms` holds them on PostgreSQL (GIN), and on SQLite the row of `trace_search_terms` (FTS5)
that does. NULL: not indexed yet, as rows of older releases are until `term_backfill` was there.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any, Final

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Connection,
    FromClause,
    column,
    func,
    literal,
    select,
    table,
)
from sqlalchemy.dialects.postgresql import ARRAY

from rag_monitor.domain.filters import HitOutcome, TraceQuery, outcome_of
from rag_monitor.domain.hit import HitKind
from rag_monitor.domain.trace import RetrievedDocument, Trace
from rag_monitor.language.script import detect_script
from rag_monitor.store.full_text_rows import place_all
from rag_monitor.store.tables import traces
from rag_monitor.store.types import storable_name

_KEPT: Final = 8192
"""Terms whose numbers are kept in mind: most come again with the next trace."""
_FTS: Final = table("trace_search_terms", column("rowid"), column("trace_search_terms"))
_CALLED: Final = (HitKind.PLUGIN, HitKind.WORKFLOW)
_PLAIN: Final = ("environment", "tag", "model", "knowledge_base", "document", "language")


def terms_of(trace: Trace) -> list[int]:
    """The terms of a trace, each once, in order."""
    return sorted({_number(kind, storable_name(name)) for kind, name in _things(trace)})


def query_terms(query: TraceQuery, without: Collection[str] = ()) -> list[int]:
    """The terms that a trace must have; empty: no filter is answered by this index.

    Args:
        query: What is asked for.
        without: Names of filters to leave out.
    """
    terms = [
        _number(kind, storable_name(value))
        for kind in _PLAIN
        if kind not in without and (value := getattr(query, kind)) is not None
    ]
    calls = [(kind.value, name) for kind in _CALLED if (name := getattr(query, kind.value))]
    if query.outcome is None:
        terms += [_number(kind, storable_name(name)) for kind, name in calls]
    elif calls:
        terms += [_ended(kind, storable_name(name), query.outcome) for kind, name in calls]
    else:
        terms.append(_number("outcome", query.outcome.value))
    return terms


def hold(row: FromClause, terms: Sequence[int], *, postgresql: bool) -> ColumnElement[bool]:
    """Whether a row with `traces.terms` has all of the terms.

    Args:
        row: `traces`, or what was selected of it.
        terms: At least one.
        postgresql: Which database it is.
    """
    if postgresql:
        every = literal(list(terms), ARRAY(BigInteger))
        held: ColumnElement[bool] = row.c.terms.contains(every)
        return held
    matching = select(_FTS.c.rowid).where(_FTS.c.trace_search_terms.op("MATCH")(_every(terms)))
    if row is not traces:
        # Rows of the index come in the order of arrival: of a stretch only those of its time.
        first, last = (
            select(end(row.c.terms)).correlate(None).scalar_subquery()
            for end in (func.min, func.max)
        )
        matching = matching.where(_FTS.c.rowid.between(first, last))
    return row.c.terms.in_(matching.correlate(None))


def place(connection: Connection, terms: Sequence[list[int]]) -> Sequence[Any]:
    """Put the terms of traces where the database looks for them.

    Returns:
        For each trace its `terms`.
    """
    if connection.dialect.name == "postgresql":
        return terms
    tokens = [list(map(_token, numbers)) for numbers in terms]
    return place_all(connection, _FTS.name, "terms", tokens)


def indexed_since(connection: Connection, query: TraceQuery) -> datetime | None:
    """When the newest trace began that such a query misses, as it waits for the index."""
    if not query_terms(query):
        return None
    statement = (
        select(traces.c.started_at)
        .where(traces.c.project == query.project, traces.c.terms.is_(None))
        .order_by(traces.c.started_at.desc())
        .limit(1)
    )
    began: datetime | None = connection.execute(statement).scalar()
    return began


def _things(trace: Trace) -> Iterator[tuple[str, str]]:
    """Kind and name of everything that a trace carries, some of it several times."""
    for kind, name in (("environment", trace.environment), ("model", trace.model)):
        if name is not None:
            yield kind, name
    if trace.question is not None:
        yield "language", detect_script(trace.question).value
    for tag in trace.tags:
        yield "tag", tag
    for retrieval in trace.retrievals:
        if retrieval.knowledge_base is not None:
            yield "knowledge_base", retrieval.knowledge_base
        yield from _documents(retrieval.documents)
    yield from _documents(trace.contexts or ())
    for hit in trace.hits:
        yield hit.kind.value, hit.name
        if hit.kind in _CALLED:
            outcome = outcome_of(hit)
            yield "outcome", outcome.value
            yield f"{hit.kind.value}:{outcome.value}", hit.name


def _documents(documents: Iterable[RetrievedDocument]) -> Iterator[tuple[str, str]]:
    for document in documents:
        if document.id is not None:
            yield "document", document.id
        if document.knowledge_base is not None:
            yield "knowledge_base", document.knowledge_base


def _ended(kind: str, name: str, outcome: HitOutcome) -> int:
    return _number(f"{kind}:{outcome.value}", name)


@lru_cache(_KEPT)
def _number(kind: str, name: str) -> int:
    digest = hashlib.blake2b(f"{kind}\0{name}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, signed=True)


def _every(terms: Sequence[int]) -> str:
    return " AND ".join(f'"{_token(number)}"' for number in terms)


def _token(number: int) -> str:
    return f"{number & 0xFFFFFFFFFFFFFFFF:x}"
