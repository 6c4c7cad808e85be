"""What a person sees: the demonstration in a real browser, from the alert to its silence."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.acceptance.browsing import (
    PATIENCE_MS,
    accessibility,
    chromium,
    demonstration,
    overflow,
    watched,
)
from tests.acceptance.running import eventually, http

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright")
expect, TimeoutError = playwright.expect, playwright.TimeoutError
expect.set_options(timeout=PATIENCE_MS)

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

FIRED_MS = 240_000
PAGES = (
    "/",
    "/traces",
    "/sessions",
    "/topics",
    "/runbooks",
    "/documents",
    "/documents?list=never_retrieved",
    "/alerts",
    "/slos",
    "/judges",
    "/compare",
    "/settings",
    "/docs",
    "/labels",
    "/labels/next",
    "/nowhere",
)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as started:
        yield started


@pytest.fixture(scope="module")
def demo(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with demonstration(tmp_path_factory.mktemp("demo")) as url:
        # The address is printed before the first question is asked, and any test may come first.
        eventually(lambda: http("GET", f"{url}/traces?q=days").body.count(b"tracerow") >= 2, 240)
        yield url


@pytest.fixture
def page(browser: Browser, demo: str) -> Iterator[Page]:
    context = browser.new_context(base_url=demo, viewport={"width": 1280, "height": 800})
    context.set_default_timeout(PATIENCE_MS)
    opened = context.new_page()
    troubles = watched(opened, demo)
    yield opened
    context.close()
    assert troubles == []


def test_the_alert_fires_is_understood_labelled_and_silenced_in_two_languages(page: Page) -> None:
    page.goto("/")
    banner = page.locator("a.banner", has_text="Faithfulness")
    banner.first.wait_for(timeout=FIRED_MS)  # the page refreshes by itself
    banner.first.click()

    alert = page.locator("article.alert.firing", has_text="faithfulness below last release")
    expect(alert).to_contain_text("fell from")
    alert.locator('a[href^="/traces/"]').first.click()

    statement = page.locator("mark.unsupported").first
    evidence = page.locator("mark.unsupported + .why").first
    expect(evidence).to_be_hidden()
    statement.hover()
    # The worst trace may hold nothing of what its passages say, and then none is nearest.
    expect(evidence).to_contain_text(re.compile("Nearest passage|no passage says this"))
    page.keyboard.press("3")  # "bad", without a mouse
    expect(page.get_by_role("status")).to_contain_text("Thank you")
    expect(page.locator("#feedback .marks li")).to_have_count(1)
    page.goto("/judges")
    primary = page.locator(".judge", has_text="primary")
    expect(primary).to_contain_text("1 marked by people")
    page.goto("/")  # and refreshes until the mark is counted in the estimate
    # By its heading: an alert that is marked in the pictures of all tiles names the metric, too.
    tile = page.locator(".tile", has=page.get_by_role("heading", name="Faithfulness", exact=True))
    expect(tile).to_contain_text("1 marked by people")

    page.goto("/alerts")
    alert = page.locator("article.alert.firing", has_text="faithfulness below last release")
    alert.get_by_role("button", name="Snooze 1 h").click()
    expect(page.locator("#silences")).to_contain_text("faithfulness below last release")
    expect(alert).to_contain_text("silenced until")
    page.get_by_role("button", name="Dry run faithfulness below last release").click()
    expect(page.locator("main")).to_contain_text("would fire")
    page.goto("/alerts")

    page.get_by_role("link", name="中文").click()
    expect(page.locator("html")).to_have_attribute("lang", "zh-CN")
    expect(page.get_by_role("heading", level=1)).to_have_text("告警")
    page.goto("/")
    expect(page.locator("main")).to_contain_text("忠实度")


def test_the_traces_are_walked_and_kept_as_a_view_by_keyboard(page: Page) -> None:
    page.goto("/")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_be_visible()
    page.keyboard.press("Escape")
    goes_to(page, "t", "/traces")
    page.keyboard.press("/")
    page.keyboard.type("days")
    page.keyboard.press("Enter")
    page.wait_for_url("**/traces?q=days*")
    page.get_by_label("Save these filters as a view").fill("with days")
    page.keyboard.press("Enter")
    view = page.get_by_role("navigation", name="Saved views").get_by_role("link", name="with days")
    expect(view).to_have_attribute("aria-current", "true")

    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("k")
    expect(page.locator("a.tracerow").first).to_be_focused()
    page.keyboard.press("Enter")
    page.wait_for_url("**/traces/*")
    page.keyboard.press("u")
    page.wait_for_url("**/traces?q=days*")


def goes_to(page: Page, key: str, path: str) -> None:
    """Press `g` and a key; a machine too slow for the second within the time does it again."""

    def pressed() -> bool:
        page.keyboard.press("g")
        page.keyboard.press(key)
        with contextlib.suppress(TimeoutError):
            page.wait_for_url(f"**{path}", timeout=3000)
        return page.url.endswith(path)

    eventually(pressed)


@pytest.mark.parametrize(
    ("width", "scheme", "language"), [(1280, "light", "en"), (390, "dark", "zh")]
)
def test_every_page_fits_and_nothing_on_it_is_a_serious_barrier(
    browser: Browser, demo: str, width: int, scheme: str, language: str
) -> None:
    context = browser.new_context(
        base_url=demo, viewport={"width": width, "height": 800}, color_scheme=scheme
    )
    context.set_default_timeout(PATIENCE_MS)
    page = context.new_page()
    troubles = watched(page, demo)
    page.goto(f"/traces?lang={language}")
    first = page.locator("a.tracerow").first
    first.wait_for()
    found: list[str] = []
    trace = str(first.get_attribute("href"))
    for path in (*PAGES, trace, f"{trace}?spans=yes"):
        page.goto(path)
        found += accessibility(page)
        if overflow(page) > 0:
            found.append(f"{path}: wider than {width} px")
    context.close()

    assert found + troubles == []
