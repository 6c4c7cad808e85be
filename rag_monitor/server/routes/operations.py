"""What machines that look after us ask: metrics, liveness, readiness."""

from __future__ import annotations

from typing import Final

from fastapi import APIRouter
from starlette.responses import JSONResponse, Response

from rag_monitor import __version__
from rag_monitor.server.auth import Reader, ServicesOf
from rag_monitor.server.schemas.admin import Health

router = APIRouter(tags=["Operations"])

METRICS_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"


@router.get(
    "/metrics",
    response_class=Response,
    responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}},
)
def metrics(services: ServicesOf, caller: Reader) -> Response:
    """The Prometheus text exposition."""
    del caller
    return Response(services.metrics_text(), headers={"Content-Type": METRICS_TYPE})


@router.get("/healthz")
async def healthz() -> Health:
    """Whether the process answers at all. Asks nothing of the database."""
    return Health(status="ok", version=__version__, checks={})


@router.get("/readyz", responses={200: {"model": Health}})
def readyz(services: ServicesOf) -> JSONResponse:
    """Whether the process can do its work; 503 with the reasons when it cannot."""
    report = services.health()
    body = Health(
        status="ok" if report.ready else "unavailable",
        version=__version__,
        checks=dict(report.checks),
    )
    headers = {} if report.ready else {"Retry-After": "5"}
    return JSONResponse(body.model_dump(), 200 if report.ready else 503, headers)
