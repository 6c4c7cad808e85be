"""Style sheet, script and icon, served from memory with the right types."""

from __future__ import annotations

from importlib import resources
from typing import Final

from fastapi import APIRouter
from starlette.responses import Response

from rag_monitor.server.problems import ProblemError

router = APIRouter(include_in_schema=False)

_TYPES: Final = {
    "app.css": "text/css",
    "app.js": "text/javascript",
    "charts.js": "text/javascript",
    "icon.svg": "image/svg+xml",
}
_FOLDER: Final = resources.files("rag_monitor.server.ui").joinpath("static")
_CONTENT: Final = {name: _FOLDER.joinpath(name).read_bytes() for name in _TYPES}


@router.get("/static/{name}")
async def asset(name: str) -> Response:
    """One file; there are no others, and ranges are not served."""
    if name not in _CONTENT:
        raise ProblemError(404, "There is no such file.", kind="not-found")
    headers = {"Cache-Control": "public, max-age=3600"}
    return Response(_CONTENT[name], headers=headers, media_type=_TYPES[name])


@router.get("/favicon.ico")
async def favicon() -> Response:
    """The icon, for browsers that ask without being told."""
    return await asset("icon.svg")
