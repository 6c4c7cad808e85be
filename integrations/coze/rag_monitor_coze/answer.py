"""Coze's chat events and messages become one trace."""

from __future__ import annotations

import hashlib
import json
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import rag_monitor as rm
from rag_monitor.sdk.events import EventTrace, OpenStep, knowledge_base_hit, never_raise

_WORKFLOW: Final = "workflow"


def recall_in(message: Mapping[str, Any]) -> list[dict[str, Any]] | None:
    """The passages of a knowledge recall; `[]` recalled nothing, None is no recall.

    The original request inside (`ori_req`) repeats the conversation and is left behind.
    """
    if message.get("type") not in ("verbose", "knowledge"):
        return None
    content = _json(message.get("content"))
    if not isinstance(content, Mapping):
        return None
    if "msg_type" in content and content["msg_type"] != "knowledge_recall":
        return None
    data = _json(content.get("data", content))
    chunks = data.get("chunks") if isinstance(data, Mapping) else None
    if not isinstance(chunks, Sequence):
        return None
    return [_passage(chunk) for chunk in chunks if isinstance(chunk, Mapping)]


def _passage(chunk: Mapping[str, Any]) -> dict[str, Any]:
    text = chunk.get("slice")
    meta = _mapping(chunk.get("meta"))
    dataset, document = _mapping(meta.get("dataset")), _mapping(meta.get("document"))
    digest = hashlib.sha256(str(text).encode()).hexdigest()[:12]  # slices have no id of their own
    return {
        "id": f"{document.get('id') or 'slice'}:{digest}",
        "content": text,
        "score": chunk.get("score"),
        "knowledge_base": str(dataset.get("name") or dataset.get("id") or "coze"),
        "metadata": {"document": document.get("name")} if document.get("name") else {},
    }


def call_in(message: Mapping[str, Any]) -> tuple[str, str] | None:
    """Kind (`plugin` or `workflow`) and name of a function call; None for other messages."""
    if message.get("type") != "function_call":
        return None
    content = _mapping(_json(message.get("content")))
    meta = _mapping(message.get("meta_data"))
    function = _mapping(content.get("function"))
    name = (
        content.get("plugin_name")
        or meta.get("plugin")
        or content.get("name")
        or function.get("name")
        or meta.get("tool_name")
        or "plugin"
    )
    marks = f"{content.get('plugin_type')} {content.get('api_name')} {content.get('name')}"
    return ("workflow" if _WORKFLOW in marks.lower() else "plugin"), str(name)


def failed(message: Mapping[str, Any]) -> bool:
    """Whether a tool response reports an error."""
    content = _json(message.get("content"))
    if not isinstance(content, Mapping):
        return False
    code = content.get("code", content.get("error_code"))
    return bool(content.get("error")) or (isinstance(code, int) and code != 0)


def _json(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except ValueError:
        return None


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


_never_raise = never_raise("coze")
_ENDS_BADLY: Final = ("failed", "requires_action", "required_action", "expired")
_CANCELLED: Final = ("cancelled", "canceled")


class CozeError(Exception):
    """Coze reported a failure; `code` is Coze's own."""

    def __init__(self, message: str, *, code: int | None = None) -> None:
        super().__init__(message)
        self.code = code


class CozeAnswer:
    """One chat with a bot, told event by event.

    Args:
        question: The user's message.
        app: Name of the trace.
        **fields: As `rag_monitor.current().set(...)`.
    """

    def __init__(self, question: str, *, app: str = "coze", **fields: Any) -> None:
        self._trace = EventTrace(app, question, **fields)
        self._generation = self._trace.open(rm.generation())
        self._recall: OpenStep[Any] | None = self._trace.open(rm.retrieval())
        self._calls: deque[OpenStep[Any]] = deque()
        self._answers: dict[str, str] = {}
        self._status: str | None = None
        self._error: CozeError | None = None

    def raise_for_error(self) -> None:
        """Raise what Coze reported.

        Raises:
            CozeError: With Coze's own code.
        """
        if self._error is not None:
            raise self._error

    @_never_raise
    def heard(self, event: str, data: Any) -> None:
        """Take one event of a stream: its name, and the parsed JSON of its data."""
        if not isinstance(data, Mapping):
            return
        name = event.removeprefix("conversation.")
        if name == "message.delta":
            if data.get("type") == "answer":
                self._trace.chunk(data.get("content"))
        elif name == "message.completed":
            self._message(data)
        elif name.startswith("chat."):
            self.chat(data, name.removeprefix("chat."))
        elif name == "error":
            self._error = CozeError(str(data.get("msg") or "error"), code=data.get("code"))

    @_never_raise
    def chat(self, data: Mapping[str, Any], status: str | None = None) -> None:
        """Take the state of the chat: conversation, tokens, failure."""
        status = status or str(data.get("status") or "")
        if data.get("conversation_id"):
            self._trace.live.set(session_id=data["conversation_id"])
        usage = data.get("usage")
        if isinstance(usage, Mapping):
            self._generation.step.usage(
                _whole(usage.get("input_count")), _whole(usage.get("output_count"))
            )
        if status in _CANCELLED:
            self._status = "cancelled"
        elif status in _ENDS_BADLY:
            last = data.get("last_error")
            last = last if isinstance(last, Mapping) else {}
            self._error = CozeError(str(last.get("msg") or status), code=last.get("code"))

    @_never_raise
    def listed(self, messages: Iterable[Mapping[str, Any]]) -> None:
        """Take the message list of a finished chat; it tells no durations."""
        for message in messages:
            self._message(message, timed=False)

    def ends(self, error: BaseException | None = None) -> None:
        """The chat is over or broke; only the first call counts. Never raises."""
        for call in self._calls:
            call.close(timed=False)
        self._calls.clear()
        self._recall = None  # nothing was recalled: there was no retrieval
        self._generation.close()
        answer = "\n".join(self._answers.values()) or None
        self._trace.end(answer, error=error or self._error, status=self._status)

    def _message(self, message: Mapping[str, Any], *, timed: bool = True) -> None:
        kind = message.get("type")
        if kind == "answer":
            self._answers[str(message.get("id"))] = str(message.get("content") or "")
            return
        called = call_in(message)
        if called is not None:
            step = rm.workflow(called[1]) if called[0] == "workflow" else rm.plugin(called[1])
            self._calls.append(self._trace.open(step))
        elif kind in ("tool_response", "tool_output") and self._calls:
            call = self._calls.popleft()  # the cloud gives no call id: answers come in order
            call.step.ok = not failed(message)
            call.close(timed=timed)
        else:
            passages = recall_in(message)
            if passages is not None:
                self._recalled(passages, timed=timed)

    def _recalled(self, passages: list[dict[str, Any]], *, timed: bool) -> None:
        bases = list(dict.fromkeys(p["knowledge_base"] for p in passages)) or ["coze"]
        if not timed:
            self._trace.reach_model(passages)
        else:
            recall, self._recall = self._recall, None
            recall = recall or self._trace.open(rm.retrieval())
            recall.step.documents = passages
            recall.close()
        for base in bases:
            hit = self._trace.open(knowledge_base_hit(base))
            hit.step.items = sum(p["knowledge_base"] == base for p in passages)
            hit.close(timed=False)


def _whole(value: Any) -> int | None:
    return value if isinstance(value, int) else None
