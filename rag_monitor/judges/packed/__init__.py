"""The judge on your own GPU (or, slower, CPU): every verdict of a trace in one forward pass.

Imports torch and transformers only when a judge is made.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rag_monitor.errors import ConfigurationError
from rag_monitor.installation import install_command
from rag_monitor.judges.packed.options import PackedOptions
from rag_monitor.judges.tables import read_table

if TYPE_CHECKING:
    from rag_monitor.judges.packed.judge import PackedJudge

__all__ = ["PackedOptions", "create"]


def create(options: Mapping[str, Any], **services: Any) -> PackedJudge:
    """Load the model named in `[judges.packed]`, test it and make the judge.

    Args:
        options: The settings, see `PackedOptions`.
        services: `embedder`, `ledger`, as the class takes them.

    Raises:
        ConfigurationError: A setting is wrong, a library is missing, or the model cannot be used.
    """
    settings = read_table("judges.packed", options, PackedOptions)
    try:
        from rag_monitor.judges.packed import loading
    except ModuleNotFoundError as error:
        raise ConfigurationError(
            "the packed judge needs torch and transformers: {command}",
            command=install_command("gpu"),
        ) from error
    return loading.load_judge(settings, **services)
