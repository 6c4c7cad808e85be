"""Traces driven by callbacks and events instead of a `with` around the handler's code.

A framework reports what happens on whatever thread, task or context it likes. An `EventTrace` is
begun, fed and ended from any of them, and is never current in the host's own context. This is
what integrations build on.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from contextvars import Context, copy_context
from time import perf_counter_ns
from typing import Any, Generic, ParamSpec, TypeVar

from opentelemetry.context import attach

from rag_monitor.sdk.client import active, prepare
from rag_monitor.sdk.frame_scopes import current_trace
from rag_monitor.sdk.guard import GUARD
from rag_monitor.sdk.question import question_in
from rag_monitor.sdk.record import CURRENT, NULL, LiveTrace, NullTrace
from rag_monitor.sdk.step import Step
from rag_monitor.sdk.steps import HitStep
from rag_monitor.sdk.streaming import when_closed as when_closed  # integrations import it here
from rag_monitor.sdk.text import answer_of

P = ParamSpec("P")
R = TypeVar("R")
S = TypeVar("S", bound=Step)

prepare()  # whoever imports this is about to trace, and has no handler to decorate


def never_raise(where: str) -> Callable[[Callable[P, R]], Callable[P, R | None]]:
    """Decorate a callback: what goes wrong in it is counted and logged, never raised.

    Args:
        where: Name under which `rag_monitor.stats()["internal_errors"]` counts it.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R | None]:
        @functools.wraps(function)
        def guarded(*args: P.args, **kwargs: P.kwargs) -> R | None:
            try:
                return function(*args, **kwargs)
            except Exception as error:  # noqa: BLE001 - the boundary
                GUARD.report(where, error)
                return None

        return guarded

    return decorate


absorbing = never_raise
"""The name that integrations outside this repository may know."""


def knowledge_base_hit(name: str) -> HitStep:
    """A hit of a knowledge base without a retrieval of its own, as inside a combined retriever."""
    return HitStep("knowledge_base", name)


class OpenStep(Generic[S]):
    """A step between its start and its end."""

    __slots__ = ("_context", "step")

    def __init__(self, step: S, context: Context) -> None:
        self.step = step
        """The step; fill in what it found before closing."""
        self._context = context
        context.run(step.__enter__)

    def close(
        self,
        error: BaseException | None = None,
        *,
        elapsed_s: float | None = None,
        timed: bool = True,
    ) -> None:
        """End the step now. Never raises.

        Args:
            error: Why it failed.
            elapsed_s: How long it took, where the framework knows better than our clock.
            timed: False when its duration is unknown; it is then left out.
        """
        step = self.step
        try:
            step.timed = timed
            if elapsed_s is not None and elapsed_s >= 0:
                step.started = perf_counter_ns() - int(elapsed_s * 1e9)
            kind = None if error is None else type(error)
            self._context.run(step.__exit__, kind, error, None)
        except Exception as mistake:  # noqa: BLE001 - the boundary
            GUARD.report("events", mistake)


class EventTrace:
    """One answered question, reported by events.

        >>> from rag_monitor.testing import InMemoryExporter
        >>> with InMemoryExporter() as exporter:
        ...     trace = EventTrace("chain", "How long is the warranty?")
        ...     trace.chunk("24 ")
        ...     trace.chunk("months.")
        ...     trace.end()
        >>> exporter.records[0]["answer"], exporter.records[0]["streamed"]
        ('24 months.', True)

    Inside a trace that is current already (a traced handler, the middleware) it adds its steps to
    that one, and leaves question, answer and end to it.

    Args:
        name: Name of the trace.
        question: Text, a chat list, or a dict with a question field; unknown shapes are ignored.
        **fields: As `current().set(...)`.
    """

    def __init__(self, name: str, question: object = None, **fields: Any) -> None:
        self.live: LiveTrace | NullTrace = NULL
        """The trace; `NULL` when the SDK is off."""
        self.owner = False
        """Whether this began the trace, and so ends it."""
        self._context = copy_context()
        try:
            self._begin(name)
            self.ask(question)
            if self.owner and fields:
                self.live.set(**fields)
        except Exception as error:  # noqa: BLE001 - the boundary
            GUARD.report("events", error)

    def _begin(self, name: str) -> None:
        outer = current_trace()
        if outer is not None:
            self.live = outer
            self._context.run(CURRENT.set, outer)  # a generator's may not be in it
            return
        recorder = active()
        if recorder is None:
            return
        self.live = live = recorder.new_trace(name)
        self.owner = True
        self._context.run(CURRENT.set, live)
        if live.otel_context is not None:
            self._context.run(attach, live.otel_context)

    def ask(self, question: object) -> None:
        """Say the question, unless one is known already."""
        live = self.live
        if self.owner and isinstance(live, LiveTrace) and live.question is None:
            text = question_in(question)
            if text:
                live.set(question=text)

    def open(self, step: S) -> OpenStep[S]:
        """Start a step of this trace, as given by `rag_monitor.retrieval(...)` and its like."""
        return OpenStep(step, self._context.copy())

    def reach_model(self, contexts: object) -> None:
        """Say which passages reached the model, where no retrieval with a duration is known."""
        if isinstance(self.live, LiveTrace):
            self.live.reach_model(contexts)

    def chunk(self, text: str | None) -> None:
        """Take one piece of the streamed answer; the first non-empty one stops the clock."""
        live = self.live
        if self.owner and isinstance(live, LiveTrace):
            live.streamed = live.unframed = True
            live.chunk(text)

    def end(
        self,
        answer: object = None,
        *,
        error: BaseException | None = None,
        status: str | None = None,
        first_byte_ns: int | None = None,
    ) -> None:
        """The answer is complete, or will never be. Only the first call counts. Never raises.

        Args:
            answer: Text or a known shape that holds it; None keeps the chunks, else the text of
                the last generation.
            error: Why there is no complete answer.
            status: `ok`, `error`, `cancelled` or `abandoned`, when it is not what `error` says.
            first_byte_ns: `time.perf_counter_ns()` when the answer's first piece came; the answer
                then counts as streamed.
        """
        live = self.live
        if not self.owner or not isinstance(live, LiveTrace) or live.closed:
            return
        try:
            text = answer_of(answer)
            if text is not None:
                live.set(answer=text)
            if first_byte_ns is not None:
                live.streamed = True
                live.first_byte = first_byte_ns
            if error is not None:
                live.fail(error)
        except Exception as mistake:  # noqa: BLE001 - the boundary
            GUARD.report("events", mistake)
        live.finish(status)
