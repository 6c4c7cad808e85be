"""Metrics of sessions, worked out by hand, through the SDK, OTLP and Trace JSON.

A chat of three turns with a rephrasing and a complaint, one good answer, and a chat whose last
stream was cut; two users.
"""

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
from tests.acceptance.test_chat_sessions import CONTENT, RESTLESS, WARRANTY, _attributes

pytestmark = [pytest.mark.slow, pytest.mark.timeout(400)]

CUT = (*CONTENT, ("And does it cover the plug?", "The warranty covers"))
WAYS = ("sdk", "otlp", "json")
BY_HAND = {
    "session_turns": (3 + 1 + 2) / 3,
    "resolved_rate": 1 / 3,
    "repeated_question_rate": 1 / 3,
    "complaint_rate": 1 / 3,
    "abandoned_rate": 1 / 3,
}
SDK = """
import json, sys
import rag_monitor as rm

url, turns, passage = sys.argv[1], json.loads(sys.argv[2]), sys.argv[3]
rm.configure(app="chat-sdk", endpoint=url)

@rm.trace
def answer(question, text, session, user):
    rm.current().set(session_id=session, user_id=user)
    rm.record_contexts([passage])
    for word in text.split(" "):
        yield word + " "

for session, user, question, text, cut in turns:
    stream = answer(question, text, session, user)
    for place, _ in enumerate(stream):
        if cut and place == 1:
            stream.close()
            break
rm.flush(20)
"""


def turns_of(way: str) -> list[tuple[str, str, str, str, bool]]:
    """Session, user, question, answer, and whether its stream was cut; in order."""
    restless = [(f"{way}/1", "u-1", *turn, False) for turn in RESTLESS]
    content = [(f"{way}/2", "u-2", *turn, False) for turn in CONTENT]
    cut = [(f"{way}/3", "u-2", *turn, turn is CUT[-1]) for turn in CUT]
    return [*restless, *content, *cut]


def _send_sdk(to: Monitor) -> None:
    given = json.dumps(turns_of("sdk"))
    subprocess.run([sys.executable, "-c", SDK, to.url, given, WARRANTY], check=True, timeout=60)


def _send_json(to: Monitor) -> None:
    began = time.time() - 300
    for place, (session, user, question, text, cut) in enumerate(turns_of("json")):
        trace = {
            "id": f"t-{place}",
            "app": "chat-json",
            "release": "v1",
            "question": question,
            "answer": text,
            "contexts": [WARRANTY],
            "session_id": session,
            "user_id": user,
            "started_at": began + place,
            "status": "abandoned" if cut else "ok",
        }
        assert to.post("/api/v1/traces", json.dumps(trace).encode()).status == 200


def _send_otlp(to: Monitor) -> None:
    start = int((time.time() - 300) * 1e9)
    spans: list[dict[str, Any]] = []
    for place, (session, user, question, text, cut) in enumerate(turns_of("otlp")):
        at = start + place * 10**9
        common = {"traceId": f"{place + 1:032x}", "kind": 1, "startTimeUnixNano": str(at)}
        root = f"{place + 1:016x}"
        ended = str(at + 6 * 10**8)
        failed = {
            "status": {"code": 2},
            "events": [
                {
                    "name": "exception",
                    "timeUnixNano": ended,
                    "attributes": _attributes(exception__type="asyncio.CancelledError"),
                }
            ],
        }
        said = _attributes(
            openinference__span__kind="CHAIN",
            session__id=session,
            user__id=user,
            input__value=question,
            output__value=text,
        )
        chat = {"spanId": root, "name": "chat", "endTimeUnixNano": ended, "attributes": said}
        spans.append(common | chat | (failed if cut else {}))
        found = _attributes(
            openinference__span__kind="RETRIEVER",
            input__value=question,
            retrieval__documents__0__document__content=WARRANTY,
        )
        retrieval = {
            "spanId": f"{place + 1001:016x}",
            "parentSpanId": root,
            "name": "retrieve",
            "endTimeUnixNano": str(at + 10**8),
            "attributes": found,
        }
        spans.append(common | retrieval)
    resource = {"attributes": _attributes(service__name="chat-otlp")}
    body = {"resourceSpans": [{"resource": resource, "scopeSpans": [{"spans": spans}]}]}
    assert to.post("/v1/traces", json.dumps(body).encode()).status == 200


