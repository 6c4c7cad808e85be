"""The judge behind any OpenAI-compatible server: vLLM, SGLang, Ollama, OpenAI or DashScope.

The only place that imports the `openai` client, when a judge is made.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rag_monitor.judges.openai_compatible.options import (
    OpenAICompatibleOptions,
    Price,
    VerdictMode,
    read_options,
)

if TYPE_CHECKING:
    from rag_monitor.judges.openai_compatible.judge import OpenAICompatibleJudge

__all__ = ["OpenAICompatibleOptions", "Price", "VerdictMode", "create"]


def create(options: Mapping[str, Any], **services: Any) -> OpenAICompatibleJudge:
    """A judge from the table `[judges.openai_compatible]`.

    Args:
        options: The settings, see `OpenAICompatibleOptions`.
        services: `ledger`, `cache`, `embedder`, `limits`, as the class takes them.

    Raises:
        ConfigurationError: A setting is missing or wrong, or the openai client is not installed.
    """
    from rag_monitor.judges.openai_compatible.judge import OpenAICompatibleJudge

    return OpenAICompatibleJudge(read_options(options), **services)
