"""The routing confusion from rollups."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

from rag_monitor.aggregation import keys
from rag_monitor.domain.hit import HitKind
from rag_monitor.domain.rollup import Rollup
from rag_monitor.metrics.routing import Confusion


def confusions_of(rows: Iterable[Rollup]) -> list[Confusion]:
    """Per kind and name, over the labelled traces of the rows."""
    labelled: dict[HitKind, int] = defaultdict(int)
    cells: dict[tuple[HitKind, str], dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for row in rows:
        parts = keys.split_dimension(row.key.dimension)
        if parts is None:
            continue
        kind, name, cell = parts
        if cell == keys.LABELLED:
            labelled[kind] += row.count
        else:
            cells[kind, name][cell] += row.count
    return [
        _confusion(kind, name, cells[kind, name], labelled[kind]) for kind, name in sorted(cells)
    ]


def _confusion(kind: HitKind, name: str, cells: Mapping[str, int], labelled: int) -> Confusion:
    tp, fp, fn = cells.get("tp", 0), cells.get("fp", 0), cells.get("fn", 0)
    return Confusion(kind=kind, name=name, tp=tp, fp=fp, fn=fn, tn=max(0, labelled - tp - fp - fn))
