"""The OpenAPI document: what FastAPI derives, with the errors and keys that it does not know."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from fastapi import FastAPI
from fastapi.dependencies.models import Dependant
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute
from pydantic import BaseModel, Field

from rag_monitor.domain.stored import KeyScope
from rag_monitor.server.auth import SCOPES
from rag_monitor.server.problems import OTLP_PREFIXES, PROBLEM_TYPE
from rag_monitor.server.schemas import trace_json


class FieldError(BaseModel):
    """One wrong field."""

    field: str = Field(examples=["value"])
    message: str = Field(examples=["Input should be less than or equal to 1"])


class ProblemDetails(BaseModel):
    """What went wrong, and how to mend it."""

    type: str = Field(examples=["urn:rag-monitor:problem:invalid-input"])
    title: str = Field(examples=["Unprocessable Entity"])
    status: int = Field(examples=[422])
    detail: str = Field(examples=["`value`: Input should be less than or equal to 1."])
    instance: str = Field(examples=["/api/v1/feedback"])
    errors: list[FieldError] | None = None


_STATUS: Final = {
    "application/x-protobuf": {
        "schema": {"type": "string", "format": "binary", "description": "google.rpc.Status"}
    },
    "application/json": {
        "schema": {
            "type": "object",
            "description": "google.rpc.Status",
            "properties": {"code": {"type": "integer"}, "message": {"type": "string"}},
            "required": ["code", "message"],
        }
    },
}
_SCHEMES: Final = {
    "ApiKey": {"type": "apiKey", "in": "header", "name": "X-API-Key"},
    "Bearer": {"type": "http", "scheme": "bearer"},
}


def document_of(app: FastAPI) -> dict[str, Any]:
    """The document, made once."""
    if app.openapi_schema is None:
        document = get_openapi(
            title=app.title, version=app.version, description=app.description, routes=app.routes
        )
        scopes = {(route.path_format, method): needed for route, method, needed in _needs(app)}
        for path, operations in document["paths"].items():
            for method, operation in operations.items():
                _errors(operation, otlp=path.startswith(OTLP_PREFIXES))
                _parameters(operation)
                operation["security"] = _security(scopes.get((path, method.upper()), ()))
        schemas = document["components"]["schemas"]
        for unused in ("HTTPValidationError", "ValidationError"):
            schemas.pop(unused, None)
        schemas[trace_json.NAME] = trace_json.TRACE_JSON
        document["components"]["securitySchemes"] = _SCHEMES
        app.openapi_schema = document
    return app.openapi_schema


def _needs(app: FastAPI) -> Iterator[tuple[APIRoute, str, tuple[KeyScope, ...]]]:
    routes: tuple[APIRoute, ...] = app.state.api_routes
    for route in routes:
        needed = _scopes(route.dependant)
        for method in route.methods or ():
            yield route, method, needed


def _scopes(dependant: Dependant) -> tuple[KeyScope, ...]:
    """The scopes of which a caller of this route needs one; empty: no key at all."""
    scopes: tuple[KeyScope, ...] = getattr(dependant.call, SCOPES, ())
    for part in dependant.dependencies:
        scopes = scopes or _scopes(part)
    return scopes


def _security(scopes: tuple[KeyScope, ...]) -> list[dict[str, list[str]]]:
    """One entry per way in: any one of the scopes will do, and a header of either kind."""
    return [{scheme: [scope.value]} for scope in scopes for scheme in _SCHEMES]


def _parameters(operation: dict[str, Any]) -> None:
    """A parameter that is left out is left out: an address has no word for null."""
    for parameter in operation.get("parameters", ()):
        schema = parameter["schema"]
        choices = [choice for choice in schema.get("anyOf", ()) if choice != {"type": "null"}]
        if len(choices) == 1:
            del schema["anyOf"]
            schema.update(choices[0])


def _errors(operation: dict[str, Any], *, otlp: bool) -> None:
    """Errors are problem JSON (on OTLP paths a Status), and 422 is one of them."""
    responses: Mapping[str, Any] = operation.get("responses", {})
    operation["responses"].pop("422", None)
    for status, response in responses.items():
        content = response.get("content", {})
        if status in {"4XX", "503"} and "application/json" in content:
            problem = {PROBLEM_TYPE: content["application/json"]}
            response["content"] = _STATUS if otlp else problem
