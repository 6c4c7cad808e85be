"""Haystack into rag-monitor: one trace per pipeline run, told by its tracer interface."""

try:
    import haystack as _  # noqa: F401
except ModuleNotFoundError as error:
    if error.name != "haystack":
        raise
    from rag_monitor.installation import install_command

    raise ModuleNotFoundError(
        f"rag_monitor_haystack needs haystack-ai: {install_command('haystack')}",
        name="haystack",
    ) from None

from rag_monitor_haystack.streams import watch, watch_async
from rag_monitor_haystack.tracer import RagMonitorTracer, instrument, uninstrument

__all__ = ["RagMonitorTracer", "instrument", "uninstrument", "watch", "watch_async"]
