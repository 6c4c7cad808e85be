"""Settings for commands that work beside or as the server: file, environment, options, once."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

ConfigPath = Annotated[
    Path | None,
    typer.Option(
        "--config",
        envvar="RAG_MONITOR_CONFIG",
        help="Configuration file; default: rag_monitor.toml when present.",
    ),
]


def environment() -> dict[str, str]:
    """A copy of the process environment: the only place a command reads it."""
    return dict(os.environ)


def at_hand() -> Any:
    """The settings that `serve` would have here, for a command that can do without any.

    Raises:
        ConfigurationError: They are broken. What the command needs has a default: say so, go on.
    """
    named = environment().get("RAG_MONITOR_CONFIG")
    return load(Path(named) if named else None)


def load(path: Path | None, overrides: Mapping[str, Any] | None = None) -> Any:
    """The `Settings` of this process; options that were not given (None) do not override.

    Raises:
        ConfigurationError: A key or value is wrong; the message names it.
    """
    from rag_monitor.config import load_settings

    given = {key: value for key, value in (overrides or {}).items() if value is not None}
    return load_settings(path, environment(), given)
