"""What callers send, held against what there is: a mistake is told, not obeyed.

Names and parameters that nobody knows, and JSON objects that name a key twice.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Coroutine
from typing import Any, Final

from fastapi import Request
from fastapi.routing import APIRoute
from starlette.responses import Response

from rag_monitor.exposition.snapshot import LATENCIES
from rag_monitor.i18n import Message, msgid
from rag_monitor.ingest.strict_json import repeated_key
from rag_monitor.metrics.rag import METRICS
from rag_monitor.server.problems import ProblemError
from rag_monitor.spelling import nearest

METRIC_NAMES: Final = METRICS
"""Every metric that traces are scored by. None can be added: judges are plug-ins, metrics not."""


_NOT_KEPT: Final = {
    "environment": Message(
        "nothing is told apart by it; give what must be told apart names of its own in `app` or "
        "`release`."
    ),
    "knowledge_base": Message(
        "only /api/v1/series can be asked for one; /api/v1/summary tells the metrics of each "
        "under `knowledge_bases`."
    ),
    "release": Message("what is asked for here is not kept by release."),
}
"""Filters that callers may expect everywhere: why they are refused where nothing would apply them.
Answering for all traces instead would be a wrong answer."""


def require_known(field: str, name: str, known: Collection[str], kind: str | None = None) -> None:
    """Refuse a name that is none of `known`; of a `kind`, where the field is called otherwise.

    Raises:
        ProblemError: 422, with the nearest name there is.
    """
    if name not in known:
        raise ProblemError(
            422, "`{field}`: {reason}", field=field, reason=_unknown(kind or field, name, known)
        )


def check_parameters(request: Request) -> None:
    """Refuse query parameters of the API that would be left unread, and nobody told.

    Nothing here takes lists, so of two values of one name one would be; and so would one that the
    OpenAPI document does not have for this operation.

    Raises:
        ProblemError: 422; for an unknown name with the nearest there is, and all of them.
    """
    names = [name for name, _ in request.query_params.multi_items()]
    if not names or not request.url.path.startswith("/api/v1/"):
        return
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ProblemError(422, "`{name}`: is given more than once.", name=twice[:100])
    operations = request.app.openapi()["paths"].get(request.scope["route"].path_format, {})
    operation = operations.get(request.method.lower())
    if operation is None:
        return
    taken = operation.get("parameters", ())
    known = [parameter["name"] for parameter in taken if parameter["in"] == "query"]
    for name in names:
        if name not in known:
            if name in _NOT_KEPT:
                reason = _NOT_KEPT[name]
            elif known:
                reason = Message(
                    "{unknown} Known are {names}.",
                    unknown=_unknown("parameter", name[:100], known),
                    names=", ".join(known),
                )
            else:
                unknown = _unknown("parameter", name[:100], known)
                reason = Message("{unknown} None is taken here.", unknown=unknown)
            raise ProblemError(
                422,
                "`{field}`: {reason}",
                field=name[:100],
                reason=reason,
                kind="invalid-input",
            )


def known_metric(name: str) -> str:
    """The name, if it is a metric's; for fields of what is sent in.

    Raises:
        ValueError: With the nearest name there is, and all of them.
    """
    if name in LATENCIES:
        raise ValueError(
            Message("{name} is a time, not a score; `/api/v1/summary` has it", name=name)
        )
    if name not in METRIC_NAMES:
        raise ValueError(
            Message(
                "{unknown} Known are {names}",
                unknown=_unknown("metric", name, METRIC_NAMES),
                names=", ".join(METRIC_NAMES),
            )
        )
    return name


def _unknown(kind: str, name: str, known: Collection[str]) -> Message:
    near = nearest(name, known)
    text = msgid("there is no {kind} {name!r}.")
    if near:
        text = msgid("there is no {kind} {name!r}. Did you mean {near!r}?")
    return Message(text, kind=kind, name=name, near=near)


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
    raise ProblemError(
        400,
        "`{key}`: stands twice in one JSON object; name each key once.",
        key=key,
        kind="malformed-payload",
        errors=[{"field": key, "message": Message("stands twice in one JSON object")}],
    )
