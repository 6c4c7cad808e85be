"""Answers of the interface are in the language that whoever asks accepts, parts of them too."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import httpx
import pytest

from rag_monitor.domain.ports import IngestBatch, WriteOutcome
from rag_monitor.ingest.receiver import Receiver
from tests.unit.server.conftest import open_client
from tests.unit.server.fakes import make_services


class Taking:
    """Stores nothing."""

    async def write(self, batch: IngestBatch) -> WriteOutcome:
        """Take a batch."""
        return WriteOutcome()


ZH = {"accept-language": "zh-CN, en;q=0.5"}


async def answered(client: httpx.AsyncClient, path: str) -> Any:
    return (await client.get(f"/api/v1/{path}", headers=ZH)).json()


@pytest.mark.parametrize(
    ("path", "detail"),
    [
        ("traces?limit=0", "`limit`：不能小于 1。要求见 /docs。"),
        ("traces?limit=x&cursor=", "`limit`：应为整数。要求见 /docs。"),
        ("traces?ap=x", "`ap`：没有 parameter 'ap'，是否想用 'app'？；可用："),
        ("traces?metric=blue", "`metric`：没有 metric 'blue'"),
        (
            "summary?window=1h&from=2026-01-05T12:00:00Z",
            "`window`：`window` 和 `from` 只能发送一个",
        ),
        ("summary?app=loan-asistant", "没有名为 'loan-asistant' 的应用发送过请求，是否想用"),
    ],
)
async def test_problems_are(client: httpx.AsyncClient, path: str, detail: str) -> None:
    problem = await answered(client, path)

    assert problem["detail"].startswith(detail)
    assert not re.search(r"\b(must|should|there|not)\b", problem["detail"])


async def test_single_errors_are(client: httpx.AsyncClient) -> None:
    problem = await answered(client, "traces?limit=0")

    assert problem["errors"] == [{"field": "limit", "message": "不能小于 1"}]


async def test_hints_are(client: httpx.AsyncClient) -> None:
    found = await answered(client, "traces?app=loan-asistant")

    assert found["hints"] == [
        "`app`：已存的数据中没有 'loan-asistant'，是否想用 'loan-assistant'？"
    ]


@pytest.mark.parametrize(("headers", "said"), [(ZH, "须为字符串"), ({}, "must be a string")])
async def test_errors_of_rows_are(headers: dict[str, str], said: str) -> None:
    rows = [{"question": "q", "answer": "a"}, {"question": "q", "answer": ["a"]}]
    services = replace(make_services(), receiver=Receiver(Taking()))
    async with open_client(services) as client:
        some = await client.post("/api/v1/traces", json=rows, headers=headers)
        none = await client.post("/api/v1/traces", json=rows[1:], headers=headers)

    (error,) = some.json()["errors"]
    assert said in error["message"]
    assert error["field"] == "answer"
    assert none.status_code == 422
    assert said in none.json()["detail"]
    assert said in none.json()["errors"][0]["message"]
