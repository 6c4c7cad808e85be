"""Which stages were at fault in the newest traces of an application: counts, not estimates."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from sqlalchemy import Connection, and_, func, select

from rag_monitor.domain.fault import STAGES, Fault, Stage
from rag_monitor.domain.window import Window
from rag_monitor.store.tables import faults, traces

TRACES: Final = 5_000
"""Newest traces that are counted."""

_KEY: Final = ("project", "trace_id", "day")


@dataclass(frozen=True, slots=True, kw_only=True)
class StageCounts:
    """Traces whose fault is told, by the judge that told most of them."""

    traces: int = 0
    by_stage: Mapping[Stage, int] = field(default_factory=dict)

    def share(self, stage: Stage) -> float | None:
        """Share of the traces that a stage is responsible for; None: there are no traces."""
        return self.by_stage.get(stage, 0) / self.traces if self.traces else None


def by_stage(
    connection: Connection, project: str, app: str, window: Window, release: str | None
) -> StageCounts:
    """Counts among the `TRACES` newest traces of a window; of a release, if one is named."""
    chosen = select(*(traces.c[name] for name in _KEY)).where(
        traces.c.project == project,
        traces.c.app == app,
        traces.c.started_at >= window.start,
        traces.c.started_at < window.end,
    )
    if release is not None:
        chosen = chosen.where(traces.c.release == release)
    newest = chosen.order_by(traces.c.started_at.desc()).limit(TRACES).subquery()
    same = and_(*(faults.c[name] == newest.c[name] for name in _KEY))
    rows = connection.execute(
        select(faults.c.judge, faults.c.fault, func.count())
        .select_from(newest.join(faults, same))
        .group_by(faults.c.judge, faults.c.fault)
    )
    by_judge: dict[str, Counter[Fault]] = {}
    for judge, fault, count in rows:
        by_judge.setdefault(judge, Counter())[Fault(fault)] += count
    fullest = max(by_judge.values(), key=Counter.total, default=Counter())
    stages: Counter[Stage] = Counter()
    for fault, count in fullest.items():
        if fault in STAGES:
            stages[STAGES[fault]] += count
    return StageCounts(traces=fullest.total(), by_stage=dict(stages))
