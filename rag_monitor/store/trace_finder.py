"""Finds a page of traces by any filters, in any order, and reads little for it.

First a stretch of the order is walked: what is common is found there. What is not there is looked
up where an index names few traces that can fit. Where none does, the walk goes on up to a limit;
a page that ends there says so, and the next one goes on.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

from sqlalchemy import (
    ColumnElement,
    Connection,
    FromClause,
    Select,
    and_,
    func,
    select,
    union_all,
)

from rag_monitor.domain.filters import Order, SearchIn, TraceQuery
from rag_monitor.store import content_search, question_index, trace_filters, trace_terms
from rag_monitor.store.bulk import chunks
from rag_monitor.store.page_cursor import Place
from rag_monitor.store.tables import traces
from rag_monitor.store.trace_filters import Turns
from rag_monitor.store.trace_reads import days_of, grouped_by_day
from rag_monitor.store.trace_walk import Walk

FIRST: Final = 400
"""Rows that are walked before anything else is asked."""
WALKED: Final = 6000
"""Rows that are walked before an index that names many is asked."""
MOST_WALKED: Final = 30_000
"""Rows that one page walks at most."""
FEW: Final = 500
"""An index that names no more is asked at once."""
MANY: Final = 5000
"""Traces that are looked up one by one at most."""
STEPS: Final[tuple[tuple[int, int | None], ...]] = (
    (FIRST, None),
    (0, FEW),
    (WALKED, None),
    (0, MANY),
    *[(WALKED, None)] * (MOST_WALKED // WALKED - 1),
)
"""One after the other until the page is full: how many rows to walk, or how many traces an index
may name that is asked then."""
MOST_INDEXED: Final = 50_000
"""Traces that an index of what they carry, or of their questions, may name."""
_ROWS_OF_A_TRACE: Final = 4
"""Several judges give a trace several rows, next to one another."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyPage:
    """The keys of a page."""

    keys: list[Any]
    """Rows with `trace_id`, `day` and `started_at`; of each trace one."""
    next_cursor: str | None = None
    partial: bool = False
    """The walk ended before the page was full, or the list."""
    looked_back_to: datetime | None = None
    """Where it ended, if it goes back in time."""


def find(
    connection: Connection,
    query: TraceQuery,
    limit: int,
    *,
    postgresql: bool,
    turns: Turns | None = None,
) -> KeyPage:
    """A page of at most `limit` traces.

    Raises:
        MalformedPayload: The cursor is not one this store handed out, or one of another order.
    """
    walk = Walk(query=query, postgresql=postgresql, turns=turns)
    return _Search(connection, walk, limit).page()


def cursor_of(query: TraceQuery, key: Any) -> str:
    """Where a page starts after a trace of `KeyPage.keys`."""
    walk = Walk(query=query, postgresql=False)
    return walk.cursor(walk.place_of(key))


def fitting(
    connection: Connection, query: TraceQuery, trace_ids: Sequence[str], *, postgresql: bool
) -> list[Any]:
    """The keys of those among some traces that fit, in order, wherever the page begins."""
    walk = Walk(query=replace(query, cursor=None), postgresql=postgresql)
    return walk.sorted(_among(connection, walk, trace_ids, None))


def _among(
    connection: Connection, walk: Walk, trace_ids: Iterable[str], after: Place | None
) -> list[Any]:
    """The rows of those of the traces that fit, in no order."""
    project = walk.query.project
    groups: list[tuple[Sequence[str], Collection[Any]]] = []
    if walk.postgresql:
        # Of ids of several days PostgreSQL would look for each in the partition of every day, or
        # read all of these from end to end.
        for day, ids in grouped_by_day(connection, project, trace_ids).items():
            groups += [(part, {day}) for _, part in chunks((project, own) for own in ids)]
    else:
        for _, part in chunks((project, trace_id) for trace_id in trace_ids):
            groups.append((part, days_of(connection, project, part)))
    rows: list[Any] = []
    for some, days in groups:
        if days:
            rows += connection.execute(walk.among(some, days, after)).all()
    return rows


