"""LlamaIndex's spans and events become one trace per query."""

from __future__ import annotations

from collections.abc import Mapping
from types import AsyncGeneratorType, GeneratorType
from typing import Any, Final

from llama_index.core.base.base_query_engine import BaseQueryEngine
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.chat_engine.types import BaseChatEngine
from llama_index.core.instrumentation.events import BaseEvent
from llama_index.core.instrumentation.events import chat_engine as chat_events
from llama_index.core.instrumentation.events import llm as llm_events
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.response_synthesizers import BaseSynthesizer
from llama_index.core.tools import BaseTool
from llama_index.core.workflow import Workflow

import rag_monitor as rm
from rag_monitor.sdk.events import EventTrace, knowledge_base_hit, never_raise
from rag_monitor_llama_index import shapes
from rag_monitor_llama_index.runs import DRIVING, Root, Span, watched

MAX_SPANS: Final = 20_000
"""Methods kept while they run; beyond it the oldest trace is closed as abandoned."""
_ENTRANCES: Final = (BaseQueryEngine, BaseChatEngine, Workflow)
_ENTRY_METHODS: Final = frozenset(
    {"query", "aquery", "chat", "achat", "stream_chat", "astream_chat", "run"}
)
_MODEL_BEGINS: Final = (llm_events.LLMCompletionStartEvent, llm_events.LLMChatStartEvent)
_MODEL_SPEAKS: Final = (llm_events.LLMCompletionInProgressEvent, llm_events.LLMChatInProgressEvent)
_MODEL_ENDS: Final = (llm_events.LLMCompletionEndEvent, llm_events.LLMChatEndEvent)

_never_raise = never_raise("llama_index")


