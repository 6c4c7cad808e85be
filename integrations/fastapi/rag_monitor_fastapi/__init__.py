"""FastAPI and Starlette into rag-monitor: one trace per request of the paths you name."""

try:
    import starlette as _  # noqa: F401
except ModuleNotFoundError as error:
    if error.name != "starlette":
        raise
    from rag_monitor.installation import install_command

    raise ModuleNotFoundError(
        f"rag_monitor_fastapi needs fastapi: {install_command('fastapi')}", name="fastapi"
    ) from None

from rag_monitor_fastapi.instrument import TRACE_HEADER, instrument, uninstrument

__all__ = ["TRACE_HEADER", "instrument", "uninstrument"]
