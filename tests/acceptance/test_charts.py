"""Charts in a real browser: by mouse, finger and keyboard, and their numbers beside the API's."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest

from tests.acceptance.browsing import chromium, watched
from tests.acceptance.running import http
from tests.integration.server.test_client import serve
from tests.unit.server.fakes import make_services

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, Page

pytestmark = pytest.mark.slow

APP = "/?app=loan-assistant&window=6h"
FAITHFULNESS = ".tile [data-chart]"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as started:
        yield started


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with contextlib.contextmanager(serve)(make_services()) as started:
        yield started


@pytest.fixture
def page(browser: Browser, url: str) -> Iterator[Page]:
    context = browser.new_context(base_url=url, viewport={"width": 1280, "height": 900})
    context.set_default_timeout(20_000)
    opened = context.new_page()
    troubles = watched(opened, url)
    yield opened
    context.close()
    assert troubles == []


def told(chart: Locator) -> dict[str, Any]:
    """The numbers of a chart, as its script reads them."""
    read: dict[str, Any] = json.loads(str(chart.get_attribute("data-chart")))
    return read


def iso(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def place(chart: Locator, share: float) -> tuple[float, float]:
    """Where on the screen a share of the time axis is."""
    chart.scroll_into_view_if_needed()
    box = chart.locator(".plot").bounding_box()
    assert box is not None
    return box["x"] + share * box["width"], box["y"] + box["height"] / 2


def stretch(url: str) -> tuple[str, str]:
    query = parse_qs(urlsplit(url).query)
    return query["from"][0], query["to"][0]


def test_the_numbers_of_a_chart_are_those_of_the_api(page: Page, url: str) -> None:
    page.goto(APP)
    read = told(page.locator(FAITHFULNESS).first)
    starts = read["starts"]
    query = {
        "app": "loan-assistant",
        "metric": "faithfulness",
        "from": iso(starts[0]),
        "to": iso(starts[-1]),
        "step": f"{(starts[1] - starts[0]) // 60}m",
    }

    points = http("GET", f"{url}/api/v1/series?{urlencode(query)}").json["points"]

    (line,) = read["lines"]
    assert len(points) == len(line["values"])
    assert line["values"] == pytest.approx([point["value"] for point in points], abs=1e-6)
    assert line["said"][0].startswith(f"{points[0]['value']:.2f} (")


def test_a_point_tells_its_numbers_and_leads_to_its_traces(page: Page) -> None:
    page.goto(APP)
    chart = page.locator(FAITHFULNESS).first
    read = told(chart)
    number = len(read["times"]) // 2
    at = place(chart, (number + 0.5) / len(read["times"]))

    page.mouse.move(*at)
    tip = page.locator(".charttip")
    assert tip.is_visible()
    assert read["times"][number] in str(tip.text_content())
    assert read["lines"][0]["said"][number] in str(tip.text_content())

    page.mouse.click(*at)
    page.wait_for_url("**/traces?**")
    assert stretch(page.url) == (iso(read["starts"][number]), iso(read["starts"][number + 1]))
    assert "app=loan-assistant" in page.url
    assert page.locator(".banner.hint").count() == 0  # the list applies all that was asked for


def test_dragging_zooms_and_the_address_says_where(page: Page) -> None:
    page.goto(APP)
    chart = page.locator(FAITHFULNESS).first
    starts = told(chart)["starts"]
    steps = len(starts) - 1

    page.mouse.move(*place(chart, 5.5 / steps))
    page.mouse.down()
    page.mouse.move(*place(chart, 20.5 / steps), steps=5)
    assert page.locator(".brush").count() == 1
    page.mouse.up()

    page.wait_for_url("**from=**")
    assert stretch(page.url) == (iso(starts[5]), iso(starts[21]))
    assert "window=" not in page.url
    assert told(page.locator(FAITHFULNESS).first)["starts"][-1] == starts[21]


def test_a_chart_is_read_and_zoomed_by_keyboard(page: Page) -> None:
    page.goto(APP)
    chart = page.get_by_role("slider", name="Faithfulness over time")
    read = told(chart)
    last = len(read["times"]) - 1

    chart.focus()
    page.keyboard.press("ArrowLeft")
    said = str(chart.get_attribute("aria-valuetext"))
    assert said.startswith(read["times"][last - 1])
    assert read["lines"][0]["said"][last - 1] in said

    page.keyboard.press("Shift+ArrowLeft")
    page.keyboard.press("Shift+ArrowLeft")
    page.keyboard.press("Enter")
    page.wait_for_url("**from=**")
    assert stretch(page.url) == (iso(read["starts"][last - 3]), iso(read["starts"][last]))


def test_a_finger_shows_a_point_and_then_its_traces(browser: Browser, url: str) -> None:
    context = browser.new_context(
        base_url=url, viewport={"width": 390, "height": 800}, has_touch=True, is_mobile=True
    )
    page = context.new_page()
    page.goto(APP)
    chart = page.locator(FAITHFULNESS).first
    page.touchscreen.tap(*place(chart, 0.5))

    link = page.locator(".charttip").get_by_role("link", name="These traces")
    link.wait_for()
    link.tap()
    page.wait_for_url("**/traces?**")
    context.close()


def test_letters_of_charts_are_large_enough_on_a_phone(browser: Browser, url: str) -> None:
    context = browser.new_context(base_url=url, viewport={"width": 390, "height": 800})
    page = context.new_page()
    page.goto(APP)

    sizes = page.locator(".chart text").evaluate_all(
        """all => all.map(text => {
            const scale = text.getScreenCTM().d;
            return scale * parseFloat(getComputedStyle(text).fontSize);
        })"""
    )
    context.close()

    assert len(sizes) > 20
    assert min(sizes) >= 12


def test_without_a_script_the_numbers_are_a_table(browser: Browser, url: str) -> None:
    alone = browser.new_page(java_script_enabled=False, base_url=url)
    alone.goto(APP)
    tile = alone.locator(".tile").first
    tile.locator("summary").click()

    rows = tile.locator(".numbers tbody tr")
    read = told(tile.locator("[data-chart]"))
    assert rows.count() == len(read["times"])
    assert rows.first.locator("td").text_content() == read["lines"][0]["said"][0]
    rows.first.get_by_role("button").click()
    assert urlsplit(alone.url).path == "/traces"
    alone.close()
