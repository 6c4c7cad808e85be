"""What callers send, compared with what exists, so that a mistake gets a message.

Unknown metrics and parameters, and JSON objects that name a key twice, are refused. A filter that
nothing stored matches (an app, a release) is no error: the empty answer names the nearest value.
Only empty answers are examined, so the others cost nothing more.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Coroutine, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

from fastapi import Request
from fastapi.routing import APIRoute
from starlette.responses import Response

from rag_monitor.aggregation.keys import COMBINED
from rag_monitor.domain.fault import FAULT_METRICS
from rag_monitor.domain.rollup import SATISFACTION_METRIC
from rag_monitor.domain.selection import Selection
from rag_monitor.domain.session_outcome import SESSION_METRICS
from rag_monitor.domain.window import Series, Window
from rag_monitor.exposition.snapshot import LATENCIES
from rag_monitor.i18n import Message, msgid, translate
from rag_monitor.ingest.strict_json import repeated_key
from rag_monitor.metrics.rag import METRICS
from rag_monitor.server.problems import ProblemError
from rag_monitor.server.services import Services
from rag_monitor.spelling import nearest

METRIC_NAMES: Final = METRICS
"""Every metric that traces are scored by. None can be added: judges are plug-ins, metrics not."""
_NOT_KEPT: Final = {
    "environment": Message(
        "nothing is told apart by it; give what must be told apart names of its own in `app` or "
        "`release`."
    ),
    "knowledge_base": Message(
        "only /api/v1/series, /api/v1/faults, /api/v1/documents and lists of traces and sessions "
        "can be asked for one; "
        "/api/v1/summary tells the metrics of each under `knowledge_bases`."
    ),
    "release": Message("what is asked for here is not kept by release."),
}
"""Filters that callers may expect everywhere: why they are refused where nothing would apply them.
Answering for all traces instead would be a wrong answer."""


def require_known(field: str, name: str, names: Collection[str], kind: str | None = None) -> None:
    """Refuse a name that is none of `names`; of a `kind`, where the field is called otherwise.

    Raises:
        ProblemError: 422, with the nearest name there is.
    """
    if name not in names:
        raise ProblemError(
            422, "`{field}`: {reason}", field=field, reason=_unknown(kind or field, name, names)
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
    parameters = [parameter["name"] for parameter in taken if parameter["in"] == "query"]
    for name in names:
        if name not in parameters:
            if name in _NOT_KEPT:
                reason = _NOT_KEPT[name]
            elif parameters:
                reason = Message(
                    "{unknown} Known are {names}.",
                    unknown=_unknown("parameter", name[:100], parameters),
                    names=", ".join(parameters),
                )
            else:
                unknown = _unknown("parameter", name[:100], parameters)
                reason = Message("{unknown} None is taken here.", unknown=unknown)
            raise ProblemError(
                422,
                "`{field}`: {reason}",
                field=name[:100],
                reason=reason,
                kind="invalid-input",
            )


def known_in_series(name: str) -> str:
    """The name, if it is a metric's: also of the share of a fault, of users' ratings, of sessions.

    Raises:
        ValueError: As `known_metric`.
    """
    if name in FAULT_METRICS or name == SATISFACTION_METRIC or name in SESSION_METRICS:
        return name
    return known_metric(name)


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


def _unknown(kind: str, name: str, names: Collection[str]) -> Message:
    near = nearest(name, names)
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
    unique = dict(pairs)
    if len(unique) == len(pairs):
        return unique
    key = repeated_key(pairs)
    raise ProblemError(
        400,
        "`{key}`: stands twice in one JSON object; name each key once.",
        key=key,
        kind="malformed-payload",
        errors=[{"field": key, "message": Message("stands twice in one JSON object")}],
    )


_FEW: Final = 8
"""So many names are all told where none is near."""

_MOST_APPS: Final = 50
"""Of more, nobody looks through every release for a name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unknown:
    """A filter whose value nothing stored has."""

    field: str
    value: str
    near: str | None = None
    """The nearest value there is, if any is near."""
    choices: tuple[str, ...] = ()
    """All values there are, where they are few and none is near."""

    @classmethod
    def of(cls, field: str, value: str, choices: Collection[str]) -> Unknown:
        """With what there is instead."""
        near = nearest(value, choices)
        few = () if near is not None or len(choices) > _FEW else tuple(choices)
        return cls(field=field, value=value, near=near, choices=few)

    @property
    def message(self) -> Message:
        """A sentence for callers of the API."""
        text = msgid("`{field}`: nothing stored here has {field} {value!r}.")
        if self.near is not None:
            text = msgid(
                "`{field}`: nothing stored here has {field} {value!r}. Did you mean {near!r}?"
            )
        elif len(self.choices) == 1:
            text = msgid(
                "`{field}`: nothing stored here has {field} {value!r}. There is only {names}."
            )
        elif self.choices:
            text = msgid("`{field}`: nothing stored here has {field} {value!r}. There are {names}.")
        names = ", ".join(map(repr, self.choices))
        return Message(text, field=self.field, value=self.value, near=self.near, names=names)


