"""The filters of a list on its page: read from an address, shown as fields and as chips."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from rag_monitor.domain.filters import (
    FILTERS,
    Filter,
    FilterKind,
    HitOutcome,
    Order,
    QuestionLanguage,
    TraceSort,
    UserRating,
)
from rag_monitor.domain.rollup import REFUSAL_METRIC
from rag_monitor.i18n import msgid
from rag_monitor.metrics import fault_words
from rag_monitor.server.quality import SCORE_METRICS
from rag_monitor.server.schemas.filters import MOST_MS
from rag_monitor.server.ui import catalog
from rag_monitor.server.ui.period import length_of, moment_in
from rag_monitor.server.ui.view import Visitor

PARAMETERS: Final = tuple(one.parameter for one in FILTERS)
TIMES: Final = ("since", "from", "to")
ORDERS: Final = ("sort", "order")
IN_TABLE: Final = "table"
METRICS: Final = (*SCORE_METRICS, REFUSAL_METRIC)
_MAIN: Final = frozenset({"app", "release", "metric", "below", "status"})
"""Filters that have a field of their own; the others come one after another."""
_AS_GIVEN: Final = frozenset({"session_id", "tag", "document"})
"""Whatever an application calls a thing of its own, blanks at its ends and all."""
_LONGEST: Final = 1000
_FLAGS: Final = {"true": msgid("yes"), "false": msgid("no")}
_WORDS: Final[Mapping[str, Mapping[Any, str]]] = {
    "status": catalog.STATUSES,
    "fault": fault_words.FAULTS,
    "outcome": {
        HitOutcome.OK: msgid("with a result"),
        HitOutcome.EMPTY: msgid("empty"),
        HitOutcome.FAILED: msgid("failed"),
    },
    "language": {
        QuestionLanguage.CHINESE: msgid("Chinese"),
        QuestionLanguage.ENGLISH: msgid("English"),
        QuestionLanguage.MIXED: msgid("mixed"),
    },
    "rating": {UserRating.UP: msgid("good"), UserRating.DOWN: msgid("bad")},
}
"""What choices are called, in English; translated."""
SORTS: Final = {
    TraceSort.TIME: msgid("time"),
    TraceSort.LATENCY: msgid("latency"),
    TraceSort.SCORE: msgid("score of the metric"),
}
DIRECTIONS: Final = {
    Order.DESC: msgid("newest or highest first"),
    Order.ASC: msgid("oldest or lowest first"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """A filter as a field of a form."""

    name: str
    label: str
    value: str
    choices: Mapping[str, str]
    """Value and what it is called; empty: text is typed."""
    numeric: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Chip:
    """A filter that holds, and the list without it."""

    name: str
    label: str
    value: str
    address: str


@dataclass(frozen=True, slots=True)
class FilterForm:
    """What the address of a list asks for."""

    values: Mapping[str, str]
    """By parameter; empty: not asked for."""

    @classmethod
    def read(cls, me: Visitor, *more: str) -> FilterForm:
        """The filters of an address, and some parameters more."""
        query = me.request.query_params
        names = (*PARAMETERS, *TIMES, *ORDERS, *more)
        values = {name: query.get(name, "")[:_LONGEST] for name in names}
        values |= {name: text.strip() for name, text in values.items() if name not in _AS_GIVEN}
        if moment_in(values["from"], me.zone) is not None:
            values["since"] = ""  # a beginning goes before a length
        return cls(values)

    def with_values(self, values: Mapping[str, str]) -> FilterForm:
        """The same with other values of some parameters."""
        return FilterForm({**self.values, **values})

    def query(self, me: Visitor) -> dict[str, Any]:
        """What can be used of it, as fields of a `TraceQuery`."""
        given = {one.name: _parsed(one, self.values[one.parameter]) for one in FILTERS}
        for one in FILTERS:
            if one.needs is not None and given[one.needs] is None:
                given[one.name] = None
        above, below = given["above"], given["below"]
        if above is not None and below is not None and above >= below:
            given["above"] = None
        since, until = self.ends(me)
        sort = _of(TraceSort, self.values["sort"]) or TraceSort.TIME
        if sort is TraceSort.SCORE and given["metric"] is None:
            sort = TraceSort.TIME
        order = _of(Order, self.values["order"]) or Order.DESC
        return given | {"since": since, "until": until, "sort": sort, "order": order}

    def ends(self, me: Visitor) -> tuple[Any, Any]:
        """From when to when; a length ends where the rest does."""
        since, until = (moment_in(self.values[name], me.zone) for name in ("from", "to"))
        length = length_of(self.values["since"])
        if since is None and length is not None:
            since = (until or me.services.clock.now()) - length
        return since, until

    def unusable(self, me: Visitor) -> dict[str, str]:
        """The parameters that are not applied, with their values."""
        used = self.query(me)
        usable = {one.parameter: used[one.name] is not None for one in FILTERS} | {
            "since": length_of(self.values["since"]) is not None,
            "from": moment_in(self.values["from"], me.zone) is not None,
            "to": moment_in(self.values["to"], me.zone) is not None,
            "sort": self.values["sort"] == used["sort"],
            "order": self.values["order"] == used["order"],
        }
        return {name: self.values[name] for name, good in usable.items() if not good and self[name]}

    def __getitem__(self, name: str) -> str:
        return self.values[name]

    def fields(self, me: Visitor) -> list[Field]:
        """The filters that have no field of their own on the page."""
        return [_field(me, one, self[one.parameter]) for one in FILTERS if one.name not in _MAIN]

    def chips(self, me: Visitor, path: str, *more: str) -> list[Chip]:
        """Each filter that is applied.

        Args:
            me: The visitor.
            path: Of the list.
            more: Further parameters that the list keeps.
        """
        used = self.query(me)
        kept = {
            name: self[name]
            for name in (*PARAMETERS, *TIMES, *ORDERS, *more)
            if self.values.get(name)
        }
        chips = [
            Chip(
                name=one.parameter,
                label=me.translate(one.label),
                value=_shown(me, one, self[one.parameter]),
                address=me.link(path, **_without(kept, one)),
            )
            for one in FILTERS
            if used[one.name] is not None
        ]
        for name, label, shown in _TIME_CHIPS:
            if self[name] and name not in self.unusable(me):
                rest = {key: value for key, value in kept.items() if key != name}
                chips.append(
                    Chip(
                        name=name,
                        label=me.translate(label),
                        value=shown(me, self[name]),
                        address=me.link(path, **rest),
                    )
                )
        return chips


def _span(me: Visitor, value: str) -> str:
    return me.span(value)


def _local(me: Visitor, value: str) -> str:
    moment = moment_in(value, me.zone)
    return value if moment is None else me.local(moment)


_TIME_CHIPS: Final[tuple[tuple[str, str, Callable[[Visitor, str], str]], ...]] = (
    ("since", msgid("Since"), _span),
    ("from", msgid("From"), _local),
    ("to", msgid("To"), _local),
)


def _without(kept: Mapping[str, str], one: Filter) -> dict[str, str]:
    """The parameters without a filter, and without what means nothing without it."""
    gone = {one.parameter, *(other.parameter for other in FILTERS if other.needs == one.name)}
    if one.kind is FilterKind.METRIC and kept.get("sort") == TraceSort.SCORE:
        gone |= set(ORDERS)
    return {name: value for name, value in kept.items() if name not in gone}


def _field(me: Visitor, one: Filter, value: str) -> Field:
    return Field(
        name=one.parameter,
        label=me.translate(one.label),
        value=value,
        choices=_called(me, one),
        numeric=one.kind in {FilterKind.RATIO, FilterKind.MILLISECONDS},
    )


def _called(me: Visitor, one: Filter) -> dict[str, str]:
    if one.kind is FilterKind.FLAG:
        return {value: me.translate(label) for value, label in _FLAGS.items()}
    return {choice.value: me.translate(_WORDS[one.name][choice]) for choice in one.choices or ()}


def _shown(me: Visitor, one: Filter, value: str) -> str:
    if one.kind is FilterKind.METRIC:
        return me.translate(catalog.metric_label(value))
    if one.kind is FilterKind.MILLISECONDS:
        return f"{value} ms"
    return _called(me, one).get(value, value)


def _parsed(one: Filter, text: str) -> Any:
    """The value of a filter; None: there is none, or none that can be used."""
    if not text:
        return None
    if one.choices is not None:
        return _of(one.choices, text)
    if one.kind is FilterKind.FLAG:
        return {"true": True, "false": False}.get(text)
    if one.kind is FilterKind.METRIC:
        return text if text in METRICS else None
    if one.kind is FilterKind.RATIO:
        return _number(text, 1.0)
    return _number(text, MOST_MS) if one.kind is FilterKind.MILLISECONDS else text


def _of(kind: type[StrEnum], text: str) -> Any:
    return kind(text) if text in set(kind) else None


def _number(text: str, most: float) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) and 0 <= value <= most else None
