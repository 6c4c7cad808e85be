"""Requests that are slow hold up one another only."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace

import httpx
import pytest
from fastapi import FastAPI

from rag_monitor.config.options import HttpOptions
from rag_monitor.domain.stored import ApiKey, KeyScope
from rag_monitor.errors import StoreUnavailable
from rag_monitor.server.app import create_app
from rag_monitor.server.concurrency_limit import ConcurrencyLimit
from rag_monitor.server.readiness import HealthReport, Readiness
from rag_monitor.server.services import Services
from rag_monitor.telemetry import REGISTRY
from tests.unit.server.conftest import open_app, open_client
from tests.unit.server.fakes import fake_metrics, make_services

PROTOBUF = {"content-type": "application/x-protobuf"}


class Hanging:
    """What hangs until it is let go, and how many are in it."""

    def __init__(self) -> None:
        self.gate = threading.Event()
        self.inside = 0

    def __call__(self, *_: object, **__: object) -> object:
        self.inside += 1
        self.gate.wait(30)
        raise StoreUnavailable


@pytest.fixture
def hanging() -> Iterator[Hanging]:
    made = Hanging()
    yield made
    made.gate.set()


async def until(ask, within_s: float = 10.0) -> None:
    ends = time.monotonic() + within_s
    while not ask():
        assert time.monotonic() < ends
        await asyncio.sleep(0.01)


@pytest.fixture
async def stuck(hanging: Hanging) -> AsyncIterator[httpx.AsyncClient]:
    """A server whose every page hangs with the database, and more wait than it lets in."""
    services = make_services()
    services.traces.search = hanging  # type: ignore[method-assign]
    http = HttpOptions(threads=2, waiting_requests=3)
    services = replace(services, settings=replace(services.settings, http=http))
    async with open_client(services) as client:
        asked = [asyncio.create_task(client.get("/api/v1/traces")) for _ in range(5)]
        await until(lambda: hanging.inside == 2)
        yield client
        hanging.gate.set()
        for answer in await asyncio.gather(*asked):
            assert answer.status_code == 503


async def test_ingest_scrapes_and_health_are_answered_while_every_page_hangs(
    stuck: httpx.AsyncClient,
) -> None:
    began = time.monotonic()
    answers = [
        await stuck.post("/v1/traces", content=b"", headers=PROTOBUF),
        await stuck.post("/api/v1/traces", json={"question": "q", "answer": "a"}),
        await stuck.post("/v1/traces", content=b"", headers={"content-type": "text/plain"}),
        await stuck.get("/metrics"),
        await stuck.get("/readyz"),
        await stuck.get("/healthz"),
    ]

    assert [answer.status_code for answer in answers] == [200, 200, 200, 200, 200, 200]
    assert time.monotonic() - began < 5.0


async def test_more_than_may_wait_are_told_to_come_again(stuck: httpx.AsyncClient) -> None:
    labels = {"stage": "server", "reason": "too_many_requests"}
    before = REGISTRY.get_sample_value("rag_monitor_dropped_total", labels) or 0.0

    answer = await stuck.get("/api/v1/summary")

    assert answer.status_code == 503
    assert answer.headers["retry-after"] == "5"
    assert REGISTRY.get_sample_value("rag_monitor_dropped_total", labels) == before + 1


def scope(method: str = "GET", path: str = "/api/v1/traces") -> dict[str, object]:
    return {"type": "http", "method": method, "path": path}


async def test_who_has_left_while_waiting_is_not_served_any_more() -> None:
    """A page that is slow and reloaded ten times is made once more, not ten times."""
    served: list[str] = []
    gate = asyncio.Event()

    async def app(scope, receive, send) -> None:
        served.append(scope["name"])
        await gate.wait()

    def asking(name: str, left: asyncio.Event) -> asyncio.Task[None]:
        messages = [{"type": "http.request", "body": b"", "more_body": False}]

        async def receive() -> dict[str, object]:
            if messages:
                return messages.pop()
            await left.wait()
            return {"type": "http.disconnect"}

        return asyncio.create_task(turns({**scope(), "name": name}, receive, None))  # type: ignore[arg-type]

    turns = ConcurrencyLimit(app, 1, 100)
    stays, leaves = asyncio.Event(), asyncio.Event()
    first = asking("first", stays)
    await until(lambda: served == ["first"])
    gone = [asking(f"gone-{n}", leaves) for n in range(10)]
    last = asking("last", stays)
    await asyncio.sleep(0.05)
    leaves.set()
    await asyncio.gather(*gone)
    gate.set()
    await asyncio.gather(first, last)

    assert served == ["first", "last"]


async def test_a_body_that_came_while_waiting_is_not_lost() -> None:
    gate, seen = asyncio.Event(), []

    async def app(scope, receive, send) -> None:
        if scope["path"] == "/slow":
            await gate.wait()
            return
        while (message := await receive())["type"] == "http.request":
            seen.append(message["body"])
            if not message["more_body"]:
                return

    messages = [
        {"type": "http.request", "body": b"a", "more_body": True},
        {"type": "http.request", "body": b"b", "more_body": False},
    ]

    async def receive() -> dict[str, object]:
        if messages:
            return messages.pop(0)
        await asyncio.Event().wait()
        raise AssertionError

    turns = ConcurrencyLimit(app, 1, 100)
    slow = asyncio.create_task(turns(scope(path="/slow"), receive, None))  # type: ignore[arg-type]
    await asyncio.sleep(0.01)
    waiting = asyncio.create_task(turns(scope(), receive, None))  # type: ignore[arg-type]
    await asyncio.sleep(0.05)
    gate.set()
    await asyncio.gather(slow, waiting)

    assert seen == [b"a", b"b"]


async def test_turns_are_given_on_when_those_who_wait_are_cancelled() -> None:
    gate = asyncio.Event()

    async def app(scope, receive, send) -> None:
        await gate.wait()

    async def receive() -> dict[str, object]:
        await asyncio.Event().wait()
        raise AssertionError

    turns = ConcurrencyLimit(app, 1, 100)
    first = asyncio.create_task(turns(scope(), receive, None))  # type: ignore[arg-type]
    waiting = [asyncio.create_task(turns(scope(), receive, None)) for _ in range(3)]  # type: ignore[arg-type]
    await asyncio.sleep(0.02)
    waiting[0].cancel()
    gate.set()
    done = await asyncio.wait_for(asyncio.gather(first, *waiting, return_exceptions=True), 5)

    assert [type(one) for one in done] == [
        type(None),
        asyncio.CancelledError,
        type(None),
        type(None),
    ]
    await asyncio.wait_for(turns(scope(), receive, None), 5)  # type: ignore[arg-type]


async def test_readiness_is_told_within_a_second_while_the_database_hangs(
    hanging: Hanging,
) -> None:
    readiness = Readiness(hanging)  # type: ignore[arg-type]
    began = time.monotonic()

    reports = await asyncio.gather(*(readiness.report() for _ in range(20)))

    assert time.monotonic() - began < 1.0
    assert {report.ready for report in reports} == {False}
    assert hanging.inside == 1, "all who ask share one look"


async def test_a_look_that_is_late_is_stood_for_by_the_one_before_but_not_for_long(
    monkeypatch: pytest.MonkeyPatch, hanging: Hanging
) -> None:
    looks = [lambda: HealthReport(ready=True, checks={"store": "ok"}), hanging]
    readiness = Readiness(lambda: looks.pop(0)())  # type: ignore[arg-type,return-value]
    assert (await readiness.report()).ready

    assert (await readiness.report()).ready

    monkeypatch.setattr("rag_monitor.server.readiness.BELIEVED_S", 0.0)
    late = await readiness.report()
    assert not late.ready
    assert "has not answered" in late.checks["store"]


def keyed(services: Services) -> str:
    key, _ = services.keys.create("default", "prometheus", [KeyScope.READ])
    return key


async def test_a_known_scraper_is_answered_while_the_database_hangs(
    locked: Services, hanging: Hanging, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rag_monitor.server.scrapers._AGAIN_S", 0.0)
    headers = {"x-api-key": keyed(locked)}
    async with open_client(locked) as client:
        assert (await client.get("/metrics", headers=headers)).status_code == 200
        monkeypatch.setattr(locked.keys, "authenticate", hanging)

        began = time.monotonic()
        answers = [(await client.get("/metrics", headers=headers)).status_code for _ in range(5)]
        assert time.monotonic() - began < 1.0
        hanging.gate.set()

    assert answers == [200] * 5


async def test_a_revoked_scraper_is_refused_after_one_more_scrape(
    locked: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rag_monitor.server.scrapers._AGAIN_S", 0.0)
    headers = {"x-api-key": keyed(locked)}
    async with open_client(locked) as client:
        assert (await client.get("/metrics", headers=headers)).status_code == 200
        (key,) = locked.keys.list("default")
        locked.keys.revoke("default", key.id)
        await client.get("/metrics", headers=headers)
        await asyncio.sleep(0.2)

        assert (await client.get("/metrics", headers=headers)).status_code == 401


async def test_a_scraper_sees_its_own_project_whoever_scraped_before(locked: Services) -> None:
    seen: list[str | None] = []

    def metrics(
        project: str | None, open_metrics: bool, compressed: bool = False
    ) -> tuple[bytes, str]:
        seen.append(project)
        return fake_metrics(project, open_metrics, compressed)

    services = replace(locked, metrics_text=metrics)
    keys = [services.keys.create(project, "p", [KeyScope.READ])[0] for project in ("a", "b")]
    ingest_only, _ = services.keys.create("a", "i", [KeyScope.INGEST])
    async with open_client(services) as client:
        for key in (*keys, *keys):
            await client.get("/metrics", headers={"x-api-key": key})
        forbidden = await client.get("/metrics", headers={"x-api-key": ingest_only})
        again = await client.get("/metrics", headers={"x-api-key": ingest_only})
        nobody = await client.get("/metrics")

    assert seen == ["a", "b", "a", "b"]
    assert (forbidden.status_code, again.status_code, nobody.status_code) == (403, 403, 401)


async def test_a_sender_whose_key_cannot_be_looked_up_is_told_to_come_again(
    locked: Services, hanging: Hanging, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rag_monitor.server.auth._LOOKUP_S", 0.1)
    key, _ = locked.keys.create("default", "app", [KeyScope.INGEST])
    monkeypatch.setattr(locked.keys, "authenticate", hanging)
    async with open_client(locked) as client:
        headers = {**PROTOBUF, "x-api-key": key}
        answers = [
            (await client.post("/v1/traces", content=b"", headers=headers)).status_code
            for _ in range(8)
        ]
        with_configured = await client.post(
            "/v1/traces", content=b"", headers={**PROTOBUF, "x-api-key": "master-key"}
        )
        hanging.gate.set()

    assert answers == [503] * 8
    assert with_configured.status_code == 200, "who needs no look-up is not held up"


async def test_keys_are_looked_up_over_connections_kept_for_that(locked: Services) -> None:
    asked: list[bool] = []
    inside = threading.local()

    class Reserved:
        def __enter__(self) -> None:
            inside.reserved = True

        def __exit__(self, *_: object) -> None:
            inside.reserved = False

    real = locked.keys.authenticate

    def authenticate(text: str) -> ApiKey | None:
        asked.append(getattr(inside, "reserved", False))
        return real(text)

    locked.keys.authenticate = authenticate  # type: ignore[method-assign]
    services = replace(locked, reserved=Reserved)
    key, _ = services.keys.create("default", "app", [KeyScope.INGEST, KeyScope.READ])
    app: FastAPI = create_app(services)
    async with open_app(app, headers={"x-api-key": key}) as client:
        await client.post("/v1/traces", content=b"", headers=PROTOBUF)
        await client.get("/metrics")
        await client.get("/api/v1/traces")

    assert asked == [True, True, False]


@pytest.mark.parametrize(
    ("accepted", "encoding"),
    [
        ("gzip", "gzip"),
        ("deflate, GZIP;q=0.5", "gzip"),
        ("gzip;q=0", None),
        ("br, gzip; q=0.00", None),
        ("identity", None),
        ("xgzip", None),
    ],
)
async def test_a_scraper_that_takes_gzip_gets_it(
    locked: Services, accepted: str, encoding: str | None
) -> None:
    async with open_client(locked, headers={"x-api-key": "master-key"}) as client:
        answer = await client.get("/metrics", headers={"accept-encoding": accepted})

    assert answer.headers.get("content-encoding") == encoding
    assert answer.text.startswith("# HELP rag_monitor_score"), "httpx has unpacked it"
    assert "Accept-Encoding" in answer.headers["vary"]
