"""The tracer Haystack reports to, beside the one that may be there already."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator, Mapping
from typing import Any, Final

from haystack.tracing.tracer import Span, Tracer
from haystack.tracing.tracer import tracer as tracing

import rag_monitor as rm
from rag_monitor.sdk.events import EventTrace
from rag_monitor_haystack import shapes
from rag_monitor_haystack.spans import CURRENT, MonitorSpan, Root

_ROOTS: Final = ("haystack.pipeline.run", "haystack.agent.run")
_MODEL_CALLS: Final = ("haystack.agent.step.llm",)
_KINDS: Final = (
    ("Retriever", "retriever"),
    ("Ranker", "ranker"),
    ("Generator", "generator"),
    ("ToolInvoker", "invoker"),
    ("PromptBuilder", "builder"),
)


class RagMonitorTracer(Tracer):
    """Records pipelines; everything also goes to `before`.

    Args:
        before: The tracer in use so far.
        fields: As `rag_monitor.current().set(...)`, for every trace.
    """

    def __init__(self, before: Tracer, fields: Mapping[str, Any]) -> None:
        self.before = before
        self._fields = dict(fields)

    @contextlib.contextmanager
    def trace(
        self,
        operation_name: str,
        tags: dict[str, Any] | None = None,
        parent_span: Span | None = None,
    ) -> Iterator[Span]:
        """One operation of Haystack's."""
        parent = parent_span if isinstance(parent_span, MonitorSpan) else CURRENT.get()
        above = parent_span.inner if isinstance(parent_span, MonitorSpan) else parent_span
        with self.before.trace(operation_name, tags=tags, parent_span=above) as inner:
            span, name = self._span(operation_name, tags or {}, parent, inner)
            span.begins(name)
            token = CURRENT.set(span)
            try:
                yield span
            except BaseException as error:
                span.ends(error)
                raise
            finally:
                with contextlib.suppress(ValueError):  # an async generator closed elsewhere
                    CURRENT.reset(token)
            span.ends()

    def current_span(self) -> Span | None:
        """The innermost span of this context."""
        return CURRENT.get() or self.before.current_span()

    def _span(
        self, operation: str, tags: Mapping[str, Any], parent: MonitorSpan | None, inner: Span
    ) -> tuple[MonitorSpan, str]:
        root = parent.root if parent is not None else None
        if root is not None and root.ended:
            root = None
        kind, name = _kind_of(operation, tags)
        if root is not None:
            return MonitorSpan(inner, root, kind), name
        if operation in _ROOTS:
            question = shapes.question_in(tags.get("haystack.pipeline.input_data"))
            span = MonitorSpan(
                inner, Root(EventTrace(name or "pipeline", question, **self._fields)), kind
            )
            span.is_root = True
            return span, name
        joined = Root(EventTrace("haystack")) if rm.current() else None
        return MonitorSpan(inner, joined, kind), name


def _kind_of(operation: str, tags: Mapping[str, Any]) -> tuple[str, str]:
    if operation == "haystack.component.run":
        type_name = str(tags.get("haystack.component.type", ""))
        name = str(tags.get("haystack.component.name") or type_name)
        return next((kind for end, kind in _KINDS if end in type_name), "other"), name
    if operation in _MODEL_CALLS:
        return "generator", ""
    if operation == "haystack.agent.step.tool":
        return "tool", str(tags.get("haystack.tool.name") or "tool")
    if operation == "haystack.pipeline.run":
        metadata = tags.get("haystack.pipeline.metadata")
        given = metadata.get("name") if isinstance(metadata, Mapping) else None
        return "pipeline", given if isinstance(given, str) else ""
    return "other", ""


_LOCK: Final = threading.Lock()


def instrument(**fields: Any) -> None:
    """Record every pipeline and agent of this process; a second call changes nothing.

    Args:
        **fields: As `rag_monitor.current().set(...)`, for every trace.
    """
    with _LOCK:
        before = tracing.actual_tracer
        if not isinstance(before, RagMonitorTracer):
            tracing.actual_tracer = RagMonitorTracer(before, fields)


def uninstrument() -> None:
    """Give Haystack the tracer back that it had before."""
    with _LOCK:
        ours = tracing.actual_tracer
        if isinstance(ours, RagMonitorTracer):
            tracing.actual_tracer = ours.before
