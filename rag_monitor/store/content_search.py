"""Answers and passages by a piece of their text: looked through, the newest first, page by page.

An index of them would be many times that of the questions, and every trace would pay for it when it
arrives. What is looked for is mostly recent, or can be narrowed by app, status and time; a page
says how far back it looked, and the next one goes on from there.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import islice
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, or_, select

from rag_monitor.domain.clean_text import clean_text
from rag_monitor.domain.stored import SearchIn, TraceQuery
from rag_monitor.store import listing
from rag_monitor.store.page_cursor import encode_cursor
from rag_monitor.store.tables import passages, scores, traces

STRETCH: Final = 1000
"""Rows of one question to the database; the next is asked only where these held too few."""
STRETCHES: Final = {SearchIn.ANSWER: 6, SearchIn.PASSAGES: 3}
"""How many of them one page looks through: of passages each trace has several."""
_HASHES: Final = 500
"""Passages of one question to the database."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ContentMatches:
    """What was found, and where it was not looked any more."""

    keys: list[Any]
    """Of each trace once."""
    last: Any | None
    """The last row that was looked at, where others may follow."""
    back_to: datetime | None = None
    """Set where rows were left for the next page before this one was full."""


def search(connection: Connection, query: TraceQuery, limit: int) -> ContentMatches:
    """The keys of at most `limit` of the newest traces that fit and hold `query.q` in `query.q_in`.

    Raises:
        MalformedPayload: The cursor is not one this store handed out.
    """
    held: dict[str, bool] = {}
    matches: dict[str, Any] = {}
    for _ in range(STRETCHES[query.q_in]):
        rows = connection.execute(_stretch(query)).all()
        if query.q_in is SearchIn.PASSAGES:
            _judge_passages(connection, query, rows, held)
        for row in rows:
            if row.held or (query.q_in is SearchIn.PASSAGES and _any_held(row, held)):
                matches.setdefault(row.trace_id, row)
            if len(matches) > limit:
                keys = list(islice(matches.values(), limit))
                return ContentMatches(keys=keys, last=keys[-1])
        if len(rows) < STRETCH:
            return ContentMatches(keys=list(matches.values()), last=None)
        query = replace(query, cursor=encode_cursor(rows[-1].started_at, rows[-1].trace_id))
    return ContentMatches(keys=list(matches.values()), last=rows[-1], back_to=rows[-1].started_at)


def _stretch(query: TraceQuery) -> Any:
    """Keys of the newest, with `held`; of passages also their hashes."""
    if query.metric is None:
        return listing.newest(query, [traces.c[name] for name in _KEYS] + _texts(query), STRETCH)
    more = [listing.of(scores, column).label(column.name) for column in _texts(query)]
    return listing.scored(query, query.metric, STRETCH).add_columns(*more)


_KEYS: Final = ("project", "trace_id", "day", "started_at")


def _texts(query: TraceQuery) -> list[Any]:
    text = clean_text(query.q or "")

    def contains(column: ColumnElement[Any]) -> ColumnElement[bool]:
        return column.icontains(text, autoescape=True)

    if query.q_in is SearchIn.PASSAGES:
        return [contains(traces.c.context_block).label("held"), traces.c.passages]
    return [or_(contains(traces.c.answer), contains(traces.c.error)).label("held")]


def _judge_passages(
    connection: Connection, query: TraceQuery, rows: Iterable[Any], held: dict[str, bool]
) -> None:
    """Fill in which passages of the rows hold the text, looking at each once."""
    new = sorted({digest for row in rows for digest in row.passages or ()} - held.keys())
    for start in range(0, len(new), _HASHES):
        part = new[start : start + _HASHES]
        holding = _holding(connection, query, part)
        held.update((digest, digest in holding) for digest in part)


def _holding(connection: Connection, query: TraceQuery, digests: Collection[str]) -> set[str]:
    return set(
        connection.execute(
            select(passages.c.sha256).where(
                passages.c.project == query.project,
                passages.c.sha256.in_(digests),
                passages.c.content.icontains(clean_text(query.q or ""), autoescape=True),
            )
        ).scalars()
    )


def _any_held(row: Any, held: dict[str, bool]) -> bool:
    return any(held.get(digest, False) for digest in row.passages or ())
