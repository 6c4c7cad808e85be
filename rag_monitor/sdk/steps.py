"""Steps inside a trace: retrieval, generation, plugin and workflow.

Each is a context manager (`with` and `async with`) and a decorator. Outside a trace they cost a
context lookup and record nothing, but are counted.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from time import perf_counter_ns
from typing import Any, Final, Self

from rag_monitor.sdk.arguments import Arguments
from rag_monitor.sdk.documents import Document, take_documents
from rag_monitor.sdk.guard import GUARD
from rag_monitor.sdk.peek import type_name
from rag_monitor.sdk.pieces import chunk_text
from rag_monitor.sdk.record import LiveTrace
from rag_monitor.sdk.results import MAX_DOCUMENTS
from rag_monitor.sdk.step import Step

_new: Final = object.__new__


class RetrievalStep(Step):
    """One call of a retriever; assign what it returned to `documents`.

    >>> import rag_monitor
    >>> from rag_monitor.testing import InMemoryExporter
    >>> with InMemoryExporter() as exporter, rag_monitor.trace("chat", question="Why?"):
    ...     with rag_monitor.retrieval("faq") as step:
    ...         step.documents = ["A passage.", {"content": "Another one.", "score": 0.5}]
    >>> [found] = exporter.records[0]["retrievals"]
    >>> found["knowledge_base"], [document["content"] for document in found["documents"]]
    ('faq', ['A passage.', 'Another one.'])
    """

    __slots__ = ("_documents", "_trace")  # not in its dict, which what the trace keeps shares
    _documents: Any
    _trace: LiveTrace
    kind = "retrieval"
    taken: tuple[Document, ...] | None = None
    unread: str | None = None
    """The type of documents that are of no shape we know."""
    _chars = 0
    _cut = False
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
        """The very object that was assigned. Assigning takes a shallow copy for the trace."""
        return getattr(self, "_documents", None)

    @documents.setter
    def documents(self, value: Any) -> None:
        self._documents = value
        live = self.live
        if live is None:
            live = self._open_still()
            if live is None:
                return
        elif live.closed:  # the end of the step counts it
            return
        try:
            taken = take_documents(value, live.recorder.max_chars)
            if taken is None:
                self.taken = None
                self.unread = None if value is None else type_name(value)
                return
            self.taken, self._chars, self._cut = taken
            if self.live is None:  # else the end of the step counts them
                live.chars += self._chars
                live.truncated = live.truncated or self._cut
        except Exception as mistake:  # noqa: BLE001 - the boundary
            GUARD.report("documents", mistake)

    def _open_still(self) -> LiveTrace | None:
        """The trace of a step that has ended; what comes after that has ended, too, is counted."""
        live: LiveTrace | None = getattr(self, "_trace", None)
        if live is not None and live.closed:
            live.recorder.counters.late += 1
            return None
        return live

    def _record(self, live: LiveTrace) -> None:
        live.retrieval_end = self.ended
        self._trace = live
        if not self.taken and self._was_filled():
            self.documents = self._documents
        # The trace may wait long for the monitor, and the host's documents may be large: it gets
        # everything of the step but these.
        kept: RetrievalStep = _new(RetrievalStep)
        kept.__dict__ = self.__dict__
        live.add_step(kept)
        live.chars += self._chars
        if self._cut:
            live.truncated = True

    @property
    def reason(self) -> str | None:
        """As for every step; or that nobody can read the documents."""
        if self.raised or self.error or self.taken is not None or self.unread is None:
            return self.raised or self.error
        return f"documents of unknown type {self.unread}"

    def _was_filled(self) -> bool:
        """Whether a list was assigned empty, and filled since."""
        given = getattr(self, "_documents", None)
        return self.taken is not None and type(given) is list and bool(given)

    def _again(self) -> RetrievalStep:
        return RetrievalStep(self.knowledge_base, self.query, self.reranked)

    def _reader(self, function: Callable[..., Any]) -> Arguments:
        return Arguments(function, query=True)

    def _called(
        self, arguments: Arguments | None, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> None:
        if self.query is None and arguments is not None:
            ranked = arguments.question(args, kwargs)
            self.query = None if ranked is None else ranked[1]

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
        Step.__enter__(self)
        live = self.live
        if live is not None and live.generation_start is None and not live.closed:
            live.generation_start = self.started
        return self

    def _record(self, live: LiveTrace) -> None:
        live.add_step(self)
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

    As a decorator the function's result is the documents, and the query is the argument that is
    named like one, or the only text.

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
