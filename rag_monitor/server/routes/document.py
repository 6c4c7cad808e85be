"""The OpenAPI document."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import JSONResponse

from rag_monitor.server.auth import Reader

router = APIRouter()


@router.get("/openapi.json", include_in_schema=False)
def openapi(request: Request, caller: Reader) -> JSONResponse:
    """What this API takes and gives, for programs."""
    del caller
    return JSONResponse(request.app.openapi())
