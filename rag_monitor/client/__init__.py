"""Read traces and scores back over HTTP, as dicts or as data frames.

    from rag_monitor.client import Client

    with Client("http://127.0.0.1:8700") as monitor:
        bad = monitor.traces(metric="faithfulness", below=0.5, as_frame="pandas")

Needs only the standard library; pandas or polars are imported when a frame is asked for.
"""

from rag_monitor.client.monitor_client import Client, FrameKind
from rag_monitor.client.requests import ClientError, Transport, problem_of

__all__ = ["Client", "ClientError", "FrameKind", "Transport", "problem_of"]
