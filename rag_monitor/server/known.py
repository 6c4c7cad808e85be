"""Names that callers send, held against what there is: a typing mistake is told, not obeyed."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from fastapi import Request

from rag_monitor.exposition.snapshot import LATENCIES
from rag_monitor.metrics.rag import METRICS
from rag_monitor.server.problems import ProblemError
from rag_monitor.spelling import nearest

METRIC_NAMES: Final = METRICS
"""Every metric that traces are scored by. None can be added: judges are plug-ins, metrics not."""


def require_known(field: str, name: str, known: Collection[str], kind: str | None = None) -> None:
    """Refuse a name that is none of `known`; of a `kind`, where the field is called otherwise.

    Raises:
        ProblemError: 422, with the nearest name there is.
    """
    if name not in known:
        raise ProblemError(422, f"`{field}`: {_unknown(kind or field, name, known)}")


def check_parameters(request: Request) -> None:
    """Refuse query parameters of the API that would be left unread, and nobody told.

    Nothing here takes lists, so of two values of one name one would be; and so would one that the
    OpenAPI document does not have for this operation.

    Raises:
        ProblemError: 422; for an unknown name with the nearest there is, and all of them.
    """
    names = [name for name, _ in request.query_params.multi_items()]
    if not names or not request.url.path.startswith("/api/v1/"):
        return
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ProblemError(422, f"`{twice[:100]}`: is given more than once.")
    operations = request.app.openapi()["paths"].get(request.scope["route"].path_format, {})
    operation = operations.get(request.method.lower())
    if operation is None:
        return
    taken = operation.get("parameters", ())
    known = [parameter["name"] for parameter in taken if parameter["in"] == "query"]
    for name in names:
        if name not in known:
            those = f" Known are {', '.join(known)}." if known else " None is taken here."
            detail = f"`{name[:100]}`: {_unknown('parameter', name[:100], known)}{those}"
            raise ProblemError(422, detail, kind="invalid-input")


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
