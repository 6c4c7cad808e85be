"""Finding questions by a piece of their text: an index of two neighbouring characters.

Chinese has no spaces and most of its words have two characters, so whatever is looked for is cut
into pairs, as every question was. The index says which questions may hold the text; comparing the
text decides. Pairs are kept as numbers (CRC-32): nothing that a person types is ever part of a
query language.

`traces.search` holds the pairs on PostgreSQL (GIN), and on SQLite the row of `trace_search` (FTS5)
that does. NULL: not indexed yet, as rows of older releases are until `index_older` was there.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from operator import add
from typing import Any, Final

from sqlalchemy import (
    CTE,
    ColumnElement,
    Connection,
    Integer,
    bindparam,
    column,
    literal,
    or_,
    select,
    table,
    text,
    union_all,
    update,
)
from sqlalchemy.dialects.postgresql import ARRAY

from rag_monitor.domain.clean_text import clean_text
from rag_monitor.store.tables import traces

MAX_INDEXED: Final = 4000
"""Characters; longer questions are rare and looked through whenever something is looked for."""
MAX_QUERY_PAIRS: Final = 24
"""Pairs of a text that are looked up; the text itself is compared anyway."""
_KEPT: Final = 8192
"""Pairs whose numbers are kept in mind: few make up most of a language."""
_SIGN: Final = 2**31
LONG: Final = -_SIGN
"""The only entry of a question that is too long."""
_NOTHING: Final = 0
"""SQLite: there is nothing to index; rows of `trace_search` count from 1."""
_FTS: Final = table("trace_search", column("rowid"), column("trace_search"))


def pairs(question: str | None) -> list[int]:
    """What the index holds of a question, each once, in order."""
    folded = _folded(question or "")
    if len(folded) > MAX_INDEXED:
        return [LONG]
    return sorted(set(map(_number, set(map(add, folded, folded[1:])))))


def query_pairs(text: str) -> list[int]:
    """What is looked up for a text; empty when it is a single character."""
    folded = _folded(text)
    numbers = dict.fromkeys(_number(a + b) for a, b in pairwise(folded))
    return list(numbers)[:MAX_QUERY_PAIRS]


def contains(piece: str) -> ColumnElement[bool]:
    """Whether the question of a trace holds the text, whatever the case."""
    return traces.c.question.icontains(clean_text(piece), autoescape=True)


def holders(piece: str, postgresql: bool, conditions: Sequence[ColumnElement[bool]]) -> CTE | None:
    """The keys and times of traces whose question holds the text; None: no index helps.

    Args:
        piece: What is looked for.
        postgresql: Which database it is.
        conditions: On `traces`.
    """
    numbers = query_pairs(piece)
    if not numbers:
        return None
    keys = select(traces.c.project, traces.c.trace_id, traces.c.day, traces.c.started_at)
    both = plainly([*conditions, contains(piece)], postgresql)
    if postgresql:
        every = literal(numbers, ARRAY(Integer))
        long = literal([LONG], ARRAY(Integer))
        has = traces.c.search.contains
        indexed = keys.where(or_(has(every), has(long)), *both)
    else:
        matching = select(_FTS.c.rowid).where(_FTS.c.trace_search.op("MATCH")(_expression(numbers)))
        indexed = keys.where(traces.c.search.in_(matching), *both)
    waiting = keys.where(traces.c.search.is_(None), *both)
    # Not merged into the rest of the query: there the planner would again walk by time.
    return union_all(indexed, waiting).cte("holders").prefix_with("MATERIALIZED")


def plainly(
    conditions: Sequence[ColumnElement[bool]], postgresql: bool
) -> list[ColumnElement[bool]]:
    """Conditions that SQLite checks, and for which it does not look for an index.

    It knows nothing about how values are spread, and would rather walk every trace of a project
    than look up the few that a search found.
    """
    return list(conditions) if postgresql else [condition.is_(True) for condition in conditions]


def place(connection: Connection, pairs_of: Sequence[list[int]]) -> Sequence[Any]:
    """Put the pairs of questions where the database looks for them.

    Returns:
        For each question the `search` of its trace.
    """
    if connection.dialect.name == "postgresql":
        return pairs_of
    return _place_all(connection, pairs_of)


def index_older(connection: Connection, limit: int) -> int:
    """Index traces that are not yet; returns how many."""
    key = [traces.c[name] for name in ("project", "trace_id", "day")]
    rows = [
        dict(row._mapping)
        for row in connection.execute(
            select(*key, traces.c.question)
            .where(traces.c.search.is_(None))
            .limit(limit)
            .with_for_update(skip_locked=True)
        )
    ]
    if not rows:
        return 0
    placed = place(connection, [pairs(row["question"]) for row in rows])
    connection.execute(
        update(traces)
        .where(*(part == bindparam(f"key_{part.name}") for part in key))
        .values(search=bindparam("place")),
        [
            {**{f"key_{part.name}": row[part.name] for part in key}, "place": where}
            for row, where in zip(rows, placed, strict=True)
        ],
    )
    return len(rows)


def _place_all(connection: Connection, pairs_of: Sequence[list[int]]) -> list[int]:
    newest = connection.execute(
        text("SELECT rowid FROM trace_search ORDER BY rowid DESC LIMIT 1")
    ).scalar()
    last = newest or 0
    places = []
    entries = []
    for numbers in pairs_of:
        if not numbers:
            places.append(_NOTHING)
            continue
        last += 1
        places.append(last)
        entries.append((last, " ".join(map(_token, numbers))))
    if entries:  # past the compiler of SQLAlchemy, as all that is written in bulk
        connection.exec_driver_sql("INSERT INTO trace_search (rowid, pairs) VALUES (?, ?)", entries)
    return places


def _expression(numbers: Sequence[int]) -> str:
    every = " AND ".join(f'"{_token(number)}"' for number in numbers)
    return f'({every}) OR "{_token(LONG)}"'


@lru_cache(_KEPT)
def _token(number: int) -> str:
    return f"{number + _SIGN:x}"


@lru_cache(_KEPT)
def _number(pair: str) -> int:
    return zlib.crc32(pair.encode("utf-8", "surrogatepass")) - _SIGN


def _folded(question: str) -> str:
    """Lower case character by character: what stands beside a character must not change it."""
    stored = clean_text(question)
    return stored.lower() if stored.isascii() else "".join(map(str.lower, stored))
