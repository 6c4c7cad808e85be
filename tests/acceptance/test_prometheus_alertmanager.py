"""A regression on its way to a person: monitor, Prometheus, Alertmanager, webhook. All real."""

from __future__ import annotations

import contextlib
import http.server
import json
import shutil
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.running import Monitor, eventually, free_port, monitor
from tests.acceptance.running import http as call

PROGRAMS = ("prometheus", "promtool", "prometheus-alertmanager")
RULE = {
    "name": "faithfulness low",
    "kind": "threshold",
    "metric": "faithfulness",
    "window_s": 300,
    "keep_firing_s": 0,
    "min_judged": 20,
    "params": {"below": 0.8},
}
ALERT = "RagMonitorFaithfulnessLow"
PAGES = "https://monitor.example.com"


@pytest.fixture(autouse=True)
def _installed() -> None:
    missing = [name for name in PROGRAMS if shutil.which(name) is None]
    if missing:
        pytest.skip(f"not installed: {', '.join(missing)} (Debian: apt install prometheus ...)")


class Pager:
    """A webhook receiver that keeps what Alertmanager says about one alert."""

    def __init__(self) -> None:
        self.heard: list[dict[str, Any]] = []
        heard = self.heard

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                heard.extend(a for a in body["alerts"] if a["labels"]["alertname"] == ALERT)
                self.send_response(200)
                self.end_headers()

            def log_message(self, *_: object) -> None:
                """Quiet."""

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self._server.server_address[1]
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))
        self._thread.start()

    def states(self) -> list[str]:
        return [alert["status"] for alert in self.heard]

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


@contextlib.contextmanager
def program(folder: Path, *command: str) -> Iterator[subprocess.Popen[bytes]]:
    """A process that is gone afterwards."""
    log = folder / f"{command[0]}.log"
    with log.open("wb") as out:
        process = subprocess.Popen(command, cwd=folder, stdout=out, stderr=out)
    try:
        yield process
    finally:
        process.kill()
        process.wait(10)


@contextlib.contextmanager
def alert_path(folder: Path, target: int, rules: Path, pager: int) -> Iterator[int]:
    """Prometheus scraping `target`, alerting through Alertmanager to `pager`; gives its port."""
    prometheus, manager = free_port(), free_port()
    (folder / "alertmanager.yml").write_text(
        json.dumps(
            {
                "route": {
                    "receiver": "pager",
                    "group_by": ["alertname", "app"],
                    "group_wait": "0s",
                    "group_interval": "1s",
                },
                "receivers": [
                    {
                        "name": "pager",
                        "webhook_configs": [
                            {"url": f"http://127.0.0.1:{pager}/", "send_resolved": True}
                        ],
                    }
                ],
            }
        )
    )
    (folder / "prometheus.yml").write_text(
        json.dumps(
            {
                "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
                "rule_files": [str(rules)],
                "alerting": {
                    "alertmanagers": [{"static_configs": [{"targets": [f"127.0.0.1:{manager}"]}]}]
                },
                "scrape_configs": [
                    {
                        "job_name": "rag-monitor",
                        "static_configs": [{"targets": [f"127.0.0.1:{target}"]}],
                    }
                ],
            }
        )
    )
    with (
        program(
            folder,
            "prometheus-alertmanager",
            "--config.file=alertmanager.yml",
            f"--web.listen-address=127.0.0.1:{manager}",
            "--cluster.listen-address=",
            f"--storage.path={folder / 'manager'}",
        ),
        program(
            folder,
            "prometheus",
            "--config.file=prometheus.yml",
            f"--web.listen-address=127.0.0.1:{prometheus}",
            f"--storage.tsdb.path={folder / 'tsdb'}",
        ),
    ):
        eventually(lambda: _ready(prometheus) and _ready(manager), 30)
        yield prometheus


def _ready(port: int) -> bool:
    with contextlib.suppress(OSError):
        return call("GET", f"http://127.0.0.1:{port}/-/ready").status == 200
    return False


def _send(running: Monitor, first: int, count: int, *, good: bool) -> None:
    rows = [
        {
            "id": f"row-{n}",
            "app": "shop",
            "question": f"How long is the warranty of lamp {n}?",
            "contexts": [f"Lamp {n} has a warranty of {n + 10} months."],
            "answer": f"Lamp {n} has a warranty of {n + 10 if good else n + 7000} months.",
        }
        for n in range(first, first + count)
    ]
    reply = running.post("/api/v1/traces", json.dumps(rows).encode())
    assert reply.status == 200, reply.body


def _exported(running: Monitor, folder: Path) -> Path:
    """The rules as a file; a drop over a window of its own is computed by Prometheus."""
    shipped = running.get("/api/v1/rules").json["rules"]
    fixed = [
        {**rule, "window_s": 3600} if rule["name"] == "faithfulness drop" else rule
        for rule in shipped
    ]
    reply = call(
        "PUT",
        f"{running.url}/api/v1/rules",
        json.dumps({"rules": [*fixed, RULE]}).encode(),
        {"Content-Type": "application/json"},
    )
    assert reply.status == 200, reply.body
    rules = folder / "rules.yml"
    what = ("--prometheus", "--every", "1", "--public-url", PAGES)
    done = running.command("rules", "export", *what, "-o", str(rules), "--url", running.url)
    assert done.returncode == 0, done.stderr
    return rules


