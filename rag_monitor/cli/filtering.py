"""The filters of traces and sessions as options of commands: see `rag_monitor.domain.filters`."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Annotated, Any, Final

import typer

from rag_monitor.domain.filters import BY_NAME, FILTERS, Filter, FilterKind, Order, TraceSort

_TYPES: Final[Mapping[FilterKind, type]] = {
    FilterKind.RATIO: float,
    FilterKind.MILLISECONDS: float,
    FilterKind.FLAG: bool,
}
_NAMES: Final = {"language": "question-language"}
"""Options that would be taken for others by their names: `--language` is that of the output."""

Since = Annotated[str | None, typer.Option("--from", help="ISO 8601 time, inclusive.")]
Until = Annotated[str | None, typer.Option("--to", help="ISO 8601 time, exclusive.")]
Sort = Annotated[
    TraceSort,
    typer.Option(
        "--sort", help="By `time`, by `latency` to the whole answer, or by the `score` of --metric."
    ),
]
Ordered = Annotated[Order, typer.Option("--order", help="Which end comes first.")]


def with_filters(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command an option for each filter; it gets them as keyword arguments by their names.

    Filters that the command has an argument of its own for are left to it.
    """
    signature = inspect.signature(command, eval_str=True)
    own = list(signature.parameters.values())
    places = [one for one in own if one.kind is not inspect.Parameter.VAR_KEYWORD]
    names = {one.name for one in places}
    options = [
        inspect.Parameter(
            one.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=None,
            annotation=Annotated[_type_of(one) | None, _option(one)],
        )
        for one in FILTERS
        if one.name not in names
    ]
    keywords = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in places]
    parameters = [*options, *keywords]
    command.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {one.name: one.annotation for one in parameters}
    return command


def parameters_of(filters: Mapping[str, Any], *, sessions: bool = False) -> dict[str, str]:
    """Filters that were given, and other parameters, as the API takes them."""
    return {
        BY_NAME[name].parameter if sessions and name in BY_NAME else name: _text(value)
        for name, value in filters.items()
        if value is not None
    }


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return value.value if isinstance(value, StrEnum) else str(value)


def _type_of(one: Filter) -> Any:
    if one.choices is not None:
        return one.choices
    return _TYPES.get(one.kind, str)


def _option(one: Filter) -> Any:
    plain = _NAMES.get(one.name, one.parameter.replace("_", "-"))
    name = f"--{plain}/--not-{plain}" if one.kind is FilterKind.FLAG else f"--{plain}"
    return typer.Option(name, help=one.help, show_default=False)
