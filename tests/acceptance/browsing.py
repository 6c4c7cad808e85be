"""A real Chromium for acceptance tests, and the demonstration it looks at."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.acceptance.running import eventually

if TYPE_CHECKING:
    from playwright.sync_api import Browser, ConsoleMessage, Page, Request

ROOT = Path(__file__).resolve().parents[2]
SERIOUS = ("serious", "critical")
PATIENCE_MS = 90_000
"""How long what a page shows may take on a busy machine."""


@contextlib.contextmanager
def chromium() -> Iterator[Browser]:
    """The system's Chromium; skips where it or playwright is missing."""
    playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright")
    path = shutil.which("chromium") or shutil.which("chromium-browser")
    if path is None:
        pytest.skip("no chromium on the PATH")
    with playwright.sync_playwright() as running:
        # A container has no user namespaces for the sandbox; only our own pages are opened.
        browser = running.chromium.launch(
            executable_path=path, args=["--no-sandbox", "--disable-dev-shm-usage"]
        )
        yield browser
        browser.close()


@contextlib.contextmanager
def demonstration(folder: Path) -> Iterator[str]:
    """`rag-monitor demo` as a user starts it; the address it prints."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("RAG_MONITOR_")}
    output = folder / "demo.log"
    with output.open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "rag_monitor", "demo", "--stay"],
            cwd=folder,
            env=environment | {"PYTHONPATH": str(ROOT), "COLUMNS": "120"},
            stdout=log,
            stderr=log,
        )

    def address() -> str | None:
        text = output.read_text("utf-8", errors="replace")
        if process.poll() is not None:
            raise AssertionError(f"the demonstration ended:\n{text[-4000:]}")
        found = re.search(r"Open (http://127\.0\.0\.1:\d+)", text)
        return found[1] if found else None

    try:
        yield eventually(address, 240)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=60)


def watched(page: Page, url: str) -> list[str]:
    """What goes wrong on a page from now on: foreign requests, script errors, refused content."""
    troubles: list[str] = []

    def requested(request: Request) -> None:
        if not request.url.startswith((url + "/", "data:")):
            troubles.append(f"request to {request.url}")

    def said(message: ConsoleMessage) -> None:
        if "Content Security" in message.text:
            troubles.append(message.text)

    page.on("request", requested)
    page.on("console", said)
    page.on("pageerror", lambda error: troubles.append(f"script error: {error}"))
    return troubles


def accessibility(page: Page) -> list[str]:
    """What axe finds serious on the page."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="needs axe")
    response: dict[str, Any] = axe.Axe().run(page, options={"resultTypes": ["violations"]}).response
    return [
        f"{page.url}: {found['id']} on {found['nodes'][0]['html'][:160]}"
        for found in response["violations"]
        if found["impact"] in SERIOUS
    ]


def overflow(page: Page) -> int:
    """CSS pixels by which the page is wider than the window."""
    return int(page.evaluate("document.documentElement.scrollWidth - window.innerWidth"))
