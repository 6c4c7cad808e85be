"""Hostile texts in every field, seen with a real Chromium: nothing acts, nothing is fetched."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

import pytest

from rag_monitor.domain.alert import Alert, AlertRule, AlertState, Finding, RuleKind, Severity
from rag_monitor.domain.fault import Fault, FaultEvidence
from rag_monitor.domain.incident import (
    Concentration,
    Example,
    Incident,
    IncidentAlert,
    NextStep,
    Story,
)
from rag_monitor.domain.stored import KeyScope
from rag_monitor.domain.topic import JudgedQuestion
from rag_monitor.domain.trace import derive_trace_id
from rag_monitor.store.options import StoreOptions
from rag_monitor.store.store import Store
from rag_monitor.store.topic_feed import KnownApp, KnownTopic, Placed
from tests.acceptance.running import Monitor, eventually, http, monitor
from tests.security.hostile_texts import EVERYTHING, PRODUCT, SCRIPTS

playwright_api = pytest.importorskip(
    "playwright.sync_api", reason="playwright is not installed: no real browser"
)
CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(600),
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine"),
]

KEY = "browser-key"
APP = SCRIPTS[1]
TRACE_ID = derive_trace_id("default", APP, "x")
SHORT = EVERYTHING[:190]
RUNBOOKS = "https://runbooks.example/"
"""Where the rule leads: the only link off the monitor."""


def trace() -> dict[str, Any]:
    return {
        "id": "x",
        "app": APP,
        "release": SCRIPTS[0],
        "question": EVERYTHING,
        "query": EVERYTHING,
        "contexts": [
            {"id": SHORT, "content": text, "score": 0.5, "knowledge_base": SCRIPTS[2]}
            for text in SCRIPTS
        ],
        "answer": f"{EVERYTHING}. The end.",
        "hits": [{"kind": "plugin", "name": SCRIPTS[4], "ok": True, "items": 1, "latency_ms": 3}],
        "timings": {"first_byte_ms": 10, "generation_ms": 20, "end_to_end_ms": 30},
        "model": SCRIPTS[3],
        "user_id": SHORT,
        "session_id": SHORT,
        "tags": [SCRIPTS[5]],
    }


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Monitor]:
    folder = tmp_path_factory.mktemp("browser")
    url = f"sqlite:///{folder / 'monitor.db'}"
    _seed(url)
    with monitor(folder, url, RAG_MONITOR_API_KEY=KEY) as running:
        _send(running)
        running.kill()  # one process at a time has the file
        _plant(url)
        running.start()
        yield running


def _seed(url: str) -> None:
    now = datetime.now(UTC)
    with Store.open(StoreOptions(url=url, ballast_bytes=0)) as store:
        store.rules.save(
            AlertRule(
                name=SCRIPTS[1],
                kind=RuleKind.DROP,
                metric="faithfulness",
                params={"note": EVERYTHING},
                notifiers=(SCRIPTS[2],),
            )
        )
        alerts = [
            Alert(
                id=state.value,
                project="default",
                rule=SCRIPTS[1],
                app=APP,
                state=state,
                severity=Severity.PAGE,
                since=now,
                started_at=now,
                acknowledged_by=SHORT,
                acknowledged_at=now,
                finding=Finding(
                    active=True, summary=EVERYTHING, summary_zh=EVERYTHING, notes=(EVERYTHING,)
                ),
            )
            for state in (AlertState.FIRING, AlertState.RESOLVED)
        ]
        store.alerts.save(alerts, [])
        store.keys.create("default", SHORT, [KeyScope.READ])


def _send(running: Monitor) -> None:
    headers = {"X-API-Key": KEY, "Content-Type": "application/json"}

    def post(path: str, body: dict[str, Any]) -> None:
        answer = http("POST", running.url + path, json.dumps(body).encode(), headers)
        assert answer.status in {200, 201}, answer.body

    post("/api/v1/traces", trace())
    path = f"{running.url}/api/v1/traces/{TRACE_ID}"

    def judged() -> bool:
        found = http("GET", path, headers=headers)
        return found.status == 200 and bool(found.json["scores"])

    eventually(judged, 240)
    ends = (datetime.now(UTC) + timedelta(hours=1)).isoformat()
    silence = {"rule": SCRIPTS[1], "app": APP, "ends_at": ends, "comment": EVERYTHING}
    post("/api/v1/silences", silence | {"created_by": SHORT})
    mark = {"trace_id": TRACE_ID, "value": 0.0, "comment": EVERYTHING, "author": SHORT}
    post("/api/v1/feedback", mark)
    for author in (SHORT, "admin"):  # whoever looks is the latter, and so sees what others said
        post("/api/v1/feedback", mark | {"metric": "faithfulness", "author": author})
    documents = f"{running.url}/api/v1/documents"
    eventually(lambda: http("GET", documents, headers=headers).json["items"], 60)


def _plant(url: str) -> None:
    """A topic and an incident: the monitor makes neither of a single trace."""
    now = datetime.now(UTC)
    words = SCRIPTS[0]
    question = JudgedQuestion(
        project="default",
        trace_id=TRACE_ID,
        day=now.date(),
        app=APP,
        started_at=now,
        question=EVERYTHING,
        fault=Fault.KNOWLEDGE_GAP,
        at_fault=0.9,
        refused=True,
    )
    topic = KnownTopic(
        id=1, name=words, words={words: 1}, questions=1, terms={1: 1}, first_seen=now, last_seen=now
    )
    known = KnownApp(topics={1: topic}, questions=1, last_id=1, terms={1: 1})
    with Store.open(StoreOptions(url=url, ballast_bytes=0)) as store:
        stored = store.traces.get("default", TRACE_ID)
        question = replace(
            question, day=stored.trace.started_at.date(), started_at=stored.trace.started_at
        )
        store.topic_feed.save("default", APP, known, [Placed(question=question, topic=1)], [])
        store.topic_feed.add_up("default", APP, question.started_at.date())
        store.alerts.save([], [], incidents=[_incident(now)])


def _incident(now: datetime) -> Incident:
    evidence = FaultEvidence(kind="statement", text=EVERYTHING)
    story = Story(
        told_at=now,
        since=now,
        first="firing",
        judged=30,
        judged_before=60,
        concentrations=tuple(
            Concentration(
                dimension=dimension,
                value=SHORT,
                excess=0.5,
                lower=0.3,
                upper=0.7,
                of_bad=0.9,
                of_traffic=0.2,
            )
            for dimension in ("release", "knowledge_base", "model", "topic")
        ),
        examples=(
            Example(
                trace_id=TRACE_ID, fault=Fault.INVENTED, question=EVERYTHING, evidence=(evidence,)
            ),
        ),
        step=NextStep(key="any.release", dimension="release", value=SHORT, against=SHORT),
    )
    alert = IncidentAlert(
        id="firing",
        rule=SCRIPTS[1],
        kind="drop",
        runbook_url=f"{RUNBOOKS}{SCRIPTS[1]}",
        started_at=now,
        fired_at=now,
    )
    return Incident(
        id="hostile", project="default", app=APP, began_at=now, alerts=(alert,), story=story
    )


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright_api.sync_playwright() as playwright:
        opened = playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-dev-shm-usage"]
        )
        yield opened
        opened.close()


class Watched:
    """A browser tab that remembers what pages did."""

    def __init__(self, browser: Any, target: Monitor) -> None:
        self.context = browser.new_context()
        self.context.set_default_timeout(90_000)
        self.page = self.context.new_page()
        self.url = target.url
        self.fetched: list[str] = []
        self.dialogs: list[str] = []
        self.refused: list[str] = []
        self.page.on("request", lambda request: self.fetched.append(request.url))
        self.page.on("dialog", self._dialog)
        self.page.on("console", self._console)

    def _dialog(self, dialog: Any) -> None:
        self.dialogs.append(dialog.message)
        dialog.dismiss()

    def _console(self, message: Any) -> None:
        if "Content Security Policy" in message.text:
            self.refused.append(message.text)

    def sign_in(self) -> None:
        self.page.goto(f"{self.url}/login")
        self.page.fill("input[name=key]", KEY)
        self.page.click("main button")
        self.page.wait_for_url(f"{self.url}/")

    def open(self, path: str) -> None:
        self.page.goto(self.url + path)

    def acted(self) -> list[str]:
        """What a hostile text achieved on this page."""
        found = self.page.evaluate(
            """() => ({
              acted: window.__acted,
              scripts: [...document.scripts].filter((s) => !s.src).length,
              handlers: [...document.querySelectorAll("*")].filter((e) =>
                [...e.attributes].some((a) => a.name.startsWith("on"))).length,
              frames: document.querySelectorAll("iframe, object, embed, base").length,
              refresh: document.querySelectorAll("meta[http-equiv]").length,
              links: [...document.querySelectorAll("a[href], form[action], img[src], link[href]")]
                .map((e) => e.href || e.action || e.src),
            })"""
        )
        wrong = [f"{k}: {v}" for k, v in found.items() if k != "links" and v]
        allowed = (f"{self.url}/", RUNBOOKS)
        wrong += [link for link in found["links"] if not link.startswith(allowed)]
        wrong += [url for url in self.fetched if not url.startswith(f"{self.url}/")]
        return wrong + self.dialogs + self.refused


@pytest.fixture
def tab(browser: Any, target: Monitor) -> Iterator[Watched]:
    watched = Watched(browser, target)
    yield watched
    watched.context.close()


FILTERS = urlencode({"q": SCRIPTS[0], "app": APP, "release": EVERYTHING})
PAGES = (
    "/",
    f"/?app={quote(APP, safe='')}",
    "/traces",
    f"/traces?{FILTERS}",
    f"/traces/{TRACE_ID}",
    f"/traces/{TRACE_ID}?spans=yes",
    "/alerts",
    "/alerts/firing?do=snooze-1h",
    "/slos",
    "/runbooks",
    "/judges",
    f"/compare?app={quote(APP, safe='')}",
    "/documents",
    f"/documents?{urlencode({'app': APP, 'knowledge_base': SCRIPTS[2]})}",
    f"/topics?{urlencode({'app': APP})}",
    "/sessions",
    f"/sessions?{urlencode({'app': APP, 'tag': SCRIPTS[0]})}",
    f"/session?{urlencode({'id': SHORT})}",
    "/labels",
    "/labels/next",
    f"/labels/{TRACE_ID}",
    "/settings",
    f"/settings?rule={quote(SCRIPTS[1], safe='')}",
    "/docs",
    f"/login?next={quote(SCRIPTS[1], safe='')}",
    f"/{quote(SCRIPTS[0], safe='')}",
    f"/traces/{quote(SCRIPTS[0], safe='')}",
)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_hostile_texts_are_only_text_on_every_page(tab: Watched, language: str) -> None:
    tab.sign_in()
    wrong: dict[str, list[str]] = {}
    for path in PAGES:
        tab.fetched.clear()
        tab.open(f"{path}{'&' if '?' in path else '?'}lang={language}")
        if found := tab.acted():
            wrong[path] = found
    assert wrong == {}


def test_the_hostile_texts_really_are_on_the_pages(tab: Watched) -> None:
    tab.sign_in()
    tab.open(f"/traces/{TRACE_ID}")
    text = tab.page.inner_text("main")

    for script in SCRIPTS:
        assert " ".join(script.split()) in " ".join(text.split())
    assert PRODUCT not in text

    for path, shown in (
        (f"/topics?{urlencode({'app': APP})}", SCRIPTS[0]),
        (f"/documents?{urlencode({'knowledge_base': SCRIPTS[2]})}", SCRIPTS[2]),
        ("/alerts", SHORT),
        (f"/labels/{TRACE_ID}", SHORT),
    ):
        tab.open(path)
        assert " ".join(shown.split()) in " ".join(tab.page.inner_text("main").split()), path


def test_every_page_there_is_has_been_looked_at() -> None:
    from tests.security.test_penetration import pages

    forms = {
        "/login/oidc",
        "/login/oidc/callback",
        "/static/{name}",
        "/favicon.ico",
        "/compare.csv",
    }
    wanted = {path for method, path in pages() if method == "GET"} - forms
    wanted = {path for path in wanted if not path.startswith("/ui/")}  # they only lead to a page
    seen = {urlsplit(path).path.replace(TRACE_ID, "{trace_id}") for path in PAGES}
    seen |= {path.replace("/alerts/firing", "/alerts/{alert_id}") for path in seen}

    assert wanted <= seen


def test_the_policy_stops_what_slips_through(tab: Watched) -> None:
    tab.sign_in()
    tab.open("/docs")
    tab.page.evaluate(
        """() => {
          const script = document.createElement("script");
          script.textContent = "window.__inline = 1";
          document.body.append(script);
          const image = document.createElement("img");
          image.src = "https://evil.example/pixel.png";
          document.body.append(image);
          document.body.insertAdjacentHTML("beforeend", '<p onclick="window.__inline=2">x</p>');
          document.body.lastElementChild.click();
        }"""
    )
    deadline = time.monotonic() + 60
    while len(tab.refused) < 3 and time.monotonic() < deadline:
        tab.page.wait_for_timeout(50)  # the browser says asynchronously what it refused

    assert len(tab.refused) >= 3
    assert tab.page.evaluate("window.__inline") is None


def test_the_documentation_loads_nothing_from_outside(tab: Watched) -> None:
    tab.sign_in()
    tab.fetched.clear()
    tab.open("/docs")
    tab.page.wait_for_load_state("networkidle")

    assert len(tab.fetched) >= 3
    assert {urlsplit(url).netloc for url in tab.fetched} == {urlsplit(tab.url).netloc}
