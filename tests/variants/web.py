"""Handlers of FastAPI whose question stands among tokens, users and path parameters."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Body, Cookie, Depends, FastAPI, Header, Path, Query, Request, Security
from fastapi.security import APIKeyHeader, HTTPAuthorizationCredentials, HTTPBearer
from pydantic import BaseModel, Field

import rag_monitor as rm

ANSWER = {"answer": "Nine to five."}
app = FastAPI()


def current_user() -> str:
    """Who is signed in."""
    return "user-0042"


def database() -> str:
    """A dependency that is a text."""
    return "postgresql://db.internal/prod"


class Ask(BaseModel):
    """A request body."""

    session: str = "s-1"
    locale: str = "zh-CN"
    question: str = Field(max_length=500)


class Chat(BaseModel):
    """A body with a list of messages."""

    model: str
    messages: list[dict[str, str]]


@app.get("/header")
@rm.trace
async def with_header(authorization: Annotated[str, Header()], question: str) -> Any:
    return ANSWER


@app.get("/default")
@rm.trace
def with_default(
    user: str = Depends(current_user), dsn: str = Depends(database), q: str = Query()
) -> Any:
    return ANSWER


@app.get("/tenants/{tenant}/{version}/ask")
@rm.trace
async def with_path(tenant: str, version: Annotated[str, Path()], query: str) -> Any:
    return ANSWER


@app.post("/body")
@rm.trace
async def with_body(user: Annotated[str, Depends(current_user)], ask: Ask) -> Any:
    return ANSWER


@app.post("/security")
@rm.trace
def with_security(
    key: str = Security(APIKeyHeader(name="x-api-key")), message: str = Body(embed=True)
) -> Any:
    return ANSWER


@app.post("/bearer")
@rm.trace
async def with_bearer(
    credentials: Annotated[HTTPAuthorizationCredentials, Depends(HTTPBearer())],
    csrf: Annotated[str, Cookie()],
    chat: Chat,
) -> Any:
    return ANSWER


@app.post("/one/{tenant}")
@rm.trace
async def with_one_text_beside_the_path(tenant: str, satz: Annotated[str, Body(embed=True)]) -> Any:
    return ANSWER


@app.get("/only/{tenant}")
@rm.trace
async def without_a_question(tenant: str, user: Annotated[str, Depends(current_user)]) -> Any:
    return ANSWER


behind = FastAPI()


@behind.post("/t/{tenant}/chat")
@rm.trace
async def behind_a_middleware(tenant: str, request: Request) -> Any:
    body = await request.json()
    return {"answer": f"{len(body)} fields"}
