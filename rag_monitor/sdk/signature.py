"""What a function's parameters tell about the arguments of its calls."""

from __future__ import annotations

import functools
import inspect
import re
import types
import typing
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from rag_monitor.sdk.peek import peek, text_of, type_name

_RECEIVERS: Final = frozenset({"self", "cls"})
_SUPPLIED: Final = frozenset(
    {
        "Depends", "Security", "Header", "Cookie", "Path", "File", "Dependency", "Provide",
        "Provider", "Inject", "Injected", "FromDishka", "FromComponent", "FromHeader", "FromCookie",
        "FromRoute", "FromServices",
    }
)  # fmt: skip
"""Marks of web frameworks for what nobody asks: dependencies, headers, parts of a path."""
_SUPPLIED_IN_TEXT: Final = re.compile(rf"\b({'|'.join(sorted(_SUPPLIED))})\b")
_UNIONS: Final = (typing.Union, types.UnionType)
_DEEPEST: Final = 5


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a function."""

    name: str
    alias: str
    """What callers over HTTP know it as; else its name."""
    supplied: bool
    """A framework gives it, from a dependency, a header or the path."""
    text: bool | None
    """Whether it is annotated as text; None: not annotated, or in a way we do not know."""
    required: bool


def parameters(function: Callable[..., Any]) -> tuple[str, ...] | None:
    """The names of its parameters, in order; None when it does not tell."""
    try:
        return tuple(inspect.signature(function).parameters)
    except Exception:  # noqa: BLE001 - annotations are evaluated, and may raise anything
        return None


def is_method(function: Callable[..., Any]) -> bool:
    """Whether its first argument is what it is called on: a chain's own `prompt` is no question."""
    names = parameters(function)
    return names is not None and not _RECEIVERS.isdisjoint(names[:1])


def described(function: Callable[..., Any]) -> tuple[Parameter, ...]:
    """Its parameters, in order, those that take many aside; empty when it does not tell."""
    try:
        declared = inspect.signature(function).parameters.values()
        hints = _hints(function)
    except Exception:  # noqa: BLE001 - as above
        return ()
    variable = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return tuple(
        _described(one, hints.get(one.name, one.annotation))
        for one in declared
        if one.kind not in variable
    )


def _described(parameter: inspect.Parameter, hint: Any) -> Parameter:
    default = parameter.default
    marks = [] if default is inspect.Parameter.empty else [default]
    kinds: list[Any] = []
    if isinstance(hint, str):
        supplied = _SUPPLIED_IN_TEXT.search(hint) is not None
        kinds = [str] if re.search(r"\bstr\b", hint) else [hint]
    else:
        for is_mark, part in _parts(hint, 0):
            (marks if is_mark else kinds).append(part)
        supplied = any(_named(kind) in _SUPPLIED for kind in kinds)
    alias = next((text for mark in marks if (text := text_of(peek(mark, "alias")))), None)
    return Parameter(
        name=parameter.name,
        alias=alias or parameter.name,
        supplied=supplied or any(_is_supplied(mark) for mark in marks),
        text=_is_text(kinds),
        required=default is inspect.Parameter.empty or _requires(default),
    )


def _hints(function: Any) -> dict[str, Any]:
    """Its annotations, evaluated as far as they can be: names that are unknown leave their text."""
    while isinstance(function, functools.partial):
        function = function.func
    function = inspect.unwrap(function)
    if not hasattr(function, "__code__"):
        function = getattr(type(function).__call__, "__func__", type(function).__call__)
    function = getattr(function, "__func__", function)
    names = getattr(getattr(function, "__code__", None), "co_freevars", ())
    cells = getattr(function, "__closure__", None) or ()
    local = {name: cell.cell_contents for name, cell in zip(names, cells, strict=True)}
    hints: dict[str, Any] = {}
    for name, hint in getattr(function, "__annotations__", {}).items():
        one = types.SimpleNamespace(__annotations__={name: hint})
        try:
            hints.update(
                typing.get_type_hints(
                    one, getattr(function, "__globals__", {}), local, include_extras=True
                )
            )
        except Exception:  # noqa: BLE001 - a name that only type checkers know
            hints[name] = hint
    return hints


def _parts(hint: Any, depth: int) -> Iterator[tuple[bool, Any]]:
    """The types that an annotation is made of, and the marks beside them (True)."""
    if type_name(hint) == "TypeAliasType":
        hint = hint.__value__
    marks = getattr(hint, "__metadata__", None)
    if marks is not None:
        yield from ((True, mark) for mark in marks)
        hint = hint.__origin__
    elif typing.get_origin(hint) not in _UNIONS:
        yield False, hint
        return
    for part in typing.get_args(hint) if typing.get_origin(hint) in _UNIONS else (hint,):
        if depth < _DEEPEST:
            yield from _parts(part, depth + 1)


def _is_text(kinds: list[Any]) -> bool | None:
    annotated = [kind for kind in kinds if kind is not type(None)]
    if str in annotated:
        return True
    unknown = (inspect.Parameter.empty, Any, object)
    open_ = [kind for kind in annotated if kind in unknown or hasattr(kind, "__supertype__")]
    return None if open_ or not annotated else False


def _named(kind: Any) -> str:
    name = getattr(typing.get_origin(kind) or kind, "__name__", "")
    return name if isinstance(name, str) else ""


def _is_supplied(mark: Any) -> bool:
    kind = mark if isinstance(mark, type) else type(mark)
    if any(cls.__name__ in _SUPPLIED for cls in type.__dict__["__mro__"].__get__(kind)):
        return True
    return any(peek(mark, place) is not None for place in ("header", "cookie"))


def _requires(default: Any) -> bool:
    """Whether a mark that stands as the default, such as `Query()`, has no default itself."""
    inner = peek(default, "default")
    return inner is ... or type_name(inner) == "PydanticUndefinedType"
