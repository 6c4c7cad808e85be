"""Flask into rag-monitor: one trace per request of the paths you name."""

try:
    import flask as _  # noqa: F401
except ModuleNotFoundError as error:
    if error.name != "flask":
        raise
    from rag_monitor.installation import install_command

    raise ModuleNotFoundError(
        f"rag_monitor_flask needs flask: {install_command('flask')}", name="flask"
    ) from None

from rag_monitor_flask.instrument import TRACE_HEADER, instrument, uninstrument

__all__ = ["TRACE_HEADER", "instrument", "uninstrument"]
