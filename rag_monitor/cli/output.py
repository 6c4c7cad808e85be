"""How commands speak: figures on stdout, progress and remarks on stderr, JSON when asked."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.cells import cell_len
from rich.console import Console

from rag_monitor.cli.words import say
from rag_monitor.errors import ConfigurationError

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object on stdout.")]


def keep_input(source: Path, *written: Path | None) -> None:
    """Refuse to write over what is read, or where nothing can be written: before the work is done.

    Raises:
        ConfigurationError: One of the files to write is the one to read, under whatever name, is a
            folder, or lies in one that is not there.
    """
    for path in written:
        if path is None:
            continue
        if path.exists() and source.exists() and path.samefile(source):
            raise ConfigurationError("{path} is the input; write to another file", path=path)
        if path.is_dir():
            raise ConfigurationError("{path} is a folder; name a file in it", path=path)
        if not path.parent.is_dir():
            raise ConfigurationError(
                "{path}: there is no folder {folder}", path=path, folder=path.parent
            )


def progress_console(quiet: bool = False) -> Console:
    """Where progress goes: stderr, and nowhere when `quiet`."""
    return Console(stderr=True, quiet=quiet)


def print_json(value: object) -> None:
    """One JSON document on stdout, readable in every script."""
    sys.stdout.write(json.dumps(value, ensure_ascii=False, default=str) + "\n")
    sys.stdout.flush()


def print_line(text: str = "") -> None:
    """One line on stdout; characters the terminal cannot show are replaced."""
    encoding = sys.stdout.encoding or "utf-8"
    safe = text.encode(encoding, "replace").decode(encoding, "replace")
    sys.stdout.write(safe + "\n")


def print_problem(text: str, /, **params: object) -> None:
    """What is wrong with a row, a file or a target, on stderr in the chosen language.

    Args:
        text: As `say` takes it with `params`, or what somebody else said.
        params: Of the sentence.
    """
    print_remark(say(text, **params))


def print_remark(text: str) -> None:
    """One line on stderr, for what is not the result."""
    sys.stderr.write(f"rag-monitor: {text}\n")


def print_fields(fields: dict[str, Any]) -> None:
    """A result as `name: value` lines."""
    width = max((cell_len(name) for name in fields), default=0)
    for name, value in fields.items():
        print_line(f"{name}{' ' * (width - cell_len(name))}  {value}")
