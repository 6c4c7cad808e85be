"""A command line that cannot be run: said in the language it asks for, wherever it names that."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Any, Final

import typer

from rag_monitor.cli.words import LANGUAGE_OPTION, LANGUAGE_VARIABLE
from rag_monitor.i18n import ENGLISH, Message, languages, translate
from rag_monitor.offline.problems import problem

MISUSED: Final[Any] = next(
    kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "ClickException"
)
"""What a command line raises that cannot be read: the parser's, which typer brings along."""
_HELP: Final = "NoArgsIsHelpError"
"""No mistake: nothing was asked, and the help is the answer."""


def run(app: typer.Typer, argv: Sequence[str]) -> int:
    """Run a command line; returns the exit status."""
    try:
        status = app(args=list(argv), prog_name="rag-monitor", standalone_mode=False)
    except MISUSED as error:
        return tell(error, argv)
    except typer.Abort:
        print(translate(Message("Aborted!"), language_of(argv)), file=sys.stderr)  # noqa: T201 - as above
        return 1
    return status if type(status) is int else 0


def tell(error: Any, argv: Sequence[str]) -> int:
    """Say on stderr what is wrong with a command line; returns the exit status."""
    if language_of(argv) == ENGLISH or type(error).__name__ == _HELP:
        error.show()
    else:
        print(_told(error, language_of(argv)), file=sys.stderr)  # noqa: T201 - a command talks here
    return int(error.exit_code)


def language_of(argv: Sequence[str]) -> str:
    """The language that a command line asks for, though it could not be read to its end."""
    wanted = os.environ.get(LANGUAGE_VARIABLE, "")
    for position, word in enumerate(argv):
        name, _, value = word.partition("=")
        if name == LANGUAGE_OPTION:
            wanted = value or "".join(argv[position + 1 : position + 2])
    return wanted if wanted in languages() else ENGLISH


def _told(error: Any, language: str) -> str:
    reason = problem(error.format_message(), language)
    said = translate(Message("Error: {reason}", reason=reason), language)
    context = getattr(error, "ctx", None)
    if context is None:
        return said
    usage = Message("Usage: {usage}", usage=context.get_usage().partition(":")[2].strip())
    helped = Message("Run `{command} -h` for help.", command=context.command_path)
    return f"{translate(usage, language)}\n{translate(helped, language)}\n\n{said}"
