"""What commands say of rows and files follows `--language`, the monitor's own words included."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from rag_monitor.errors import MalformedPayload
from rag_monitor.i18n import translate
from rag_monitor.ingest.trace_json import decode_trace


def _run(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "rag_monitor", *map(str, arguments)],
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )


def test_commands_that_fail_say_why_in_chinese(tmp_path: Path) -> None:
    config = tmp_path / "rag_monitor.toml"
    config.write_text(f'database_url = "sqlite:///{tmp_path / "new.db"}"\n')
    zh = ("--language", "zh")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        busy = _run("serve", "--port", taken.getsockname()[1], "--config", config, *zh)
    unknown = _run("migrate", "--to", "9999", "--config", config, *zh)
    channel = _run("doctor", "--notify", "lgo", "--config", config, *zh)
    file = _run("export", "-o", tmp_path / "gone" / "x.jsonl", "--url", "http://127.0.0.1:9", *zh)

    assert "无法监听 127.0.0.1:" in busy.stderr
    assert "没有版本 '9999'；本版本认识的有" in unknown.stderr
    assert "--notify lgo：没有这个渠道" in channel.stderr
    assert "无法写入" in file.stderr


class _Monitor(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        error = {"row": 0, "id": None, "message": self._refused()}
        body = json.dumps({"accepted": 0, "trace_ids": [], "errors": [error]}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _refused(self) -> str:
        """As the monitor says it to whoever accepts a language."""
        with pytest.raises(MalformedPayload) as refused:
            decode_trace({"question": "q", "answer": ["a"]}, received_at=datetime.now(UTC))
        return translate(refused.value, self.headers.get("accept-language", "en"))

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def monitor() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Monitor)
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def test_import_tells_in_chinese_what_the_monitor_refused(monitor: str, tmp_path: Path) -> None:
    rows = tmp_path / "rows.jsonl"
    rows.write_text('{"question": "q", "answer": ["a"]}\n[1]\n')

    done = _run("import", rows, "--url", monitor, "--language", "zh")

    assert done.returncode == 1
    assert "第 1 行：`answer` 须为字符串，不能是 ['a']" in done.stderr
    assert "第 2 行：不是 JSON 对象" in done.stderr
    assert "must be" not in done.stdout


def test_evaluate_and_its_report_tell_in_chinese_why_rows_failed(tmp_path: Path) -> None:
    rows, page = tmp_path / "rows.jsonl", tmp_path / "report.md"
    row = '{"question": "q", "answer": "a", "reference": "a"}'
    rows.write_text(f'{row}\n{{"id": "x", "question": "q", "answer": ["a"]}}\n')
    given = ("--judge", "none", "--metrics", "exact_match", "--language", "zh", "--report", page)

    done = _run("evaluate", rows, *given)

    assert done.returncode == 0, done.stderr
    said = "x：第 2 行数据：`answer` 须为字符串，不能是 ['a']"
    assert said in done.stderr
    assert "须为字符串" in page.read_text("utf-8")


@pytest.mark.parametrize(
    ("options", "shown"),
    [
        (["--targets", "rga"], "没有目标配置 'rga'（是否想用 'rag'？）；自带的有：abstracts, "),
        (["--targets", "zzzzzz"], "没有目标配置 'zzzzzz'；自带的有：abstracts, "),
        (["--columns", "frage"], "--columns 'frage'：请写成 文件中的列名=这里的列名"),
    ],
)
def test_options_that_cannot_be_used_are_told_in_chinese(
    tmp_path: Path, options: list[str], shown: str
) -> None:
    rows = tmp_path / "rows.jsonl"
    rows.write_text('{"question": "问题", "answer": "回答"}\n', encoding="utf-8")

    done = _run("evaluate", rows, *options, "--language", "zh")

    assert done.returncode == 2
    assert shown in done.stderr


def test_comparing_with_a_file_that_is_not_there_names_it(tmp_path: Path) -> None:
    done = _run("compare", tmp_path / "a", tmp_path / "b", "--language", "zh")

    assert f"没有文件 {tmp_path / 'a'}" in done.stderr


@pytest.mark.parametrize("command", ["evaluate", "agreement"])
def test_a_file_in_another_encoding_is_told_once_and_in_chinese(
    tmp_path: Path, command: str
) -> None:
    rows = tmp_path / "rows.jsonl"
    rows.write_text('{"question": "问题", "answer": "回答"}\n' * 30, "gbk")

    done = _run(command, rows, "--language", "zh")

    assert done.returncode == 2
    [line] = done.stderr.strip().splitlines()
    assert "看起来是 GB18030" in line
    assert "iconv -f GB18030 -t UTF-8" in line
