"""LangChain and LangGraph into rag-monitor: one trace per question, told by callbacks.

rag_monitor_langchain.instrument()          # every chain and graph of this process
chain.invoke(question, config={"callbacks": [RagMonitorHandler()]})   # or just this one
"""

try:
    import langchain_core as _  # noqa: F401
except ModuleNotFoundError as error:
    if error.name != "langchain_core":
        raise
    from rag_monitor.installation import install_command

    raise ModuleNotFoundError(
        f"rag_monitor_langchain needs langchain-core: {install_command('langchain')}",
        name="langchain_core",
    ) from None

from rag_monitor_langchain.handler import RagMonitorHandler
from rag_monitor_langchain.instrument import instrument, uninstrument

__all__ = ["RagMonitorHandler", "instrument", "uninstrument"]
