"""The pages on commands have every command there is, and every option of each."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from typer.main import get_command

from rag_monitor.cli.application import app
from tests.docs.pages import text_of

PAGES = ("docs/commands.md", "docs/zh/commands.md")
_OPTION = re.compile(r"`(--[\w-]+)(?: [A-Z]+)?`")


def options(command: Any) -> set[str]:
    """The long options of a command."""
    names = {
        name
        for parameter in command.params
        for name in (*parameter.opts, *parameter.secondary_opts)
    }
    return {name for name in names if name.startswith("--")}


def commands(command: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """Every command by its words after `rag-monitor`."""
    for word, inner in getattr(command, "commands", {}).items():
        yield from commands(inner, f"{name} {word}".strip())
    if not hasattr(command, "commands"):
        yield name, command


KNOWN = dict(commands(get_command(app)))


def parts(page: str) -> tuple[str, str, dict[str, set[str]]]:
    """What stands before the shared options, these, and by command the options of its own."""
    before, shared, one_by_one, _ = re.split(r"^## .+$", text_of(page), flags=re.MULTILINE)
    rows = re.findall(r"^\| `([a-z ]+)` \|[^|]+\|([^|]+)\|$", one_by_one, re.MULTILINE)
    return before, shared, {name: set(_OPTION.findall(cell)) for name, cell in rows}


@pytest.mark.parametrize("page", PAGES)
def test_every_command_is_there_with_its_options(page: str) -> None:
    _, shared, own = parts(page)
    common = set(_OPTION.findall(shared))

    assert set(own) == set(KNOWN)
    assert {
        name: found for name, found in own.items() if found != options(KNOWN[name]) - common
    } == {}
    assert common == {"--help"} | {
        name for name in common if sum(name in options(command) for command in KNOWN.values()) > 1
    }


@pytest.mark.parametrize("page", PAGES)
def test_options_without_a_command_are_there(page: str) -> None:
    before, _, _ = parts(page)

    assert set(_OPTION.findall(before)) - {"--help"} >= options(get_command(app)) - {"--help"}


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("option", ["--config", "--url"])
def test_a_shared_option_names_the_commands_that_take_it(page: str, option: str) -> None:
    _, shared, _ = parts(page)
    (cell,) = re.findall(rf"^\| `{option}` \|[^|]+\|([^|]+)\|$", shared, re.MULTILINE)
    named = set(re.findall(r"`([a-z]+)`", cell))

    assert named == {
        name.split()[0] for name, command in KNOWN.items() if option in options(command)
    }
