"""What a decorated function's parameters tell about its calls."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, Final

_RECEIVERS: Final = frozenset({"self", "cls"})


def parameters(function: Callable[..., Any]) -> tuple[str, ...] | None:
    """The names of its parameters, in order; None when it does not tell."""
    try:
        return tuple(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return None


def is_method(function: Callable[..., Any]) -> bool:
    """Whether its first argument is what it is called on: a chain's own `prompt` is no question."""
    names = parameters(function)
    return names is not None and not _RECEIVERS.isdisjoint(names[:1])
