"""Which of a call's arguments is the question, and which the address of the request gave.

By name first, then by annotation, then the only text. Where two may be, neither is taken, and the
log says so once: a wrong question is judged as if somebody had asked it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import FrameType
from typing import Any, Final, Protocol

from rag_monitor.sdk.field_names import GUESSED, QUERY_NAMES, RANKS, may_ask, rank_of_argument
from rag_monitor.sdk.guard import GUARD
from rag_monitor.sdk.peek import first, peek, text_of
from rag_monitor.sdk.question import Ranked, last_user_message, question_in, ranked_in
from rag_monitor.sdk.signature import described, is_method

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


_SURE: Final = RANKS[QUERY_NAMES[-1]]
"""Up to this rank a name says it all."""

_IN_FIELD: Final = 0.5
"""What a field of an argument is behind an argument of its name."""


class Traced(Protocol):
    """A trace that may be one of an HTTP request."""

    web: Any


class Arguments:
    """Chooses the question among the arguments of a function's calls.

        >>> def handler(user_id, question, top_k=5): ...
        >>> Arguments(handler).question(("u-7", "How long is the warranty?"), {})
        (0.0, 'How long is the warranty?')

    Args:
        function: What is called.
        query: What is looked for is what a retriever is asked: `query` rather than `question`.
    """

    def __init__(self, function: Callable[..., Any], *, query: bool = False) -> None:
        signature = described(function)
        self._function = function
        self._routes = Routes(function)
        self._query = query
        self._own = 1 if is_method(function) else 0
        self._names = tuple(one.name for one in signature)
        self._parameters = {one.name: one for one in signature}
        self._supplied = frozenset(one.name for one in signature if one.supplied)
        ranks = {one.name: self._rank(one.alias) for one in signature if not one.supplied}
        self._ranks = {name: rank for name, rank in ranks.items() if rank is not None}
        self._first = self._surest()
        self._alone = self._lone_argument()
        self.is_first = self._first is not None and self._first[0] == 0
        """Whether the question is the first argument if that is a text; `rank` is that of it."""
        self.rank = 0.0 if self._first is None else self._first[1]
        self._warned = False

    def _surest(self) -> tuple[int, float, str] | None:
        """Position, rank and name of the argument that needs no other one to be looked at."""
        ranked = sorted((rank, name) for name, rank in self._ranks.items())[:2]
        alone = len(self._names) - self._own == 1
        if not ranked or (ranked[0][0] > _SURE and not alone):
            return None
        if len(ranked) == 2 and ranked[0][0] == ranked[1][0]:
            return None
        rank, name = ranked[0]
        return self._names.index(name), rank, name

    def _lone_argument(self) -> int | None:
        """Position of the only argument that a caller gives, such as a handler's `body`."""
        given = [name for name in self._names[self._own :] if name not in self._supplied]
        if len(given) != 1 or given[0] in self._ranks:
            return None
        return self._names.index(given[0])

    def question(
        self, args: Sequence[Any], kwargs: Mapping[str, Any], live: Traced | None = None
    ) -> Ranked | None:
        """The question of a call and the rank of its name; None when nobody can tell.

        Args:
            args: The positional arguments, with what a method is called on.
            kwargs: The others.
            live: The trace of the call, which may know the HTTP request around it.
        """
        if self._first is not None:
            place, rank, name = self._first
            value = args[place] if place < len(args) else kwargs.get(name)
            if type(value) is str:
                return rank, value
            if type(value) is list:  # a chat
                text = last_user_message(value, lone=True)
            else:
                text = question_in(value, depth=1)
            if text is not None:
                return rank, text
        elif self._alone is not None and self._alone < len(args) <= len(self._names):
            value = args[self._alone]
            if type(value) is dict and not kwargs and (inner := ranked_in(value)) is not None:
                return inner[0] + _IN_FIELD, inner[1]
        given = self._given(args, kwargs)
        named = [one for name, value in given if (one := self._named(name, value)) is not None]
        if len(named) == 1:
            return named[0]
        if named:
            best = min(named)[0]
            texts = {text for rank, text in named if rank == best}
            if len(texts) == 1:
                return best, texts.pop()
            self._say_none_of(given)
            return None
        return self._guessed(given, None if live is None else live.web)

    def _given(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[tuple[str, Any]]:
        """What the caller may have asked, by its name; empty where it has none."""
        names, supplied = self._names, self._supplied
        given = []
        for place in range(self._own, len(args)):
            name = names[place] if place < len(names) else ""
            if name not in supplied:
                given.append((name, args[place]))
        if kwargs:
            given += [(name, value) for name, value in kwargs.items() if name not in supplied]
        return given

    def _named(self, name: str, value: Any) -> tuple[float, str] | None:
        """The question in an argument that is named like one, or in a field of it that is."""
        rank = self._ranks.get(name)
        if rank is None and name not in self._parameters:
            rank = self._rank(name)
        if rank is not None:
            text = question_in(value, depth=1)
            return None if text is None else (rank, text)
        ranked = None if value is None or type(value) is str else ranked_in(value)
        return None if ranked is None else (ranked[0] + _IN_FIELD, ranked[1])

    def _guessed(self, given: list[tuple[str, Any]], web: object) -> Ranked | None:
        """The only text, those that are annotated so before others."""
        texts = [(name, value) for name, value in given if type(value) is str and may_ask(name)]
        if not texts:
            return None
        route = set(names_in_path(self._routes, (value for _, value in given), web))
        for annotated in (True, None):
            some = [
                (name, value)
                for name, value in texts
                if name not in route and self._is_text(name) is annotated
            ]
            required = [(name, value) for name, value in some if self._is_required(name)]
            if len(required) == 1:
                some = required
            if len(some) == 1:
                return GUESSED, some[0][1]
            if some:
                self._say_none_of(some)
                break
        return None

    def _is_text(self, name: str) -> bool | None:
        parameter = self._parameters.get(name)
        return None if parameter is None else parameter.text

    def _is_required(self, name: str) -> bool:
        parameter = self._parameters.get(name)
        return parameter is None or parameter.required

    def _rank(self, name: str) -> float | None:
        rank = rank_of_argument(name)
        return rank - GUESSED if self._query and name in QUERY_NAMES and rank is not None else rank

    def _say_none_of(self, given: list[tuple[str, Any]]) -> None:
        if not self._warned:
            self._warned = True
            function = getattr(self._function, "__qualname__", "a function")
            GUARD.warn_once(
                f"question {function}",
                "more than one argument of %s may be the question (%s), so none is taken; say "
                "which with %s",
                function,
                ", ".join(name or "*" for name, _ in given),
                "with rm.retrieval(query=…)" if self._query else "@rm.trace(question=…)",
            )
