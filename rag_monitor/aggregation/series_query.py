"""Which rollups a series is made of."""

from __future__ import annotations

from rag_monitor.aggregation import keys
from rag_monitor.aggregation.fault_sums import rollup_metric
from rag_monitor.domain.rollup import RollupQuery
from rag_monitor.domain.window import Series, Window


def query_of(series: Series, window: Window) -> RollupQuery:
    """Those of its metric, release and judge in a window; `combined`: of every judge."""
    return RollupQuery(
        project=series.project,
        window=window,
        app=series.app,
        metric=keys.of_knowledge_base(rollup_metric(series.metric), series.knowledge_base),
        release=series.release,
        judge=None if series.judge == keys.COMBINED else series.judge,
    )
