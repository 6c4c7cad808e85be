"""Which of a call's arguments the address of the request gave, as web frameworks know it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from types import FrameType
from typing import Any, Final

from rag_monitor.sdk.peek import first, peek, text_of

_FRAMES: Final = 16
"""How far above a call the framework that makes it is looked for."""
_MOST_ROUTES: Final = 5_000
_MOST_DECORATORS: Final = 50
_FRAMEWORKS: Final = ("fastapi", "starlette")


class Routes:
    """The paths under which the applications of a handler's own module serve it.

    Looking through the module takes a tenth of a millisecond, and a route is there before it is
    called: what was found stays, and where nothing was it is looked again at the 2nd, 4th, 8th …
    call.

    Args:
        handler: What the routes may lead to.
    """

    __slots__ = ("_calls", "_handler", "_names", "_next")

    def __init__(self, handler: Callable[..., Any]) -> None:
        self._handler = handler
        self._names: tuple[str, ...] = ()
        self._calls = 0
        self._next = 1

    def names(self) -> tuple[str, ...]:
        """Names in these paths."""
        if not self._names:
            self._calls += 1
            if self._calls >= self._next:
                self._next = 2 * self._calls
                self._names = tuple(_routed(self._handler))
        return self._names


def names_in_path(routes: Routes, values: Iterable[Any], web: object) -> Iterator[str]:
    """The names of what the address of the request gave, as far as anybody tells.

    Args:
        routes: Of what is called.
        values: Its arguments, of which one may be the request.
        web: What the middleware knows of the request; None: there is none.
    """
    scopes = [web]
    for value in values:
        scopes.append(peek(value, "scope"))
        yield from _keys(peek(peek(value, "resolver_match"), "kwargs"))  # Django
        yield from _keys(peek(value, "_match_info"))  # aiohttp
    for scope in scopes:
        yield from _keys(first(scope, ("path_params",)))
    flask = sys.modules.get("flask")
    if flask is not None and flask.has_request_context():
        yield from _keys(flask.request.view_args)
    if web is None and "fastapi" in sys.modules:
        called = _by_fastapi()
        yield from routes.names() if called is None else called


def _by_fastapi() -> list[str] | None:
    """What FastAPI took from the path for the `async` handler that it calls; None: it calls none.

    Handlers that are not `async` it calls on another thread, where nothing tells.
    """
    frame: FrameType | None = sys._getframe(2)
    for _ in range(_FRAMES):
        if frame is None:
            return None
        code = frame.f_code
        if code.co_name == "run_endpoint_function" and "fastapi" in code.co_filename:
            fields = peek(frame.f_locals.get("dependant"), "path_params")
            return [name for one in _listed(fields) if (name := text_of(peek(one, "name")))]
        frame = frame.f_back
    return None


def _routed(function: Callable[..., Any]) -> Iterator[str]:
    """Names in the paths under which the applications of the handler's own module serve it."""
    for value in list(getattr(function, "__globals__", {}).values()):
        kind = type(value)
        if not str(kind.__dict__.get("__module__", "")).startswith(_FRAMEWORKS):
            continue
        router = peek(value, "router")
        for route in _listed(peek(value if router is None else router, "routes")):
            if _innermost(peek(route, "endpoint")) is function:
                yield from _keys(peek(route, "param_convertors"))


def _innermost(function: Any) -> Any:
    """What decorators have been put around."""
    for _ in range(_MOST_DECORATORS):
        inner = peek(function, "__wrapped__")
        if inner is None:
            break
        function = inner
    return function


def _listed(value: Any) -> list[Any]:
    return list.__getitem__(value, slice(_MOST_ROUTES)) if isinstance(value, list) else []


def _keys(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        yield from (key for key in dict.keys(value) if type(key) is str)
