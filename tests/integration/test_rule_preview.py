"""The preview of a rule over stored rollups says what the dry run of the interface says."""

from __future__ import annotations

import re
import time
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import datetime, timedelta

import httpx
import pytest

from rag_monitor.aggregation.rollup import summarise
from rag_monitor.config import Settings
from rag_monitor.domain.judgement import JudgeIdentity
from rag_monitor.domain.rollup import TraceFacts
from rag_monitor.domain.score import Score, ScoreStatus
from rag_monitor.server.app import create_app
from rag_monitor.server.ui import rule_preview
from rag_monitor.server.wiring import wire_services
from rag_monitor.store.options import StoreOptions
from rag_monitor.store.store import Store
from rag_monitor.testing import EPOCH, ManualClock, make_trace
from rag_monitor.worker.runtime import build_runtime
from tests.unit.server.conftest import open_app
from tests.unit.server.test_pages import HTML, token_of

JUDGE = JudgeIdentity(name="embedded", model="test")
DAYS = 14
EVERY = timedelta(minutes=30)
PER_MINUTE = 60
BAD_HOURS = ((60, 63), (150, 152), (290, 300))
SILENT_HOURS = (200, 208)
RULE = {
    "name": "low",
    "kind": "threshold",
    "app": "shop",
    "metric": "faithfulness",
    "window_s": "1 h",
    "params.threshold.below": "80 %",
}


def fill(store: Store) -> None:
    """Two weeks of one app: mostly good, three bad spells, silent for a night."""
    steps = range(timedelta(days=DAYS) // EVERY)
    for start in range(0, len(steps), 100):
        facts = [one for step in steps[start : start + 100] for one in facts_at(step)]
        rollups = summarise(facts)
        places = {(row.key.project, row.key.app, row.key.minute) for row in rollups}
        store.rollups.mark_changed(places, EPOCH)
        store.rollups.replace(store.rollups.changed(len(places)), rollups)


def facts_at(step: int) -> list[TraceFacts]:
    """The traces of a minute."""
    hour = step * EVERY / timedelta(hours=1)
    if SILENT_HOURS[0] <= hour < SILENT_HOURS[1]:
        return []
    value = 0.3 if any(a <= hour < b for a, b in BAD_HOURS) else 0.95
    score = Score(metric="faithfulness", status=ScoreStatus.SCORED, value=value, judge=JUDGE)
    trace = make_trace(app="shop", started_at=EPOCH + step * EVERY)
    return [TraceFacts(trace=trace, scores=(score,))] * PER_MINUTE


@pytest.fixture
async def browser(database_url: str) -> AsyncIterator[httpx.AsyncClient]:
    clock = ManualClock(EPOCH + timedelta(days=DAYS))
    settings = Settings(database_url=database_url, judge="embedded-lexical")
    with Store.open(StoreOptions(url=database_url, auto_migrate=True), clock) as store:
        fill(store)
        runtime = build_runtime(settings, store, clock, "test")
        app = create_app(wire_services(settings, store, runtime, clock))
        async with open_app(app, headers=HTML) as client:
            yield client
        await runtime.close()


async def test_a_preview_over_stored_rollups_agrees_with_the_dry_run(
    browser: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    # However busy this machine is: what is compared is what both say, not how fast.
    monkeypatch.setattr(rule_preview, "BOUNDS", replace(rule_preview.BOUNDS, within_s=120.0))
    token = token_of((await browser.get("/settings")).text)
    rule = {
        "name": "low",
        "kind": "threshold",
        "app": "shop",
        "metric": "faithfulness",
        "window_s": 3600,
        "params": {"below": 0.8},
    }

    form = RULE | {"token": token, "original": "", "fragment": "yes"}
    text = (await browser.post("/ui/rules/preview", data=form)).text
    checked = await browser.post(f"/api/v1/rules/check?days={DAYS}", json=rule)
    saved = (await browser.get("/api/v1/rules")).json()["rules"]

    history = checked.json()["history"]["apps"]["shop"]
    assert history["fired"] == len(BAD_HOURS)
    assert f"It would have fired {history['fired']} times in {DAYS} days." in text, text
    share = 100 * history["untold"] / history["looks"]
    assert 2 < share < 4
    assert f"It could not tell {share:.1f}% of the time." in text
    shown = [datetime.fromisoformat(one) for one in re.findall(r'<li><time datetime="(.*?)"', text)]
    fired = [datetime.fromisoformat(episode["fired_at"]) for episode in history["episodes"]]
    assert shown == fired[::-1]
    assert "low" not in {one["name"] for one in saved}


async def test_a_preview_of_much_is_stopped_in_time_and_says_how_far_it_came(
    browser: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rule_preview, "BOUNDS", replace(rule_preview.BOUNDS, within_s=0.3))
    token = token_of((await browser.get("/settings")).text)
    form = RULE | {"token": token, "original": "", "fragment": "yes"}

    began = time.monotonic()
    text = (await browser.post("/ui/rules/preview", data=form)).text

    assert time.monotonic() - began < 0.3 + 4.0
    assert "After 0.3 s it was stopped: shop up to 01-" in text
    assert "in 14 days" not in text
