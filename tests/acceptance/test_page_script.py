"""What the script of the pages does in a real browser: keys, marks, and a page that stays fresh."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from rag_monitor.domain.feedback import Feedback
from rag_monitor.server.services import Services
from tests.acceptance.browsing import chromium, watched
from tests.acceptance.running import eventually
from tests.integration.server.test_client import serve
from tests.unit.server.fakes import make_services

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.slow

LIST = "/traces?app=loan-assistant&release=2.1.0"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as started:
        yield started


@pytest.fixture
def services() -> Services:
    return make_services()


@pytest.fixture
def page(browser: Browser, services: Services) -> Iterator[Page]:
    with contextlib.contextmanager(serve)(services) as url:
        context = browser.new_context(base_url=url, viewport={"width": 1280, "height": 800})
        context.set_default_timeout(20_000)
        opened = context.new_page()
        troubles = watched(opened, url)
        yield opened
        context.close()
        assert troubles == []


def marks(services: Services) -> list[Feedback]:
    """What people marked since the server started."""
    return list(services.feedback.marks)  # type: ignore[attr-defined]


def path_of(services: Services) -> str:
    """The page of the newest trace."""
    return f"/traces/{next(iter(services.traces.stored))[1]}"  # type: ignore[attr-defined]


def answers_slowly(services: Services, seconds: float) -> None:
    """Have every mark take a while to be stored."""
    add = services.feedback.add

    def slowly(feedback: Feedback) -> None:
        time.sleep(seconds)
        add(feedback)

    services.feedback.add = slowly  # type: ignore[method-assign]


def test_a_held_key_marks_the_answer_it_was_pressed_on(page: Page, services: Services) -> None:
    page.goto(path_of(services))

    page.keyboard.down("1")
    page.wait_for_url("**thanks=**")
    for _ in range(5):
        page.keyboard.down("1")
        page.wait_for_timeout(100)
    page.keyboard.up("1")
    assert len(marks(services)) == 1

    page.keyboard.press("3")
    eventually(lambda: len(marks(services)) == 2, 10)
    assert [one.value for one in marks(services)] == [1.0, 0.0]


def say_who(page: Page, name: str) -> None:
    """Tell the labelling page one's name, as on a server where nobody signs in."""
    page.goto("/labels")
    page.get_by_label("Your name").fill(name)
    page.get_by_role("button", name="This is me").click()
    page.get_by_role("link", name="Start marking").wait_for()


def test_a_held_key_answers_once_on_the_labelling_page(page: Page, services: Services) -> None:
    say_who(page, "Mei 梅")
    page.get_by_role("link", name="Start marking").click()
    page.wait_for_url("**/labels/*")

    page.keyboard.down("2")
    page.wait_for_selector("#verdicts")
    for _ in range(5):
        page.keyboard.down("2")
        page.wait_for_timeout(100)
    page.keyboard.up("2")

    (mark,) = marks(services)
    assert (mark.author, mark.metric, mark.value) == ("Mei 梅", "faithfulness", 0.0)


def test_enter_in_a_comment_answers_nothing(page: Page, services: Services) -> None:
    say_who(page, "Mei")
    page.get_by_role("link", name="Start marking").click()
    page.get_by_label("Comment").fill("1 of 2")
    page.get_by_label("Comment").press("Enter")
    page.wait_for_timeout(300)
    assert marks(services) == []

    page.get_by_role("button", name="Cannot tell").click()
    page.wait_for_selector("#verdicts")
    assert [(one.value, one.comment) for one in marks(services)] == [(0.5, "1 of 2")]


def test_a_form_is_sent_once_until_its_answer_comes(page: Page, services: Services) -> None:
    answers_slowly(services, 1)
    page.goto(path_of(services))

    page.keyboard.press("1")
    page.wait_for_timeout(200)
    page.keyboard.press("3")
    page.wait_for_url("**thanks=**")
    page.wait_for_timeout(1200)
    assert [one.value for one in marks(services)] == [1.0]


def test_a_held_key_still_walks_the_list(page: Page) -> None:
    page.goto("/traces")

    for _ in range(3):
        page.keyboard.down("j")
    page.keyboard.up("j")
    third = page.locator(".tracerow").nth(2)
    assert third.evaluate("row => row === document.activeElement")


def alerts_page(page: Page) -> None:
    """Open the alerts with a clock of our own, and put in what a refresh would replace."""
    page.clock.install()
    page.goto("/alerts")
    page.locator("h1").evaluate("one => { one.textContent = 'not fresh'; }")


def refreshed(page: Page) -> bool:
    """Whether the page replaced itself when the time for it had come."""
    page.clock.run_for(25_000)
    page.wait_for_timeout(500)
    return page.locator("h1").text_content() != "not fresh"


