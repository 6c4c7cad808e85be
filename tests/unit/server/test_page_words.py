"""No machine word and no English sentence reaches a person who reads the pages in Chinese."""

from __future__ import annotations

import ast
import inspect
import re
from dataclasses import replace
from http import HTTPStatus
from types import SimpleNamespace
from typing import cast

import httpx
import pytest

from rag_monitor.charts.numbers import change_text, score_text
from rag_monitor.judges.embedded import model
from rag_monitor.judges.parsing import LOW_LABEL_MASS
from rag_monitor.judges.prompt_injection import REASON as INJECTION
from rag_monitor.metrics.rag.outcome import NOT_NEEDED, VERDICT_MISSING
from rag_monitor.metrics.reason_words import REASONS
from rag_monitor.server.services import Services
from rag_monitor.server.ui.catalog import metric_label
from rag_monitor.server.ui.view import Visitor
from tests.unit.i18n.extraction import catalogue
from tests.unit.server.conftest import open_client
from tests.unit.server.test_pages import HTML


def test_every_reason_a_judge_gives_is_said_in_words() -> None:
    judging = (model.judge_claim, model.apply_floors, model._reason)
    constants = [
        node.value
        for function in judging
        for node in ast.walk(ast.parse(inspect.getsource(function)))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]
    given = {text for text in constants if re.fullmatch("[a-z_]+", text)}

    assert {"verbatim", "not_covered", "number_mismatch"} <= given
    assert given | NOT_NEEDED | {VERDICT_MISSING, LOW_LABEL_MASS, INJECTION} <= set(REASONS)


def test_every_status_a_page_may_have_is_named_in_chinese() -> None:
    statuses = {
        HTTPStatus(code).phrase for code in (400, 403, 404, 405, 408, 413, 415, 422, 429, 503)
    }

    assert statuses - {key.msgid for key in catalogue("zh")} == set()


def test_the_pages_address_their_readers_as_the_guides_do() -> None:
    assert [forms for forms in catalogue("zh").values() if "您" in forms[0]] == []


@pytest.mark.parametrize(
    ("path", "language", "said"),
    [
        (f"/traces/{'a' * 32}", "en", "There is no such trace: it never arrived"),
        (f"/traces/{'a' * 32}", "zh", "没有这条请求"),
        ("/traces/nothing", "zh", "没有这条请求"),
    ],
)
async def test_a_trace_that_is_gone_is_said_to_be_gone(
    services: Services, path: str, language: str, said: str
) -> None:
    async with open_client(services, headers=HTML) as client:
        answer = await client.get(path, params={"lang": language})

    assert answer.status_code == 404
    assert said in answer.text
    assert "default" not in answer.text


async def test_what_the_store_says_of_a_thing_that_is_gone_is_no_page(services: Services) -> None:
    async with open_client(services, headers=HTML) as client:
        listed = await client.get("/alerts?lang=zh")
        token = re.findall(r'name="token" value="([^"]+)"', listed.text)[0]
        answer = await client.post("/ui/silences/delete", data={"token": token, "id": "nothing"})

    assert answer.status_code == 404
    assert "它已不存在。" in answer.text


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ({"below": "0.5"}, True),
        ({"below": "five", "metric": "faithfulness"}, True),
        ({"below": "0.5", "metric": "faithfulness"}, False),
        ({}, False),
    ],
)
async def test_a_limit_that_cannot_hold_is_said_not_to(
    services: Services, query: dict[str, str], told: bool
) -> None:
    async with open_client(services, headers=HTML) as client:
        text = (await client.get("/traces", params=query)).text

    assert ("is not applied" in text) is told


async def test_a_filter_that_is_none_is_said_not_to_be_applied(services: Services) -> None:
    async with open_client(services, headers=HTML) as client:
        text = (await client.get("/traces?status=<b>&since=soon&metric=faithfulness")).text

    banner = re.search(r'<p class="banner hint".*?</p>', text)
    assert banner is not None
    assert "applied: <code>status=&lt;b&gt;</code>, <code>since=soon</code></p>" in banner[0]


async def test_signing_in_leads_back_to_the_filters(outsider: httpx.AsyncClient) -> None:
    answer = await outsider.get("/traces?q=days&since=24h", headers=HTML)

    assert answer.headers["location"] == "/login?next=%2Ftraces%3Fq%3Ddays%26since%3D24h"


async def test_every_word_about_a_parameter_is_in_chinese_too(services: Services) -> None:
    async with open_client(services, headers=HTML) as client:
        text = (await client.get("/docs?lang=zh")).text

    cells = re.findall(r'<td class="wide">(.*?)</td></tr>', text)
    assert cells
    assert [cell for cell in cells if cell and cell.isascii()] == []
    assert "( date-time" not in text


async def test_windows_are_named_in_the_readers_language(services: Services) -> None:
    async with open_client(services, headers=HTML) as client:
        chinese = (await client.get("/?lang=zh")).text
        chosen = (await client.get("/traces?since=24h")).text
        english = (await client.get("/?lang=en")).text

    switch = re.search(r'<nav class="windows".*?</nav>', chinese, re.DOTALL)
    assert switch is not None
    named = re.findall(r">([^<\n]+)</a>", switch[0])
    assert named == ["15 分钟", "1 小时", "6 小时", "24 小时", "7 天", "30 天"]
    assert '<option value="24h" selected>24 小时</option>' in chosen
    assert ">24h</a>" in english


@pytest.mark.parametrize("answer", ["", " \n"])
@pytest.mark.parametrize(
    ("language", "said"), [("en", "The answer is empty."), ("zh", "回答为空。")]
)
async def test_an_empty_answer_is_not_called_unknown(
    services: Services, answer: str, language: str, said: str
) -> None:
    stored = services.traces.stored  # type: ignore[attr-defined]
    key, one = next(iter(stored.items()))
    stored[key] = replace(one, trace=replace(one.trace, answer=answer), scores=())
    async with open_client(services, headers=HTML) as client:
        text = (await client.get(f"/traces/{key[1]}", params={"lang": language})).text

    assert said in text
    assert "There is no answer" not in text
    assert "没有回答：" not in text


def test_a_difference_of_nothing_has_no_sign_and_a_minus_is_a_minus() -> None:
    assert [change_text(value) for value in (0.001, -0.001, -0.05, 0.2)] == [
        "0.00",
        "0.00",
        "−0.05",
        "+0.20",
    ]
    assert score_text(-0.11) == "−0.11"


@pytest.mark.parametrize(
    ("language", "n", "said"),
    [("en", 1, "1 item"), ("en", 2, "2 items"), ("en", 0, "0 items"), ("zh", 1, "1 条")],
)
def test_one_is_not_many(language: str, n: int, said: str) -> None:
    visitor = cast("Visitor", SimpleNamespace(language=language))

    assert Visitor.translate(visitor, "{n} item", "{n} items", n=n) == said


def test_a_kind_of_hits_is_called_by_its_label() -> None:
    assert [metric_label(name) for name in ("plugin", "faithfulness", "mine")] == [
        "Plugin", "Faithfulness", "mine"
    ]  # fmt: skip