class Recorder:
    """Knows which method belongs to which query.

    Args:
        fields: As `rag_monitor.current().set(...)`, for every trace.
    """

    def __init__(self, fields: Mapping[str, Any]) -> None:
        self._fields = dict(fields)
        self._spans: dict[str, Span] = {}
        self._speaking: dict[str, Root] = {}
        """Traces by the span of a model call that is not over."""

    @_never_raise
    def begins(
        self,
        span_id: str,
        arguments: Mapping[str, Any],
        instance: Any,
        parent_id: str | None,
        tags: Mapping[str, Any],
    ) -> None:
        """A method begins: a root, a step, or neither."""
        method = span_id.partition("-")[0].rpartition(".")[2]
        parent = self._spans.get(parent_id) if parent_id else None
        span = self._below(parent) or self._entrance(instance, method, arguments, tags)
        if span is None:
            return
        if len(self._spans) >= MAX_SPANS:
            self._drop_oldest()
        self._spans[span_id] = span
        self._step(span_id, span, instance, method, arguments)

    def _below(self, parent: Span | None) -> Span | None:
        if parent is not None:
            return Span(
                parent.root,
                is_root=False,
                in_retriever=parent.in_retriever,
                in_tool=parent.in_tool,
                in_generation=parent.in_generation,
            )
        driving = DRIVING.get()
        return Span(driving, is_root=False) if driving is not None else None

    def _entrance(
        self, instance: Any, method: str, arguments: Mapping[str, Any], tags: Mapping[str, Any]
    ) -> Span | None:
        if isinstance(instance, _ENTRANCES) and method in _ENTRY_METHODS:
            own = {k: str(tags[k]) for k in ("session_id", "user_id") if tags.get(k) is not None}
            question = shapes.question_in(arguments)
            trace = EventTrace(type(instance).__name__, question, **{**self._fields, **own})
            return Span(Root(trace), is_root=True)
        if rm.current():
            return Span(Root(EventTrace("llama_index")), is_root=False)
        return None

    def _step(
        self, span_id: str, span: Span, instance: Any, method: str, arguments: Mapping[str, Any]
    ) -> None:
        trace = span.root.trace
        if isinstance(instance, BaseRetriever) and method in ("retrieve", "aretrieve"):
            name = str(getattr(instance, "knowledge_base", None) or type(instance).__name__)
            if span.in_retriever:  # of another one: it only counts as a hit, or it counted twice
                span.root.steps[span_id] = trace.open(knowledge_base_hit(name))
            else:
                span.root.steps[span_id] = trace.open(
                    rm.retrieval(name, query=shapes.question_in(arguments))
                )
            span.in_retriever = True
        elif isinstance(instance, BaseNodePostprocessor):
            if "rerank" in type(instance).__name__.lower() and not span.in_retriever:
                span.root.steps[span_id] = trace.open(rm.retrieval(reranked=True))
                span.in_retriever = True
        elif isinstance(instance, BaseTool):
            if not span.in_tool:
                name = instance.metadata.name or type(instance).__name__
                span.root.steps[span_id] = trace.open(rm.plugin(name))
                span.in_tool = True
        elif isinstance(instance, BaseSynthesizer) and method in ("synthesize", "asynthesize"):
            trace.reach_model(arguments.get("nodes"))
        elif isinstance(instance, Workflow) and method == "run":
            given = getattr(instance, "name", None)
            workflow = given if isinstance(given, str) else type(instance).__name__
            span.root.steps[span_id] = trace.open(rm.workflow(workflow))

    @_never_raise
    def returns(self, span_id: str, result: Any) -> None:
        """A method returned."""
        span = self._spans.pop(span_id, None)
        if span is None:
            return
        root = span.root
        step = root.steps.get(span_id)
        if step is not None and span_id not in self._speaking:
            inner = step.step
            if hasattr(inner, "documents"):
                inner.documents = result
            elif isinstance(result, list):
                inner.items = len(result)
            elif getattr(result, "is_error", False):
                inner.ok = False
            root.close(span_id)
        if span.is_root:
            self._root_returns(span_id, span, result)

    def _root_returns(self, span_id: str, span: Span, result: Any) -> None:
        root = span.root
        pieces = getattr(result, "__dict__", {}).get("response_gen")
        if isinstance(pieces, GeneratorType | AsyncGeneratorType):
            result.response_gen = watched(root, pieces)
        elif getattr(result, "is_writing_to_memory", None) is False:
            _watch_chat(root, result)
        elif hasattr(result, "is_writing_to_memory"):
            self._spans[span_id] = span  # a thread will write the answer below this span
            if root.halves_done():
                self._written(root)
        else:
            root.end(shapes.answer_in(result))

    def _written(self, root: Root, error: BaseException | None = None) -> None:
        for span_id in [i for i, span in list(self._spans.items()) if span.root is root]:
            self._spans.pop(span_id, None)
        root.end(error=error)

    @_never_raise
    def raises(self, span_id: str, error: BaseException | None) -> None:
        """A method raised."""
        span = self._spans.pop(span_id, None)
        if span is None:
            return
        failure = error or RuntimeError("dropped")
        self._speaking.pop(span_id, None)
        span.root.close(span_id, failure)
        if span.is_root:
            span.root.end(error=failure)

    @_never_raise
    def on_event(self, event: BaseEvent) -> None:
        """Something happened inside a method."""
        span_id = event.span_id or ""
        if isinstance(event, _MODEL_SPEAKS):
            step = self._speaking[span_id].steps.get(span_id) if span_id in self._speaking else None
            if step is not None and (event.response.delta or shapes.response_text(event.response)):
                step.step.first_token()
        elif isinstance(event, _MODEL_BEGINS):
            self._model_begins(span_id, event)
        elif isinstance(event, _MODEL_ENDS):
            self._model_ends(span_id, event)
        elif span_id in self._spans:
            self._chat_streams(self._spans[span_id].root, event)

    def _model_begins(self, span_id: str, event: Any) -> None:
        span = self._spans.get(span_id)
        if span is None or span.in_generation:
            return
        span.in_generation = True
        self._speaking[span_id] = span.root
        model = shapes.model_in(event.model_dict)
        span.root.steps[span_id] = span.root.trace.open(rm.generation(model))

    def _model_ends(self, span_id: str, event: Any) -> None:
        root = self._speaking.pop(span_id, None)
        step = root.steps.get(span_id) if root is not None else None
        if root is not None and step is not None:
            step.step.text = shapes.response_text(event.response) or None
            step.step.usage(*shapes.usage_in(event.response))
            root.close(span_id)

    def _chat_streams(self, root: Root, event: BaseEvent) -> None:
        if isinstance(event, chat_events.StreamChatDeltaReceivedEvent):
            root.trace.chunk(event.delta)
        elif isinstance(event, chat_events.StreamChatErrorEvent):
            self._written(root, event.exception)
        elif isinstance(event, chat_events.StreamChatEndEvent) and root.halves_done():
            self._written(root)

    def _drop_oldest(self) -> None:
        oldest = next(iter(list(self._spans.values())), None)
        if oldest is not None:
            for span_id in [i for i, span in list(self._spans.items()) if span.root is oldest.root]:
                self._spans.pop(span_id, None)
            oldest.root.trace.end(status="abandoned")


def _watch_chat(root: Root, chat: Any) -> None:
    """A streamed chat that no thread writes down ends when its reader has read it."""
    if chat.chat_stream is not None:
        chat.chat_stream = watched(root, chat.chat_stream)
    elif chat.achat_stream is not None:
        chat.achat_stream = watched(root, chat.achat_stream)
    else:
        root.end(shapes.answer_in(chat))
