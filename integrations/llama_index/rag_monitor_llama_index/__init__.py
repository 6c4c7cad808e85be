"""LlamaIndex into rag-monitor: one trace per query, told by its instrumentation module."""

try:
    import llama_index.core as _  # noqa: F401
except ModuleNotFoundError as error:
    if not (error.name or "").startswith("llama_index"):
        raise
    from rag_monitor.installation import install_command

    raise ModuleNotFoundError(
        f"rag_monitor_llama_index needs llama-index-core: {install_command('llama-index')}",
        name="llama_index.core",
    ) from None

from rag_monitor_llama_index.instrument import instrument, uninstrument

__all__ = ["instrument", "uninstrument"]
