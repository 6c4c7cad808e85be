"""rag-monitor: quality monitoring for retrieval-augmented generation in production."""

__version__ = "0.1.0"

from rag_monitor.sdk.client import configure, feedback, flush, shutdown, stats
from rag_monitor.sdk.steps import generation, plugin, retrieval, workflow
from rag_monitor.sdk.threads import copy_context
from rag_monitor.sdk.tracing import current, record_contexts, trace

__all__ = [
    "__version__",
    "configure",
    "copy_context",
    "current",
    "feedback",
    "flush",
    "generation",
    "plugin",
    "record_contexts",
    "retrieval",
    "shutdown",
    "stats",
    "trace",
    "workflow",
]
