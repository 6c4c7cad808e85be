"""Questions as titles: long ones are cut and stand whole beside, empty ones are named so."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from rag_monitor.server.services import Services
from rag_monitor.server.ui.question_title import cut_in, title_of
from tests.unit.server.conftest import open_client
from tests.unit.server.test_pages import HTML

LONG = "请问这份合同里的 liability clause 怎么理解?" * 700


async def pages_with(services: Services, question: str | None, language: str) -> dict[str, str]:
    """The pages that show a question, where every trace asks this one."""
    stored = services.traces.stored  # type: ignore[attr-defined]
    for key, one in stored.items():
        stored[key] = replace(one, trace=replace(one.trace, question=question))
    tasks = services.label_queue.tasks  # type: ignore[attr-defined]
    tasks[:] = [replace(one, trace=replace(one.trace, question=question)) for one in tasks]
    async with open_client(services, headers=HTML) as client:
        return {
            path: (await client.get(path, params={"lang": language})).text
            for path in ("/traces", "/labels", "/alerts", f"/traces/{next(iter(stored))[1]}")
        }


async def test_a_list_sends_the_beginnings_of_long_questions(services: Services) -> None:
    found = await pages_with(services, LONG, "en")

    assert max(len(text) for path, text in found.items() if len(path) < 10) < 200_000
    assert f'<span class="question">{LONG[:400].rstrip()}…</span>' in found["/traces"]
    assert f'<span class="question">{LONG[:400].rstrip()}…</span>' in found["/labels"]


@pytest.mark.parametrize(("language", "said"), [("en", "whole question"), ("zh", "完整问题")])
async def test_a_trace_heads_with_the_beginning_and_has_the_whole_question(
    services: Services, language: str, said: str
) -> None:
    *_, text = (await pages_with(services, LONG, language)).values()

    heading = re.search(r'<h1 class="asked">([^<]*)</h1>', text)
    assert heading is not None
    assert heading[1] == LONG[:1500].rstrip() + "…"
    assert re.search(rf'<details class="whole every"><summary>[^<]*{said}', text)
    assert f">{LONG}</div></details>" in text


@pytest.mark.parametrize(("question", "cut"), [("Why?", ""), ("为" * 101, "narrow"), (None, "")])
async def test_only_a_question_that_may_be_cut_stands_there_twice(
    services: Services, question: str | None, cut: str
) -> None:
    *_, text = (await pages_with(services, question, "en")).values()

    assert cut_in(question) == cut
    assert ('<details class="whole' in text) is bool(cut)


@pytest.mark.parametrize("question", ["", " \n\u3000"])
@pytest.mark.parametrize(("language", "said"), [("en", "(empty question)"), ("zh", "（空问题）")])
async def test_an_empty_question_is_said_to_be_empty(
    services: Services, question: str, language: str, said: str
) -> None:
    listed, waiting, alerts, trace = (await pages_with(services, question, language)).values()

    assert f'<span class="question">{said}</span>' in listed
    assert f'<span class="question">{said}</span>' in waiting
    assert f'<h1 class="asked">{said}</h1>' in trace
    assert re.search(r"<title>[0-9a-f]{32} · ", trace)
    assert not re.search(r'<a href="/traces/[0-9a-f]{32}">\s*</a>', alerts)


def test_a_beginning_is_one_line_and_tells_that_more_follows() -> None:
    assert title_of(" a\n\n b ", 10) == "a b"
    assert title_of("abc def", 4) == "abc…"
    assert title_of(None, 4) == ""
