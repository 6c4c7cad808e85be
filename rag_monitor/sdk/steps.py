"""Steps inside a trace: retrieval, generation, plugin and workflow.

Each is a context manager (`with` and `async with`) and a decorator. Outside a trace they cost a
context lookup and record nothing, but are counted.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import AsyncGenerator, Callable
from time import perf_counter_ns
from types import TracebackType
from typing import Any, Self, TypeVar

from rag_monitor.sdk.blocks import Blocks
from rag_monitor.sdk.counters import OUTSIDE
from rag_monitor.sdk.documents import MAX_DOCUMENTS, Document, take_documents
from rag_monitor.sdk.frames import here
from rag_monitor.sdk.guard import GUARD
from rag_monitor.sdk.peek import type_name
from rag_monitor.sdk.record import LiveTrace
from rag_monitor.sdk.signature import is_method
from rag_monitor.sdk.streaming import (
    WHOLE,
    Bystander,
    Observer,
    finish_call,
    finish_with,
    watch,
    watching,
)
from rag_monitor.sdk.text import chunk_text, question_of

F = TypeVar("F", bound=Callable[..., Any])


class Step:
    """A timed part of a trace.

    What most steps are never told stands in the class: it costs the request nothing.
    """

    live: LiveTrace | None = None
    started = 0
    ended = 0
    ok = True
    timed = True
    """False when the duration is unknown and must not be reported."""
    error: str | None = None
    shared: Any = None
    _others: Blocks[Step] | None = None
    """Steps of blocks that enter this one although it was entered before."""

    def __init__(self, kind: str, name: str | None) -> None:
        self.kind = kind
        self.name = name

    def __enter__(self) -> Self:
        if self.started:
            return self._enter_again(sys._getframe(1))
        live = here()
        if live is not None and type(live) is LiveTrace:
            self.live = live
            if live.otel_span is not None and not live.closed:
                self._guarded(live.client.open_shared, self)
        elif live is None:
            OUTSIDE.entered(self.kind)
        self.started = perf_counter_ns()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._others is not None and self._leave_other(error, sys._getframe(1)):
            return
        self.ended = perf_counter_ns()
        live = self.live
        if live is None:
            return
        self.live = None  # no cycle: a finished trace is freed without the collector
        try:
            if error is not None:
                self.ok = False
                self.error = type_name(error)
            if self.shared is not None:
                self._unshare()
            if live.add_step(self):
                self._record(live)
        except Exception as mistake:  # noqa: BLE001 - the boundary
            GUARD.caught("step", mistake)

    async def __aenter__(self) -> Self:
        return self._enter_again(sys._getframe(1)) if self.started else self.__enter__()

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._others is None or not self._leave_other(error, sys._getframe(1)):
            self.__exit__(kind, error, traceback)

    def _enter_again(self, frame: Any) -> Self:
        """Enter a step of its own for a block that shares this one, as requests at once may do.

        What was recorded of the first must not change: it may not be sent yet.
        """
        GUARD.say(
            f"shared {self.kind}",
            "one rag_monitor.%s(...) is entered more than once; use what `with ... as` gives, for "
            "what is assigned to the shared object itself is lost",
            self.kind,
        )
        fresh: Any = self._again()
        others = self.__dict__.setdefault("_others", Blocks())
        others.enter(frame, fresh)
        entered: Self = fresh.__enter__()
        return entered

    def _leave_other(self, error: BaseException | None, frame: Any) -> bool:
        """Leave the step of the block in `frame`; False: that block has entered this one."""
        others: Blocks[Step] = self.__dict__["_others"]
        step = others.leave(frame) or (others.leave_last() if self.ended else None)
        if step is None:
            return False
        step.__exit__(None if error is None else type(error), error, None)
        return True

    def _record(self, live: LiveTrace) -> None:
        """Write into the trace what this kind of step means for it."""

    def _again(self) -> Step:
        """A fresh step with the same settings, for each call of a decorated function."""
        return type(self)(self.kind, self.name)

    def _called(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Look at the arguments of a decorated call."""

    def _returned(self, result: object) -> None:
        """Look at the result of a decorated call."""

    def _gave(self, piece: object) -> None:
        """Look at one piece of a result that a decorated call streams."""

    def _gave_all(self) -> None:
        """There are no more pieces."""

    def _unshare(self) -> None:
        """Make the span around the step current again: the host's code goes on without it."""
        if self.shared is not None and self.shared[1] is not None and self.live is not None:
            self.live.client.leave_shared(self)

    def __call__(self, function: F) -> F:
        """Time every call of `function` as this step: to its result, or to the end of a stream."""
        if isinstance(function, type):
            GUARD.say("class", "a step decorates methods of %s, not the class", function.__name__)
            return function
        wrapper: Any = functools.wraps(function)(
            _timed(self, function, 1 if is_method(function) else 0)
        )
        return wrapper  # type: ignore[no-any-return]

    def _guarded(self, hook: Callable[..., None], *values: Any) -> None:
        try:
            hook(*values)
        except Exception as mistake:  # noqa: BLE001 - the boundary
            GUARD.caught("step", mistake)


