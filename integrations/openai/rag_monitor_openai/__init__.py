"""The OpenAI client into rag-monitor: model calls become the generation of the current trace."""

try:
    import openai as _  # noqa: F401
except ModuleNotFoundError as error:
    if error.name != "openai":
        raise
    from rag_monitor.installation import install_command

    raise ModuleNotFoundError(
        f"rag_monitor_openai needs openai: {install_command('openai')}", name="openai"
    ) from None

from rag_monitor_openai.instrument import instrument, uninstrument

__all__ = ["instrument", "uninstrument"]