def _promtool(folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        ["promtool", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


UNIT_TEST = {
    "rule_files": ["rules.yml"],
    "evaluation_interval": "1m",
    "tests": [
        {
            "interval": "1m",
            "input_series": [
                {
                    "series": (
                        'rag_monitor_alerts{app="shop",rule="faithfulness low",state="firing"}'
                    ),
                    "values": "0 0 1 1 0",
                },
                {
                    "series": (
                        'rag_monitor_app_score{app="bank",metric="faithfulness",judge="combined"}'
                    ),
                    "values": "0.9x60 0.5x10",
                },
                {
                    "series": (
                        'rag_monitor_app_score_lower{app="bank",metric="faithfulness",judge="combined"}'
                    ),
                    "values": "0.85x60 0.45x10",
                },
                {
                    "series": (
                        'rag_monitor_app_score_upper{app="bank",metric="faithfulness",judge="combined"}'
                    ),
                    "values": "0.94x60 0.55x10",
                },
                {
                    "series": (
                        "rag_monitor_app_score_samples"
                        '{app="bank",metric="faithfulness",judge="combined"}'
                    ),
                    "values": "400x80",
                },
                {
                    "series": (
                        "rag_monitor_app_score_samples"
                        '{app="bank",metric="faithfulness",judge="embedded/full/1"}'
                    ),
                    "values": "400x80",
                },
            ],
            "alert_rule_test": [
                {"eval_time": "1m", "alertname": ALERT, "exp_alerts": []},
                {
                    "eval_time": "3m",
                    "alertname": ALERT,
                    "exp_alerts": [
                        {
                            "exp_labels": {
                                "app": "shop",
                                "state": "firing",
                                "severity": "page",
                                "rule": "faithfulness low",
                            },
                            "exp_annotations": {
                                "summary": "faithfulness low: fires for shop; rag-monitor's "
                                "Alerts page has the numbers.",
                                "runbook_url": f"{PAGES}/runbooks#threshold",
                                "dashboard_url": f"{PAGES}/?app=shop",
                            },
                        }
                    ],
                },
                {"eval_time": "4m", "alertname": ALERT, "exp_alerts": []},
                {"eval_time": "50m", "alertname": "RagMonitorFaithfulnessDrop", "exp_alerts": []},
                {
                    "eval_time": "66m",
                    "alertname": "RagMonitorFaithfulnessDrop",
                    "exp_alerts": [
                        {
                            "exp_labels": {
                                "app": "bank",
                                "metric": "faithfulness",
                                "judge": "combined",
                                "severity": "page",
                                "rule": "faithfulness drop",
                            },
                            "exp_annotations": {
                                "summary": "faithfulness drop: faithfulness of bank changed by "
                                "-0.4 against 1h before.",
                                "runbook_url": f"{PAGES}/runbooks#drop",
                                "dashboard_url": f"{PAGES}/?app=bank",
                            },
                        }
                    ],
                },
            ],
        }
    ],
}


@pytest.mark.slow
@pytest.mark.timeout(180)
def test_a_regression_reaches_the_pager_through_prometheus_and_is_withdrawn(
    tmp_path: Path,
) -> None:
    pager = Pager()
    try:
        with monitor(
            tmp_path,
            f"sqlite:///{tmp_path / 'monitor.db'}",
            RAG_MONITOR_WORKER_RULES_EVERY_S="1",
            RAG_MONITOR_ALERTS_SLOT_S="1",
        ) as running:
            rules = _exported(running, tmp_path)
            assert "SUCCESS" in _promtool(tmp_path, "check", "rules", str(rules))
            (tmp_path / "unit.yml").write_text(json.dumps(UNIT_TEST))
            assert "SUCCESS" in _promtool(tmp_path, "test", "rules", "unit.yml")

            with alert_path(tmp_path, running.port, rules, pager.port) as prometheus:
                _send(running, 0, 40, good=True)
                eventually(lambda: _scraped(prometheus, "rag_monitor_score_samples") >= 40, 30)
                assert pager.states() == []

                _send(running, 1000, 60, good=False)
                eventually(lambda: "firing" in pager.states(), 40)

                _send(running, 2000, 900, good=True)
                eventually(lambda: "resolved" in pager.states(), 40)
    finally:
        pager.close()

    (app,) = {alert["labels"]["app"] for alert in pager.heard}
    assert app == "shop"
    assert pager.states().index("firing") < pager.states().index("resolved")


def _scraped(port: int, metric: str) -> float:
    query = f'{metric}{{metric="faithfulness",judge="combined"}}'
    reply = call(
        "POST",
        f"http://127.0.0.1:{port}/api/v1/query",
        f"query={query}".encode(),
        {"Content-Type": "application/x-www-form-urlencoded"},
    )
    found = reply.json["data"]["result"]
    return max((float(item["value"][1]) for item in found), default=0.0)
