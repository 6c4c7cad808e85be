"""A client over ASGI: no socket, no thread of ours."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable

import httpx
import pytest
from fastapi import FastAPI

from rag_monitor.server.app import create_app
from rag_monitor.server.services import Services
from tests.unit.server.fakes import make_services

Connect = Callable[..., httpx.AsyncClient]


def open_client(services: Services, **settings: object) -> httpx.AsyncClient:
    return open_app(create_app(services), **settings)


def open_app(app: FastAPI, **settings: object) -> httpx.AsyncClient:
    transport = httpx.ASGITransport(app=app)
    settings.setdefault("base_url", "http://127.0.0.1:8700")
    return httpx.AsyncClient(transport=transport, **settings)  # type: ignore[arg-type]


@pytest.fixture
def services() -> Services:
    return make_services()


@pytest.fixture
async def client(services: Services) -> AsyncIterator[httpx.AsyncClient]:
    async with open_client(services) as client:
        yield client


@pytest.fixture
def locked() -> Services:
    return make_services(api_key="master-key")


@pytest.fixture
async def outsider(locked: Services) -> AsyncIterator[httpx.AsyncClient]:
    """Talks to a server with a key, and has none."""
    async with open_client(locked) as client:
        yield client
