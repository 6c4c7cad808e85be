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
    ColumnElement,
    Connection,
    Integer,
    bindparam,
    column,
    literal,
    or_,
    select,
    table,
    update,
)
from sqlalchemy.dialects.postgresql import ARRAY

from rag_monitor.domain.clean_text import clean_text
from rag_monitor.store.full_text_rows import place_all
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


def may_hold(piece: str, postgresql: bool) -> list[ColumnElement[bool]]:
    """Conditions on `traces`, one of which holds for each whose question holds the text.

    Each is answered by an index; empty: no index helps.
    """
    numbers = query_pairs(piece)
    if not numbers:
        return []
    if postgresql:
        every = literal(numbers, ARRAY(Integer))
        long = literal([LONG], ARRAY(Integer))
        has = traces.c.search.contains
        indexed = or_(has(every), has(long))
    else:
        matching = select(_FTS.c.rowid).where(_FTS.c.trace_search.op("MATCH")(_expression(numbers)))
        indexed = traces.c.search.in_(matching)
    return [indexed, traces.c.search.is_(None)]


def place(connection: Connection, pairs_of: Sequence[list[int]]) -> Sequence[Any]:
    """Put the pairs of questions where the database looks for them.

    Returns:
        For each question the `search` of its trace.
    """
    if connection.dialect.name == "postgresql":
        return pairs_of
    tokens = [list(map(_token, numbers)) for numbers in pairs_of]
    return place_all(connection, _FTS.name, "pairs", tokens)


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
