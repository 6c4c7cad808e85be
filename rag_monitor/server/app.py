"""The composition root of the HTTP side: `create_app` turns `Services` into an application."""

from __future__ import annotations

from typing import Any, Final
from urllib.parse import urlencode

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.openapi.utils import get_openapi
from starlette.exceptions import HTTPException
from starlette.responses import RedirectResponse, Response

from rag_monitor import __version__
from rag_monitor.errors import RagMonitorError
from rag_monitor.server.auth import Gate
from rag_monitor.server.context import Services
from rag_monitor.server.limits import BodyLimit, HostGuard, LastResort
from rag_monitor.server.problems import PROBLEM_TYPE, answer, problem_of, wants_page
from rag_monitor.server.routes import (
    admin,
    alerts,
    document,
    feedback,
    operations,
    otlp,
    quality,
    traces,
)
from rag_monitor.server.schemas.problem import ProblemDetails
from rag_monitor.server.ui import actions, assets, documentation, pages
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


def create_app(services: Services) -> FastAPI:
    """An application over these services. It starts and stops nothing: that is its caller's."""
    app = FastAPI(
        title="rag-monitor",
        version=__version__,
        description=_DESCRIPTION,
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        responses=_PROBLEMS,  # type: ignore[arg-type]  # FastAPI's own key type is invariant
    )
    app.state.services = services
    app.state.gate = Gate(services)
    for module in (otlp, traces, feedback, quality, alerts, admin, operations, document):
        app.include_router(module.router)
    for part in (assets, pages, actions, documentation):
        app.include_router(part.router)
    for kind in (RagMonitorError, HTTPException, RequestValidationError):
        app.add_exception_handler(kind, _answer)
    app.add_middleware(BodyLimit, options=services.options)
    app.add_middleware(HostGuard, options=services.options)
    app.add_middleware(LastResort, answer=_answer)
    app.openapi = lambda: _openapi(app)  # type: ignore[method-assign]
    return app


def _answer(request: Request, error: Exception) -> Response:
    """Programs get a problem document; people get a page, or are asked to sign in."""
    if not wants_page(request.url.path, request.headers.get("accept", "")):
        return answer(request, error)
    problem = problem_of(error)
    if problem.status == 401:
        target = request.url.path if request.method == "GET" else "/"
        return RedirectResponse(f"/login?{urlencode({'next': target})}", 303)
    return problem_page(request, problem)


def _openapi(app: FastAPI) -> dict[str, Any]:
    if app.openapi_schema is None:
        document = get_openapi(
            title=app.title, version=app.version, description=app.description, routes=app.routes
        )
        for operations_of_path in document["paths"].values():
            for operation in operations_of_path.values():
                _problem_responses(operation)
        schemas = document["components"]["schemas"]
        for unused in ("HTTPValidationError", "ValidationError"):
            schemas.pop(unused, None)
        document["components"]["securitySchemes"] = {
            "ApiKey": {"type": "apiKey", "in": "header", "name": "X-API-Key"},
            "Bearer": {"type": "http", "scheme": "bearer"},
        }
        document["security"] = [{}, {"ApiKey": []}, {"Bearer": []}]
        app.openapi_schema = document
    return app.openapi_schema


def _problem_responses(operation: dict[str, Any]) -> None:
    """Errors are problem JSON, and 422 is one of them."""
    responses = operation.get("responses", {})
    responses.pop("422", None)
    for status, response in responses.items():
        content = response.get("content", {})
        if status in {"4XX", "503"} and "application/json" in content:
            response["content"] = {PROBLEM_TYPE: content["application/json"]}
