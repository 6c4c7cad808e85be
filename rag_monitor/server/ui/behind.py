"""The traces behind a number, the worst first: filters of the list that shows them."""

from __future__ import annotations

from typing import Final

from rag_monitor.domain.rollup import REFUSAL_METRIC, SATISFACTION_METRIC
from rag_monitor.metrics.names import ERROR_SHARE

_OF_A_SHARE: Final = {
    REFUSAL_METRIC: {"refused": "true"},
    SATISFACTION_METRIC: {"rating": "down"},
    ERROR_SHARE: {"status": "error"},
}


def behind(metric: str) -> dict[str, str]:
    """Of a share the traces that it counts, of a score all of them, the lowest first."""
    return _OF_A_SHARE.get(metric) or {"metric": metric, "sort": "score", "order": "asc"}
