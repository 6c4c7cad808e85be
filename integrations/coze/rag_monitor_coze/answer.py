"""Coze's chat events and messages become one trace."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from typing import Any, Final

import rag_monitor as rm
from rag_monitor.sdk.events import EventTrace, OpenStep, knowledge_base_hit, never_raise
from rag_monitor_coze import messages

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
        called = messages.call_in(message)
        if called is not None:
            step = rm.workflow(called[1]) if called[0] == "workflow" else rm.plugin(called[1])
            self._calls.append(self._trace.open(step))
        elif kind in ("tool_response", "tool_output") and self._calls:
            call = self._calls.popleft()  # the cloud gives no call id: answers come in order
            call.step.ok = not messages.failed(message)
            call.close(timed=timed)
        else:
            passages = messages.recall_in(message)
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