def unknown_names(
    services: Services,
    project: str,
    *,
    app: str | None = None,
    release: str | None = None,
    further: Collection[str] = (),
    apps: Sequence[str] | None = None,
) -> list[Unknown]:
    """Which of these names no trace has.

    Args:
        services: Where traces are.
        project: Tenant.
        app: Name of an app; None: not asked about.
        release: Name of a release; None: not asked about.
        further: Apps that are known otherwise.
        apps: Those with traces, where they were read already.
    """
    if app is None and release is None:
        return []
    if apps is None:
        apps = [summary.app for summary in services.traces.apps(project)]
    if app is not None and app not in apps and app not in further:
        return [Unknown.of("app", app, apps)]
    if release is None:
        return []
    of_apps = apps if app is None else [app]
    if len(of_apps) > _MOST_APPS:
        return []
    releases = list(
        dict.fromkeys(name for one in of_apps for name in services.traces.releases(project, one))
    )
    return [] if release in releases else [Unknown.of("release", release, releases)]


def unknown_in_series(services: Services, series: Series, window: Window) -> list[Unknown]:
    """Which filters of a series that holds no score nothing in the window has."""
    unknown = unknown_names(services, series.project, app=series.app, release=series.release)
    if series.judge != COMBINED:
        anyone = replace(series, judge=COMBINED, release=None, knowledge_base=None)
        judges = [COMBINED, *services.estimates.judges(anyone, window)]
        if series.judge not in judges:
            unknown.append(_unknown_judge(series.judge, judges))
    if series.knowledge_base is not None:
        every = Selection(project=series.project, app=series.app, window=window)
        bases = services.estimates.knowledge_bases(every)
        if series.knowledge_base not in bases:
            unknown.append(Unknown.of("knowledge_base", series.knowledge_base, bases))
    return unknown


def _unknown_judge(value: str, judges: Sequence[str]) -> Unknown:
    """Whoever gives the name alone means the identity, which goes on with model and prompts."""
    unknown = Unknown.of("judge", value, judges)
    by_name = {judge.partition("/")[0]: judge for judge in reversed(judges)}
    near = nearest(value, by_name)
    if unknown.near is not None or near is None:
        return unknown
    return Unknown(field="judge", value=value, near=by_name[near])


def sentences(unknown: Sequence[Unknown], language: str) -> list[str]:
    """What an answer says of them, in a language."""
    return [translate(one.message, language) for one in unknown]


def waiting_for_index(since: datetime | None, language: str) -> list[str]:
    """What an answer says of traces that wait for the index it was read from."""
    if since is None:
        return []
    message = Message(
        "Traces that began at or before {time:%Y-%m-%d %H:%M} UTC are still being indexed for "
        "these filters; until they are, some of them may be missing here.",
        time=since,
    )
    return [translate(message, language)]
