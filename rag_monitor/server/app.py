"""The composition root of the HTTP side: `create_app` turns `Services` into an application."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Final
from urllib.parse import urlencode

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.responses import RedirectResponse, Response
from starlette.routing import Match

from rag_monitor import __version__
from rag_monitor.errors import NotFound, RagMonitorError
from rag_monitor.i18n import Message
from rag_monitor.server.auth import Gate
from rag_monitor.server.concurrency_limit import ConcurrencyLimit
from rag_monitor.server.csrf import HostGuard
from rag_monitor.server.http_metrics import HttpMetrics
from rag_monitor.server.limits import BodyLimit, LastResort
from rag_monitor.server.openapi import ProblemDetails, document_of
from rag_monitor.server.paced_ingest import PacedIngest
from rag_monitor.server.problems import answer, problem_of, wants_page
from rag_monitor.server.readiness import Readiness
from rag_monitor.server.routes import (
    admin,
    alerts,
    documents,
    faults,
    feedback,
    golden,
    incidents,
    labels,
    operations,
    otlp,
    quality,
    sessions,
    slos,
    topics,
    traces,
)
from rag_monitor.server.services import Services
from rag_monitor.server.ui import (
    actions,
    alert_actions,
    alert_page,
    alert_pages,
    assets,
    compare,
    document_pages,
    documentation,
    judge_page,
    label_pages,
    overview,
    pages,
    rule_actions,
    session_pages,
    single_sign_on,
    slo_page,
    topic_page,
    trace_list,
)
from rag_monitor.server.ui.view import problem_page

_DESCRIPTION: Final = (
    "Quality monitoring for retrieval-augmented generation in production. "
    "Errors are RFC 9457 problem JSON; on /v1 they are a google.rpc.Status."
)
_PROBLEMS: Final = {
    "4XX": {"model": ProblemDetails, "description": "The request is at fault; `detail` says how."},
    "503": {
        "model": ProblemDetails,
        "description": "Passing trouble here; send it again after `Retry-After` seconds.",
    },
}


_PARTS: Final = (
    *(
        otlp,
        traces,
        sessions,
        feedback,
        labels,
        golden,
        quality,
        faults,
        documents,
        topics,
        alerts,
        incidents,
        slos,
        admin,
    ),
    operations,
    *(
        assets,
        overview,
        trace_list,
        label_pages,
        pages,
        alert_pages,
        alert_page,
        slo_page,
        judge_page,
        compare,
        document_pages,
        topic_page,
        session_pages,
        actions,
        alert_actions,
        rule_actions,
        single_sign_on,
    ),
    documentation,
)


@cache
def _surface() -> FastAPI:
    """The routes and the OpenAPI document: both know no services, so every application shares them.

    FastAPI works out what a route takes and answers when it is first matched, milliseconds each,
    and all of it again for the document: a second that a process spends once.
    """
    app = FastAPI(
        title="rag-monitor",
        version=__version__,
        description=_DESCRIPTION,
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        responses=_PROBLEMS,  # type: ignore[arg-type]  # FastAPI's own key type is invariant
    )
    for part in _PARTS:
        app.include_router(part.router)
    app.state.api_routes = tuple(
        route for part in _PARTS for route in part.router.routes if isinstance(route, APIRoute)
    )
    return app


def create_app(services: Services) -> FastAPI:
    """An application over these services. It starts and stops nothing: that is its caller's."""
    surface = _surface()
    app = FastAPI(openapi_url=None, docs_url=None, redoc_url=None, redirect_slashes=False)
    app.state.services = services
    app.state.gate = Gate(services)
    app.state.readiness = Readiness(services.health)
    app.state.api_routes = surface.state.api_routes
    app.router.routes.extend(surface.router.routes)
    for kind in (RagMonitorError, HTTPException, RequestValidationError):
        app.add_exception_handler(kind, _answer_at_once)
    http = services.settings.http
    app.add_middleware(ConcurrencyLimit, at_once=http.threads, waiting=http.waiting_requests)
    app.add_middleware(BodyLimit, options=http)
    app.add_middleware(HostGuard, settings=services.settings)
    app.add_middleware(LastResort, answer=_answer)
    app.add_middleware(PacedIngest)
    app.add_middleware(HttpMetrics, routes=app.state.api_routes)
    app.openapi = lambda: document_of(surface)  # type: ignore[method-assign]
    return app


async def _answer_at_once(request: Request, error: Exception) -> Response:
    """Asynchronous, so that a refusal takes no thread."""
    return _answer(request, error)


def _answer(request: Request, error: Exception) -> Response:
    """Programs get a problem document; people get a page, or are asked to sign in."""
    if isinstance(error, HTTPException) and error.status_code == 405:
        error = HTTPException(405, headers={"Allow": _allowed(request)})
    if not wants_page(request.url.path, request.headers.get("accept", "")):
        return answer(request, error)
    problem = problem_of(error)
    if problem.status == 401:
        query = f"?{request.url.query}" if request.url.query else ""
        target = f"{request.url.path}{query}" if request.method == "GET" else "/"
        return RedirectResponse(f"/login?{urlencode({'next': target})}", 303)
    if isinstance(error, NotFound):
        # What the store says names ids and projects; a person wants to know that it is gone.
        problem = replace(problem, detail=Message("This is not there any more."))
    return problem_page(request, problem)


def _allowed(request: Request) -> str:
    """Every method this address takes; a route by itself knows only its own."""
    methods: set[str] = set()
    for route in request.app.state.api_routes:
        if route.matches(request.scope)[0] is not Match.NONE:
            methods |= route.methods
    return ", ".join(sorted(methods))
