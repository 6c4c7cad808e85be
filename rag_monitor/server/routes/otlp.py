"""OTLP over HTTP: traces and logs are taken in, metrics are accepted and ignored."""

from __future__ import annotations

from typing import Final

from fastapi import APIRouter, Request
from starlette.responses import Response

from rag_monitor.i18n import msgid
from rag_monitor.ingest.replies import OtlpReply
from rag_monitor.server.auth import Ingester, ServicesOf
from rag_monitor.server.problems import ProblemError

router = APIRouter(tags=[msgid("OpenTelemetry")])

_PREFIXES: Final = ("/v1", "/api/public/otel/v1")
_JSON: Final = "application/json"
_PROTOBUF: Final = "application/x-protobuf"
_BODY: Final = {
    "requestBody": {
        "required": True,
        "content": {
            _PROTOBUF: {"schema": {"type": "string", "format": "binary"}},
            _JSON: {"schema": {"type": "object"}},
        },
    },
    "responses": {
        "200": {
            "description": "Stored (committed).",
            "content": {
                _PROTOBUF: {"schema": {"type": "string", "format": "binary"}},
                _JSON: {"schema": {"type": "object"}},
            },
        }
    },
}
_IGNORED: Final = {
    **_BODY,
    "requestBody": {
        "required": True,
        "content": {_PROTOBUF: {"schema": {}}, _JSON: {"schema": {}}},
    },
}
"""Metrics are not read, so anything will do."""


async def receive_traces(request: Request, services: ServicesOf, caller: Ingester) -> Response:
    """Take spans in. The 200 comes after the commit, so what was acknowledged is not lost.

    With `?bulk=true` they are history: judged behind live traffic, and by the full judge.
    """
    headers = request.headers
    reply = await services.receiver.receive_traces(
        await request.body(),
        headers.get("content-type", ""),
        headers.get("content-encoding"),
        caller.project,
        bulk=request.query_params.get("bulk") == "true",
    )
    return _response(reply)


async def receive_logs(request: Request, services: ServicesOf, caller: Ingester) -> Response:
    """Take evaluation results and messages of model calls in; other log records are counted."""
    headers = request.headers
    reply = await services.receiver.receive_logs(
        await request.body(),
        headers.get("content-type", ""),
        headers.get("content-encoding"),
        caller.project,
    )
    return _response(reply)


async def ignore_metrics(request: Request, caller: Ingester) -> Response:
    """Accept metrics and ignore them, so that exporters that send every signal stay quiet."""
    del caller
    content_type = request.headers.get("content-type", "").split(";")[0].strip().lower()
    if content_type not in {_JSON, _PROTOBUF}:
        raise ProblemError(415, "Send {protobuf} or {json}.", protobuf=_PROTOBUF, json=_JSON)
    await request.body()
    body = b"{}" if content_type == _JSON else b""
    return Response(body, media_type=content_type)


def _response(reply: OtlpReply) -> Response:
    headers = {k: v for k, v in reply.headers.items() if k.lower() != "content-type"}
    return Response(reply.body, reply.status, headers, media_type=reply.content_type)


for _number, _prefix in enumerate(_PREFIXES):
    for _signal, _route in (
        ("traces", receive_traces),
        ("logs", receive_logs),
        ("metrics", ignore_metrics),
    ):
        router.add_api_route(
            f"{_prefix}/{_signal}",
            _route,
            methods=["POST"],
            response_class=Response,
            openapi_extra=_IGNORED if _signal == "metrics" else _BODY,
            include_in_schema=_number == 0,
            operation_id=f"{_route.__name__}_{_number}",
        )
