"""Pages hold names and messages of any length, on a telephone and on a desk."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING
from urllib.parse import quote

import pytest

from tests.acceptance.browsing import chromium, overflow
from tests.acceptance.long_names import long_services
from tests.integration.server.test_client import serve

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.slow

CUT_OFF = """() => [...document.querySelectorAll(".list *, .tile *, .banner *")]
  .filter((one) => !one.closest("svg, .sr"))
  .filter((one) => one.getBoundingClientRect().right
    > one.closest(".list, .tile, .banner").getBoundingClientRect().right + 1)
  .map((one) => one.outerHTML.slice(0, 120))"""
WIDENED = """() => [...document.querySelectorAll(".scroll tbody th")]
  .filter((one) => one.closest(".scroll").scrollWidth > one.closest(".scroll").clientWidth)
  .filter((one) => one.getBoundingClientRect().width > innerWidth / 2)
  .map((one) => one.outerHTML.slice(0, 120))"""
SCROLLS = """() => [...document.querySelectorAll(".scroll:has(.compare)")]
  .filter((one) => one.scrollWidth > one.clientWidth).map(() => "the comparison scrolls")"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as started:
        yield started


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize(("length", "many"), [(40, False), (64, False), (200, False), (200, True)])
def test_no_name_widens_a_page_or_is_cut_off(
    browser: Browser, length: int, many: bool, width: int
) -> None:
    services = long_services(length, many=many)
    one = next(iter(services.traces.stored.values())).trace  # type: ignore[attr-defined]
    app, trace = quote(one.app), f"/traces/{one.trace_id}"
    found: list[str] = []
    with contextlib.contextmanager(serve)(services) as url:
        page = browser.new_page(viewport={"width": width, "height": 800})
        for path in (
            "/",
            f"/?app={app}&window=24h",
            "/traces",
            "/labels",
            "/alerts",
            "/judges",
            f"/compare?app={app}",
            trace,
            f"/labels/{one.trace_id}",
        ):
            page.goto(url + path)
            if (wide := overflow(page)) > 0:
                found.append(f"{path[:20]} is {wide} px too wide")
            for script in (CUT_OFF, WIDENED, SCROLLS):
                found += [f"{path[:20]}: {what}" for what in page.evaluate(script)]
        page.close()

    assert found == []
