"""The shape of pages in a real browser where what was sent is out of all proportion."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import rag_monitor.server.ui as ui
from rag_monitor.offline.report.files import render_html
from rag_monitor.offline.report.model import Figure, MetricReport, Report
from tests.acceptance.browsing import chromium, overflow
from tests.unit.server.conftest import open_client
from tests.unit.server.fakes import make_services
from tests.unit.server.test_pages import HTML
from tests.unit.server.test_question_title import LONG, pages_with

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.slow

STYLE = (Path(ui.__file__).parent / "static" / "app.css").read_text("utf-8")
NARROW, WIDE = 390, 1280


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as started:
        yield started


def rendered(question: str, language: str) -> dict[str, str]:
    """The pages that show a question; in a thread, as playwright keeps a loop in this one."""
    with ThreadPoolExecutor(1) as other:
        pages = other.submit(lambda: asyncio.run(pages_with(make_services(), question, language)))
        return pages.result()


def opened(browser: Browser, text: str, width: int) -> Page:
    """A rendered page with its style and without its script, as it comes over the wire."""
    page = browser.new_page(viewport={"width": width, "height": 800}, java_script_enabled=False)
    styled = text.replace("</head>", f"<style>{STYLE}</style></head>", 1)
    page.set_content(styled, wait_until="domcontentloaded")
    return page


def height(page: Page, selector: str) -> float:
    box = page.locator(selector).first.bounding_box()
    assert box is not None
    return box["height"]


@pytest.mark.parametrize("width", [NARROW, WIDE])
@pytest.mark.parametrize("question", [LONG, "W" * 20_000, "i" * 20_000])
def test_a_question_of_any_length_takes_a_few_lines(
    browser: Browser, question: str, width: int
) -> None:
    found = rendered(question, "en")
    *_, path = found
    for listed in ("/traces", "/labels"):
        page = opened(browser, found[listed], width)
        assert height(page, ".tracerow .question") < 55
        assert overflow(page) <= 0
        page.close()

    page = opened(browser, found[path], width)
    assert height(page, "h1") < 180
    assert page.locator(".whole .prose").is_hidden()
    page.locator(".whole summary").click()
    assert page.locator(".whole .prose").is_visible()
    assert overflow(page) <= 0
    page.close()


def writes_chinese(browser: Browser) -> bool:
    """Whether a font has Chinese characters: in place of one it lacks stands a narrow box."""
    page = browser.new_page()
    page.set_content("<span style='font-size: 100px'>为</span>")
    box = page.locator("span").bounding_box()
    page.close()
    return box is not None and box["width"] > 95


def test_a_desk_is_not_offered_what_only_a_telephone_cuts(browser: Browser) -> None:
    if not writes_chinese(browser):
        pytest.skip("no font has Chinese characters; fonts-wqy-microhei has")
    found = rendered("为什么" * 50, "zh")
    *_, text = found.values()
    for width in (NARROW, WIDE):
        page = opened(browser, text, width)
        cut = page.locator("h1").evaluate("one => one.scrollHeight > one.clientHeight + 2")
        assert page.locator(".whole summary").is_visible() is cut is (width == NARROW)
        page.close()


def test_paper_gets_dark_ink_and_nothing_to_press(browser: Browser) -> None:
    found = rendered("Why?", "en")
    for text in (found["/traces"], found["/alerts"], found[[*found][-1]]):
        page = opened(browser, text, WIDE)
        page.emulate_media(media="print", color_scheme="dark")
        ink = "const look = getComputedStyle(document.body); [look.color, look.backgroundColor]"
        assert page.evaluate(ink) == ["rgb(28, 31, 35)", "rgb(255, 255, 255)"]
        for pressed in page.locator("nav, button, form, details:has(form)").all():
            assert pressed.is_hidden()
        page.close()


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_report_on_a_telephone_does_not_stack_characters(browser: Browser, language: str) -> None:
    reasons = {"no_relevant_passage": 120, "no_reference": 40, "refusal_on_empty_contexts": 7}
    metric = MetricReport(
        name="context_precision",
        family="judge",
        mean=None,
        lower=None,
        upper=None,
        scored=0,
        reasons=reasons,
        not_applicable=170,
        failed=0,
        suspect=0,
        smallest=None,
        largest=None,
        histogram=None,
    )
    report = Report(
        file="rows.jsonl",
        created_at="2026-01-05T12:00:00+00:00",
        version="1",
        judge=None,
        rows=170,
        failed_rows=0,
        flagged=0,
        seconds=1.0,
        metrics=(metric,),
        hit_rates={
            "plugin/退款进度查询插件/expected": Figure(value=0.5, lower=0.4, upper=0.6, n=9)
        },
    )
    page = browser.new_page(viewport={"width": NARROW, "height": 800}, java_script_enabled=False)
    page.set_content(render_html(report, language), wait_until="domcontentloaded")

    rows = page.locator("tbody tr")
    heights = [rows.nth(n).bounding_box() for n in range(rows.count())]
    assert len(heights) == 3
    assert max(box["height"] for box in heights if box) < 100
    assert overflow(page) <= 0
    page.close()


def test_the_windows_fit_a_telephone_in_chinese_on_one_line(browser: Browser) -> None:
    async def overview() -> str:
        async with open_client(make_services(), headers=HTML) as client:
            return (await client.get("/?lang=zh")).text

    with ThreadPoolExecutor(1) as other:
        text = other.submit(lambda: asyncio.run(overview())).result()
    page = opened(browser, text, NARROW)
    assert height(page, ".windows") < 45
    assert page.locator(".windows").evaluate("one => one.getBoundingClientRect().right") <= NARROW
    assert overflow(page) <= 0
    page.close()


def shown(path: str) -> str:
    """A page in Chinese, as it comes over the wire."""

    async def asked() -> str:
        async with open_client(make_services(), headers=HTML) as client:
            return (await client.get(path, headers={"Accept-Language": "zh"})).text

    with ThreadPoolExecutor(1) as other:
        return other.submit(lambda: asyncio.run(asked())).result()


def test_keeping_a_view_takes_one_line_of_a_telephone(browser: Browser) -> None:
    text = shown("/traces?status=error")
    narrow = opened(browser, text, NARROW)
    fold = narrow.locator(".fold", has=narrow.locator(".saveview"))
    assert narrow.locator(".saveview").is_hidden()
    box = fold.bounding_box()
    assert box is not None
    assert box["height"] < 45
    fold.locator("summary").click()
    assert narrow.locator(".saveview input[name=name]").is_visible()
    assert overflow(narrow) <= 0
    narrow.close()

    wide = opened(browser, text, WIDE)
    assert wide.locator(".saveview").is_visible()
    wide.close()


@pytest.mark.parametrize("path", ["/", "/?app=loan-assistant", "/traces?status=error", "/alerts"])
def test_a_finger_meets_what_opens_and_what_is_pressed(browser: Browser, path: str) -> None:
    page = opened(browser, shown(path), NARROW)
    small = [
        what.inner_text()
        for what in page.locator("main :is(summary, button, .check)").all()
        if what.is_visible() and (box := what.bounding_box()) and box["height"] < 24
    ]
    lines = [
        what.inner_text()
        for what in page.locator("main .finds button").all()
        if (box := what.bounding_box()) and box["height"] > 50
    ]
    page.close()

    assert small == []
    assert lines == []
