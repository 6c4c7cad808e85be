"""A chat application sent through the SDK, OTLP and Trace JSON, read back as sessions."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rag_monitor.client import Client
from tests.acceptance.browsing import accessibility, chromium, overflow, watched
from tests.acceptance.running import Monitor, eventually, monitor

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

WARRANTY = "The standard warranty of the kettle lasts 24 months."
RESTLESS = (
    ("How long is the warranty of the kettle?", "It lasts 60 months in every country."),
    ("I mean: what is the warranty length of the kettle?", "The warranty lasts 24 months."),
    ("That's wrong, you didn't answer my question.", "The warranty lasts 24 months."),
)
"""A rephrasing, then a complaint."""
CONTENT = (("How long is the warranty of the kettle?", WARRANTY),)
WAYS = ("sdk", "otlp", "json")
SDK = """
import json, sys
import rag_monitor as rm

url, turns, passage = sys.argv[1], json.loads(sys.argv[2]), sys.argv[3]
rm.configure(app="chat-sdk", endpoint=url)

@rm.trace
def answer(question, text, session, user):
    rm.current().set(session_id=session, user_id=user)
    rm.record_contexts([passage])
    return text

for session, user, question, text in turns:
    answer(question, text, session, user)
rm.flush(20)
"""


def turns_of(way: str) -> list[tuple[str, str, str, str]]:
    """Session, user, question and answer, in order."""
    restless = [(f"{way}/会话 1", "u-1", *turn) for turn in RESTLESS]
    return [*restless, *((f"{way}/会话 2", "u-2", *turn) for turn in CONTENT)]


def _send_sdk(to: Monitor) -> None:
    given = json.dumps(turns_of("sdk"))
    subprocess.run([sys.executable, "-c", SDK, to.url, given, WARRANTY], check=True, timeout=60)


def _send_json(to: Monitor) -> None:
    now = time.time()
    for place, (session, user, question, text) in enumerate(turns_of("json")):
        trace = {
            "id": f"t-{place}",
            "app": "chat-json",
            "question": question,
            "answer": text,
            "contexts": [WARRANTY],
            "session_id": session,
            "user_id": user,
            "started_at": now - 60 + place,
            "timings": {"end_to_end_ms": 640},
            "hits": [{"kind": "plugin", "name": "search", "ok": True, "items": 1}],
        }
        assert to.post("/api/v1/traces", json.dumps(trace).encode()).status == 200


def _attributes(**values: str) -> list[dict[str, Any]]:
    return [
        {"key": key.replace("__", "."), "value": {"stringValue": value}}
        for key, value in values.items()
    ]


def _send_otlp(to: Monitor) -> None:
    start = int((time.time() - 60) * 1e9)
    spans = []
    for place, (session, user, question, text) in enumerate(turns_of("otlp")):
        at = start + place * 10**9
        common = {"traceId": f"{place + 1:032x}", "kind": 1, "startTimeUnixNano": str(at)}
        root = f"{place + 1:016x}"
        spans.append(
            common
            | {
                "spanId": root,
                "name": "chat",
                "endTimeUnixNano": str(at + 6 * 10**8),
                "attributes": _attributes(
                    openinference__span__kind="CHAIN",
                    session__id=session,
                    user__id=user,
                    input__value=question,
                    output__value=text,
                ),
            }
        )
        spans.append(
            common
            | {
                "spanId": f"{place + 1001:016x}",
                "parentSpanId": root,
                "name": "retrieve",
                "endTimeUnixNano": str(at + 10**8),
                "attributes": _attributes(
                    openinference__span__kind="RETRIEVER",
                    input__value=question,
                    retrieval__documents__0__document__content=WARRANTY,
                ),
            }
        )
    resource = {"attributes": _attributes(service__name="chat-otlp")}
    body = {"resourceSpans": [{"resource": resource, "scopeSpans": [{"spans": spans}]}]}
    assert to.post("/v1/traces", json.dumps(body).encode()).status == 200


@pytest.fixture(scope="module")
def chat(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Monitor]:
    folder: Path = tmp_path_factory.mktemp("chat")
    with monitor(folder, f"sqlite:///{folder / 'chat.db'}") as running:
        _send_sdk(running)
        _send_otlp(running)
        _send_json(running)

        def judged() -> bool:
            rows = running.traces()
            return len(rows) == 12 and all("faithfulness" in row["scores"] for row in rows)

        eventually(judged, 90)
        yield running


@pytest.mark.parametrize("way", WAYS)
def test_sessions_have_the_values_worked_out_by_hand(chat: Monitor, way: str) -> None:
    with Client(chat.url) as client:
        rows = {row["session_id"]: row for row in client.sessions(app=f"chat-{way}")}
        restless = client.session(f"{way}/会话 1")
        of_second_user = [row["session_id"] for row in client.sessions(user="u-2")]

    first, second = rows[f"{way}/会话 1"], rows[f"{way}/会话 2"]
    ids = [turn["trace_id"] for turn in restless["turns"]]
    assert [turn["question"] for turn in restless["turns"]] == [q for q, _ in RESTLESS]
    assert [turn["answer"] for turn in restless["turns"]] == [a for _, a in RESTLESS]
    assert [turn["repeats"] for turn in restless["turns"]] == [None, ids[0], None]
    assert [turn["complaint"] for turn in restless["turns"]] == [False, False, True]
    assert (first["session_turns"], second["session_turns"]) == (3, 1)
    assert (first["user_ids"], second["user_ids"]) == (["u-1"], ["u-2"])
    assert (first["repeated_questions"], second["repeated_questions"]) == (1, 0)
    assert (first["complaint"], second["complaint"]) == (True, False)
    assert (first["resolved"], second["resolved"]) == (False, True)
    scores = [turn["scores"]["faithfulness"] for turn in restless["turns"]]
    judged = [score for score in scores if score is not None]
    assert first["session_faithfulness"]["worst"] == min(judged)
    assert first["session_faithfulness"]["mean"] == pytest.approx(sum(judged) / len(judged))
    assert scores[0] < 0.5 < scores[1]
    assert sorted(of_second_user) == sorted(f"{one}/会话 2" for one in WAYS)


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_sessions_are_read_in_a_browser(
    chat: Monitor, language: str, scheme: str, width: int, tmp_path: Path
) -> None:
    with chromium() as browser:
        context = browser.new_context(
            base_url=chat.url,
            viewport={"width": width, "height": 900},
            color_scheme=scheme,  # type: ignore[arg-type]
        )
        page = context.new_page()
        troubles = watched(page, chat.url)
        page.goto(f"/sessions?app=chat-json&lang={language}")
        assert page.locator("a.tracerow").count() == 2
        problems = accessibility(page)
        wide = [overflow(page)]
        page.screenshot(path=tmp_path / "sessions.png", full_page=True)
        page.locator("a.tracerow", has_text="kettle").last.click()
        page.wait_for_url("**/session?**")
        assert page.locator("li.turn").count() == 3
        words = {"en": ("Not resolved", "Complaint"), "zh": ("未解决", "不满")}[language]
        assert [word for word in words if word not in page.inner_text("main")] == []
        problems += accessibility(page)
        wide.append(overflow(page))
        page.screenshot(path=tmp_path / "session.png", full_page=True)
        page.locator("li.turn a[href^='/traces/']").nth(1).click()
        page.locator("a[rel=next]").click()
        page.wait_for_load_state()
        wide.append(overflow(page))
        assert page.locator(".meta a[rel=prev]").count() == 1
        assert page.locator(".meta a[rel=next]").count() == 0
        context.close()
    assert (troubles, problems, max(wide)) == ([], [], 0)
