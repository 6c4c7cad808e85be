"""Coze into rag-monitor: a client of its v3 chat API that records every answer."""

try:
    import httpx as _  # noqa: F401
except ModuleNotFoundError as error:
    if error.name != "httpx":
        raise
    from rag_monitor.installation import install_command

    raise ModuleNotFoundError(
        f"rag_monitor_coze needs httpx: {install_command('coze')}", name="httpx"
    ) from None

from rag_monitor_coze.answer import CozeAnswer, CozeError
from rag_monitor_coze.client import CozeClient

__all__ = ["CozeAnswer", "CozeClient", "CozeError"]