class _OpenStep:
    """A step from the call of a decorated function to its result, however that comes about."""

    def __init__(self, step: Step) -> None:
        self._step = step
        self._open = True
        step._guarded(step._unshare)

    def resume(self) -> None:
        """Steps are not current."""

    def pause(self) -> None:
        """Steps are not current."""

    def streams(self) -> None:
        """That it does shows in its pieces."""

    def chunk(self, chunk: Any) -> None:
        """Hand a piece to the step."""
        self._step._guarded(self._step._gave, chunk)

    def returned(self, result: Any) -> None:
        """End the step with the whole result."""
        self._step._guarded(self._step._returned, result)
        self._close(None)

    def ended(self, status: str | None = None, ended: int | None = None) -> None:
        """End the step; what nobody reads to its end has failed at nothing."""
        del ended
        if status is None:
            self._step._guarded(self._step._gave_all)
        self._close(None)

    def failed(self, error: BaseException, status: str | None = None) -> None:
        """End the step as failed, unless its reader had enough."""
        del status
        enough = isinstance(error, GeneratorExit)
        if enough:
            self._step._guarded(self._step._gave_all)
        self._close(None if enough else error)

    def _close(self, error: BaseException | None) -> None:
        if self._open:
            self._open = False
            self._step.__exit__(None if error is None else type(error), error, None)


