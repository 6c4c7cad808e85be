"""A crowd of applications for some seconds, and a database that hangs; `tests.chaos.run --crowd`
does the first for ten minutes.

Other work on the machine slows everything down alike, so what is measured here is compared with
`/healthz`, which does nothing, and within one run.
"""

from __future__ import annotations

import contextlib
import re
import signal
import threading
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from benchmarks.ingest import Template
from tests.chaos.black_hole import Passage, passage
from tests.chaos.crowd import READY_S, SCRAPE_S, STOP_S, Plan, run
from tests.chaos.fleet import Member, serving

pytestmark = pytest.mark.slow

SHORT = Plan(
    per_second=60,
    alone_s=6,
    crowd_s=10,
    settle_s=2,
    scrape_every_s=1.0,
    drain_s=3,
    names=20,
)
DRAIN_S = 2


@pytest.mark.timeout(180)
def test_a_crowd_of_apps_costs_ingest_scrapes_and_readiness_nothing(database_url: str) -> None:
    report = run(SHORT, database_url)

    print(report)
    alone, crowd = report["alone"], report["crowd"]
    assert report["lost"] == 0
    assert report["names_folded"] > 0, "the crowd was no crowd"
    assert report["series"] < 21_000
    assert crowd["scrape_p50_ms"] <= 1000 * SCRAPE_S + 2 * crowd["healthz_p50_ms"]
    assert crowd["ready_max_ms"] <= 1000 * READY_S + 2 * crowd["healthz_max_ms"]
    assert crowd["ingest_p90_ms"] <= 4 * alone["ingest_p90_ms"] + crowd["healthz_max_ms"]
    assert not {what for what in crowd["answers"] if not what.endswith(" 200")}
    assert report["sigterm_s"] <= SHORT.drain_s + STOP_S
    assert report["exit_status"] == 0
    assert report["memory_peak_mib"] < 1_000


@pytest.fixture
def hung(dialect: str, database_url: str, tmp_path: Path) -> Iterator[tuple[Member, Passage]]:
    """A server that has taken traces in, and the way to its database."""
    if dialect != "postgresql":
        pytest.skip("SQLite has no server that hangs")
    address = urlsplit(database_url)
    with passage(address.hostname or "127.0.0.1", address.port or 5432) as way:
        url = database_url.replace(f":{address.port}/", f":{way.port}/")
        (tmp_path / "rag_monitor.toml").write_text(
            f'judge = "embedded-lexical"\n[worker]\ndrain_s = {DRAIN_S}\n', encoding="utf-8"
        )
        server = serving("all", 1, url, tmp_path, {})
        server.start()
        try:
            _until(lambda: server.get("/readyz") == 200, 60)
            template = Template(5, passages=1, words=10)
            _get(server, "/v1/traces", bytes(template.renew()))
            _until(lambda: "rag_monitor_traces_total{" in _get(server, "/metrics")[1], 60)
            yield server, way
        finally:
            server.end()


@pytest.mark.postgresql
@pytest.mark.timeout(180)
def test_a_database_that_hangs_blinds_no_scrape_and_keeps_no_process_alive(
    hung: tuple[Member, Passage],
) -> None:
    server, way = hung
    assert "rag_monitor_store_up 1.0" in _get(server, "/metrics")[1]
    way.hang()

    def ask() -> None:  # people reload pages that do not come; each gives up after a while
        server.get("/api/v1/summary", 2.0)

    people = [threading.Thread(target=ask) for _ in range(60)]
    for one in people:
        one.start()
    _until(lambda: "rag_monitor_store_up 0.0" in _get(server, "/metrics")[1], 20)
    alive = min(_get(server, "/healthz")[2] for _ in range(5))
    status, page, took_s = _get(server, "/metrics")
    assert status == 200
    assert took_s < 1.0 + 3 * alive
    assert "rag_monitor_leads 0.0" in page
    assert not re.search(r"^rag_monitor_traces_total\{", page, re.MULTILINE), "old values are shown"
    ready, _, ready_s = _get(server, "/readyz")
    assert ready_s < 1.0 + 3 * alive
    for one in people:
        one.join()
    _until(lambda: _get(server, "/readyz")[0] == 503, 30)

    began = time.monotonic()
    server.send(signal.SIGTERM)
    assert server.wait(DRAIN_S + 30) == 0
    assert time.monotonic() - began <= DRAIN_S + STOP_S, server.log()
    assert ready in {200, 503}


@pytest.mark.postgresql
@pytest.mark.timeout(180)
def test_a_database_that_hung_for_a_while_is_found_again(hung: tuple[Member, Passage]) -> None:
    server, way = hung
    way.hang()
    _until(lambda: _get(server, "/readyz")[0] == 503, 30)

    way.heal()

    _until(lambda: _get(server, "/readyz")[0] == 200, 30)
    _until(lambda: "rag_monitor_traces_total{" in _get(server, "/metrics")[1], 60)
    server.send(signal.SIGTERM)
    assert server.wait(DRAIN_S + 30) == 0


def _until(ask, within_s: float) -> None:
    ends = time.monotonic() + within_s
    while not ask():
        assert time.monotonic() < ends
        time.sleep(0.1)


def _get(server: Member, path: str, body: bytes | None = None) -> tuple[int, str, float]:
    """Status, text and seconds; a POST where there is a body."""
    request = urllib.request.Request(
        f"http://127.0.0.1:{server.port}{path}",
        body,
        {"Content-Type": "application/x-protobuf"} if body else {},
    )
    began = time.monotonic()
    try:
        with urllib.request.urlopen(request, timeout=15) as answer:
            return answer.status, answer.read().decode(), time.monotonic() - began
    except urllib.error.HTTPError as error:
        with contextlib.closing(error):
            return error.code, error.read().decode(), time.monotonic() - began
