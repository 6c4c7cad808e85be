"""Two reviewers label sixty traces in a real browser; every figure is worked out here by hand."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from rag_monitor.metrics.rag.scoring import BAD_BELOW
from tests.acceptance.browsing import accessibility, chromium, overflow, watched
from tests.acceptance.running import Monitor, eventually, http, monitor

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

OPERATOR = "operator-key-of-the-tests"
APP = "desk"
COUNT = 60
WRONG = tuple(range(0, COUNT, 3))
"""Traces whose answer names another number than its passage."""
SLIPS = {"Amy": (1, 11, 21, 31), "Bo": (2, 12)}
"""Where they say the opposite of what is so."""
CANNOT_TELL = {"Amy": (5, 7), "Bo": (7,)}
KEYS = {1.0: "1", 0.0: "2", 0.5: "3"}
WORDS = {1.0: "Supported", 0.0: "Not supported", 0.5: "Cannot tell"}


def said(who: str, n: int) -> float:
    """What somebody says of a trace."""
    if n in CANNOT_TELL[who]:
        return 0.5
    return float((n in WRONG) == (n in SLIPS[who]))


@dataclass
class Office:
    """The monitor with its sixty traces."""

    monitor: Monitor
    numbers: dict[str, int] = field(default_factory=dict)
    """Of each trace, by its id."""
    keys: dict[str, str] = field(default_factory=dict)

    def get(self, path: str) -> Any:
        answer = http("GET", self.monitor.url + path, headers={"X-API-Key": OPERATOR})
        assert answer.status == 200, answer.body
        return answer.json

    def estimate(self) -> dict[str, Any]:
        """Of faithfulness; empty before anything is judged."""
        apps = self.get("/api/v1/summary?window=1h")["apps"]  # by its name it is unknown at first
        found = [m for app in apps for m in app["metrics"] if m["metric"] == "faithfulness"]
        return found[0] if found else {}

    def judged(self) -> dict[int, float]:
        """The judge's faithfulness of each trace."""
        values = {}
        for trace_id, n in self.numbers.items():
            scores = self.get(f"/api/v1/traces/{trace_id}")["scores"]
            (values[n],) = (s["value"] for s in scores if s["metric"] == "faithfulness")
        return values


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as started:
        yield started


@pytest.fixture(scope="module")
def office(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Office]:
    folder: Path = tmp_path_factory.mktemp("labelling")
    settings = {
        "RAG_MONITOR_API_KEY": OPERATOR,
        "RAG_MONITOR_SAMPLING_HUMAN_RATE": "1",
        "RAG_MONITOR_LABELS_MARKS_PER_TRACE": "2",
    }
    with monitor(folder, f"sqlite:///{folder / 'm.db'}", **settings) as running:
        built = Office(running)
        _furnish(built)
        eventually(lambda: built.estimate().get("judged") == COUNT, 120)
        yield built


def _furnish(office: Office) -> None:
    def sent(path: str, body: object) -> Any:
        headers = {"X-API-Key": OPERATOR, "Content-Type": "application/json"}
        answer = http("POST", office.monitor.url + path, json.dumps(body).encode(), headers)
        assert answer.status < 300, answer.body
        return answer.json

    for n in range(COUNT):
        fact = f"The warranty of lamp {n} lasts {24 + n} months."
        trace = {
            "id": f"t-{n}",
            "app": APP,
            "question": f"How long is the warranty of lamp {n}?",
            "contexts": [fact],
            "answer": f"The warranty of lamp {n} lasts {900 + n} months." if n in WRONG else fact,
        }
        (trace_id,) = sent("/api/v1/traces", trace)["trace_ids"]
        office.numbers[trace_id] = n
    for name in ("Amy", "Bo", "Cy"):
        made = sent("/api/v1/keys", {"name": name, "scopes": ["read", "write"]})
        office.keys[name] = made["secret"]


