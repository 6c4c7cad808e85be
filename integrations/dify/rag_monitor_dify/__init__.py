"""Dify into rag-monitor: a client of its Service API that records every answer."""

try:
    import httpx as _  # noqa: F401
except ModuleNotFoundError as error:
    if error.name != "httpx":
        raise
    raise ModuleNotFoundError(
        'rag_monitor_dify needs httpx: pip install "rag-monitor[dify]"', name="httpx"
    ) from None

from rag_monitor_dify.answer import DifyAnswer, DifyError
from rag_monitor_dify.client import AsyncDifyClient, DifyClient

__all__ = ["AsyncDifyClient", "DifyAnswer", "DifyClient", "DifyError"]
