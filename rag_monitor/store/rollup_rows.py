"""A Rollup as a row, and rows as Rollups."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import Any, Final

from sqlalchemy import ColumnElement, Table, Text, type_coerce

from rag_monitor.domain.rollup import Rollup, RollupKey

_KEY: Final = ("project", "app", "metric", "minute", "release", "judge", "dimension")
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
    """The row of `rollups`."""
    key = rollup.key
    name = "\0".join((key.metric, key.release, key.judge, key.dimension))
    return {
        **{part: getattr(key, part) for part in _KEY},
        "key": hashlib.sha256(name.encode("utf-8", "surrogatepass")).digest()[:16],
        **{part: getattr(rollup, part) for part in _SUMS},
        "histogram": list(rollup.histogram),
        "moments": rollup.moments,
    }


def columns_of(table: Table) -> list[ColumnElement[Any]]:
    """What `load_rollups` wants to be selected, in its order; the JSON as text."""
    plain: list[ColumnElement[Any]] = [table.c[name] for name in (*_KEY, *_SUMS)]
    return [*plain, *(type_coerce(table.c[name], Text) for name in ("histogram", "moments"))]


def load_rollups(rows: Sequence[Any]) -> list[Rollup]:
    """Rows of `columns_of`. Pages read thousands of these: by place, and all the JSON in one go."""
    histograms = json.loads(f"[{','.join([row[-2] for row in rows])}]")
    more = json.loads(f"[{','.join([row[-1] for row in rows])}]")
    found = []
    for number, (
        project, app, metric, minute, release, judge, dimension,
        count, total, squares, bad, failed, not_applicable, suspect,
        weight, weighted_total, weight_squares, weighted_squares,
        _, _,
    ) in enumerate(rows):  # fmt: skip
        key = RollupKey(
            project=project,
            app=app,
            metric=metric,
            minute=minute,
            release=release,
            judge=judge,
            dimension=dimension,
        )
        found.append(
            Rollup(
                key=key,
                count=count,
                total=total,
                squares=squares,
                bad=bad,
                failed=failed,
                not_applicable=not_applicable,
                suspect=suspect,
                histogram=tuple(histograms[number]),
                weight=weight,
                weighted_total=weighted_total,
                weight_squares=weight_squares,
                weighted_squares=weighted_squares,
                moments=more[number],
            )
        )
    return found
