"""The command line as a user meets it: help, exit codes, one clear sentence."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from rag_monitor import __version__
from rag_monitor.cli import main


class FakeMonitor:
    """Answers from a table of (method, path) to (status, JSON) and remembers what it got."""

    def __init__(self) -> None:
        self.answers: dict[tuple[str, str], tuple[int, Any]] = {}
        self.requests: list[tuple[str, str, Any]] = []
        self.languages: list[str | None] = []
        monitor = self

        class Handler(BaseHTTPRequestHandler):
            def _answer(self) -> None:
                body = self.rfile.read(int(self.headers.get("content-length") or 0))
                path = self.path.partition("?")[0]
                monitor.languages.append(self.headers.get("accept-language"))
                monitor.requests.append(
                    (self.command, self.path, json.loads(body) if body else None)
                )
                status, reply = monitor.answers.get(
                    (self.command, path), (404, {"detail": f"nothing at {path}"})
                )
                data = json.dumps(reply).encode()
                self.send_response(status)
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            do_GET = do_POST = do_PUT = do_DELETE = _answer  # noqa: N815 - names http.server calls

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"


@pytest.fixture
def monitor() -> Iterator[FakeMonitor]:
    fake = FakeMonitor()
    thread = threading.Thread(target=fake.server.serve_forever, args=(0.02,))
    thread.start()
    yield fake
    fake.server.shutdown()
    thread.join()
    fake.server.server_close()


def run(*arguments: str) -> int:
    """The exit code of a command line."""
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    return int(ended.value.code or 0)


def test_the_version_is_the_packages(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--version") == 0
    assert capsys.readouterr().out.strip() == __version__


@pytest.mark.parametrize(
    "command",
    [
        "demo", "serve", "migrate", "import", "export", "erase", "evaluate", "agreement",
        "compare", "golden",
        "rules export", "rules check", "alerts list", "alerts acknowledge", "silences list",
        "silences create", "silences end", "keys list", "keys create", "keys revoke", "doctor",
        "tasks parked", "tasks retry",
    ],
)  # fmt: skip
def test_every_command_explains_itself_and_speaks_json(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(*command.split(), "--help") == 0
    assert "--json" in capsys.readouterr().out


def test_keys_are_listed_with_their_last_use_and_end(
    monitor: FakeMonitor, capsys: pytest.CaptureFixture[str]
) -> None:
    key = {"scopes": ["ingest", "read"], "last_used_at": None, "expires_at": None,
           "revoked_at": None}  # fmt: skip
    used, ended = "2026-01-05T12:00:59Z", "2026-01-06T08:30:00+08:00"
    monitor.answers["GET", "/api/v1/keys"] = (
        200,
        {
            "keys": [
                key | {"id": "a", "name": "new"},
                key | {"id": "b", "name": "old", "last_used_at": used, "revoked_at": ended},
                key | {"id": "c", "name": "brief", "expires_at": ended},
            ]
        },
    )

    assert run("keys", "list", "--url", monitor.url) == 0

    assert capsys.readouterr().out.splitlines() == [
        "a  new  ingest, read  never used",
        "b  old  ingest, read  last used 2026-01-05 12:00 UTC  revoked 2026-01-06 00:30 UTC",
        "c  brief  ingest, read  never used  expired 2026-01-06 00:30 UTC",
    ]


def test_an_unknown_command_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("fly") == 2
    assert "No such command 'fly'" in capsys.readouterr().err


def test_a_monitor_that_is_not_there_is_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("rules", "export", "--url", "http://127.0.0.1:9") == 1

    error = capsys.readouterr().err
    assert "start one with `rag-monitor serve`" in error
    assert "Traceback" not in error


def test_a_wrong_address_says_how_to_write_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("keys", "list", "--url", "localhost:8700") == 2
    assert "must begin with http://" in capsys.readouterr().err


def test_a_refused_key_names_the_option(
    monitor: FakeMonitor, capsys: pytest.CaptureFixture[str]
) -> None:
    monitor.answers["GET", "/api/v1/keys"] = (401, {"detail": "this server needs a key"})

    assert run("keys", "list", "--url", monitor.url) == 2
    assert "set --api-key" in capsys.readouterr().err


def test_import_reports_what_was_taken(
    monitor: FakeMonitor, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "rows.jsonl"
    file.write_text('{"id": "1", "question": "q", "answer": "a"}\n{broken\n', encoding="utf-8")
    monitor.answers["POST", "/api/v1/traces"] = (200, {"accepted": 1})

    assert run("import", str(file), "--url", monitor.url, "--json") == 1

    report = json.loads(capsys.readouterr().out)
    assert (report["rows"], report["accepted"], report["rejected"]) == (2, 1, 1)
    assert report["problems"][0].startswith("line 2: not JSON")


def test_import_names_the_row_of_a_table(
    monitor: FakeMonitor, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "rows.csv"
    file.write_text("id,question,answer\n1,q,a\n2,q,a,more\n3,q,a\n", encoding="utf-8")
    refused = {"row": 1, "id": "3", "field": "answer", "message": "too long"}
    monitor.answers["POST", "/api/v1/traces"] = (200, {"accepted": 1, "errors": [refused]})

    assert run("import", str(file), "--app", "faq", "--url", monitor.url, "--json") == 1

    problems = json.loads(capsys.readouterr().out)["problems"]
    assert problems == ["row 2: more cells than the header has columns", "row 3: too long"]
    ((_, _, body),) = monitor.requests
    assert body[0] == {"id": "1", "question": "q", "answer": "a", "app": "faq"}


def test_backfill_says_the_cost_before_it_starts_and_asks_for_one_judge(
    monitor: FakeMonitor, capsys: pytest.CaptureFixture[str]
) -> None:
    cost = {"tokens": None, "gpu_seconds": None, "cost": None, "fits_budget": None}
    outcome = {"traces": 7, "judge": "packed/m", "measured_on": 0, "queued": 7, **cost}
    monitor.answers["POST", "/api/v1/evaluations"] = (200, outcome)

    assert run("backfill", "--judge", "packed", "--yes", "--url", monitor.url) == 0

    assert [body for _, _, body in monitor.requests] == [
        {"judge": "packed", "limit": 1000},
        {"judge": "packed", "limit": 1000, "preview": False},
    ]
    shown = capsys.readouterr()
    assert "never measured here" in shown.out + shown.err
    assert shown.out.count("queued") == 1, "said when it is"


def test_export_writes_one_line_per_trace(
    monitor: FakeMonitor, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = {"items": [{"trace_id": "a"}, {"trace_id": "b"}], "next_cursor": None}
    monitor.answers["GET", "/api/v1/traces"] = (200, page)
    for name in "ab":
        monitor.answers["GET", f"/api/v1/traces/{name}"] = (200, {"trace_id": name, "answer": "是"})
    file = tmp_path / "out.jsonl"

    assert run("export", "--app", "x", "-o", str(file), "--url", monitor.url, "--json") == 0

    lines = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    assert [line["trace_id"] for line in lines] == ["a", "b"]
    assert json.loads(capsys.readouterr().out)["traces"] == 2
    assert monitor.requests[0][1] == "/api/v1/traces?app=x"


def test_an_export_of_nothing_says_which_name_nothing_has(
    monitor: FakeMonitor, capsys: pytest.CaptureFixture[str]
) -> None:
    hint = "`app`: nothing stored here has app 'fqa'. Did you mean 'faq'?"
    page = {"items": [], "next_cursor": None, "hints": [hint]}
    monitor.answers["GET", "/api/v1/traces"] = (200, page)

    assert run("export", "--app", "fqa", "--url", monitor.url) == 0

    shown = capsys.readouterr()
    assert hint in shown.err
    assert shown.out == ""


def test_export_leaves_no_half_file_and_passes_over_what_was_erased_meanwhile(
    monitor: FakeMonitor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rag_monitor.cli.remote.PATIENCE_S", 0.0)
    page = {"items": [{"trace_id": "a"}, {"trace_id": "b"}], "next_cursor": None}
    monitor.answers["GET", "/api/v1/traces"] = (200, page)
    monitor.answers["GET", "/api/v1/traces/a"] = (404, {"detail": "erased"})
    monitor.answers["GET", "/api/v1/traces/b"] = (200, {"trace_id": "b"})
    file = tmp_path / "out.jsonl"

    assert run("export", "-o", str(file), "--url", monitor.url) == 0
    assert json.loads(file.read_text())["trace_id"] == "b"
    monitor.answers["GET", "/api/v1/traces/b"] = (503, {"detail": "later"})
    other = tmp_path / "other.jsonl"
    assert run("export", "-o", str(other), "--url", monitor.url) == 1
    assert sorted(path.name for path in tmp_path.glob("*other*")) == []


def test_export_to_parquet_keeps_texts_scores_and_times(
    monitor: FakeMonitor, tmp_path: Path
) -> None:
    parquet = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed")
    trace = {
        "trace_id": "a",
        "question": "利率是多少?",
        "started_at": "2026-01-05T12:00:00Z",
        "timings": {"first_byte_ms": 120.5},
        "contexts": [{"content": "3.4%"}, {"content": None}],
        "scores": [
            {"metric": "faithfulness", "value": 0.25},
            {"metric": "context_recall", "value": None},
        ],
    }
    page = {"items": [{"trace_id": "a"}], "next_cursor": None}
    monitor.answers["GET", "/api/v1/traces"] = (200, page)
    monitor.answers["GET", "/api/v1/traces/a"] = (200, trace)
    file = tmp_path / "out.parquet"

    assert run("export", "-o", str(file), "--url", monitor.url) == 0

    (row,) = parquet.read_table(file).to_pylist()
    assert (row["question"], row["answer"], row["first_byte_ms"]) == ("利率是多少?", None, 120.5)
    assert row["started_at"] == datetime(2026, 1, 5, 12, tzinfo=UTC)
    assert row["contexts"] == ["3.4%", None]
    assert row["scores"] == [("faithfulness", 0.25)]
    assert json.loads(row["trace"]) == trace


def test_erasing_a_user_asks_first_and_says_what_went(
    monitor: FakeMonitor, capsys: pytest.CaptureFixture[str]
) -> None:
    path = "/api/v1/users/u%2F7"
    monitor.answers["DELETE", path] = (200, {"user_id": "u/7", "traces": 3, "passages": 1})

    assert run("erase", "u/7", "--url", monitor.url) == 1
    assert monitor.requests == []
    assert run("erase", "u/7", "--yes", "--url", monitor.url) == 0
    assert "3 traces, 1 passages" in capsys.readouterr().out


def test_rules_for_prometheus_are_json_where_it_is_asked_for(
    monitor: FakeMonitor, capsys: pytest.CaptureFixture[str]
) -> None:
    rule = {"name": "low", "kind": "threshold", "metric": "faithfulness", "params": {"below": 0.5}}
    monitor.answers["GET", "/api/v1/rules"] = (200, {"rules": [rule]})

    assert run("rules", "export", "--prometheus", "--json", "--url", monitor.url) == 0

    told = json.loads(capsys.readouterr().out)
    assert told["rules"] == 1
    assert "groups:" in told["prometheus"]


def test_rules_that_cannot_work_are_named(
    monitor: FakeMonitor, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "rules.json"
    file.write_text('{"rules": [{"name": "mine", "kind": "drop"}]}', encoding="utf-8")
    monitor.answers["POST", "/api/v1/rules/check"] = (422, {"detail": "a drop needs a metric"})

    assert run("rules", "check", str(file), "--url", monitor.url) == 1
    assert "mine: a drop needs a metric" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("language", "line", "last"),
    [
        (
            "en",
            "mine, shop: could not tell now (few judged)",
            "mine: could not tell of 2 more apps",
        ),
        ("zh", "mine，shop：目前无法判断（评审数少）", "mine：另有 2 个应用无法判断"),
    ],
)
def test_a_rule_that_could_not_tell_is_said_to(
    monitor: FakeMonitor,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    language: str,
    line: str,
    last: str,
) -> None:
    file = tmp_path / "rules.json"
    file.write_text('{"rules": [{"name": "mine", "kind": "drop"}]}', encoding="utf-8")
    findings: dict[str, Any] = {"shop": {"active": None, "notes": ["few_judged"]}}
    findings |= {f"app-{number}": {"active": None, "notes": []} for number in range(11)}
    findings["bank"] = {"active": False, "notes": []}
    monitor.answers["POST", "/api/v1/rules/check"] = (200, {"findings": findings, "history": None})

    assert run("rules", "check", str(file), "--language", language, "--url", monitor.url) == 0

    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == line
    assert lines[10] == last
    assert not any("bank" in told for told in lines)


@pytest.mark.parametrize(
    ("status", "answer", "said"),
    [
        (
            422,
            {"detail": "metric：drop 规则没有 'fath'；可用：a"},
            "mine：metric：drop 规则没有 'fath'；可用：a",
        ),
        (
            200,
            {
                "history": None,
                "warnings": ["app：已存的请求中没有名为 'shpo' 的应用"],
            },
            "mine：app：已存的请求中没有名为 'shpo' 的应用",
        ),
    ],
)
def test_what_is_wrong_with_a_rule_is_told_in_chinese(
    monitor: FakeMonitor,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    status: int,
    answer: dict[str, Any],
    said: str,
) -> None:
    file = tmp_path / "rules.json"
    file.write_text('{"rules": [{"name": "mine", "kind": "drop"}]}', encoding="utf-8")
    monitor.answers["POST", "/api/v1/rules/check"] = (status, answer)

    run("rules", "check", str(file), "--language", "zh", "--url", monitor.url)

    assert said in capsys.readouterr().out
    assert monitor.languages == ["zh"]


def test_json_for_programs_is_asked_for_in_english(monitor: FakeMonitor, tmp_path: Path) -> None:
    file = tmp_path / "rules.json"
    file.write_text('{"rules": [{"name": "mine", "kind": "drop"}]}', encoding="utf-8")
    monitor.answers["POST", "/api/v1/rules/check"] = (422, {"detail": "metric: needed"})

    run("rules", "check", str(file), "--language", "zh", "--url", monitor.url, "--json")

    assert monitor.languages == [None]


def test_what_may_be_a_mistake_in_a_rule_is_told(
    monitor: FakeMonitor, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "rules.json"
    file.write_text('{"rules": [{"name": "mine", "kind": "no_data"}]}', encoding="utf-8")
    answer = {"history": None, "warnings": ["app: no stored trace is of it"]}
    monitor.answers["POST", "/api/v1/rules/check"] = (200, answer)

    assert run("rules", "check", str(file), "--url", monitor.url) == 0
    told = capsys.readouterr().out
    assert "mine: app: no stored trace is of it" in told
    assert "1 of 1 rules are in order" in told
    assert run("rules", "check", str(file), "--json", "--url", monitor.url) == 0
    assert json.loads(capsys.readouterr().out)["rules"][0]["warnings"] == answer["warnings"]


def test_summaries_are_told_in_chinese(
    monitor: FakeMonitor, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rules = tmp_path / "rules.json"
    rules.write_text('{"rules": [{"name": "mine", "kind": "drop"}]}', encoding="utf-8")
    traffic = tmp_path / "traffic.jsonl"
    traffic.write_text('{"question": "q"}\n', encoding="utf-8")
    history = {"apps": {"desk": {"fired": 2, "looks": 288, "untold": 5}}}
    monitor.answers["POST", "/api/v1/rules/check"] = (200, {"history": history})
    monitor.answers["POST", "/api/v1/traces"] = (200, {"accepted": 1})

    zh = ("--language", "zh", "--url", monitor.url)
    assert run("rules", "check", str(rules), *zh) == 0
    assert run("import", str(traffic), *zh) == 0

    told = capsys.readouterr().out
    assert "mine，desk：共检查 288 次，会触发 2 次（5 次无法判断）" in told
    assert "1 条规则中 1 条可用" in told
    assert "已接收        1" in told
    assert "未识别的字段  无" in told


def test_a_file_that_holds_no_rules_is_a_usage_error(
    monitor: FakeMonitor, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "rules.json"
    file.write_text('{"alerts": []}', encoding="utf-8")

    assert run("rules", "check", str(file), "--url", monitor.url) == 2
    assert '{"rules": [...]}' in capsys.readouterr().err


def test_a_new_keys_secret_is_printed_once(
    monitor: FakeMonitor, capsys: pytest.CaptureFixture[str]
) -> None:
    made = {"key": {"id": "k1", "name": "ci", "scopes": ["ingest"]}, "secret": "rm_abc"}
    monitor.answers["POST", "/api/v1/keys"] = (201, made)

    assert run("keys", "create", "ci", "--url", monitor.url) == 0

    assert "rm_abc" in capsys.readouterr().out
    assert monitor.requests[-1][2] == {"name": "ci", "scopes": ["ingest"]}


def test_a_demo_model_without_its_name_is_a_usage_error(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run("demo", "--once", "--model-url", "http://127.0.0.1:1/v1") == 2
    assert "--model" in capsys.readouterr().err


def test_evaluate_refuses_a_file_type_it_cannot_write(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("evaluate", str(tmp_path / "in.jsonl"), "--output", "scores.xml") == 2
    assert ".jsonl" in capsys.readouterr().err


def test_asking_whether_to_migrate_makes_no_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "mistyped.db"

    assert run("migrate", "--check", "--database-url", f"sqlite:///{file}") == 1

    assert f"there is no file {file} yet" in capsys.readouterr().out
    assert not file.exists()
