"""The callback handler: LangChain's and LangGraph's runs become one trace per question."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.documents import Document
from langchain_core.messages import BaseMessage
from langchain_core.outputs import LLMResult

import rag_monitor as rm
from rag_monitor.sdk.events import EventTrace, knowledge_base_hit, never_raise
from rag_monitor_langchain import shapes
from rag_monitor_langchain.runs import Generation, Root, Run, Runs

_never_raise = never_raise("langchain")
_RERANKERS: Final = ("compress", "rerank")


class RagMonitorHandler(BaseCallbackHandler):
    """Records chains and graphs. One instance serves any number of parallel calls.

    A root chain, graph or model call is a trace; inside a trace that is current already
    (`@rm.trace`, the middleware) it adds its steps to that one. Retrievers become retrievals and
    hits of a knowledge base, tools become hits of a plugin, graphs and their nodes hits of a
    workflow. A retriever or tool called outside of all of them is not recorded.

    Args:
        question: Key of the root's inputs that holds the question; None: the usual keys, a text,
            or the last human message.
        answer: Key of the root's outputs that holds the answer; None: the usual keys, a text or
            the last message; otherwise what the model said last.
        workflows: Names of further chains (`run_name=`) that count as workflows.
        **fields: As `rag_monitor.current().set(...)`, for every trace.
    """

    run_inline = True  # in order, and on the caller's clock; nothing here waits

    def __init__(
        self,
        *,
        question: str | None = None,
        answer: str | None = None,
        workflows: Collection[str] = (),
        **fields: Any,
    ) -> None:
        self._question = question
        self._answer = answer
        self._workflows = frozenset(workflows)
        self._fields = fields
        self._runs = Runs()

    # chains and graphs

    @_never_raise
    def on_chain_start(
        self,
        serialized: dict[str, Any] | None,
        inputs: Any,
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        tags: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """A chain, graph, node, prompt or parser begins."""
        name = str(kwargs.get("name") or _class_name(serialized) or "chain")
        tags, metadata = tags or [], metadata or {}
        parent = self._runs.get(parent_run_id)
        if parent is None:
            question = shapes.question_in(inputs, self._question)
            root = self._new_root(run_id, name, question, metadata, tags)
            is_step = shapes.is_named(name)
        else:
            root = parent.root
            is_step = shapes.is_graph_node(name, tags, metadata) or name in self._workflows
        run = self._runs.start(run_id, Run(root, inside_retriever=_inside(parent)))
        if is_step:
            run.step = root.trace.open(rm.workflow(name))

    @_never_raise
    def on_chain_end(self, outputs: Any, *, run_id: UUID, **kwargs: Any) -> None:
        """It is done; for a streamed root only now are its inputs known."""
        run = self._runs.close(run_id)
        if run is not None and run.root.run_id == run_id:
            question = shapes.question_in(kwargs.get("inputs"), self._question)
            run.root.trace.ask(question)
            self._runs.finish(run.root, shapes.answer_in(outputs, self._answer))

    @_never_raise
    def on_chain_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        """It raised, or its consumer left."""
        run = self._runs.close(run_id, error)
        if run is not None and run.root.run_id == run_id:
            run.root.trace.ask(shapes.question_in(kwargs.get("inputs"), self._question))
            self._runs.finish(run.root, None, error)

    # models

    @_never_raise
    def on_chat_model_start(
        self,
        serialized: dict[str, Any] | None,
        messages: list[list[BaseMessage]],
        *,
        run_id: UUID,
        **kwargs: Any,
    ) -> None:
        """A chat model is called."""
        self._model_starts(serialized, shapes.question_in(messages), run_id, **kwargs)

    @_never_raise
    def on_llm_start(
        self,
        serialized: dict[str, Any] | None,
        prompts: list[str],
        *,
        run_id: UUID,
        **kwargs: Any,
    ) -> None:
        """A completion model is called."""
        self._model_starts(serialized, prompts[-1] if prompts else None, run_id, **kwargs)

    @_never_raise
    def on_llm_new_token(
        self, token: str | list[Any], *, chunk: Any = None, run_id: UUID, **kwargs: Any
    ) -> None:
        """A piece of what a model says."""
        run = self._runs.get(run_id)
        if run is None or run.generation is None or run.step is None:
            return
        run.generation.token(token, chunk)
        if run.generation.first_token_ns is not None:
            run.step.step.first_token()

    @_never_raise
    def on_llm_end(self, response: LLMResult, *, run_id: UUID, **kwargs: Any) -> None:
        """A model has spoken."""
        run = self._runs.get(run_id)
        if run is None or run.step is None:
            return
        text = shapes.answer_text(response)
        step = run.step.step
        if run.generation is not None:
            run.generation.text, run.generation.open = text, False
            step.text = text or None
        step.usage(*shapes.usage_of(response))
        step.model = shapes.model_of(response) or step.model
        self._runs.close(run_id)
        if run.root.run_id == run_id:
            self._runs.finish(run.root, text)

    @_never_raise
    def on_llm_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        """A model failed; a chain around it may still recover."""
        run = self._runs.close(run_id, error)
        if run is not None and run.generation is not None:
            run.generation.open = False
        if run is not None and run.root.run_id == run_id:
            self._runs.finish(run.root, None, error)

    # retrievers

    @_never_raise
    def on_retriever_start(
        self,
        serialized: dict[str, Any] | None,
        query: str,
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        metadata: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """A retriever is asked; one inside another only counts as a hit, or it counted twice."""
        root, parent = self._root_of(parent_run_id)
        if root is None:
            return
        root.fallback_question = root.fallback_question or query
        name = str(kwargs.get("name") or _class_name(serialized) or "retriever")
        run = self._runs.start(run_id, Run(root, inside_retriever=True))
        if _inside(parent):  # its metadata is the outer one's
            run.step = root.trace.open(knowledge_base_hit(name))
        else:
            base = str((metadata or {}).get("knowledge_base") or name)
            reranked = any(word in name.lower() for word in _RERANKERS)
            run.step = root.trace.open(rm.retrieval(base, query=query, reranked=reranked))

    @_never_raise
    def on_retriever_end(
        self, documents: Sequence[Document], *, run_id: UUID, **kwargs: Any
    ) -> None:
        """The retriever answered."""
        run = self._runs.get(run_id)
        if run is not None and run.step is not None:
            step = run.step.step
            if hasattr(step, "documents"):
                step.documents = list(documents)
            else:
                step.items = len(documents)
            self._runs.close(run_id)

    @_never_raise
    def on_retriever_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        """The retriever failed."""
        self._runs.close(run_id, error)

    # tools

    @_never_raise
    def on_tool_start(
        self,
        serialized: dict[str, Any] | None,
        input_str: str,
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        **kwargs: Any,
    ) -> None:
        """A tool is called."""
        root, parent = self._root_of(parent_run_id)
        if root is None:
            return
        name = str(kwargs.get("name") or (serialized or {}).get("name") or "tool")
        run = self._runs.start(run_id, Run(root, inside_retriever=_inside(parent)))
        run.step = root.trace.open(rm.plugin(name))

    @_never_raise
    def on_tool_end(self, output: Any, *, run_id: UUID, **kwargs: Any) -> None:
        """The tool answered; a tool message may carry a failure the graph went on from."""
        run = self._runs.get(run_id)
        if run is not None and run.step is not None:
            if getattr(output, "status", None) == "error":
                run.step.step.ok = False
            if isinstance(output, list | tuple):
                run.step.step.items = len(output)
            self._runs.close(run_id)

    @_never_raise
    def on_tool_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        """The tool failed."""
        self._runs.close(run_id, error)

    # bookkeeping

    def _new_root(
        self,
        run_id: UUID,
        name: str,
        question: str | None,
        metadata: Mapping[str, Any],
        tags: Sequence[str],
    ) -> Root:
        fields = {**self._fields, **shapes.identity_of(metadata, tags)}
        return Root(EventTrace(name, question, **fields), run_id=run_id)

    def _root_of(self, parent_run_id: UUID | None) -> tuple[Root | None, Run | None]:
        """Where a retriever or tool belongs: its parent's trace, or one that is current."""
        parent = self._runs.get(parent_run_id)
        if parent is not None:
            return parent.root, parent
        return (Root(EventTrace("langchain")), None) if rm.current() else (None, None)

    def _model_starts(
        self,
        serialized: dict[str, Any] | None,
        question: str | None,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        tags: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        **extra: Any,
    ) -> None:
        metadata = metadata or {}
        model = shapes.requested_model(metadata, extra.get("invocation_params") or {})
        parent = self._runs.get(parent_run_id)
        if parent is None:
            name = str(extra.get("name") or _class_name(serialized) or "model")
            root = self._new_root(run_id, name, question, metadata, tags or [])
        else:
            root = parent.root
            root.fallback_question = root.fallback_question or question
        run = self._runs.start(run_id, Run(root, inside_retriever=_inside(parent)))
        run.step = root.trace.open(rm.generation(model))
        if not run.inside_retriever:  # a model that rewrites queries does not answer
            run.generation = Generation()
            root.generations.append(run.generation)


def _class_name(serialized: Mapping[str, Any] | None) -> str | None:
    path = (serialized or {}).get("id")
    return str(path[-1]) if isinstance(path, list) and path else None


def _inside(parent: Run | None) -> bool:
    return parent is not None and parent.inside_retriever
