"""Judges by name. Built-in names are always known; others come from installed packages.

A package adds a judge through the entry-point group `rag_monitor.judges`: a callable that takes
the options and returns a `Judge`.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any, Final, cast

from rag_monitor.errors import UnknownJudge
from rag_monitor.judges.judge import Judge

GROUP: Final = "rag_monitor.judges"
BUILT_IN: Final[Mapping[str, tuple[str, str]]] = {
    "embedded": ("rag_monitor.judges.embedded.judge", "EmbeddedJudge"),
    "embedded-lexical": ("rag_monitor.judges.embedded.judge", "EmbeddedJudge"),
    "openai_compatible": ("rag_monitor.judges.openai_compatible", "OpenAICompatibleJudge"),
    "packed": ("rag_monitor.judges.packed", "PackedJudge"),
}
"""Name to module and class, imported only when asked for. `embedded` is the lexical variant
until an encoder ships; its identity says which it is."""


def names() -> tuple[str, ...]:
    """All judges that `create` knows, built-in ones first."""
    found = sorted(entry.name for entry in entry_points(group=GROUP))
    return (*BUILT_IN, *(name for name in found if name not in BUILT_IN))


def create(name: str, options: Any = None) -> Judge:
    """Make the judge `name`.

    Args:
        name: A built-in name or one of the entry-point group `rag_monitor.judges`.
        options: The judge's own options object, or None for its defaults.

    Raises:
        UnknownJudge: No judge of that name is installed; the message lists the known ones.
    """
    if name in BUILT_IN:
        module, attribute = BUILT_IN[name]
        try:
            factory = getattr(import_module(module), attribute)
        except ModuleNotFoundError as error:
            raise UnknownJudge(
                f"judge {name!r} needs {error.name!r}, which is not installed; install the extra "
                "of rag-monitor that brings it, or choose one of: " + ", ".join(names())
            ) from error
    else:
        entry = next((e for e in entry_points(group=GROUP) if e.name == name), None)
        if entry is None:
            raise UnknownJudge(f"no judge named {name!r}; choose one of: {', '.join(names())}")
        factory = entry.load()
    return cast("Judge", factory(options))
