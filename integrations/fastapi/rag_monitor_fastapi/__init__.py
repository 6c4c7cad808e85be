"""FastAPI and Starlette into rag-monitor: one trace per request of the paths you name."""

try:
    import starlette as _  # noqa: F401
except ModuleNotFoundError as error:
    if error.name != "starlette":
        raise
    raise ModuleNotFoundError(
        'rag_monitor_fastapi needs fastapi: pip install "rag-monitor[fastapi]"', name="fastapi"
    ) from None

from rag_monitor_fastapi.instrument import TRACE_HEADER, instrument, uninstrument

__all__ = ["TRACE_HEADER", "instrument", "uninstrument"]
