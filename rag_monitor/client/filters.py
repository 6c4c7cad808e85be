"""The filters of traces and sessions as arguments: see `rag_monitor.domain.filters`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypedDict

from rag_monitor.domain.filters import BY_NAME


class Filters(TypedDict, total=False):
    """What must hold of a trace; None: anything."""

    app: str | None
    release: str | None
    environment: str | None
    session_id: str | None
    user_id: str | None
    tag: str | None
    model: str | None
    knowledge_base: str | None
    document: str | None
    """Id of a retrieved document."""
    plugin: str | None
    workflow: str | None
    outcome: str | None
    """How a call of the plugin or workflow ended: `ok`, `empty`, `failed`."""
    language: str | None
    """`zh`, `en`, `mixed`."""
    status: str | None
    latency_above: float | None
    """Milliseconds."""
    metric: str | None
    below: float | None
    """Of `metric`."""
    above: float | None
    """Of `metric`."""
    fault: str | None
    rating: str | None
    """`up`, `down`."""
    refused: bool | None


def of_traces(filters: Mapping[str, Any], method: str) -> dict[str, Any]:
    """Filters as parameters of the trace list.

    Raises:
        TypeError: There is no such filter.
    """
    for name in filters:
        if name not in BY_NAME:
            raise TypeError(f"{method}() got an unexpected keyword argument {name!r}")
    return dict(filters)


def of_sessions(filters: Mapping[str, Any]) -> dict[str, Any]:
    """Filters as parameters of the list of sessions.

    Raises:
        TypeError: There is no such filter.
    """
    given = of_traces(filters, "sessions")
    return {BY_NAME[name].parameter: value for name, value in given.items()}
