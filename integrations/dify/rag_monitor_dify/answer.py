"""Dify's events become one trace: plugins, knowledge bases and workflow nodes are its hits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import rag_monitor as rm
from rag_monitor.sdk.events import EventTrace, OpenStep, knowledge_base_hit, never_raise

_KEPT: Final = ("dataset_id", "document_id", "document_name", "data_source_type", "page")


def from_resources(resources: Sequence[Any]) -> list[dict[str, Any]]:
    """`retriever_resources` of a message, sorted by position."""
    objects = [r for r in resources if isinstance(r, Mapping)]
    objects.sort(key=lambda r: r["position"] if isinstance(r.get("position"), int) else 0)
    return [_passage(r, r) for r in objects]


def from_node(results: Sequence[Any]) -> list[dict[str, Any]]:
    """`outputs.result` of a knowledge retrieval node."""
    passages = []
    for result in results:
        if isinstance(result, Mapping):
            metadata = result.get("metadata")
            passages.append(_passage(result, metadata if isinstance(metadata, Mapping) else {}))
    return passages


def _passage(body: Mapping[str, Any], source: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "id": source.get("segment_id") or source.get("document_id"),
        "content": body.get("content"),
        "score": source.get("score"),
        "knowledge_base": str(source.get("dataset_name") or source.get("dataset_id") or "dify"),
        "metadata": {k: source[k] for k in _KEPT if source.get(k) is not None},
    }


_never_raise = never_raise("dify")
_RETRIEVAL: Final = ("knowledge-retrieval", "dataset_retrieval")
_PLUGINS: Final = ("tool", "agent", "http-request")
_TEXT: Final = ("message", "agent_message")
_DATASET_TOOL: Final = "dataset_"


class DifyError(Exception):
    """Dify reported a failure; `code` and `status` are Dify's own."""

    def __init__(self, message: str, *, code: str | None = None, status: int | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.status = status


class DifyAnswer:
    """One answer of a Dify app, told event by event: by a client, or by you.

    Args:
        query: The question; for a workflow app the inputs, of which the query is taken.
        app: Name of the trace.
        **fields: As `rag_monitor.current().set(...)`.
    """

    def __init__(self, query: object, *, app: str = "dify", **fields: Any) -> None:
        self._trace = EventTrace(app, query, **fields)
        self._nodes: dict[str, tuple[str, OpenStep[Any]]] = {}
        self._thoughts: dict[str, OpenStep[Any]] = {}
        self._text: list[str] = []
        self._replaced: str | None = None
        self._retrieved = False
        self._error: DifyError | None = None
        self._usage: OpenStep[Any] = self._trace.open(rm.generation())

    @_never_raise
    def heard(self, event: Mapping[str, Any]) -> None:
        """Take one event of a stream (the parsed JSON of one `data:` line)."""
        kind = event.get("event")
        data = event.get("data")
        if kind in _TEXT:
            self._add_text(event.get("answer"))
        elif kind == "text_chunk" and isinstance(data, Mapping):
            self._add_text(data.get("text"))
        elif kind == "message_replace":
            self._replaced = str(event.get("answer") or "")
        elif kind == "message_end":
            self._message_ends(event)
        elif kind == "agent_thought":
            self._thinks(event)
        elif kind == "error":
            self._error = DifyError(
                str(event.get("message") or "error"),
                code=event.get("code"),
                status=event.get("status"),
            )
        elif isinstance(data, Mapping):
            self._workflow(str(kind), data)
        conversation = event.get("conversation_id")
        if conversation:
            self._trace.live.set(session_id=conversation)

    @_never_raise
    def replied(self, reply: Mapping[str, Any]) -> None:
        """Take a whole blocking reply of a chat, completion or workflow app."""
        conversation = reply.get("conversation_id")
        if conversation:
            self._trace.live.set(session_id=conversation)
        if isinstance(reply.get("data"), Mapping):
            self._workflow("workflow_finished", reply["data"])
        else:
            self._replaced = str(reply.get("answer") or "")
            self._message_ends(reply)

    def ends(self, error: BaseException | None = None) -> None:
        """The stream is over or broke; only the first call counts. Never raises."""
        for _, step in self._nodes.values():
            step.close()
        self._nodes.clear()
        for step in self._thoughts.values():
            step.close(timed=False)
        self._thoughts.clear()
        self._usage.close()
        self._trace.end(self._replaced, error=error or self._error)

    def raise_for_error(self) -> None:
        """Raise what Dify reported inside the stream, where HTTP stays 200.

        Raises:
            DifyError: With Dify's own code and status.
        """
        if self._error is not None:
            raise self._error

    def _add_text(self, text: Any) -> None:
        if not isinstance(text, str) or not text:
            return
        if self._text and text == "".join(self._text):
            return  # agent apps of newer versions close with the whole answer once more
        self._text.append(text)
        self._trace.chunk(text)

    def _message_ends(self, event: Mapping[str, Any]) -> None:
        metadata = event.get("metadata")
        metadata = metadata if isinstance(metadata, Mapping) else {}
        usage = metadata.get("usage")
        if isinstance(usage, Mapping):
            self._usage.step.usage(
                _whole(usage.get("prompt_tokens")), _whole(usage.get("completion_tokens"))
            )
        resources = metadata.get("retriever_resources")
        if isinstance(resources, Sequence) and not self._retrieved:
            passages = from_resources(resources)
            self._trace.reach_model(passages)
            for name in dict.fromkeys(p["knowledge_base"] for p in passages):
                hit = self._trace.open(knowledge_base_hit(name))
                hit.step.items = sum(p["knowledge_base"] == name for p in passages)
                hit.close(timed=False)

    def _thinks(self, event: Mapping[str, Any]) -> None:
        """A thought names its tools first and shows their result in a later event of its id."""
        tools = [t for t in str(event.get("tool") or "").split(";") if t]
        for name in tools:
            key = f"{event.get('id')}:{name}"
            if name.startswith(_DATASET_TOOL):
                continue  # a knowledge base; it comes with the citations
            if key not in self._thoughts:
                self._thoughts[key] = self._trace.open(rm.plugin(name))
            if event.get("observation"):
                self._thoughts.pop(key).close()

    def _workflow(self, kind: str, data: Mapping[str, Any]) -> None:
        if kind == "node_started":
            self._node_starts(data)
        elif kind == "node_finished":
            self._node_ends(data)
        elif kind == "workflow_finished":
            self._workflow_ends(data)

    def _node_starts(self, data: Mapping[str, Any]) -> None:
        title = str(data.get("title") or data.get("node_id") or "node")
        node_type = str(data.get("node_type"))
        if node_type in _RETRIEVAL:
            step: OpenStep[Any] = self._trace.open(rm.retrieval(title))
        elif node_type in _PLUGINS:
            step = self._trace.open(rm.plugin(title))
        else:
            step = self._trace.open(rm.workflow(title))
        self._nodes[_key(data)] = (node_type, step)

    def _node_ends(self, data: Mapping[str, Any]) -> None:
        if _key(data) not in self._nodes:
            self._node_starts(data)
        node_type, opened = self._nodes.pop(_key(data))
        if node_type in _RETRIEVAL:
            self._retrieved_by_node(opened, data)
        elif node_type == "llm":
            process = data.get("process_data")
            model = process.get("model_name") if isinstance(process, Mapping) else None
            self._usage.step.model = model or self._usage.step.model
        opened.step.ok = data.get("status") in ("succeeded", None)
        opened.close(elapsed_s=_seconds(data.get("elapsed_time")))

    def _retrieved_by_node(self, opened: OpenStep[Any], data: Mapping[str, Any]) -> None:
        inputs, outputs = data.get("inputs"), data.get("outputs")
        step = opened.step
        step.query = inputs.get("query") if isinstance(inputs, Mapping) else None
        if isinstance(outputs, Mapping) and isinstance(outputs.get("result"), Sequence):
            passages = from_node(outputs["result"])
            bases = list(dict.fromkeys(p["knowledge_base"] for p in passages))
            if len(bases) == 1:
                step.knowledge_base = step.name = bases[0]
            step.documents = passages
            self._retrieved = True
        if data.get("error"):
            step.error = str(data["error"])

    def _workflow_ends(self, data: Mapping[str, Any]) -> None:
        if data.get("status") in ("failed", "stopped") and self._error is None:
            self._error = DifyError(str(data.get("error") or data["status"]))
        outputs = data.get("outputs")
        if not self._text and isinstance(outputs, Mapping):
            texts = [v for k, v in outputs.items() if isinstance(v, str)]
            self._replaced = str(outputs.get("answer") or outputs.get("text") or "".join(texts[:1]))
        tokens = _whole(data.get("total_tokens"))
        if tokens is not None and self._usage.step.output_tokens is None:
            self._trace.live.set(total_tokens=tokens)


def _key(data: Mapping[str, Any]) -> str:
    return str(data.get("id") or data.get("node_id"))


def _whole(value: Any) -> int | None:
    return value if isinstance(value, int) else None


def _seconds(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) else None
