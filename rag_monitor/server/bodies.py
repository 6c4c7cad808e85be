"""Bodies of the API: a JSON object that names a key twice is refused, not obeyed by its last."""

from __future__ import annotations

import json
from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import Request
from fastapi.routing import APIRoute
from starlette.responses import Response

from rag_monitor.ingest.strict_json import repeated_key
from rag_monitor.server.problems import ProblemError


class OnceRequest(Request):
    """A request whose JSON names every key of an object once."""

    async def json(self) -> Any:
        """The body.

        Raises:
            ProblemError: 400; a key stands twice, so one of its values would be passed over.
        """
        return json.loads(await self.body(), object_pairs_hook=_once)


class OnceRoute(APIRoute):
    """Reads its bodies as `OnceRequest` does."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """The handler, given the stricter request."""
        handler = super().get_route_handler()

        async def strict(request: Request) -> Response:
            return await handler(OnceRequest(request.scope, request.receive))

        return strict


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) == len(pairs):
        return found
    key = repeated_key(pairs)
    detail = f"`{key}`: stands twice in one JSON object; name each key once."
    raise ProblemError(
        400,
        detail,
        kind="malformed-payload",
        errors=[{"field": key, "message": "stands twice in one JSON object"}],
    )
