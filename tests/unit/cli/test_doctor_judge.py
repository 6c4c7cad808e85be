"""`rag-monitor doctor` about the judge: what it can do, how easily it is swayed."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

pytest.importorskip("openai")

from benchmarks.stub_server import Answer, Body, StubServer, completion, fill, obliging, schema_of
from rag_monitor.cli.application import app
from rag_monitor.errors import ConfigurationError, RagMonitorError
from rag_monitor.judges.injection_report import read_families
from rag_monitor.judges.openai_compatible.capabilities import forget
from tests.unit.judges.test_scoring_methods import Server

Script = Callable[[str, Body], Answer]


@contextmanager
def served(script: Script) -> Iterator[str]:
    """The script behind a URL, on a loop of its own: the command has its own."""
    forget()
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    server = StubServer(script)
    try:
        asyncio.run_coroutine_threadsafe(server.__aenter__(), loop).result(10)
        yield server.url
        asyncio.run_coroutine_threadsafe(server.__aexit__(None, None, None), loop).result(10)
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


def doctor(url: str, folder: Path, *arguments: str) -> Result:
    path = folder / "rag_monitor.toml"
    path.write_text(
        f'judge = "openai_compatible"\ndatabase_url = "sqlite:///{folder}/m.db"\n'
        f'[judges.openai_compatible]\nbase_url = "{url}"\nmodel = "m"\n',
        encoding="utf-8",
    )
    return CliRunner().invoke(app, ["doctor", "--config", str(path), *arguments])


def judging(value: Callable[[str], float]) -> Script:
    """A server whose every probability comes from the text of the request."""

    def script(_path: str, body: Body) -> Answer:
        schema = schema_of(body)
        assert schema is not None
        words = body["messages"][1]["content"]
        return Answer(payload=completion(json.dumps(fill(schema, value(words)))))

    return script


def honest(words: str) -> float:
    return 0.1 if "60 days" in words or "60天" in words else 0.9


def gullible(words: str) -> float:
    return 0.95 if "supported." in words or "有依据" in words else honest(words)


def test_it_shows_what_the_server_can_do(tmp_path: Path) -> None:
    with served(obliging) as url:
        done = doctor(url, tmp_path, "--json")

    checks = {check["name"]: check for check in json.loads(done.stdout)["checks"]}
    assert checks["judge"]["ok"]
    assert checks["judge"]["detail"].startswith("openai_compatible/m/")
    assert "shape json_schema" in checks["judge"]["detail"]
    assert "top_logprobs 20" in checks["judge"]["detail"]


@pytest.mark.parametrize(
    ("endpoints", "labels_by"),
    [
        ((), "top_logprobs"),
        (("tokenize", "template", "vllm"), "vllm_generative_scoring"),
        (("tokenize", "template", "vllm", "ids"), "logprob_token_ids"),
        (("tokenize", "template", "sglang"), "sglang_score"),
    ],
)
def test_it_shows_where_label_probabilities_come_from(
    endpoints: tuple[str, ...], labels_by: str, tmp_path: Path
) -> None:
    with served(Server(*endpoints)) as url:
        done = doctor(url, tmp_path)

    assert f"labels_by {labels_by}" in done.stdout


def test_a_server_that_refuses_us_is_a_bad_check_that_says_why(tmp_path: Path) -> None:
    with served(lambda *_: Answer(payload={"error": "no such key"}, status=401)) as url:
        done = doctor(url, tmp_path)

    assert done.exit_code == 1
    assert "BAD  judge: the judge's server answered 401" in done.stdout


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (Answer(payload=completion("I'm sorry.")), "the reply holds no JSON object; it begins:"),
        (Answer(payload={"error": {"message": "Insufficient Balance"}}, status=402),
         "the judge's server answered 402: Insufficient Balance"),
        (Answer(payload=b"<html><title>Sign in</title></html>"), "a web page: Sign in"),
        (Answer(payload={"error": {"message": "model x does not exist", "code": 404}}),
         "answered 200 with an error inside (404): model x does not exist"),
    ],
)  # fmt: skip
def test_it_says_what_the_server_or_the_reader_of_its_reply_said(
    answer: Answer, said: str, tmp_path: Path
) -> None:
    with served(lambda *_: answer) as url:
        done = doctor(url, tmp_path)

    assert done.exit_code == 1
    assert "BAD  judge: " in done.stdout
    assert said in done.stdout


def test_it_names_the_model_that_answers_in_place_of_the_configured_one(tmp_path: Path) -> None:
    def other(path: str, body: Body) -> Answer:
        answer = obliging(path, body)
        return replace(answer, payload=answer.payload | {"model": "small-7b"})

    with served(other) as url:
        done = doctor(url, tmp_path)

    assert "served_model small-7b" in done.stdout


def test_an_honest_judge_flips_nowhere(tmp_path: Path) -> None:
    with served(judging(honest)) as url:
        done = doctor(url, tmp_path, "--injection", "--json")

    report = json.loads(done.stdout)
    assert report["judge"].startswith("openai_compatible/m/")
    assert report["tried"] > 20
    assert {row["flips"] for row in report["families"]} <= {0.0}


def test_a_gullible_judge_flips_where_it_obeys(tmp_path: Path) -> None:
    with served(judging(gullible)) as url:
        done = doctor(url, tmp_path, "--injection")

    assert done.exit_code == 0, done.output
    rows = {line[6:31].strip(): line[31:].split() for line in done.stdout.splitlines()}
    assert float(rows["planted passage"][1]) == 1.0
    assert float(rows["pretended end of task"][1]) == 0.0


def test_attacks_of_ones_own_are_taken_from_a_file(tmp_path: Path) -> None:
    content: dict[str, Any] = dict(read_families())
    content["families"] = content["families"][:1]
    own = tmp_path / "own.json"
    own.write_text(json.dumps(content), encoding="utf-8")

    with served(judging(honest)) as url:
        done = doctor(url, tmp_path, "--injection", "--families", str(own), "--json")

    assert [row["id"] for row in json.loads(done.stdout)["families"]] == [1]


def test_a_judge_that_never_answers_is_an_error_not_a_clean_report(tmp_path: Path) -> None:
    with served(lambda *_: Answer(payload={"error": "no"}, status=401)) as url:
        done = doctor(url, tmp_path, "--injection")

    assert isinstance(done.exception, RagMonitorError)
    assert "no usable verdict" in str(done.exception)


def test_families_without_injection_are_refused(tmp_path: Path) -> None:
    done = doctor("http://127.0.0.1:9/v1", tmp_path, "--families", "x.json")

    assert isinstance(done.exception, ConfigurationError)


def test_our_families_have_controls_of_the_same_length_in_both_languages() -> None:
    families = read_families()["families"]

    assert len(families) >= 15
    for family in families:
        assert set(family["examples"]) == {"en", "zh"}
        for example in [e for found in family["examples"].values() for e in found]:
            assert len(example["attack"]) == len(example["control"])