def signed_in(browser: Browser, office: Office, name: str) -> tuple[Page, list[str]]:
    """A browser of their own; that of Bo runs no scripts."""
    context = browser.new_context(
        base_url=office.monitor.url, java_script_enabled=name != "Bo", locale="en"
    )
    context.set_default_timeout(60_000)
    page = context.new_page()
    troubles = watched(page, office.monitor.url)
    page.goto("/login")
    page.fill("input[name=key]", office.keys[name])
    page.click("main button")
    page.wait_for_url(f"{office.monitor.url}/")
    return page, troubles


def trace_on(page: Page) -> str:
    found = re.search(r"/labels/([0-9a-f]{32})", page.url)
    assert found, page.url
    return found[1]


def marked(page: Page, office: Office, who: str, *, by_keyboard: bool) -> int:
    """Answer on the trace that is open; which one it was."""
    trace_id = trace_on(page)
    n = office.numbers[trace_id]
    blind = page.content()
    assert "Is every statement supported by the passages?" in blind
    for leak in (
        "embedded",
        "Answer supported",
        "What others say",
        "Faithfulness",
        'id="verdicts"',
    ):
        assert leak not in blind, leak
    value = said(who, n)
    if by_keyboard:
        page.keyboard.press(KEYS[value])
    else:
        page.get_by_role("button", name=re.compile(f"^{WORDS[value]}")).click()
    page.wait_for_selector("#verdicts")
    assert trace_on(page) == trace_id
    return n


def to_the_next(page: Page, *, by_keyboard: bool) -> None:
    here = trace_on(page)
    if by_keyboard:
        page.keyboard.press("n")
    else:
        page.get_by_role("link", name="Next").click()
    page.wait_for_url(lambda url: here not in url)


def told(n: int) -> list[float]:
    """The marks of those who could tell."""
    return [value for value in (said("Amy", n), said("Bo", n)) if value != 0.5]


def test_two_reviewers_label_sixty_traces_and_every_figure_moves(
    browser: Browser, office: Office
) -> None:
    judged = office.judged()
    before = office.estimate()
    assert before["value"] == pytest.approx(sum(judged.values()) / COUNT, abs=1e-6)
    assert "corrected_by_people" not in before["notes"]

    opened = {name: signed_in(browser, office, name) for name in ("Amy", "Bo", "Cy")}
    seen: dict[str, list[int]] = {"Amy": [], "Bo": []}
    for who in seen:
        page, _ = opened[who]
        page.goto("/labels")
        text = page.inner_text("main")
        assert "0 of the 50 marks that the correction needs" in text
        assert "drawn for people" in text
        assert not re.search(r"\b[01]\.\d\d\b", text), "no score is in the list"
        page.get_by_role("link", name="Start marking").click()
    assert trace_on(opened["Amy"][0]) == trace_on(opened["Bo"][0]), "each wants two marks"
    for place in range(COUNT):
        for who in seen:
            page, _ = opened[who]
            seen[who].append(marked(page, office, who, by_keyboard=who == "Amy"))
            if place == 0 and who == "Amy":
                assert accessibility(page) == []
                assert overflow(page) <= 0
            if place == 0 and who == "Bo":
                shown = page.inner_text("#verdicts")
                assert "embedded" in shown
                assert "Amy" in shown
            to_the_next(page, by_keyboard=who == "Amy")
    for who in seen:
        page, troubles = opened[who]
        assert sorted(seen[who]) == list(range(COUNT)), "each of them once"
        assert "That was the last one that waits for you." in page.inner_text("main")
        assert troubles == []

    the_estimate_is_corrected(office, judged)
    people_agree(opened["Cy"][0])
    the_judge_agrees(opened["Cy"][0], judged)
    somebody_else_settles_contradictions(opened["Cy"][0], office)
    people_agree(opened["Cy"][0])  # who settled them was not asked by chance
    assert opened["Cy"][1] == []
    who_marked_what_is_written_down(office)