def test_a_page_nobody_fills_in_stays_fresh(page: Page) -> None:
    alerts_page(page)
    assert refreshed(page)


def test_an_open_form_is_not_replaced(page: Page) -> None:
    alerts_page(page)
    page.get_by_text("New silence").click()
    page.locator("h1").click()

    assert not refreshed(page)
    page.get_by_text("New silence").click()
    page.locator("h1").click()
    assert refreshed(page)


def test_what_was_chosen_is_kept(page: Page) -> None:
    alerts_page(page)
    new = page.get_by_text("New silence")
    hours = page.locator("#silences select[name=hours]")
    new.click()
    given = hours.input_value()
    hours.select_option(index=2)
    new.click()  # closed again: what was chosen is not to be seen, and kept all the same
    page.locator("h1").click()

    assert not refreshed(page)
    new.click()
    hours.select_option(given)
    new.click()
    page.locator("h1").click()
    assert refreshed(page)


def test_what_was_typed_is_kept(page: Page) -> None:
    alerts_page(page)
    page.get_by_label("Your name").fill("Mia")
    page.locator("h1").click()

    assert not refreshed(page)
    assert page.get_by_label("Your name").input_value() == "Mia"


def test_what_was_copied_or_pressed_is_done_with(page: Page) -> None:
    alerts_page(page)
    page.evaluate("getSelection().selectAllChildren(document.querySelector('#rules h2'))")
    assert not refreshed(page)
    page.keyboard.press("Control+C")
    assert refreshed(page)

    alerts_page(page)
    page.evaluate("getSelection().removeAllRanges()")
    link = page.get_by_role("link", name="rules watch")
    link.focus()
    assert not refreshed(page), "who walks by keyboard would lose the place"
    link.click()
    assert refreshed(page)


def test_the_way_back_keeps_the_filters_after_a_mark(page: Page) -> None:
    page.goto(LIST)
    page.locator(".tracerow").first.click()
    page.wait_for_url("**/traces/*")
    page.keyboard.press("u")
    page.wait_for_url(f"**{LIST}")

    page.locator(".tracerow").first.click()
    page.wait_for_url("**/traces/*")
    page.keyboard.press("1")
    page.wait_for_url("**thanks=**")
    page.keyboard.press("u")
    page.wait_for_url(f"**{LIST}")


def test_the_way_back_from_the_queue_keeps_its_app(page: Page) -> None:
    say_who(page, "Mei")
    page.goto("/labels?app=support-bot&ended=1")
    page.locator(".tracerow").first.click()
    page.wait_for_url("**/labels/*")
    page.keyboard.press("1")
    page.wait_for_selector("#verdicts")
    page.keyboard.press("u")
    page.wait_for_url("**/labels?app=support-bot")


def test_the_way_back_of_a_trace_opened_alone_is_the_whole_list(
    page: Page, services: Services
) -> None:
    page.goto(path_of(services))
    page.keyboard.press("u")
    page.wait_for_url("**/traces")


def test_a_slash_on_any_page_leads_into_the_search(page: Page) -> None:
    page.goto("/judges")
    page.keyboard.press("/")
    page.wait_for_url("**/traces")
    page.keyboard.type("warranty")
    page.keyboard.press("Enter")
    page.wait_for_url("**/traces?q=warranty*")


def test_what_needs_the_script_shows_with_it(browser: Browser, page: Page) -> None:
    page.goto("/")
    assert page.locator("#show-keys").is_visible()

    alone = browser.new_page(java_script_enabled=False)
    alone.goto(page.url)
    assert alone.locator("#show-keys").is_hidden()
    alone.close()


def test_a_rule_is_tried_while_it_is_typed(page: Page) -> None:
    page.goto("/settings")
    page.click("#rule summary")
    shown = page.locator(".params:visible")
    assert shown.count() == 1
    assert shown.get_attribute("data-kind") == "drop"

    page.select_option('select[name="kind"]', "latency")
    assert page.locator(".params:visible").get_attribute("data-kind") == "latency"
    page.fill('input[name="window_s"]', "90")
    wrong = page.locator('[data-beside="window_s"] .wrong')
    wrong.wait_for()
    assert "say whether it is 90 s" in wrong.inner_text()
    assert "Tried once" in page.locator("#preview").inner_text()

    page.fill('input[name="window_s"]', "90 min")
    page.get_by_text("= 1 h 30 min").wait_for()
    page.get_by_text("There is no app yet that it could watch.").wait_for()
    assert page.input_value('input[name="window_s"]') == "90 min"
    assert wrong.count() == 0
