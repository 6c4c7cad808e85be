"""Dify into rag-monitor: a client of its Service API that records every answer."""

try:
    import httpx as _  # noqa: F401
except ModuleNotFoundError as error:
    if error.name != "httpx":
        raise
    from rag_monitor.installation import install_command

    raise ModuleNotFoundError(
        f"rag_monitor_dify needs httpx: {install_command('dify')}", name="httpx"
    ) from None

from rag_monitor_dify.answer import DifyAnswer, DifyError
from rag_monitor_dify.client import AsyncDifyClient, DifyClient

__all__ = ["AsyncDifyClient", "DifyAnswer", "DifyClient", "DifyError"]
