"""Names that callers send, held against what there is: a typing mistake is told, not obeyed."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from rag_monitor.exposition.snapshot import LATENCIES
from rag_monitor.metrics.rag import METRICS
from rag_monitor.server.problems import ProblemError
from rag_monitor.spelling import nearest

METRIC_NAMES: Final = METRICS
"""Every metric that traces are scored by. None can be added: judges are plug-ins, metrics not."""


def require_known(field: str, name: str, known: Collection[str]) -> None:
    """Refuse a name that is none of `known`.

    Raises:
        ProblemError: 422, with the nearest name there is.
    """
    if name not in known:
        raise ProblemError(422, f"`{field}`: {_unknown(field, name, known)}")


def known_metric(name: str) -> str:
    """The name, if it is a metric's; for fields of what is sent in.

    Raises:
        ValueError: With the nearest name there is, and all of them.
    """
    if name in LATENCIES:
        raise ValueError(f"{name} is a time, not a score; `/api/v1/summary` has it")
    if name not in METRIC_NAMES:
        names = ", ".join(METRIC_NAMES)
        raise ValueError(f"{_unknown('metric', name, METRIC_NAMES)} Known are {names}")
    return name


def _unknown(field: str, name: str, known: Collection[str]) -> str:
    near = nearest(name, known)
    meant = f" Did you mean {near!r}?" if near else ""
    return f"there is no {field} {name!r}.{meant}"
