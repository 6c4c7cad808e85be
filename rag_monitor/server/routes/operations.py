"""What machines that look after us ask: metrics, liveness, readiness, the OpenAPI document."""

from __future__ import annotations

import re

from fastapi import APIRouter, Request
from starlette.responses import JSONResponse, Response

from rag_monitor import __version__
from rag_monitor.i18n import msgid
from rag_monitor.server.auth import Reader, Scraper, ServicesOf
from rag_monitor.server.readiness import Readiness
from rag_monitor.server.schemas.admin import Health

router = APIRouter(tags=[msgid("Operations")])


@router.get(
    "/metrics",
    response_class=Response,
    responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}},
)
async def metrics(request: Request, services: ServicesOf, caller: Scraper) -> Response:
    """The Prometheus exposition: about this process, and the values of the key's project.

    In OpenMetrics, with exemplars, where the scraper asks for it; in plain text otherwise.
    As gzip where it takes that.
    """
    project = None if caller.operator else caller.project
    wanted = "application/openmetrics-text" in request.headers.get("accept", "")
    compressed = _takes_gzip(request.headers.get("accept-encoding", ""))
    content, content_type = services.metrics_text(project, wanted, compressed)
    headers = {"Content-Type": content_type, "Vary": "Accept, Accept-Encoding"}
    if compressed:
        headers["Content-Encoding"] = "gzip"
    return Response(content, headers=headers)


def _takes_gzip(accepted: str) -> bool:
    """Whether an `Accept-Encoding` names gzip, and not with the weight 0."""
    for one in accepted.lower().split(","):
        name, *parameters = (part.strip() for part in one.split(";"))
        if name == "gzip":
            return not any(re.fullmatch(r"q\s*=\s*0(\.0*)?", part) for part in parameters)
    return False


@router.get("/healthz")
async def healthz() -> Health:
    """Whether the process answers at all. Asks nothing of the database."""
    return Health(status="ok", version=__version__, checks={})


@router.get("/readyz", responses={200: {"model": Health}})
async def readyz(request: Request) -> JSONResponse:
    """Whether the process can do its work; 503 with the reasons when it cannot.

    `degraded`: it can, and one of the checks says what is wrong all the same.
    """
    readiness: Readiness = request.app.state.readiness
    report = await readiness.report()
    well = all(check == "ok" for check in report.checks.values())
    body = Health(
        status="unavailable" if not report.ready else "ok" if well else "degraded",
        version=__version__,
        checks=dict(report.checks),
    )
    headers = {} if report.ready else {"Retry-After": "5"}
    return JSONResponse(body.model_dump(), 200 if report.ready else 503, headers)


@router.get("/openapi.json", include_in_schema=False)
def openapi(request: Request, caller: Reader) -> JSONResponse:
    """What this API takes and gives, for programs."""
    del caller
    return JSONResponse(request.app.openapi())
