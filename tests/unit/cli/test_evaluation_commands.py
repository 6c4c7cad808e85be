"""`evaluate` and `golden` as a user types them."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from rag_monitor.cli.application import app
from rag_monitor.errors import ConfigurationError, NotFound, UnknownMetric
from rag_monitor.metrics.targets import load_profile, shipped_profiles
from rag_monitor.offline.selection import check_targets_exist

ROWS = [
    {
        "id": f"r{n}",
        "frage": "q",
        "response": "保修24个月" if n % 2 else "wrong",
        "ground_truth": "保修24个月",
    }
    for n in range(6)
]


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    path = tmp_path / "rows.jsonl"
    path.write_text("\n".join(json.dumps(row) for row in ROWS), encoding="utf-8")
    return path


def _run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(a) for a in arguments])


def _evaluate(rows: Path, *more: object) -> Result:
    columns = ("--columns", "frage=question")
    return _run("evaluate", rows, "--judge", "none", *columns, *more)


def test_evaluate_prints_figures_and_writes_lines_and_reports(rows: Path, tmp_path: Path) -> None:
    output, page = tmp_path / "scores.jsonl", tmp_path / "report.html"

    done = _evaluate(rows, "--output", output, "--report", page, "--language", "zh")

    assert done.exit_code == 0, done.output
    assert "精确匹配" in done.stdout
    assert "评测报告" in page.read_text("utf-8")
    lines = [json.loads(line) for line in output.read_text("utf-8").splitlines()]
    assert [line["id"] for line in lines] == [row["id"] for row in ROWS]
    assert lines[1]["scores"]["exact_match"] == 1.0
    assert set(lines[0]) == {
        "id", "input", "scores", "flagged", "not_applicable", "failed", "suspect", "judge",
        "settings", "reported", "detail", "question",
    }  # fmt: skip


def test_evaluate_speaks_json(rows: Path) -> None:
    done = _evaluate(rows, "--metrics", "exact_match,bleu_4", "--json")

    figures = json.loads(done.stdout)
    assert figures["rows"] == 6
    assert figures["failed_rows"] == 0
    assert list(figures["metrics"]) == ["exact_match", "bleu_4"]
    assert figures["metrics"]["exact_match"]["mean"] == 0.5
    assert figures["metrics"]["exact_match"]["scored"] == 6


@pytest.mark.parametrize(("bound", "code"), [(0.4, 0), (0.6, 1)])
def test_a_missed_target_fails_the_command_only_when_asked(
    rows: Path, tmp_path: Path, bound: float, code: int
) -> None:
    profile = tmp_path / "mine.toml"
    profile.write_text(f'[[target]]\nmetric = "exact_match"\nat_least = {bound}\n', "utf-8")
    given = ("--metrics", "exact_match", "--targets", profile)

    assert _evaluate(rows, *given).exit_code == 0
    assert _evaluate(rows, *given, "--fail-under").exit_code == code


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ('{"label_faithful": "x"}\n{broken\n', "none of the 2 rows could be evaluated"),
        ("", "rows.jsonl has no rows"),
    ],
)
def test_a_file_of_which_no_row_can_be_evaluated_fails(
    tmp_path: Path, content: str, said: str
) -> None:
    rows = tmp_path / "rows.jsonl"
    rows.write_text(content)

    done = _run("evaluate", rows, "--judge", "none", "--metrics", "exact_match", "--json")

    assert done.exit_code == 1
    assert said in done.stderr
    assert json.loads(done.stdout)["rows"] == len(content.splitlines())


def test_one_row_that_can_be_evaluated_is_enough(rows: Path) -> None:
    with rows.open("a") as file:
        file.write("\n{broken\n")

    assert _evaluate(rows, "--metrics", "exact_match").exit_code == 0


def test_a_judge_that_fails_on_every_row_fails_the_command(tmp_path: Path) -> None:
    pytest.importorskip("openai")
    rows = tmp_path / "rows.jsonl"
    rows.write_text('{"question": "q", "answer": "It is 3.", "contexts": ["It is 3."]}\n' * 2)
    config = tmp_path / "rag_monitor.toml"
    config.write_text(
        '[judges.away]\nkind = "openai_compatible"\nmodel = "m"\n'
        'base_url = "http://127.0.0.1:9/v1"\nlimits = { attempts = 1 }\n'
    )

    judge = ("--judge", "away", "--config", config, "--metrics", "faithfulness")
    done = _run("evaluate", rows, *judge)

    assert done.exit_code == 1, done.output
    assert "none of the 2 rows could be evaluated" in done.stderr


class _Refusing(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response(404)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def refusing(tmp_path: Path) -> Iterator[Path]:
    """A configuration whose judge `mine` asks a server that knows no model."""
    pytest.importorskip("openai")
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Refusing)
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    config = tmp_path / "rag_monitor.toml"
    config.write_text(
        '[judges.mine]\nkind = "openai_compatible"\nmodel = "m"\n'
        f'base_url = "http://127.0.0.1:{server.server_port}/v1"\n'
    )
    yield config
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize(
    ("command", "advice"),
    [
        ("evaluate", "--resume 继续"),
        ("agreement", "更正 [judges.mine]"),
        ("calibrate", "更正 [judges.mine]"),
        ("distil", "更正 [judges.mine]"),
    ],
)
def test_a_judge_whose_server_refuses_everything_has_its_own_exit_code_and_says_what_to_mend(
    refusing: Path, tmp_path: Path, command: str, advice: str
) -> None:
    rows = tmp_path / "rows.jsonl"
    row = {"question": "q", "answer": "It is 3.", "contexts": ["It is 3."]}
    with rows.open("w") as file:
        file.writelines(json.dumps(row | {"label_faithful": n % 2}) + "\n" for n in range(4))
    given = [command, str(rows), "--judge", "mine", "--config", str(refusing), "--language", "zh"]
    given += ["--output", str(tmp_path / "out.jsonl")] if command != "agreement" else []

    done = subprocess.run(
        [sys.executable, "-m", "rag_monitor", *given],
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )

    assert done.returncode == 3, done.stderr
    assert "404" in done.stderr
    assert advice in done.stderr


def test_a_gate_with_nothing_measured_does_not_pass(rows: Path) -> None:
    done = _evaluate(rows, "--metrics", "bleu_1", "--targets", "chat", "--fail-under")

    assert done.exit_code == 1
    assert "targets not measured: perplexity" in done.output


@pytest.mark.parametrize(
    ("arguments", "error", "said"),
    [
        (("--fail-under",), ConfigurationError, "needs --targets"),
        (("--targets", "chatt"), ConfigurationError, "did you mean 'chat'"),
        (("--resume",), ConfigurationError, "needs --output"),
        (("--columns", "frage"), ConfigurationError, "theirs=ours"),
        (("--metrics", " , "), ConfigurationError, "names none"),
        (("--metrics", "blue_4"), UnknownMetric, "did you mean 'bleu_4'"),
        (("--terms", "nowhere.txt"), ConfigurationError, "there is no file"),
        (("--report", "r.docx"), ConfigurationError, "--report writes"),
        (("--output", "s.xml"), ConfigurationError, "--output writes"),
    ],
)
def test_a_wrong_option_is_one_sentence(
    rows: Path, arguments: tuple[str, ...], error: type[Exception], said: str
) -> None:
    done = _evaluate(rows, *arguments)

    assert isinstance(done.exception, error)
    assert said in str(done.exception)


def test_a_language_nobody_wrote_is_refused(rows: Path) -> None:
    done = _evaluate(rows, "--language", "fr")

    assert done.exit_code == 2
    assert "'fr'" in done.output


def test_domain_terms_change_how_text_is_cut(tmp_path: Path) -> None:
    rows, terms = tmp_path / "rows.jsonl", tmp_path / "terms.txt"
    row = {"question": "q", "answer": "年化收益率高", "reference": "年化收益率低"}
    rows.write_text(json.dumps(row), encoding="utf-8")
    terms.write_text("年化收益率\n", encoding="utf-8")

    plain, kept = (
        json.loads(_run("evaluate", rows, "--judge", "none", "--json", *more).stdout)["metrics"]
        for more in ((), ("--terms", terms))
    )

    assert kept["token_f1"]["mean"] == pytest.approx(0.5)
    assert plain["token_f1"]["mean"] != kept["token_f1"]["mean"]


def test_resume_adds_only_what_is_missing(rows: Path, tmp_path: Path) -> None:
    output = tmp_path / "scores.jsonl"
    _evaluate(rows, "--output", output)
    whole = output.read_text("utf-8")
    output.write_text("".join(whole.splitlines(keepends=True)[:2]), encoding="utf-8")

    done = _evaluate(rows, "--output", output, "--resume", "--json")

    assert output.read_text("utf-8") == whole
    assert json.loads(done.stdout)["rows"] == 6


class Servers:
    """An application that answers and a monitor that takes traces, on one port."""

    def __init__(self) -> None:
        self.traces: list[Any] = []
        self.asked: list[str] = []
        owner = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                if self.path == "/ask":
                    owner.asked.append(body["question"])
                    once = body["question"] == "once" and owner.asked.count("once") == 1
                    bad = body["question"] == "boom" or once
                    reply: Any = {"answer": "24 months", "contexts": ["24 months"]}
                    if body["question"] == "silent":
                        reply = {"answer": " "}
                    self._send(500 if bad else 200, reply)
                elif self.path == "/api/v1/traces":
                    owner.traces.append(body)
                    self._send(200, {"accepted": 1, "trace_ids": ["a"], "errors": []})
                else:
                    self._send(404, {"detail": "no"})

            def _send(self, status: int, reply: Any) -> None:
                data = json.dumps(reply).encode()
                self.send_response(status)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"


@pytest.fixture
def servers() -> Iterator[Servers]:
    both = Servers()
    thread = threading.Thread(target=both.server.serve_forever, args=(0.02,))
    thread.start()
    yield both
    both.server.shutdown()
    thread.join()
    both.server.server_close()


def _golden(servers: Servers, file: Path, *more: object) -> Result:
    where = ("--endpoint", f"{servers.url}/ask", "--app", "faq", "--url", servers.url)
    return _run("golden", file, *where, "--json", *more)


def _questions(folder: Path, *questions: str) -> Path:
    path = folder / "golden.jsonl"
    lines = [json.dumps({"id": q, "question": q, "reference": "24"}) for q in questions]
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def test_golden_questions_are_asked_and_stored_with_their_references(
    servers: Servers, tmp_path: Path
) -> None:
    done = _golden(servers, _questions(tmp_path, "one", "two"))

    assert done.exit_code == 0, done.output
    report = json.loads(done.stdout)
    assert (report["questions"], report["answered"], report["stored"]) == (2, 2, 2)
    assert servers.asked == ["one", "two"]
    assert [trace["reference"] for trace in servers.traces] == ["24", "24"]
    assert servers.traces[0]["tags"] == ["golden"]
    assert servers.traces[0]["answer"] == "24 months"
    assert servers.traces[0]["contexts"] == ["24 months"]


def test_a_question_that_fails_is_stored_as_failed_and_does_not_stop_the_others(
    servers: Servers, tmp_path: Path
) -> None:
    done = _golden(servers, _questions(tmp_path, "boom", "two"))

    assert done.exit_code == 1
    assert [trace["status"] for trace in servers.traces] == ["error", "ok"]
    assert "HTTP 500" in servers.traces[0]["error"]


@pytest.mark.parametrize(
    ("bad", "more", "code"),
    [
        (["boom"], (), 0),
        (["boom", "boom"], (), 1),
        (["silent", "boom"], (), 1),
        (["silent", "boom"], ("--max-missing", "10%"), 0),
        (["boom"], ("--max-missing", "0"), 1),
    ],
)
def test_a_few_questions_may_fail_and_more_fail_the_run_with_the_reason(
    servers: Servers, tmp_path: Path, bad: list[str], more: tuple[str, ...], code: int
) -> None:
    good = [str(n) for n in range(20)]

    done = _golden(servers, _questions(tmp_path, *bad, *good), *more)

    assert done.exit_code == code, done.output
    counts = json.loads(done.stdout)
    assert (counts["failed"], counts["empty"]) == (bad.count("boom"), bad.count("silent"))
    assert ("questions without a stored answer: " in done.stderr) is bool(code)
    if code:
        assert f"not answered {bad.count('boom')}" in done.stderr


def test_a_bad_run_of_a_schedule_is_not_forgotten(servers: Servers, tmp_path: Path) -> None:
    file = _questions(tmp_path, "once", "two")

    done = _golden(servers, file, "--every", "0.0001", "--runs", "2", "--language", "zh")

    assert done.exit_code == 1
    assert "50% 的问题没有存入应答，超过 --max-missing 的 5%：没有应答 1" in done.stderr


def test_repeated_ids_are_asked_counted_and_named(servers: Servers, tmp_path: Path) -> None:
    rows = [{"id": 0, "question": "zero"}, {"id": "", "question": "b"}, {"question": "b"}]
    rows += [{"id": "a", "question": "x"}, {"id": "0", "question": "y"}, {"id": 7, "question": "b"}]
    path = tmp_path / "golden.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))

    done = _golden(servers, path, "--language", "zh")

    assert json.loads(done.stdout)["repeated_ids"] == 2
    assert len(servers.asked) == 6
    assert "2 行的编号在文件前面出现过" in done.stderr
    assert "第 3, 5 行数据" in done.stderr
    assert servers.traces[0]["id"].startswith("golden:0:")


def test_a_question_with_a_label_of_no_kind_is_told_and_not_asked(
    servers: Servers, tmp_path: Path
) -> None:
    path = tmp_path / "golden.jsonl"
    path.write_text('{"question": "a", "expected": {"plugins": ["search"]}}\n{"question": "b"}\n')

    done = _golden(servers, path)

    assert done.exit_code == 1
    assert servers.asked == ["b"]
    assert "row 1: `expected.plugins` is no kind of hit (did you mean 'plugin'?)" in done.stderr


def test_a_schedule_asks_again(servers: Servers, tmp_path: Path) -> None:
    done = _golden(servers, _questions(tmp_path, "one"), "--every", "0.0001", "--runs", "2")

    assert done.exit_code == 0
    assert servers.asked == ["one", "one"]
    assert len({trace["id"] for trace in servers.traces}) == 2


def test_a_monitor_that_refuses_is_counted(servers: Servers, tmp_path: Path) -> None:
    where = ("--endpoint", f"{servers.url}/ask", "--app", "faq", "--url", f"{servers.url}/no")

    done = _run("golden", _questions(tmp_path, "one"), *where, "--json")

    assert done.exit_code == 1
    assert json.loads(done.stdout)["rejected"] == 1


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("--body", "{"), "--body is not JSON"),
        (("--body", "[]"), "--body is a JSON object"),
        (("--header", "nothing"), "Name: value"),
    ],
)
def test_golden_says_what_is_wrong_with_an_option(
    servers: Servers, tmp_path: Path, more: tuple[str, ...], said: str
) -> None:
    done = _golden(servers, _questions(tmp_path, "one"), *more)

    assert isinstance(done.exception, ConfigurationError)
    assert said in str(done.exception)
    assert not isinstance(done.exception, NotFound)


def test_a_target_for_a_metric_that_is_none_is_refused(tmp_path: Path) -> None:
    profile = tmp_path / "gate.toml"
    profile.write_text(
        '[[target]]\nmetric = "corpus_bleu_4"\nat_least = 0.1\n'
        '[[target]]\nmetric = "faithfulnes"\nat_least = 0.9\n',
        encoding="utf-8",
    )

    rates = tmp_path / "rates.toml"
    rates.write_text('[[target]]\nmetric = "hit_rate"\nat_least = 0.9\n', encoding="utf-8")

    with pytest.raises(UnknownMetric, match="write it as hit_rate/plugin/NAME/expected"):
        check_targets_exist(load_profile(str(rates)))
    with pytest.raises(UnknownMetric, match="did you mean 'faithfulness'"):
        check_targets_exist(load_profile(str(profile)))
    for name in shipped_profiles():
        check_targets_exist(load_profile(name))
