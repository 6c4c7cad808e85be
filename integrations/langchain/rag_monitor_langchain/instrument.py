"""Switches the handler on for every LangChain call of the process, and off again.

LangChain offers a hook for this; nothing is patched.
"""

from __future__ import annotations

import threading
from contextvars import ContextVar
from typing import Any, Final, cast

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.tracers.context import register_configure_hook

from rag_monitor_langchain.handler import RagMonitorHandler


class _Slot:
    """Answers LangChain's `get()` with the one handler, whatever the thread or context."""

    def __init__(self) -> None:
        self.handler: RagMonitorHandler | None = None
        self.registered = False
        self.lock = threading.Lock()

    def get(self) -> BaseCallbackHandler | None:
        return self.handler


_SLOT: Final = _Slot()


def instrument(**options: Any) -> RagMonitorHandler:
    """Record every chain and graph of this process; a second call replaces the settings.

    Do not also pass a `RagMonitorHandler` by hand: its traces would come twice.

    Args:
        **options: As for `RagMonitorHandler`.

    Returns:
        The handler at work.
    """
    handler = RagMonitorHandler(**options)
    with _SLOT.lock:
        if not _SLOT.registered:
            register_configure_hook(cast("ContextVar[Any | None]", _SLOT), inheritable=True)
            _SLOT.registered = True
        _SLOT.handler = handler
    return handler


def uninstrument() -> None:
    """Stop recording; calls that are running finish their traces."""
    with _SLOT.lock:
        _SLOT.handler = None