def the_estimate_is_corrected(office: Office, judged: dict[int, float]) -> None:
    labels = {n: sum(told(n)) / len(told(n)) for n in range(COUNT) if told(n)}
    assert len(labels) == COUNT - 1, "nobody could tell of one"
    # Everything was drawn with probability 1: the judge's mean and its mean error against people.
    error = sum(labels[n] - judged[n] for n in labels) / len(labels)
    expected = sum(judged.values()) / COUNT + error

    # The last marks are added up within seconds.
    eventually(lambda: office.estimate()["value"] == pytest.approx(expected, abs=1e-6), 60)
    found = office.estimate()
    assert found["labelled"] == len(labels)
    assert "corrected_by_people" in found["notes"]


def people_agree(page: Page) -> None:
    both = [(said("Amy", n), said("Bo", n)) for n in range(COUNT) if len(told(n)) == 2]
    units, differ = len(both), sum(a != b for a, b in both)
    ones = sum(a + b for a, b in both)
    zeros = 2 * units - ones
    alpha = 1 - (2 * units - 1) * 2 * differ / (2 * ones * zeros)
    yes_amy, yes_bo = (sum(pair[i] for pair in both) / units for i in (0, 1))
    chance = yes_amy * yes_bo + (1 - yes_amy) * (1 - yes_bo)
    kappa = (1 - differ / units - chance) / (1 - chance)

    page.goto("/judges")
    people = page.inner_text("#people")
    assert f"over {units} traces that at least two of 2 people marked" in people
    assert re.search(rf"Krippendorff's α\s+{alpha:.2f}\s", people), people
    row = page.inner_text("#people tbody tr")
    assert row.split()[:6] == ["Amy", "·", "Bo", str(units), str(units - differ), f"{kappa:.2f}"]


def the_judge_agrees(page: Page, judged: dict[int, float]) -> None:
    cells = {"tp": 0, "fp": 0, "fn": 0, "tn": 0}
    for n in range(COUNT):
        values = told(n)
        if not values or sum(values) / len(values) == 0.5:
            continue
        judge, people_say = judged[n] >= BAD_BELOW["faithfulness"], sum(values) / len(values) > 0.5
        cells[
            "tp" if judge and people_say else "fp" if judge else "fn" if people_say else "tn"
        ] += 1
    table = page.locator("h4", has_text="Faithfulness").first.locator("+ table td")
    assert [cell for cell in table.all_inner_texts() if cell] == [
        str(cells[name]) for name in ("tp", "fp", "fn", "tn")
    ]


def somebody_else_settles_contradictions(page: Page, office: Office) -> None:
    contested = [n for n in range(COUNT) if len(told(n)) == 2 and len(set(told(n))) == 2]
    page.goto("/labels")
    marked_once = sum(bool(told(n)) for n in range(COUNT))
    assert f"{marked_once} marks correct the judge; 50 are needed" in page.inner_text("main")
    assert page.locator(".tracerow").count() == len(contested)
    assert page.locator(".badge", has_text="people disagree").count() == len(contested)
    for left in reversed(range(len(contested))):
        page.goto("/labels/next")
        n = office.numbers[trace_on(page)]
        assert n in contested
        page.keyboard.press(KEYS[float(n not in WRONG)])
        page.wait_for_selector("#verdicts")
        page.goto("/labels")
        assert page.locator(".tracerow").count() == left


def who_marked_what_is_written_down(office: Office) -> None:
    events = office.get("/api/v1/audit?action=label.mark&limit=500")["events"]
    kept = {(e["actor_name"], office.numbers[e["target"]]): e["details"] for e in events}
    for who in ("Amy", "Bo"):
        for n in range(COUNT):
            assert kept[who, n] == {"metric": "faithfulness", "value": said(who, n)}
    assert sum(who == "Cy" for who, _ in kept) == len(SLIPS["Amy"]) + len(SLIPS["Bo"])
