"""Every query of every shipped dashboard returns data from a real Prometheus.

A dashboard that says "No data" on a healthy system is the classic failure; this is its test.
"""

from __future__ import annotations

import json
import math
import shutil
import subprocess
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
import yaml

from tests.acceptance import traffic
from tests.acceptance.running import Monitor, eventually, free_port, http, monitor

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

DASHBOARDS = Path(__file__).resolve().parents[2] / "deploy" / "grafana" / "dashboards"
WITHIN_S = 45.0


@dataclass(frozen=True)
class Asked:
    """One query of one panel."""

    dashboard: str
    panel: str
    expr: str


def _queries() -> list[Asked]:
    found = []
    for path in sorted(DASHBOARDS.glob("*.json")):
        content = json.loads(path.read_text("utf-8"))
        for panel in content["panels"]:
            for target in panel["targets"]:
                found.append(Asked(path.stem, panel["title"], target["expr"]))
    return found


def _as_grafana_sends_it(expr: str) -> str:
    """The expression with everything chosen, as after opening the dashboard."""
    for name, value in {
        "$app": "shop-en|shop-zh",
        "$release": ".*",
        "$__rate_interval": "15s",
    }.items():
        expr = expr.replace(name, value)
    assert "$" not in expr, expr
    return expr


class Traffic:
    """Posts small batches until it is told to stop, so that rates have something to show."""

    def __init__(self, target: Monitor) -> None:
        self._target = target
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._post)
        self.refused = 0

    def __enter__(self) -> Traffic:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _post(self) -> None:
        turn = 0
        while not self._over.is_set():
            rows = [
                row
                | {"id": f"{turn}-{row['id']}", "release": f"v{1 + turn % 2}"}
                | {"answer": row["answer"] and f"{row['answer']} [1]"}
                | {
                    "hits": [
                        *row["hits"],
                        {"kind": "workflow", "name": "answer", "ok": True},
                        {"kind": "knowledge_base", "name": "support", "ok": True, "items": 2},
                    ]
                }
                for row in traffic.rows(12)
            ]
            rows += _ended_sessions(turn)
            self.refused += (
                self._target.post("/api/v1/traces", json.dumps(rows).encode()).status >= 300
            )
            turn += 1
            self._over.wait(1.0)


def _ended_sessions(turn: int) -> list[dict[str, Any]]:
    """Conversations of two turns that have been over for a while, soon enough for an interval."""
    began = datetime.now(UTC) - timedelta(minutes=40)
    return [
        row
        | {
            "id": f"ended-{turn}-{row['id']}-{place}",
            "session_id": f"{turn}-{row['id']}",
            "started_at": (began + timedelta(seconds=place)).isoformat(),
            "release": f"v{1 + turn % 2}",
        }
        for row in traffic.rows(16)
        for place in range(2)
    ]


class Prometheus:
    """A real one that scrapes the monitor every second."""

    def __init__(self, folder: Path, target: Monitor) -> None:
        self.url = f"http://127.0.0.1:{free_port()}"
        self.target = target
        config = folder / "prometheus.yml"
        job = {
            "job_name": "rag-monitor",
            "static_configs": [{"targets": [target.url.removeprefix("http://")]}],
        }
        config.write_text(
            yaml.safe_dump({"global": {"scrape_interval": "1s"}, "scrape_configs": [job]})
        )
        with (folder / "prometheus.log").open("wb") as log:
            self._process = subprocess.Popen(
                [
                    "prometheus",
                    f"--config.file={config}",
                    f"--storage.tsdb.path={folder / 'data'}",
                    f"--web.listen-address={self.url.removeprefix('http://')}",
                    "--enable-feature=exemplar-storage",
                ],
                stdout=log,
                stderr=log,
                cwd=folder,
            )

    def stop(self) -> None:
        self._process.terminate()
        self._process.wait(timeout=20)

    def ready(self) -> bool:
        try:
            return http("GET", f"{self.url}/-/ready").status == 200
        except OSError:
            return False

    def values(self, expr: str) -> list[float]:
        """The instant vector; an expression Prometheus cannot read fails the test."""
        reply = http("GET", f"{self.url}/api/v1/query?{urlencode({'query': expr})}")
        answer: dict[str, Any] = reply.json
        assert reply.status == 200, f"{expr}\n{answer.get('error')}"
        return [float(sample["value"][1]) for sample in answer["data"]["result"]]

    def exemplars(self, expr: str) -> list[str]:
        """Ids of the traces that stand for buckets of the last hour."""
        now = time.time()
        asked = urlencode({"query": expr, "start": now - 3600, "end": now + 60})
        answer = http("GET", f"{self.url}/api/v1/query_exemplars?{asked}").json
        return [
            exemplar["labels"]["trace_id"]
            for series in answer["data"]
            for exemplar in series["exemplars"]
        ]

    def label_values(self, label: str) -> list[str]:
        return list(http("GET", f"{self.url}/api/v1/label/{label}/values").json["data"])


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prometheus]:
    if shutil.which("prometheus") is None:
        pytest.skip("no prometheus on the PATH")
    folder = tmp_path_factory.mktemp("grafana")
    with monitor(folder, f"sqlite:///{folder / 'monitor.db'}") as running, Traffic(running) as sent:
        prometheus = Prometheus(folder, running)
        try:
            eventually(prometheus.ready)
            yield prometheus
        finally:
            prometheus.stop()
        assert sent.refused == 0


def _has_data(values: list[float]) -> bool:
    return bool(values) and not any(math.isnan(value) for value in values)


def test_every_panel_shows_data(watched: Prometheus) -> None:
    waiting = {asked: _as_grafana_sends_it(asked.expr) for asked in _queries()}
    assert len(waiting) >= 30

    def still_empty() -> list[str]:
        for asked, expr in list(waiting.items()):
            if _has_data(watched.values(expr)):
                del waiting[asked]
        return [f"{asked.dashboard} / {asked.panel}: {asked.expr}" for asked in waiting]

    try:
        eventually(lambda: not still_empty(), WITHIN_S, every_s=1.0)
    except AssertionError:
        pytest.fail("no data for:\n" + "\n".join(still_empty()))


def test_the_variables_offer_apps_and_releases(watched: Prometheus) -> None:
    eventually(lambda: {"shop-en", "shop-zh"} <= set(watched.label_values("app")), WITHIN_S)
    eventually(lambda: {"v1", "v2"} <= set(watched.label_values("release")), WITHIN_S)


def test_dots_on_latency_charts_are_traces_that_have_a_page(watched: Prometheus) -> None:
    with_exemplars = [
        target["expr"]
        for path in DASHBOARDS.glob("*latency.json")
        for panel in json.loads(path.read_text("utf-8"))["panels"]
        for target in panel["targets"]
        if target.get("exemplar")
    ]
    assert len(with_exemplars) == 2
    for expr in with_exemplars:
        asked = _as_grafana_sends_it(expr)
        trace_id = eventually(lambda asked=asked: watched.exemplars(asked), WITHIN_S)[0]
        assert watched.target.get(f"/traces/{trace_id}").status == 200
