"""Flask into rag-monitor: one trace per request of the paths you name."""

try:
    import flask as _  # noqa: F401
except ModuleNotFoundError as error:
    if error.name != "flask":
        raise
    raise ModuleNotFoundError(
        'rag_monitor_flask needs flask: pip install "rag-monitor[flask]"', name="flask"
    ) from None

from rag_monitor_flask.instrument import TRACE_HEADER, instrument, uninstrument

__all__ = ["TRACE_HEADER", "instrument", "uninstrument"]
