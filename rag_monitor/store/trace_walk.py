"""The orders in which traces are walked: by time, by latency, by a score; each along an index.

What is walked are rows of `traces`, or of another table whose filter was asked for: its index then
leads from one trace that fits to the next.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import ColumnElement, FromClause, Select, and_, false, or_, select, true

from rag_monitor.domain.filters import Order, SearchIn, TraceQuery, TraceSort
from rag_monitor.errors import MalformedPayload
from rag_monitor.store import content_search, trace_filters
from rag_monitor.store.page_cursor import (
    Place,
    decode_cursor,
    decode_place,
    encode_cursor,
    encode_place,
)
from rag_monitor.store.tables import faults, scores, traces
from rag_monitor.store.trace_filters import Conditions, Turns

_KEY: Final = ("project", "trace_id", "day", "started_at")


@dataclass(frozen=True, slots=True, kw_only=True)
class Walk:
    """The order of a query, and the conditions along it."""

    query: TraceQuery
    postgresql: bool
    turns: Turns | None = None

    @property
    def table(self) -> Any:
        """Whose rows are walked."""
        query = self.query
        if query.sort is TraceSort.LATENCY:
            return traces
        if query.metric is not None:
            return scores
        return faults if query.fault is not None else traces

    @property
    def is_by_time(self) -> bool:
        """Whether time alone decides."""
        return self.query.sort is TraceSort.TIME

    @property
    def _value(self) -> str | None:
        """The column that decides before the time."""
        by = {TraceSort.LATENCY: "end_to_end_ms", TraceSort.SCORE: "value"}
        return by.get(self.query.sort)

    @property
    def parts(self) -> Sequence[bool]:
        """What is walked one after the other: rows with a value, and those without (False)."""
        query = self.query
        bounded = query.below is not None or query.above is not None
        if query.sort is TraceSort.LATENCY:
            bounded = query.latency_above is not None
        return (True,) if self.is_by_time or bounded else (True, False)

    def place_of(self, row: Any) -> Place:
        """Where a row stands."""
        return Place(row.started_at, row.trace_id, None if self.is_by_time else row.value)

    def start(self) -> Place | None:
        """Where the page begins; None: at the beginning.

        Raises:
            MalformedPayload: The cursor is not one this store handed out, or one of another order.
        """
        query = self.query
        if query.sort is TraceSort.SCORE and query.metric is None:
            raise MalformedPayload("a list in the order of scores needs a metric")
        if query.cursor is None:
            return None
        if self.is_by_time and query.order is Order.DESC:
            return Place(*decode_cursor(query.cursor))
        return decode_place(query.cursor, self._order_name)

    def cursor(self, place: Place) -> str:
        """The name of a place."""
        if self.is_by_time and self.query.order is Order.DESC:
            return encode_cursor(place.started_at, place.trace_id)
        return encode_place(place, self._order_name)

    @property
    def _order_name(self) -> str:
        return f"{self.query.sort.value}-{self.query.order.value}"

    def rows(self, has_value: bool, after: Place | None) -> Select[Any]:
        """The rows of a part in order, after a place, with what `unmet` asks about."""
        return (
            select(*self._columns())
            .where(*self._along(self.table), *self._part(self.table, has_value, after))
            .order_by(*self.order(self.table))
        )

    def among(self, trace_ids: Sequence[str], days: Any, after: Place | None) -> Select[Any]:
        """The rows of these traces that fit, in no order."""
        table = self.table
        conditions = [*self._along(table), self._after(table, after), *self.unmet(table)]
        return select(*self._columns()).where(
            table.c.project == self.query.project,
            table.c.trace_id.in_(trace_ids),
            table.c.day.in_(days),
            *trace_filters.plainly(conditions, postgresql=self.postgresql),
        )

    def unmet(self, row: FromClause) -> Conditions:
        """The conditions that the order does not see to, on a row of it.

        Empty: whatever is walked fits.
        """
        query = self.query
        by_time = trace_filters.by_time(query, self._traces_of(row), self.turns)
        of_row = trace_filters.of_row(query, self._traces_of(row), postgresql=self.postgresql)
        if self.table is traces:
            conditions = of_row if self.is_by_time else [*by_time, *of_row]
        else:
            conditions = [trace_filters.trace_of(row, *by_time, *of_row)]
        if not self.is_by_time:
            conditions += trace_filters.in_time(query, row)
        conditions += trace_filters.about(query, row, but=self.table.name)
        if self.table is scores and not self.is_by_time:
            conditions.append(~self._has_better(row))
        return conditions

    def order(self, row: FromClause) -> list[ColumnElement[Any]]:
        """What rows are ordered by."""
        names = (*([self._value] if self._value else ()), "started_at", "trace_id")
        columns = [row.c[name] for name in names]
        if self.query.order is Order.ASC:
            return columns
        return [column.desc() for column in columns]

    def sorted(self, rows: Sequence[Any]) -> list[Any]:
        """Rows in order, those without a value last."""
        downwards = self.query.order is Order.DESC
        places = sorted(
            ((self.place_of(row), row) for row in rows),
            key=lambda one: (one[0].value or 0.0, one[0].started_at, one[0].trace_id),
            reverse=downwards,
        )
        if self.is_by_time:
            return [row for _, row in places]
        return [row for place, row in sorted(places, key=lambda one: one[0].value is None)]

    def indexed(self, condition: ColumnElement[bool], after: Place | None) -> Select[Any]:
        """Every row of `traces` that an index names and that fits, in no order."""
        conditions = [*self._along(traces), self._after(traces, after), *self.unmet(traces)]
        return select(*self._columns()).where(
            condition, *trace_filters.plainly(conditions, postgresql=self.postgresql)
        )

    def _traces_of(self, row: FromClause) -> FromClause:
        """Where the columns of traces stand for a row."""
        return row if self.table is traces else traces

    def _columns(self) -> list[Any]:
        table, query = self.table, self.query
        names = list(_KEY)
        if table is traces:
            names += trace_filters.columns_for(query, self.turns)
        elif table is scores:
            names += ["judge", "value"]
        columns = [table.c[name] for name in names]
        if query.sort is TraceSort.LATENCY:
            columns.append(table.c.end_to_end_ms.label("value"))
        if query.q and query.q_in is SearchIn.PASSAGES:
            wanted = content_search.context_columns(query.q)
            columns += (
                wanted
                if table is traces
                else [trace_filters.of(table, column).label(column.name) for column in wanted]
            )
        return columns

    def _along(self, table: Any) -> Conditions:
        """The conditions that the index of the order sees to."""
        query = self.query
        conditions: Conditions = [table.c.project == query.project]
        if self.is_by_time:
            conditions = trace_filters.in_time(query, table)
            if table is traces:
                conditions += trace_filters.by_time(query, table, self.turns)
            elif query.app is not None:
                conditions.append(table.c.app == query.app)
        if table is scores:
            conditions += (
                trace_filters.scores_by_time(query, postgresql=self.postgresql)
                if self.is_by_time
                else trace_filters.of_score(query, table)
            )
        if table is faults and query.fault is not None:
            conditions.append(table.c.fault == query.fault.value)
        return conditions

    def _after(self, table: Any, after: Place | None) -> ColumnElement[bool]:
        """All rows after a place."""
        parts = (self._part(table, has_value, after) for has_value in self.parts)
        return or_(*(and_(true(), *part) for part in parts))

    def _part(self, table: Any, has_value: bool, after: Place | None) -> Conditions:
        """The rows with a value, or those without, after a place."""
        later = None if after is None else self._later(table, after)
        if self._value is None:
            return [] if later is None else [*later]
        value = table.c[self._value]
        if not has_value:
            if after is None or after.value is not None:
                return [value.is_(None)]
            return [value.is_(None), *(later or ())]
        if after is None:
            return [value.is_not(None)]
        if after.value is None:
            return [false()]
        beyond = value > after.value if self.query.order is Order.ASC else value < after.value
        up_to = value >= after.value if self.query.order is Order.ASC else value <= after.value
        return [up_to, or_(beyond, and_(*(later or ())))]

    def _later(self, table: Any, place: Place) -> Conditions:
        """After a place in time; of those with the same value."""
        begun, trace_id = table.c.started_at, table.c.trace_id
        if self.query.order is Order.ASC:
            return [
                begun >= place.started_at,
                or_(begun > place.started_at, trace_id > place.trace_id),
            ]
        return [
            begun <= place.started_at,
            or_(begun < place.started_at, trace_id < place.trace_id),
        ]

    def _has_better(self, row: FromClause) -> ColumnElement[bool]:
        """Whether another judge's score puts the trace further to the front."""
        other = scores.alias("other")
        same = [other.c[name] == row.c[name] for name in ("project", "trace_id", "day")]
        ascending = self.query.order is Order.ASC
        ahead = other.c.value < row.c.value if ascending else other.c.value > row.c.value
        first = or_(
            ahead,
            and_(row.c.value.is_(None), other.c.value.is_not(None)),
            and_(
                other.c.value.is_not_distinct_from(row.c.value),
                other.c.judge < row.c.judge,
            ),
        )
        fits = [*trace_filters.of_score(self.query, other), first]
        better = select(other.c.judge).where(
            *same, *trace_filters.plainly(fits, postgresql=self.postgresql)
        )
        return better.limit(1).correlate(row).scalar_subquery().is_not(None)