class _Search:
    """One page."""

    def __init__(self, connection: Connection, walk: Walk, limit: int) -> None:
        self._connection = connection
        self._walk = walk
        self._query = walk.query
        self._limit = limit
        self._matches: dict[str, Any] = {}
        self._place = walk.start()
        self._passages = (
            content_search.PassageSearch(connection, self._query.project, self._query.q)
            if self._query.q and self._query.q_in is SearchIn.PASSAGES
            else None
        )

    def page(self) -> KeyPage:
        walked = 0
        small: Select[Any] | None = None
        for size, ask_for in self._steps():
            if ask_for is not None:
                small = self._smallest(ask_for) if small is None else small
                if small is not None:
                    self._add(self._walk.sorted(self._looked_up(small)))
                    return self._ended()
                if ask_for == MANY and self._by_index():
                    return self._ended()
                continue
            if self._walk_on(size):
                return self._ended()
            walked += size
            if len(self._matches) > self._limit:
                return self._ended()
        place = self._place
        assert place is not None  # noqa: S101 - a walk that did not end stands somewhere
        back = self._walk.is_by_time and self._query.order is Order.DESC
        return KeyPage(
            keys=list(self._matches.values()),
            next_cursor=self._walk.cursor(place),
            partial=True,
            looked_back_to=place.started_at if back else None,
        )

    def _steps(self) -> Iterator[tuple[int, int | None]]:
        """As `STEPS`; of texts without an index others, and one where every trace fits."""
        most = self._most
        content = content_search.STRETCHES.get(self._query.q_in) if self._query.q else None
        if content is not None:
            yield 0, FEW
            for _ in range(content):
                yield content_search.STRETCH, None
            return
        if not self._walk.unmet(self._walk.table):
            yield most, None
            return
        for size, ask_for in STEPS:
            yield (0 if ask_for is not None else max(size, most)), ask_for

    @property
    def _most(self) -> int:
        """Rows that are read at once: of one trace more than are wanted."""
        return (self._limit + 1) * (1 if self._walk.table is traces else _ROWS_OF_A_TRACE)

    def _ended(self) -> KeyPage:
        """The page, of a list whose rest is known as far as it takes."""
        shown = list(self._matches.values())[: self._limit]
        if len(self._matches) <= self._limit:
            return KeyPage(keys=shown)
        return KeyPage(keys=shown, next_cursor=self._walk.cursor(self._walk.place_of(shown[-1])))

    def _walk_on(self, size: int) -> bool:
        """Walk a stretch from the place reached; returns whether the page or the list ended."""
        for has_value in self._walk.parts:
            while True:
                rows = self._matching(size, has_value)
                self._add(rows)
                if len(self._matches) > self._limit:
                    return True
                if len(rows) < self._most or self._passages is not None:
                    break
                self._place = self._walk.place_of(rows[-1])  # all of few traces
            end = self._end_of(size, has_value)
            if end is not None:  # the part goes on
                self._place = end
                return False
        return True

    def _matching(self, size: int, has_value: bool) -> Sequence[Any]:
        """The rows of a stretch that fit."""
        walk = self._walk
        rows = walk.rows(has_value, self._place)
        if not walk.unmet(walk.table) and self._passages is None:
            return self._connection.execute(rows.limit(min(size, self._most))).all()
        part = rows.limit(size).cte("stretch").prefix_with("MATERIALIZED")
        statement = select(part).where(*walk.unmet(part)).order_by(*walk.order(part))
        if self._passages is not None:
            return self._passages.holding(self._connection.execute(statement).all())
        return self._connection.execute(statement.limit(self._most)).all()

    def _end_of(self, size: int, has_value: bool) -> Place | None:
        """The last place of a stretch; None: it ends with the part."""
        last = self._walk.rows(has_value, self._place).offset(size - 1).limit(1)
        row = self._connection.execute(last).first()
        return None if row is None else self._walk.place_of(row)

    def _add(self, rows: Sequence[Any]) -> None:
        for row in rows:
            self._matches.setdefault(row.trace_id, row)

    def _smallest(self, most: int) -> Select[Any] | None:
        """The way that names the fewest traces, if it names no more than `most`."""
        query = self._query
        ways = trace_filters.candidates(query, self._walk.turns)
        ways += map(_ids, self._indexes())
        best: Select[Any] | None = None
        for way in ways:
            count = self._count(way, most + 1)
            if count <= most:
                best, most = way, count - 1
            if most < 0:
                break
        return best

    def _count(self, way: Select[Any], most: int) -> int:
        counted = select(func.count()).select_from(way.limit(most).subquery())
        return int(self._connection.execute(counted).scalar_one())

    def _looked_up(self, way: Select[Any]) -> list[Any]:
        """The rows of traces that a way names, those that fit and come after the place."""
        ids = set(self._connection.execute(way).scalars())
        rows = _among(self._connection, self._walk, ids, self._place)
        return rows if self._passages is None else self._passages.holding(rows)

    def _indexes(self) -> list[list[ColumnElement[bool]]]:
        """Conditions on `traces` that an index of its own answers; of each any may hold."""
        query, postgresql = self._query, self._walk.postgresql
        indexes = []
        terms = trace_terms.query_terms(query)
        if terms:
            indexes.append([trace_terms.hold(traces, terms, postgresql=postgresql)])
        if query.q and query.q_in is SearchIn.QUESTION:
            indexes.append(question_index.may_hold(query.q, postgresql))
        ours = trace_filters.plainly([traces.c.project == query.project], postgresql=postgresql)
        return [[and_(one, *ours) for one in conditions] for conditions in indexes if conditions]

    def _by_index(self) -> bool:
        """Find the rest by an index of what traces carry; returns whether one names few enough."""
        if self._walk.table is not traces:
            return False
        for conditions in self._indexes():
            if self._count(_ids(conditions), MOST_INDEXED + 1) > MOST_INDEXED:
                continue
            every = union_all(*(self._walk.indexed(one, self._place) for one in conditions))
            # Not merged into the rest of the query: there the planner would walk by time.
            part = every.cte("indexed").prefix_with("MATERIALIZED")
            for has_value in self._walk.parts:
                self._add(self._connection.execute(self._of_part(part, has_value)).all())
            return True
        return False

    def _of_part(self, part: FromClause, has_value: bool) -> Select[Any]:
        statement = select(part).order_by(*self._walk.order(part)).limit(self._most)
        if self._walk.is_by_time:
            return statement
        value = part.c.value
        return statement.where(value.is_not(None) if has_value else value.is_(None))


def _ids(conditions: Sequence[ColumnElement[bool]]) -> Select[Any]:
    """The ids of traces of which any of the conditions holds, each by an index of its own."""
    ids = union_all(*(select(traces.c.trace_id).where(one) for one in conditions)).subquery()
    return select(ids.c.trace_id)