def sessions_of(to: Monitor, way: str) -> dict[str, dict[str, Any]]:
    """The metrics of sessions of an app, by name; empty: none has ended yet."""
    reply = to.get(f"/api/v1/summary?app=chat-{way}&window=1h")
    apps = reply.json["apps"] if reply.status == 200 else []
    return {one["metric"]: one for app in apps for one in app["sessions"]}


@pytest.fixture(scope="module")
def chat(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Monitor]:
    folder: Path = tmp_path_factory.mktemp("chat")
    database = f"sqlite:///{folder / 'chat.db'}"
    with monitor(folder, database, RAG_MONITOR_WORKER_SESSION_IDLE_S="60") as running:
        for send in (_send_sdk, _send_otlp, _send_json):
            send(running)

        def counted() -> bool:
            told = [sessions_of(running, way) for way in WAYS]
            return all(
                one and one["abandoned_rate"]["judged"] == one["resolved_rate"]["judged"] == 3
                for one in told
            )

        eventually(counted, 240)
        yield running


@pytest.mark.parametrize("way", WAYS)
def test_estimates_of_sessions_have_the_values_worked_out_by_hand(chat: Monitor, way: str) -> None:
    told = sessions_of(chat, way)
    with Client(chat.url) as client:
        rows = list(client.sessions(app=f"chat-{way}"))

    values = {name: told[name]["value"] for name in BY_HAND}
    assert values == pytest.approx(BY_HAND)
    assert {(one["judged"], one["traces"]) for one in told.values()} == {(3, 3)}
    assert {one["lower"] for one in told.values()} == {None}  # three sessions are too few
    for name, part in (("session_faithfulness", "worst"), ("session_faithfulness_mean", "mean")):
        by_session = [row["session_faithfulness"][part] for row in rows]
        assert told[name]["value"] == pytest.approx(sum(by_session) / 3)


def test_prometheus_and_series_say_the_same(chat: Monitor) -> None:
    at = '{app="chat-json",metric="resolved_rate"}'
    release = '{app="chat-json",metric="resolved_rate",release="v1"}'

    def exposed() -> dict[str, float]:
        lines = chat.get("/metrics").body.decode().splitlines()
        pairs = (line.rsplit(" ", 1) for line in lines if line.startswith("rag_monitor_session_"))
        return {name: float(value) for name, value in pairs}

    shown = eventually(lambda: exposed() or None, 60)
    series = chat.get("/api/v1/series?app=chat-json&metric=resolved_rate&window=1h&step=1h").json

    assert shown[f"rag_monitor_session_app_estimate{at}"] == pytest.approx(1 / 3)
    assert shown[f"rag_monitor_session_app_estimate_samples{at}"] == 3
    assert f"rag_monitor_session_app_estimate_lower{at}" not in shown
    assert any(name.endswith('release="v1"}') and "resolved" in name for name in shown), release
    points = [point["value"] for point in series["points"] if point["judged"]]
    assert sum(point["judged"] for point in series["points"]) == 3
    assert points


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_the_overview_shows_them_in_a_browser(
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
        problems, wide = [], []
        for place in ("/?app=chat-json&window=1h", "/judges?window=24h"):
            page.goto(f"{place}&lang={language}")
            problems += accessibility(page)
            wide.append(overflow(page))
            name = place.strip("/").split("?")[0] or "overview"
            page.screenshot(
                path=tmp_path / f"{name}-{language}-{scheme}-{width}.png", full_page=True
            )
        page.goto(f"/?app=chat-json&window=1h&lang={language}")
        words = {"en": ("Resolved sessions", "2.0"), "zh": ("已解决的会话", "2.0")}[language]
        assert [word for word in words if word not in page.inner_text("main")] == []
        context.close()
    assert (troubles, problems, max(wide)) == ([], [], 0)
