"""What stands between the words of a page: sentences, times and what one types."""

from __future__ import annotations

import re

import pytest

from rag_monitor.server.services import Services
from tests.unit.server.conftest import open_client
from tests.unit.server.test_pages import HTML
from tests.unit.server.test_sessions import put

PAGES = ("/", "/alerts", "/slos", "/documents?list=never_retrieved", "/topics", "/settings")
MARKUP = re.compile(r"<[^>]*>")


@pytest.mark.parametrize("path", PAGES)
async def test_no_space_follows_a_chinese_full_stop(services: Services, path: str) -> None:
    async with open_client(services, headers=HTML) as client:
        text = (await client.get(path, headers={"Accept-Language": "zh"})).text

    assert 'lang="zh-CN"' in text
    assert re.findall(r".{9}。 +[一-鿿“]{1,9}", text) == []


@pytest.mark.parametrize("language", ["en", "zh"])
async def test_the_page_of_the_api_sets_what_one_types_as_code(
    services: Services, language: str
) -> None:
    async with open_client(services, headers=HTML) as client:
        text = (await client.get("/docs", params={"lang": language})).text

    assert "`" not in MARKUP.sub("", text)
    assert "<code>burn_rate</code>" in text


@pytest.mark.parametrize(
    ("questions", "times"),
    [
        (1, r"2026-\d\d-\d\d 11:59:00"),
        (3, r"2026-\d\d-\d\d 11:57:00 – 11:59:00"),
        (24 * 60, r"2026-\d\d-\d\d 12:00:00 – 2026-\d\d-\d\d 11:59:00"),
    ],
)
async def test_the_times_of_a_session_repeat_neither_day_nor_time(
    services: Services, questions: int, times: str
) -> None:
    put(services, "s", *[f"Question {n}?" for n in range(questions)])
    async with open_client(services, headers=HTML) as client:
        text = (await client.get("/session?id=s")).text

    meta = text.split('<ul class="meta">')[1].split("</ul>")[0]
    assert re.search(rf"\n\s*{times}\n", MARKUP.sub("", meta))
