"""A Rollup as a row, and rows as Rollups."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import cache
from typing import Any, Final

import orjson
from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Select,
    Table,
    Text,
    cast,
    func,
    literal,
    select,
    type_coerce,
)

from rag_monitor.domain.rollup import Rollup, RollupKey
from rag_monitor.store.bucket_sums import dump_buckets, load_buckets
from rag_monitor.store.types import microseconds

_KEY: Final = ("project", "app", "metric", "minute", "release", "judge", "dimension")
_GROUP: Final = ("project", "app", "metric", "release", "judge", "dimension")
_SUMS: Final = (
    "count",
    "total",
    "squares",
    "bad",
    "failed",
    "not_applicable",
    "suspect",
    "weight",
    "weighted_total",
    "weight_squares",
    "weighted_squares",
)


def dump_rollup(rollup: Rollup) -> dict[str, Any]:
    """The row of `rollups`; that of a block lacks `arrived`."""
    key = rollup.key
    parts = [key.metric, key.release, key.judge, key.dimension]
    if key.arrived is not None:
        parts.append(key.arrived.isoformat())
    name = "\0".join(parts)
    return {
        **{part: getattr(key, part) for part in _KEY},
        "key": hashlib.sha256(name.encode("utf-8", "surrogatepass")).digest()[:16],
        **{part: getattr(rollup, part) for part in _SUMS},
        "histogram": list(rollup.histogram),
        "moments": rollup.moments,
        "clusters": dump_buckets(rollup.clusters),
    }


_PLACE: Final = 7
"""Columns of the key, which come first."""


def columns_of(table: Table) -> list[ColumnElement[Any]]:
    """What `load_rollups` wants to be selected, in its order; the JSON as text."""
    plain: list[ColumnElement[Any]] = [table.c[name] for name in (*_KEY, *_SUMS)]
    return [
        *plain,
        table.c.clusters,
        *(type_coerce(table.c[name], Text) for name in ("histogram", "moments")),
    ]


def load_rollups(rows: Sequence[Any]) -> list[Rollup]:
    """Rows of `columns_of`. Pages read thousands of these: by place, and all the JSON in one go."""
    histograms = _json_of(f"[{','.join([row[-2] for row in rows])}]")
    more = _json_of(f"[{','.join([row[-1] for row in rows])}]")
    loaded = []
    for number, row in enumerate(rows):
        project, app, metric, minute, release, judge, dimension = row[:_PLACE]
        key = RollupKey(
            project=project,
            app=app,
            metric=metric,
            minute=minute,
            release=release,
            judge=judge,
            dimension=dimension,
        )
        loaded.append(_rollup(key, row, histograms[number], more[number]))
    return loaded


def _rollup(
    key: RollupKey, row: Any, histogram: Sequence[int], moments: dict[str, float]
) -> Rollup:
    """A row, whose sums follow the columns of the key."""
    (
        count, total, squares, bad, failed, not_applicable, suspect,
        weight, weighted_total, weight_squares, weighted_squares,
        clusters, _, _,
    ) = row[_PLACE:]  # fmt: skip
    return Rollup(
        key=key,
        count=count,
        total=total,
        squares=squares,
        bad=bad,
        failed=failed,
        not_applicable=not_applicable,
        suspect=suspect,
        histogram=tuple(histogram),
        weight=weight,
        weighted_total=weighted_total,
        weight_squares=weight_squares,
        weighted_squares=weighted_squares,
        moments=moments,
        clusters=load_buckets(clusters),
    )


def _json_of(text: str) -> Any:
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:  # numbers that are not finite, which `dump_json` writes, too
        return json.loads(text)


def select_sums(
    table: Table, start: datetime, step: timedelta | None, *, postgresql: bool
) -> Select[Any]:
    """What `load_sums` wants: rows that differ in nothing but their minute added up as one.

    The database adds up what are numbers and strings the JSON together: a page that reads thousands
    of rows would else spend its time on making thousands of objects.

    Args:
        table: `rollups` or `rollup_blocks`.
        start: Where the first step begins.
        step: Rows of different steps stay apart; None: there are no steps.
        postgresql: Which database it is.
    """
    chosen = _sums_of(table)
    return chosen if step is None else chosen.group_by(_number(table, start, step, postgresql))


@cache
def _sums_of(table: Table) -> Select[Any]:
    group: list[ColumnElement[Any]] = [table.c[name] for name in _GROUP]
    # PostgreSQL makes a wider type of a sum of integers.
    sums = [cast(func.sum(table.c[name]), table.c[name].type) for name in _SUMS]
    texts = [
        func.aggregate_strings(func.nullif(type_coerce(table.c[name], Text), nothing), ",")
        for name, nothing in (("clusters", ""), ("histogram", "[]"), ("moments", "{}"))
    ]
    return select(*group, func.min(table.c.minute), *sums, *texts).group_by(*group)


def _number(table: Table, start: datetime, step: timedelta, postgresql: bool) -> ColumnElement[Any]:
    """Which step a row is in."""
    if postgresql:
        passed = table.c.minute - literal(start, table.c.minute.type)
        return func.floor(func.extract("epoch", passed) / step.total_seconds())
    micros = type_coerce(table.c.minute, BigInteger) - microseconds(start)
    return micros // (step // timedelta(microseconds=1))


def load_sums(rows: Sequence[Any]) -> list[Rollup]:
    """Rows of `select_sums`, dated as the first minute or block of each."""
    histograms = _json_of(f"[{','.join([f'[{row[-2] or str()}]' for row in rows])}]")
    more = _json_of(f"[{','.join([f'[{row[-1] or str()}]' for row in rows])}]")
    loaded = []
    for number, row in enumerate(rows):
        project, app, metric, release, judge, dimension, minute = row[:_PLACE]
        key = RollupKey(
            project=project,
            app=app,
            metric=metric,
            minute=minute,
            release=release,
            judge=judge,
            dimension=dimension,
        )
        counts = list(map(sum, zip(*histograms[number], strict=True)))
        loaded.append(_rollup(key, row, counts, _added(more[number])))
    return loaded


def _added(parts: Sequence[dict[str, float]]) -> dict[str, float]:
    if not parts:
        return {}
    added = parts[0]
    for part in parts[1:]:
        for name, value in part.items():
            if name in added:
                added[name] += value
            else:
                added[name] = value
    return added
