"""Nothing on a page moves while it loads: what people are about to read or press stays in place."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

import pytest

from tests.acceptance.browsing import chromium
from tests.acceptance.running import http
from tests.db import new_sqlite
from tests.integration.server.populated import APP, populated
from tests.integration.server.test_chart_numbers import PAGES
from tests.integration.server.test_client import serve

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

MOST: Final = 0.01
"""Of the cumulative layout shift; 0.1 is called good for pages of the web."""
OTHERS: Final = (
    "/labels/next",
    "/traces/{newest}?spans=yes",
    "/login",
    "/nowhere",
    "/traces?q=warranty",
)
OBSERVE: Final = """
window.shifts = [];
new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) {
    const moved = entry.sources.map(({ node }) => node?.outerHTML?.slice(0, 120) ?? "text");
    if (!entry.hadRecentInput) window.shifts.push([entry.value, moved]);
  }
}).observe({ type: "layout-shift", buffered: true });
"""
SETTLED: Final = """async () => {
  await document.fonts.ready;
  for (let frame = 0; frame < 5; frame++) await new Promise(requestAnimationFrame);
  return window.shifts;
}"""


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    database = new_sqlite(tmp_path_factory.mktemp("shift") / "monitor.db")
    with asyncio.Runner() as runner:
        house = populated(database)
        services = runner.run(house.__aenter__())
        with contextmanager(serve)(services) as address:
            yield address
        runner.run(house.__aexit__(None, None, None))


@pytest.fixture(scope="module")
def browser(url: str) -> Iterator[Browser]:
    # After the server: it must be set up and taken down while no other loop runs.
    with chromium() as started:
        yield started


def test_the_observer_sees_what_moves(browser: Browser) -> None:
    page = browser.new_page()
    page.set_content("<div id='late'></div><p style='height: 200px'>text</p>")
    page.evaluate(OBSERVE)
    page.wait_for_timeout(600)  # what follows input at once would not count
    page.evaluate("document.getElementById('late').style.height = '300px'")

    page.wait_for_function("window.shifts.length > 0")
    assert sum(value for value, _ in page.evaluate("window.shifts")) > MOST
    page.close()


@pytest.mark.parametrize("width", [1280, 390])
def test_nothing_moves_while_a_page_loads(browser: Browser, url: str, width: int) -> None:
    query = f"app={APP}&status=ok&metric=faithfulness&limit=1"
    newest = http("GET", f"{url}/api/v1/traces?{query}").json["items"][0]["trace_id"]
    context = browser.new_context(base_url=url, viewport={"width": width, "height": 800})
    context.add_init_script(OBSERVE)
    page = context.new_page()
    moved: dict[str, Any] = {}
    for path in (*(one for of_route in PAGES.values() for one in of_route), *OTHERS):
        page.goto(path.format(newest=newest), wait_until="networkidle")
        shifts = page.evaluate(SETTLED)
        if sum(value for value, _ in shifts) >= MOST:
            moved[path] = shifts
    context.close()

    assert moved == {}