def _timed(prototype: Step, function: Any, own: int) -> Callable[..., Any]:
    """`function` with a step like `prototype` around each call; its first `own` arguments hide."""

    def enter(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Step:
        step = prototype._again()
        step.__enter__()
        step._guarded(step._called, args[own:], kwargs)
        return step

    def begin(
        args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[Observer, AsyncGenerator[Any, Any]]:
        inner = function(*args, **kwargs)
        step = enter(args, kwargs)
        return (Bystander() if step.live is None else _OpenStep(step)), inner

    def traced_generator(*args: Any, **kwargs: Any) -> Any:
        inner = function(*args, **kwargs)
        step = enter(args, kwargs)
        return (yield from inner if step.live is None else watch(_OpenStep(step), inner))

    async def traced_async(*args: Any, **kwargs: Any) -> Any:
        step = enter(args, kwargs)
        try:
            result = await function(*args, **kwargs)
        except BaseException as error:
            step.__exit__(type(error), error, None)
            raise
        return _finish(step, result, finish_with)

    def traced(*args: Any, **kwargs: Any) -> Any:
        step = enter(args, kwargs)
        try:
            result = function(*args, **kwargs)
        except BaseException as error:
            step.__exit__(type(error), error, None)
            raise
        return _finish(step, result, finish_call)

    if inspect.isasyncgenfunction(function):
        return watching(begin)
    if inspect.isgeneratorfunction(function):
        return traced_generator
    return traced_async if inspect.iscoroutinefunction(function) else traced


def _finish(step: Step, result: Any, finish: Callable[[Observer, Any], Any]) -> Any:
    if step.live is None:
        return result
    if type(result) not in WHOLE:
        return finish(_OpenStep(step), result)
    step._guarded(step._returned, result)
    step.__exit__(None, None, None)
    return result


class RetrievalStep(Step):
    """One call of a retriever; assign what it returned to `documents`."""

    kind = "retrieval"
    taken: tuple[Document, ...] | None = None
    _chars = 0
    _cut = False
    _documents: Any = None
    _value_type: str | None = None
    _pieces: list[Any] | None = None
    """Documents that came one by one."""

    def __init__(self, knowledge_base: str | None, query: str | None, reranked: bool) -> None:
        self.name = self.knowledge_base = knowledge_base
        self.query: Any = query
        """The query the retriever saw, when it is not the user's question."""
        self.reranked = reranked
        """True when `documents` is the order after reranking."""

    @property
    def documents(self) -> Any:
        """What was assigned, unchanged. Assigning takes a shallow copy for the trace."""
        return self._documents

    @documents.setter
    def documents(self, value: Any) -> None:
        self._documents = value
        live = self.live
        if live is None:
            return
        try:
            taken = take_documents(value, live.client.max_chars)
            if taken is None:
                self.taken, self._value_type = None, type_name(value)
            else:
                self.taken, self._chars, self._cut = taken
        except Exception as mistake:  # noqa: BLE001 - the boundary
            GUARD.caught("documents", mistake)

    def _record(self, live: LiveTrace) -> None:
        self._documents = None
        live.retrieval_end = self.ended
        if self.taken is not None:
            live.chars += self._chars
            live.truncated = live.truncated or self._cut
        elif self._value_type not in (None, "NoneType") and self.error is None:
            self.error = f"documents of unknown type {self._value_type}"
        query = self.query
        if type(query) is str and len(query) > live.client.max_chars:
            self.query = query[: live.client.max_chars]
            live.truncated = True

    def _again(self) -> RetrievalStep:
        return RetrievalStep(self.knowledge_base, self.query, self.reranked)

    def _called(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if self.query is None:
            self.query = question_of(args, kwargs)

    def _returned(self, result: object) -> None:
        self.documents = result

    def _gave(self, piece: object) -> None:
        if self._pieces is None:
            self._pieces = []
        if len(self._pieces) <= MAX_DOCUMENTS:  # one more than is kept: the trace was cut
            self._pieces.append(piece)

    def _gave_all(self) -> None:
        self.documents, self._pieces = self._pieces or [], None


class GenerationStep(Step):
    """The model call that writes the answer."""

    kind = "generation"
    text: Any = None
    """The model's text; stands in for the answer when the handler returns none we know."""
    input_tokens: Any = None
    output_tokens: Any = None
    token_ns: int | None = None

    def __init__(self, model: str | None) -> None:
        self.name = model
        self.model: Any = model

    def first_token(self) -> None:
        """Mark the model's first token; later calls change nothing."""
        if self.token_ns is None:
            self.token_ns = perf_counter_ns()

    def usage(self, input_tokens: int | None = None, output_tokens: int | None = None) -> None:
        """Say how many tokens went in and came out."""
        self.input_tokens = input_tokens
        self.output_tokens = output_tokens

    def __enter__(self) -> Self:
        if self.started:
            return self._enter_again(sys._getframe(1))
        super().__enter__()
        live = self.live
        if live is not None and live.generation_start is None and not live.closed:
            live.generation_start = self.started
        return self

    def _record(self, live: LiveTrace) -> None:
        self.name = self.model
        if self.model is not None and live.model is None:
            live.model = self.model
        if self.token_ns is not None:
            live.first_token_ns = self.token_ns - self.started
        if self.input_tokens is not None:
            live.input_tokens = _sum(live.input_tokens, self.input_tokens)
        if self.output_tokens is not None:
            live.output_tokens = _sum(live.output_tokens, self.output_tokens)

    def _gave(self, piece: object) -> None:
        if self.token_ns is None and chunk_text(piece):
            self.first_token()

    def _again(self) -> GenerationStep:
        return GenerationStep(self.model)


class HitStep(Step):
    """A plugin or workflow that was called."""

    items: int | None = None
    """How many results came back; None when it does not return a list."""

    def _returned(self, result: object) -> None:
        if type(result) in (list, tuple, dict, set):
            self.items = len(result)  # type: ignore[arg-type]


def retrieval(
    knowledge_base: str | None = None, *, query: str | None = None, reranked: bool = False
) -> RetrievalStep:
    """Record a retriever call: `with` it, or decorate the retriever with it.

    As a decorator the function's result is the documents and its first text argument the query.

    Args:
        knowledge_base: Its name; also counts as a hit of that knowledge base.
        query: The rewritten query, when it is not the user's question.
        reranked: The documents are in the order after reranking.
    """
    return RetrievalStep(knowledge_base, query, reranked)


def generation(model: str | None = None) -> GenerationStep:
    """Record the model call that writes the answer."""
    return GenerationStep(model)


def plugin(name: str) -> HitStep:
    """Record a call of the plugin `name`; it is a failed hit when the body raises."""
    return HitStep("plugin", name)


def workflow(name: str) -> HitStep:
    """Record a run of the workflow `name`; it is a failed hit when the body raises."""
    return HitStep("workflow", name)


def _sum(total: Any, more: Any) -> Any:
    if type(more) is not int:
        return total
    return more + total if type(total) is int else more
