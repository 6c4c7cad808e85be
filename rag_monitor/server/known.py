"""Names that callers send, held against what there is: a typing mistake is told, not obeyed."""

from __future__ import annotations

import difflib
from collections.abc import Collection
from typing import Final

from rag_monitor.domain.rollup import REFUSAL_METRIC
from rag_monitor.metrics.rag import METRICS
from rag_monitor.server.problems import ProblemError

METRIC_NAMES: Final = (*METRICS, REFUSAL_METRIC)
"""Every metric that traces are scored by."""


def require_known(field: str, name: str, known: Collection[str]) -> None:
    """Refuse a name that is none of `known`.

    Raises:
        ProblemError: 422, with the nearest name there is.
    """
    if name in known:
        return
    near = difflib.get_close_matches(name, known, n=1)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    raise ProblemError(422, f"`{field}`: there is no {field} {name!r}.{hint}")
