"""The main job with real processes: import, judge, expose, survive."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import threading
import urllib.parse
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.acceptance.running import Monitor, eventually, free_port, http, monitor
from tests.acceptance.traffic import write

SERVER = os.environ.get(
    "RAG_MONITOR_TEST_POSTGRESQL", "postgresql+psycopg://root@127.0.0.1:5432/test"
)


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgresql)])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """An empty database of each kind."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'monitor.db'}"
        return
    psycopg = pytest.importorskip("psycopg", reason="PostgreSQL needs psycopg")
    admin = SERVER.replace("postgresql+psycopg://", "postgresql://")
    name = f"acceptance_{uuid.uuid4().hex[:12]}"
    try:
        connection = psycopg.connect(admin, autocommit=True, connect_timeout=3)
    except psycopg.OperationalError as error:
        pytest.skip(f"no PostgreSQL server answers: {error}")
    with connection:
        connection.execute(f'CREATE DATABASE "{name}"')
    yield urllib.parse.urlsplit(SERVER)._replace(path=f"/{name}").geturl()
    with psycopg.connect(admin, autocommit=True) as connection:
        connection.execute(f'DROP DATABASE "{name}" WITH (FORCE)')


@pytest.fixture
def running(tmp_path: Path, database: str) -> Iterator[Monitor]:
    """A monitor that migrated its database itself."""
    # Of what a killed process had in hand.
    short = {"RAG_MONITOR_WORKER_LEASE_S": "5", "RAG_MONITOR_STORE_CLAIM_S": "5"}
    with monitor(tmp_path, database, RAG_MONITOR_STORE_AUTO_MIGRATE="true", **short) as started:
        yield started


def _all_scored(running: Monitor, count: int) -> bool:
    traces = running.traces()
    return len(traces) == count and all(trace["scores"] for trace in traces)


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_imported_traffic_is_stored_once_scored_and_exposed(
    running: Monitor, tmp_path: Path
) -> None:
    file = write(tmp_path / "traffic.jsonl.gz", 80)

    for _ in range(2):
        done = running.command("import", str(file), "--url", running.url, "--json")
        assert done.returncode == 0, done.stderr
    eventually(lambda: _all_scored(running, 80), 120)

    metrics = eventually(
        lambda: (
            (text := running.get("/metrics").body.decode())
            and "rag_monitor_score{" in text
            and "rag_monitor_hit_ratio{" in text
            and text
        ),
        60,
    )
    for name in (
        "rag_monitor_score_lower",
        "rag_monitor_score_upper",
        "rag_monitor_score_samples",
        "rag_monitor_first_byte_seconds",
        "rag_monitor_generation_seconds",
        "rag_monitor_end_to_end_seconds",
        "rag_monitor_traces_total",
        "rag_monitor_evaluations_total",
    ):
        assert name in metrics
    if promtool := shutil.which("promtool"):
        checked = subprocess.run(
            [promtool, "check", "metrics"],
            input=metrics,
            capture_output=True,
            text=True,
            check=False,
        )
        assert "error while linting" not in checked.stderr
        assert checked.returncode in (0, 3), checked.stdout + checked.stderr


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_killing_the_monitor_during_an_import_loses_and_doubles_nothing(
    running: Monitor, tmp_path: Path
) -> None:
    file = write(tmp_path / "traffic.jsonl", 120)
    results: list[int] = []

    def replay() -> None:
        done = running.command("import", str(file), "--url", running.url, "--speed", "60")
        results.append(done.returncode)

    importer = threading.Thread(target=replay)
    importer.start()
    for _ in range(2):
        eventually(lambda: len(running.traces()) > 5, 60)
        running.kill()
        running.start()
    importer.join(timeout=120)
    again = running.command("import", str(file), "--url", running.url)

    assert again.returncode == 0, again.stderr
    assert results == [0]
    eventually(lambda: _all_scored(running, 120), 120)
    traces = running.traces()
    assert len({trace["trace_id"] for trace in traces}) == 120
    one = running.get(f"/api/v1/traces/{traces[0]['trace_id']}").json
    keys = [(score["metric"], json.dumps(score["judge"])) for score in one["scores"]]
    assert len(keys) == len(set(keys))


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_real_prometheus_scrapes_the_monitor(tmp_path: Path) -> None:
    binary = shutil.which("prometheus")
    if binary is None:
        pytest.skip("no prometheus binary on PATH")
    with monitor(tmp_path, f"sqlite:///{tmp_path / 'monitor.db'}") as running:
        file = write(tmp_path / "traffic.jsonl", 40)
        assert running.command("import", str(file), "--url", running.url).returncode == 0
        eventually(lambda: _all_scored(running, 40), 120)
        port = free_port()
        config = tmp_path / "prometheus.yml"
        config.write_text(
            "global: {scrape_interval: 1s}\n"
            "scrape_configs:\n"
            "  - job_name: monitor\n"
            f"    static_configs: [{{targets: ['127.0.0.1:{running.port}']}}]\n"
        )
        server = subprocess.Popen(
            [
                binary,
                f"--config.file={config}",
                f"--web.listen-address=127.0.0.1:{port}",
                f"--storage.tsdb.path={tmp_path / 'tsdb'}",
                "--log.level=error",
            ],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            query = urllib.parse.quote('rag_monitor_score{metric="faithfulness"}')

            def answered() -> object:
                try:
                    reply = http("GET", f"http://127.0.0.1:{port}/api/v1/query?query={query}")
                except OSError:
                    return None
                return reply.status == 200 and reply.json["data"]["result"]

            series = eventually(answered, 60)
        finally:
            server.terminate()
            server.wait(timeout=20)

    assert {one["metric"]["app"] for one in series} == {"shop-en", "shop-zh"}
    assert all(0 <= float(one["value"][1]) <= 1 for one in series)


@pytest.mark.slow
@pytest.mark.timeout(180)
def test_a_graceful_stop_ends_cleanly(tmp_path: Path) -> None:
    with monitor(tmp_path, f"sqlite:///{tmp_path / 'monitor.db'}") as running:
        file = write(tmp_path / "traffic.jsonl", 20)
        assert running.command("import", str(file), "--url", running.url).returncode == 0

        assert running.stop() == 0
        assert "Traceback" not in running.log.read_text()
