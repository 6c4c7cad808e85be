"""Haystack's spans, as steps of a trace."""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Final

from haystack.tracing.tracer import Span

import rag_monitor as rm
from rag_monitor.sdk.events import EventTrace, OpenStep, never_raise
from rag_monitor_haystack import shapes

_never_raise = never_raise("haystack")


@dataclass(slots=True, eq=False)
class Root:
    """One pipeline run the user started."""

    trace: EventTrace
    query: str | None = None
    """What the first retriever was asked; the question, if the input shows none."""
    first_piece_ns: int | None = None
    """When the last model call's first streamed piece came."""
    ended: bool = False


class MonitorSpan(Span):
    """Keeps the contents Haystack reports, also where its content tracing is off.

    Args:
        inner: The span of the tracer that was there before, which gets everything too.
        root: The run it belongs to; None outside of any.
        kind: `pipeline`, `retriever`, `ranker`, `builder`, `generator`, `invoker`, `tool` or
            `other`.
    """

    def __init__(self, inner: Span, root: Root | None, kind: str) -> None:
        self.inner = inner
        self.root = root
        self.kind = kind
        self.is_root = False
        self.step: OpenStep[Any] | None = None
        self.input: Any = None
        self.output: Any = None
        self.failed = False

    def set_tag(self, key: str, value: Any) -> None:
        """Pass a tag on; a tool's failure is remembered."""
        self.inner.set_tag(key, value)
        if key == "haystack.tool.error":
            self.failed = bool(value)

    def set_content_tag(self, key: str, value: Any) -> None:
        """Keep inputs and outputs; the other tracer decides for itself."""
        self.inner.set_content_tag(key, value)
        if key.endswith("input"):
            self.input = value
            self._took(value)
        elif key.endswith(("output", "output_data")):
            self.output = value

    def raw_span(self) -> Any:
        """The other tracer's own span."""
        return self.inner.raw_span()

    def get_correlation_data_for_logs(self) -> dict[str, Any]:
        """What the other tracer gives."""
        return self.inner.get_correlation_data_for_logs()

    @_never_raise
    def begins(self, name: str) -> None:
        """Open the step that this kind of component is."""
        if self.root is None:
            return
        trace = self.root.trace
        if self.kind == "retriever":
            self.step = trace.open(rm.retrieval(name))
        elif self.kind == "ranker":
            self.step = trace.open(rm.retrieval(reranked=True))
        elif self.kind == "generator":
            self.step = trace.open(rm.generation())
        elif self.kind == "tool":
            self.step = trace.open(rm.plugin(name))
        elif self.kind == "pipeline" and name:
            self.step = trace.open(rm.workflow(name))

    @_never_raise
    def _took(self, value: Any) -> None:
        if not isinstance(value, Mapping):
            return
        if self.kind == "builder" and self.root is not None:
            documents = shapes.documents_in(value)
            if documents is not None:  # joiners and filters may stand before it
                self.root.trace.reach_model(documents)
        if self.kind in ("retriever", "ranker") and self.step is not None:
            query = value.get("query")
            self.step.step.query = query if isinstance(query, str) else None
            if self.root is not None and self.root.query is None:
                self.root.query = self.step.step.query

    @_never_raise
    def ends(self, error: BaseException | None = None) -> None:
        """Close the step with what came out; a root also ends its trace."""
        if self.step is not None:
            if self.failed:
                self.step.step.ok = False
            if error is None and isinstance(self.output, Mapping):
                self._fill(self.step.step, self.output)
            self.step.close(error)
        if self.kind == "invoker" and self.root is not None and isinstance(self.output, Mapping):
            for name, ok in shapes.tool_results(self.output):
                hit = self.root.trace.open(rm.plugin(name))
                hit.step.ok = ok
                hit.close(timed=False)
        if self.is_root and self.root is not None:
            self._end(self.root, error)

    def _fill(self, step: Any, output: Mapping[str, Any]) -> None:
        if self.kind in ("retriever", "ranker"):
            step.documents = output.get("documents")
        elif self.kind == "generator":
            step.text = shapes.reply_in(output)
            model, tokens_in, tokens_out = shapes.details_of(output)
            step.model = model
            step.usage(tokens_in, tokens_out)

    def _end(self, root: Root, error: BaseException | None) -> None:
        root.ended = True
        answer = shapes.answer_in(self.output)
        if answer is None:
            answer = shapes.reply_in(self.output)
        root.trace.ask(root.query)
        cause = error.__cause__ if error is not None and error.__cause__ is not None else error
        root.trace.end(answer, error=cause, first_byte_ns=root.first_piece_ns)


CURRENT: Final[ContextVar[MonitorSpan | None]] = ContextVar("rag_monitor_haystack", default=None)
"""The innermost span of this context."""
