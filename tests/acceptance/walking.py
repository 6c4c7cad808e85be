"""Somebody who walks through the pages: by what they see, and never far for the next step."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from tests.acceptance.browsing import PATIENCE_MS, overflow, watched
from tests.acceptance.running import Monitor, http

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, Page

OPERATOR = "operator-key-of-the-tests"
MOST_CLICKS = 2
_ENGLISH = re.compile(r"[A-Za-z][A-Za-z'’]+(?:[ ,;:]+[A-Za-z][A-Za-z'’]+){2,}")
"""Three English words in a row: more than the name of a metric, a judge or a tool."""
_MACHINE_WORD = re.compile(r"\b[a-z]+(?:_[a-z]+)+\b")
_TEXTS = """() => {
  const skipped = "code, pre, script, style, datalist, [lang]:not(html)";
  const said = [];
  const walker = document.createTreeWalker(document.documentElement, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    if (!node.parentElement.closest(skipped)) said.push(node.textContent.trim());
  }
  for (const name of ["title", "aria-label", "placeholder", "alt", "aria-valuetext"])
    for (const one of document.querySelectorAll(`[${name}]`))
      if (!one.closest(skipped)) said.push(one.getAttribute(name));
  return said.filter(Boolean);
}"""


class Project:
    """A project of a running monitor: whoever walks has it to themselves."""

    def __init__(self, monitor: Monitor, name: str) -> None:
        self.monitor = monitor
        scopes = ["ingest", "read", "write", "admin"]
        made = _call(
            monitor,
            "POST",
            "/api/v1/keys",
            OPERATOR,
            {"name": name, "scopes": scopes, "project": name},
        )
        self.key: str = made["secret"]

    def get(self, path: str) -> Any:
        """What the API says."""
        return _call(self.monitor, "GET", path, self.key)

    def send(self, method: str, path: str, body: Any) -> Any:
        """Change something through the API."""
        return _call(self.monitor, method, path, self.key, body)

    def estimate(self, app: str, window: str, **narrowed: str) -> dict[str, Any]:
        """Of faithfulness; empty before anything is judged."""
        apps = self.get(f"/api/v1/summary?{urlencode({'window': window, **narrowed})}")["apps"]
        mine = [metric for one in apps if one["app"] == app for metric in one["metrics"]]
        metrics = [metric for metric in mine if metric["metric"] == "faithfulness"]
        return metrics[0] if metrics else {}


def _call(monitor: Monitor, method: str, path: str, key: str, body: Any = None) -> Any:
    data = None if body is None else json.dumps(body).encode()
    headers = {"X-API-Key": key, "Content-Type": "application/json"}
    answer = http(method, monitor.url + path, data, headers)
    assert answer.status < 300, (path, answer.body)
    return answer.json


class Walker:
    """Clicks on what has a name, and counts how often until the next place is reached."""

    def __init__(self, page: Page, name: str, *, chinese: bool = False) -> None:
        self.page = page
        self._name = name
        self._chinese = chinese
        self._places = 0
        self._clicks = 0

    def sign_in(self, project: Project) -> None:
        """The one address that is typed."""
        self.page.goto("/")
        key = self.page.locator("input[type=password]")
        key.fill(project.key)
        key.press("Enter")
        self.page.locator("nav a[aria-current=page]").wait_for()

    def click(self, what: Locator) -> None:
        """One click on the only thing that is meant."""
        what.click()
        self._clicks += 1

    def link(self, name: str | re.Pattern[str], within: str = "main") -> None:
        """Follow the first link of that name."""
        self.click(self.page.locator(within).get_by_role("link", name=name).first)

    def press(self, name: str | re.Pattern[str]) -> None:
        """Press the first button of that name."""
        self.click(self.page.locator("main").get_by_role("button", name=name).first)

    def back(self) -> None:
        """Return to the page before."""
        self.page.go_back()
        self._clicks += 1

    def menu(self, name: str) -> None:
        """Go to a page of the menu."""
        self.link(name, within="nav[aria-label]")

    def at(self, place: str) -> None:
        """Say that the next place is reached: near enough, in shape, and in the right language."""
        clicks, self._clicks = self._clicks, 0
        self._places += 1
        assert clicks <= MOST_CLICKS, f"{clicks} clicks to {place}"
        self.page.wait_for_load_state()
        self._photograph(place)
        assert overflow(self.page) <= 0, f"{place} is wider than the window"
        if self._chinese:
            texts = self.page.evaluate(_TEXTS)
            english = [t for t in texts if _ENGLISH.search(t) or _MACHINE_WORD.search(t)]
            assert english == [], place

    def _photograph(self, place: str) -> None:
        """Keep a picture where `WALK_PICTURES` names a folder, for somebody to look at."""
        folder = os.environ.get("WALK_PICTURES")
        if folder:
            file = Path(folder) / f"{self._name}-{self._places:02}-{place.replace(' ', '-')}.png"
            self.page.screenshot(path=file, full_page=True)

    def on_first_screen(self, what: Locator) -> bool:
        """Whether it is seen without scrolling down from the top of the page."""
        self.page.evaluate("window.scrollTo(0, 0)")
        box, size = what.bounding_box(), self.page.viewport_size
        assert box is not None
        assert size is not None
        return box["y"] >= 0 and box["y"] + box["height"] <= size["height"]


@contextmanager
def walking(browser: Browser, url: str, name: str, locale: str = "en") -> Iterator[Walker]:
    """A browser of one's own; nothing may go wrong in it, and it loads nothing from elsewhere."""
    context = browser.new_context(
        base_url=url,
        locale=locale,
        viewport={"width": 1280, "height": 800},
        permissions=["clipboard-read", "clipboard-write"],
    )
    context.set_default_timeout(PATIENCE_MS)
    page = context.new_page()
    troubles = watched(page, url)
    yield Walker(page, name, chinese=locale.startswith("zh"))
    context.close()
    assert troubles == []
