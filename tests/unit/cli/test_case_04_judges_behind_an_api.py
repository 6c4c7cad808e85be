"""Case 04: `rag-monitor evaluate` with a judge whose server has a quirk for each model's name."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

pytest.importorskip("openai")

from rag_monitor.cli.application import app
from rag_monitor.judges.openai_compatible.capabilities import forget
from tests.servers.model_server import Asked, ModelServer, Quirk, Sent, refused, said
from tests.servers.quirks import SCORED

_DATA = os.environ.get("RAG_MONITOR_TEST_DATA")
_SHARED = Path(_DATA).parent if _DATA else Path(__file__).resolve().parents[4] / "shared"
CASES = _SHARED / "cases" / "evaluation"
KEY = "sk-case-04-abcdef"
METRICS = "faithfulness,context_precision,answer_relevance"
ROWS = (
    {
        "id": "en",
        "question": "When does the pool open?",
        "contexts": ["The pool opens at seven.", "Towels are free."],
        "answer": "The pool opens at seven. Towels cost two euros.",
    },
    {
        "id": "zh",
        "question": "泳池几点开放？",
        "contexts": ["泳池七点开放。", "毛巾免费。"],
        "answer": "泳池七点开放。毛巾两欧元。",
    },
)


def evaluated(
    folder: Path, url: str, model: str, rows: Path, *arguments: str, **settings: Any
) -> tuple[Result, list[dict[str, Any]]]:
    """What the command said, and the lines it wrote."""
    forget()
    given = {"base_url": url, "model": model, "api_key": KEY, "probe_every": 0} | settings
    table = "\n".join(f"{name} = {json.dumps(value)}" for name, value in given.items())
    config, output = folder / "rag_monitor.toml", folder / "scores.jsonl"
    config.write_text(
        f"[judges.openai_compatible]\n{table}\n[judges.openai_compatible.limits]\n"
        "backoff_s = 0.01\nbackoff_cap_s = 0.02\nattempts = 4\n",
        encoding="utf-8",
    )
    output.unlink(missing_ok=True)
    asked = ["evaluate", str(rows), "--judge", "openai_compatible", "--config", str(config)]
    done = CliRunner().invoke(
        app, [*asked, "--metrics", METRICS, "-o", str(output), *arguments], catch_exceptions=True
    )
    lines = output.read_text(encoding="utf-8").splitlines() if output.exists() else []
    return done, [json.loads(line) for line in lines]


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    path = tmp_path / "rows.jsonl"
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in ROWS)
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("model", SCORED)
def test_case_04_every_row_is_scored_whatever_quirk_the_server_has(
    model: str, rows: Path, tmp_path: Path
) -> None:
    with ModelServer(SCORED) as server:
        done, lines = evaluated(tmp_path, server.url, model, rows)

    assert done.exit_code == 0, done.output
    assert [line["id"] for line in lines] == ["en", "zh"]
    for line in lines:
        assert (line["failed"], line["detail"]) == ({}, None)
        assert line["scores"]["faithfulness"] == 0.9


def _with(content: str) -> Quirk:
    return lambda asked: said(content.replace("REPLY", asked.reply))


def _upstream_page(_: Asked) -> Sent:
    return Sent(raw=b"<html><title>Sign in</title></html>", kind="text/html")


FAILING: Mapping[str, tuple[Quirk, str, str]] = {
    "two-replies": (_with("REPLY REPLY"), "judge_output_invalid", "nonce more than once"),
    "declines": (_with("I can't rate that."), "judge_output_invalid", "begins: I can't rate"),
    "single-quotes": (
        lambda asked: said(asked.reply.replace('"', "'")), "judge_output_invalid", "double quotes"),
    "percent": (
        lambda asked: said(asked.reply.replace("0.9", "90")), "judge_output_invalid", "outside 0"),
    "web-page": (_upstream_page, "judge_output_invalid", "a web page: Sign in"),
    "no-choices": (
        lambda _: Sent(payload={"choices": []}), "judge_output_invalid", "has no choices"),
    "filter": (
        lambda _: refused(400, "Content Exists Risk"), "reply_withheld", "Content Exists Risk"),
    "declined": (
        lambda _: said(None, refusal="I won't."), "reply_withheld", "declines to judge: I won't"),
    "busy-inside": (
        lambda _: Sent(payload={"error": {"message": "Upstream is busy", "code": 503}}),
        "judge_unavailable", "error inside (503): Upstream is busy"),
    "shape": (
        lambda _: refused(400, "field messages is wrong"), "request_refused", "messages is wrong"),
}  # fmt: skip


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("model", FAILING)
def test_case_04_a_failed_row_says_what_the_server_or_the_reader_said(
    model: str, language: str, rows: Path, tmp_path: Path
) -> None:
    quirk, reason, sentence = FAILING[model]
    with ModelServer({"*": quirk}) as server:
        done, lines = evaluated(tmp_path, server.url, model, rows, "--language", language, reasks=0)

    assert done.exit_code == 1
    for line in lines:
        assert set(line["failed"].values()) == {reason}
        assert set(line["scores"].values()) == {None}
        assert sentence in line["detail"]
        assert language == "zh" or f"{line['id']}: {line['detail']}" in done.output
    assert KEY not in done.output
    if language == "zh":
        assert "judge" not in done.output.replace("rag-monitor", "")


def test_case_04_a_key_the_server_repeats_is_shown_nowhere(rows: Path, tmp_path: Path) -> None:
    def echo(asked: Asked) -> Sent:
        return refused(400, f"bad request with {asked.headers['authorization']}")

    with ModelServer({"*": echo}) as server:
        done, lines = evaluated(tmp_path, server.url, "m", rows)

    assert "bad request with Bearer [secret]" in done.output
    assert KEY not in done.output + json.dumps(lines)


@pytest.fixture(scope="module")
def scripted() -> Iterator[str]:
    script = CASES / "04_scripted_server.py"
    if not script.exists():
        pytest.skip(f"the evaluation cases are not beside the checkout: {script}")
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    environment = {**os.environ, "LOG": os.devnull}
    server = subprocess.Popen([sys.executable, str(script), str(port)], env=environment)
    try:
        for _ in range(200):
            with closing(socket.socket()) as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.05)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        server.kill()
        server.wait()


TAKEN = (
    "fence", "fence_nolang", "trailing", "leading", "cnpunct", "cnquotes", "think", "think_noopen",
    "think_fence", "thinking_tag", "thought_tag", "seed_think", "harmony", "think_empty", "bom",
    "wrapped", "parts", "magistral", "toolonly", "tooldict", "tooltext", "reasoning_content_only",
    "reason_beside", "partial", "no_schema", "o1", "nosystem", "o1mini", "qwen3nonstream",
    "streamonly", "jsonword", "keepalive", "rl", "rlms", "rl_date", "usage_none", "jinja",
    "vllm_toolchoice", "t_fence", "t_leading", "t_think", "t_cnquotes", "t_nosystem",
)  # fmt: skip
REFUSED = {
    "single_quotes": "double quotes", "strnum": "not a number", "percent": "outside 0 to 1",
    "bools": "not a number", "lists": "not an object", "extra": "not asked for: reasoning",
    "refusalfield": "I can't help with that", "refusaltext": "I can't assist with that",
    "filter": "content_filter", "trailing_comma": "not one JSON object", "nan": "NaN",
    "err200": "Provider returned error", "emptychoices": "no choices", "html200": "Login",
    "finish_length": "not one JSON object",
}  # fmt: skip


@pytest.mark.parametrize("model", TAKEN)
def test_case_04_the_scripted_server_s_rows_are_scored(
    model: str, scripted: str, tmp_path: Path
) -> None:
    done, lines = evaluated(tmp_path, scripted, model, CASES / "04_rows.jsonl")

    assert done.exit_code == 0, done.output
    assert [line["scores"]["faithfulness"] for line in lines] == [0.9, 0.9]


@pytest.mark.parametrize("model", REFUSED)
def test_case_04_the_scripted_server_s_other_replies_fail_with_a_sentence(
    model: str, scripted: str, tmp_path: Path
) -> None:
    done, lines = evaluated(tmp_path, scripted, model, CASES / "04_rows.jsonl", reasks=0)

    assert done.exit_code == 1
    assert all(REFUSED[model] in line["detail"] for line in lines)
    assert all(value is None for line in lines for value in line["scores"].values())


def test_case_04_what_a_reply_of_several_parts_lacks_is_told_and_the_rest_is_scored(
    scripted: str, tmp_path: Path
) -> None:
    done, lines = evaluated(tmp_path, scripted, "keys_n", CASES / "04_rows.jsonl", reasks=0)

    said = "the reply has fields that were not asked for: statement_1"
    assert f"a: {said}" in done.output
    for line in lines:
        assert line["failed"]["faithfulness"] == "verdict_missing"
        assert line["detail"].startswith(said)
        assert line["scores"]["context_precision"] == 1.0


def test_case_04_azure_s_key_and_version_are_settings(scripted: str, tmp_path: Path) -> None:
    for model, settings in (
        ("azurekey", {"headers": {"api-key": "k-1234"}}),
        ("azurever", {"query": {"api-version": "2024-10-21"}}),
    ):
        table = {
            name: {key: value} for name, given in settings.items() for key, value in given.items()
        }
        done, lines = _with_tables(tmp_path, scripted, model, table)

        assert done.exit_code == 0, done.output
        assert [line["scores"]["faithfulness"] for line in lines] == [0.9, 0.9]


def _with_tables(
    folder: Path, url: str, model: str, tables: Mapping[str, Mapping[str, str]]
) -> tuple[Result, list[dict[str, Any]]]:
    forget()
    config, output = folder / "azure.toml", folder / f"{model}.jsonl"
    text = f'[judges.openai_compatible]\nbase_url = "{url}"\nmodel = "{model}"\n'
    for name, values in tables.items():
        inner = ", ".join(f'{key} = "{value}"' for key, value in values.items())
        text += f"{name} = {{ {inner} }}\n"
    config.write_text(text, encoding="utf-8")
    asked = ["evaluate", str(CASES / "04_rows.jsonl"), "--judge", "openai_compatible"]
    done = CliRunner().invoke(
        app, [*asked, "--config", str(config), "--metrics", METRICS, "-o", str(output)]
    )
    return done, [json.loads(line) for line in output.read_text(encoding="utf-8").splitlines()]
