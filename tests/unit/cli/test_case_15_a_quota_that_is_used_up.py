"""Case 15: a quota that is used up stops the run at once, with the server's sentence."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

pytest.importorskip("openai")

from rag_monitor.errors import EverythingRefused
from tests.servers.model_server import Asked, ModelServer, Sent, refused, said
from tests.unit.cli.test_case_04_judges_behind_an_api import CASES, evaluated

SPENT: Mapping[str, tuple[Sent, str]] = {
    "openai": (
        refused(429, "You exceeded your current quota.", code="insufficient_quota"),
        "answered 429: You exceeded your current quota.",
    ),
    "dashscope": (
        refused(400, "Access denied, account in arrears.", code="Arrearage"),
        "answered 400: Access denied, account in arrears.",
    ),
    "deepseek": (refused(402, "Insufficient Balance"), "answered 402: Insufficient Balance"),
    "zhipu": (
        refused(429, "您的账户余额不足，请充值。", code="1113"),
        "answered 429: 您的账户余额不足，请充值。",
    ),
    "minimax": (
        Sent(payload={"base_resp": {"status_code": 1008, "status_msg": "insufficient balance"}}),
        "answered 200 with an error inside: insufficient balance",
    ),
    "openrouter": (
        Sent(payload={"error": {"code": 402, "message": "Insufficient credits"}}),
        "answered 200 with an error inside (402): Insufficient credits",
    ),
}


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    path = tmp_path / "rows.jsonl"
    lines = [
        {"id": str(n), "question": f"{n}?", "contexts": ["It is so."], "answer": f"It is {n}."}
        for n in range(60)
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


@pytest.mark.parametrize("vendor", SPENT)
def test_case_15_nothing_more_is_asked_once_the_quota_is_used_up(
    vendor: str, rows: Path, tmp_path: Path
) -> None:
    sent, sentence = SPENT[vendor]
    with ModelServer({"*": lambda _: sent}) as server:
        done, lines = evaluated(tmp_path, server.url, vendor, rows)

    assert isinstance(done.exception, EverythingRefused)
    assert sentence.rstrip(".。") in str(done.exception)
    assert "is used up" in str(done.exception)
    assert "top up the account" in str(done.exception)
    assert len(server.asked) <= 16, "no more than were under way at once"
    assert lines == []


def test_case_15_what_was_judged_before_is_kept_and_going_on_asks_for_the_rest(
    rows: Path, tmp_path: Path
) -> None:
    paid = [40]

    def paying(asked: Asked) -> Sent:
        if asked.number > paid[0]:
            return refused(429, "Quota is over.", type="insufficient_quota")
        return said(asked.reply)

    with ModelServer({"*": paying}) as server:
        done, lines = evaluated(tmp_path, server.url, "m", rows)
        kept = [line["id"] for line in lines]
        first = len(server.asked)
        paid[0] = 1_000
        (tmp_path / "scores.jsonl").rename(tmp_path / "kept.jsonl")
        again, rest = evaluated(tmp_path, server.url, "m", rows)

    assert isinstance(done.exception, EverythingRefused)
    assert "go on afterwards with --resume" in str(done.exception)
    assert first <= 40 + 16
    assert kept == [str(n) for n in range(len(kept))]
    assert len(kept) <= 40
    assert not any(line["failed"] for line in lines)
    assert again.exit_code == 0
    assert len(rest) == 60


@pytest.mark.parametrize("vendor", ["openai", "dashscope"])
def test_case_15_the_rows_of_the_case_stop_at_the_first_refusal(
    vendor: str, tmp_path: Path
) -> None:
    rows = CASES / "15_quota_rows.jsonl"
    if not rows.exists():
        pytest.skip(f"the evaluation cases are not beside the checkout: {rows}")
    sent, sentence = SPENT[vendor]
    with ModelServer({"*": lambda _: sent}) as server:
        done, _ = evaluated(tmp_path, server.url, vendor, rows)

    assert sentence.rstrip(".。") in str(done.exception)
    assert len(server.asked) <= 16


def test_case_15_a_limit_that_passes_does_not_stop_the_run(rows: Path, tmp_path: Path) -> None:
    seen: set[str] = set()

    def busy(asked: Asked) -> Sent:
        """Every third request is refused once; the same one again is not."""
        prompt = json.dumps(asked.body["messages"])
        first = prompt not in seen
        seen.add(prompt)
        if first and len(seen) % 3 == 1:
            return refused(429, "Rate limit reached. Please try again in 10ms.")
        return said(asked.reply)

    with ModelServer({"*": busy}) as server:
        done, lines = evaluated(tmp_path, server.url, "m", rows)

    assert done.exit_code == 0
    assert len(lines) == 60
    assert not any(line["failed"] for line in lines)
