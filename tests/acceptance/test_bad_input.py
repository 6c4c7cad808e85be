"""Whatever arrives, the answer is clear, nothing stored is lost, and it is never a 500."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.acceptance.running import Monitor, monitor

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Monitor]:
    folder = tmp_path_factory.mktemp("bad_input")
    with monitor(folder, f"sqlite:///{folder / 'monitor.db'}") as started:
        yield started


@pytest.mark.parametrize(
    ("path", "body", "content_type", "status"),
    [
        ("/api/v1/traces", b"{", "application/json", 400),
        ("/api/v1/traces", b'{"app": "x"}', "application/json", 422),
        ("/api/v1/traces", b"\xff\xfe", "application/json", 400),
        ("/v1/traces", b"{", "application/json", 400),
        ("/v1/traces", b"\x00garbage", "application/x-protobuf", 400),
        ("/v1/traces", b"hello", "text/plain", 415),
        ("/v1/traces", b"0" * (20 * 1024 * 1024), "application/x-protobuf", 413),
        ("/api/v1/traces", b"[" * 100_000, "application/json", 400),
        ("/api/v1/feedback", b'{"trace_id": "x", "value": 2}', "application/json", 422),
        ("/api/v1/nothing", b"", "application/json", 404),
    ],
)
def test_bad_bodies_get_a_clear_answer(
    running: Monitor, path: str, body: bytes, content_type: str, status: int
) -> None:
    reply = running.post(path, body, content_type)

    assert reply.status == status or {reply.status, status} == {400, 422}
    assert len(reply.body) > 10


def test_an_error_of_the_api_is_problem_json(running: Monitor) -> None:
    reply = running.get("/api/v1/traces/" + "0" * 31 + "1")

    assert reply.status == 404
    assert reply.headers["content-type"].startswith("application/problem+json")
    assert {"type", "title", "status", "detail"} <= reply.json.keys()


def test_a_gzip_bomb_is_refused(running: Monitor) -> None:
    from tests.acceptance.running import http

    bomb = gzip.compress(b"\0" * (200 * 1024 * 1024))
    reply = http(
        "POST",
        running.url + "/v1/traces",
        bomb,
        {"Content-Type": "application/x-protobuf", "Content-Encoding": "gzip"},
    )

    assert reply.status == 413


@pytest.mark.parametrize(
    "rule",
    [
        {"name": "x", "kind": "no-such-kind"},
        {
            "name": "x",
            "kind": "burn_rate",
            "metric": "faithfulness",
            "params": {"slo": 0.93, "multiple": 14.4},
        },
        {"name": "x", "kind": "threshold", "metric": "no_such_metric", "params": {"below": 0.5}},
    ],
)
def test_a_rule_that_cannot_work_is_refused_with_the_reason(running: Monitor, rule: object) -> None:
    from tests.acceptance.running import http

    reply = http(
        "PUT",
        running.url + "/api/v1/rules",
        json.dumps(rule).encode(),
        {"Content-Type": "application/json"},
    )

    assert reply.status in (400, 422), reply.body
    assert reply.json["detail"] or reply.json["errors"]


def test_nothing_stored_is_lost_by_bad_neighbours(running: Monitor) -> None:
    good = {"id": "good", "app": "a", "question": "q?", "contexts": ["c"], "answer": "c"}
    bad = {"id": "bad", "app": "a", "answer": 7}
    running.post("/api/v1/traces", json.dumps([good, bad]).encode())

    from tests.acceptance.running import eventually

    eventually(lambda: [t for t in running.traces(app="a") if t["question"] == "q?"], 30)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"RAG_MONITOR_PROT": "1"}, "RAG_MONITOR_PORT"),
        ({"RAG_MONITOR_JUDGE": "nobody"}, "embedded"),
        ({"RAG_MONITOR_TIMEZONE": "Mars/Phobos"}, "time zone"),
        ({"RAG_MONITOR_DATABASE_URL": "postgresql+psycopg://u:secret@127.0.0.1:1/x"}, "127.0.0.1"),
        ({"RAG_MONITOR_DATABASE_URL": "nonsense"}, "database"),
        ({"RAG_MONITOR_HOST": "0.0.0.0"}, "API_KEY"),
    ],
)
def test_a_wrong_setting_is_named_with_its_mend(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: dict[str, str], message: str
) -> None:
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    idle = Monitor(tmp_path, "sqlite:///unused.db")

    done = idle.command("serve", "--port", "0")

    assert done.returncode in (1, 2), done.stderr
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert "secret" not in done.stderr
