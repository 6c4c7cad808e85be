"""Joins LlamaIndex's root dispatcher and leaves it again. Nothing is patched."""

from __future__ import annotations

import inspect
import threading
from typing import Any, Final

# The one place that every core has it in; newer ones pass it on from a package of its own.
from llama_index.core.instrumentation import get_dispatcher  # type: ignore[attr-defined]
from llama_index.core.instrumentation.event_handlers import BaseEventHandler
from llama_index.core.instrumentation.events import BaseEvent
from llama_index.core.instrumentation.span import BaseSpan
from llama_index.core.instrumentation.span_handlers import BaseSpanHandler
from pydantic import PrivateAttr

from rag_monitor_llama_index.recorder import Recorder


class RagMonitorSpanHandler(BaseSpanHandler[BaseSpan]):
    """Passes the begin and end of every instrumented method to the recorder."""

    _recorder: Recorder = PrivateAttr()

    def __init__(self, recorder: Recorder) -> None:
        super().__init__()
        self._recorder = recorder

    @classmethod
    def class_name(cls) -> str:
        """Name in dumps of the dispatcher."""
        return "RagMonitorSpanHandler"

    def new_span(
        self,
        id_: str,
        bound_args: inspect.BoundArguments,
        instance: Any | None = None,
        parent_span_id: str | None = None,
        tags: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """A method begins."""
        self._recorder.begins(id_, bound_args.arguments, instance, parent_span_id, tags or {})

    def prepare_to_exit_span(
        self,
        id_: str,
        bound_args: inspect.BoundArguments,
        instance: Any | None = None,
        result: Any | None = None,
        **kwargs: Any,
    ) -> None:
        """A method returned; a generator it returned may still be running."""
        self._recorder.returns(id_, result)

    def prepare_to_drop_span(
        self,
        id_: str,
        bound_args: inspect.BoundArguments,
        instance: Any | None = None,
        err: BaseException | None = None,
        **kwargs: Any,
    ) -> None:
        """A method raised."""
        self._recorder.raises(id_, err)


class RagMonitorEventHandler(BaseEventHandler):
    """Passes events to the recorder."""

    _recorder: Recorder = PrivateAttr()

    def __init__(self, recorder: Recorder) -> None:
        super().__init__()
        self._recorder = recorder

    @classmethod
    def class_name(cls) -> str:
        """Name in dumps of the dispatcher."""
        return "RagMonitorEventHandler"

    def handle(self, event: BaseEvent, **kwargs: Any) -> None:
        """Something happened inside a method."""
        self._recorder.on_event(event)


_LOCK: Final = threading.Lock()


def instrument(**fields: Any) -> None:
    """Record every query engine, chat engine and workflow of this process.

    A second call changes nothing.

    Args:
        **fields: As `rag_monitor.current().set(...)`, for every trace.
    """
    dispatcher = get_dispatcher()
    with _LOCK:
        if any(isinstance(h, RagMonitorSpanHandler) for h in dispatcher.span_handlers):
            return
        recorder = Recorder(fields)
        dispatcher.add_span_handler(RagMonitorSpanHandler(recorder))
        dispatcher.add_event_handler(RagMonitorEventHandler(recorder))


def uninstrument() -> None:
    """Stop recording; other handlers of the dispatcher stay."""
    dispatcher = get_dispatcher()
    with _LOCK:
        dispatcher.span_handlers = [
            h for h in dispatcher.span_handlers if not isinstance(h, RagMonitorSpanHandler)
        ]
        dispatcher.event_handlers = [
            h for h in dispatcher.event_handlers if not isinstance(h, RagMonitorEventHandler)
        ]
