"""A command line that cannot be run: said in the language it asks for, wherever it names that."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from typing import Any, Final

import typer

from rag_monitor.cli.words import LANGUAGE_OPTION, LANGUAGE_VARIABLE
from rag_monitor.field_values import wrong_value
from rag_monitor.i18n import ENGLISH, Message, languages, translate
from rag_monitor.spelling import nearest

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
        print(_usage_message(error, language_of(argv), argv), file=sys.stderr)  # noqa: T201 - a command talks here
    return int(error.exit_code)


def language_of(argv: Sequence[str]) -> str:
    """The language that a command line asks for, though it could not be read to its end."""
    wanted = os.environ.get(LANGUAGE_VARIABLE, "")
    for position, word in enumerate(argv):
        name, _, value = word.partition("=")
        if name == LANGUAGE_OPTION:
            wanted = value or "".join(argv[position + 1 : position + 2])
    return wanted if wanted in languages() else ENGLISH


def _usage_message(error: Any, language: str, argv: Sequence[str]) -> str:
    message = translate(Message("Error: {reason}", reason=_reason(error, argv)), language)
    context = getattr(error, "ctx", None)
    if context is None:
        return message
    usage = Message("Usage: {usage}", usage=context.get_usage().partition(":")[2].strip())
    helped = Message("Run `{command} -h` for help.", command=context.command_path)
    return f"{translate(usage, language)}\n{translate(helped, language)}\n\n{message}"


def _reason(error: Any, argv: Sequence[str]) -> str:
    """What is wrong, by the kind of error and what it holds; as the parser says it otherwise."""
    match type(error).__name__:
        case "NoSuchOption":
            return _no_option(error.option_name, error.possibilities)
        case "BadOptionUsage":
            return _without_its_value(error.option_name, argv)
        case "MissingParameter":
            return _missing(error.param)
        case "BadParameter":
            return _wrong(error)
        case "NoSuchCommand" | "UsageError":
            return _misplaced(error, argv)
    return str(error.format_message())


def _no_option(name: str, possibilities: Iterable[str] | None) -> Message:
    if not possibilities:
        return Message("No such option: {option}", option=name)
    names = ", ".join(sorted(possibilities))
    return Message("No such option: {option} (Possible options: {names})", option=name, names=names)


def _without_its_value(option: str, argv: Sequence[str]) -> Message:
    if any(word.startswith(f"{option}=") for word in argv):
        return Message("Option {option!r} does not take a value.", option=option)
    return Message("Option {option!r} requires an argument.", option=option)


def _missing(parameter: Any) -> Message:
    hint = _hint(parameter)
    if parameter.param_type_name == "argument":
        return Message("Missing argument {hint}.", hint=hint)
    return Message("Missing option {hint}.", hint=hint)


def _wrong(error: Any) -> Message:
    reason = error.message
    if not isinstance(reason, Message):
        reason = _of_validation(error) or reason
    if error.param is None:
        return Message("Invalid value: {reason}", reason=reason)
    return Message("Invalid value for {hint}: {reason}", hint=_hint(error.param), reason=reason)


def _of_validation(error: Any) -> Message | None:
    """The reason why pydantic refused the value of an option; None: it was not asked."""
    errors = getattr(error.__cause__, "errors", None)
    if errors is None:
        return None
    (first, *_) = errors()
    choices = getattr(getattr(error.param, "type_descriptor", None), "choices", None)
    if not choices:
        return wrong_value(first)
    names = ", ".join(repr(getattr(choice, "value", choice)) for choice in choices)
    return Message("{value!r} is not one of {names}.", value=first["input"], names=names)


def _misplaced(error: Any, argv: Sequence[str]) -> str:
    """A word that is no command, or one argument too many."""
    context = error.ctx
    if context is None:
        return str(error.format_message())
    path = context.command_path.split()[1:]
    words = _after(argv, path)
    commands = getattr(context.command, "commands", None)
    if commands is None:
        _, extra, _ = context.command.make_parser(context).parse_args(args=words)
        if not extra:
            return str(error.format_message())
        return Message("Got unexpected extra arguments: {words}", words=" ".join(map(str, extra)))
    name = next((word for word in words if not word.startswith("-")), None)
    if name is None:
        return Message("Missing command.")
    near = nearest(name, commands)
    if near is None:
        return Message("No such command {name!r}.", name=name)
    return Message("No such command {name!r}. Did you mean {near!r}?", name=name, near=near)


def _after(argv: Sequence[str], path: Sequence[str]) -> list[str]:
    """What stands behind the names of a command and its groups."""
    rest = list(argv)
    for name in path:
        rest = rest[rest.index(name) + 1 :]
    return rest


def _hint(parameter: Any) -> str:
    """What a parameter is called: `'--port'`, `'file'`."""
    names = parameter.opts if parameter.param_type_name == "option" else [parameter.name]
    return " / ".join(map(repr, names))
