"""Sessions as the API tells them and as pages show them."""

from __future__ import annotations

from datetime import timedelta
from urllib.parse import quote, urlencode

import httpx
import pytest

from rag_monitor.domain.stored import StoredTrace
from rag_monitor.server.services import Services
from rag_monitor.testing import EPOCH, make_trace
from tests.unit.server.conftest import open_client
from tests.unit.server.fake_sessions import FakeSessions
from tests.unit.server.fakes import FakeTraces
from tests.unit.server.test_pages import HTML

ODD = ["a/b", "/", "会话 7/二", "100%25 #?&=+", "<b>x</b>", "a//b/", "../x"]


def put(services: Services, session_id: str, *questions: str, **fields: str) -> list[str]:
    """Store a conversation; gives the ids of its traces."""
    fake = services.traces
    assert isinstance(fake, FakeTraces)
    ids = []
    for place, question in enumerate(questions):
        trace = make_trace(
            question,
            "<i>Answer</i>",
            id=f"{session_id} {place}",
            session_id=session_id,
            started_at=EPOCH - timedelta(minutes=len(questions) - place),
            **fields,
        )
        fake.stored[trace.project, trace.trace_id] = StoredTrace(trace=trace, received_at=EPOCH)
        ids.append(trace.trace_id)
    return ids


@pytest.mark.parametrize("session_id", ODD)
async def test_an_id_of_any_characters_is_read_by_its_path(
    services: Services, session_id: str
) -> None:
    ids = put(services, session_id, "How long is the warranty?", "Warranty, how long?!")
    async with open_client(services) as client:
        answer = await client.get(f"/api/v1/sessions/{quote(session_id, safe='')}")
        page = await client.get("/session?" + urlencode({"id": session_id}), headers=HTML)
        trace = await client.get(f"/traces/{ids[1]}", headers=HTML)

    told = answer.json()
    assert told["session_id"] == session_id
    assert [turn["trace_id"] for turn in told["turns"]] == ids
    assert [turn["repeats"] for turn in told["turns"]] == [None, ids[0]]
    assert (told["session_turns"], told["resolved"]) == (2, False)
    assert page.status_code == 200
    assert f'href="/session?{urlencode({"id": session_id})}"' in trace.text.replace("&amp;", "&")
    assert f'href="/traces/{ids[0]}"' in trace.text


async def test_sessions_are_listed_and_filtered(services: Services) -> None:
    fake = services.sessions
    assert isinstance(fake, FakeSessions)
    query = {
        "app": "bot", "release": "v1", "environment": "live", "user": "u/7", "tag": "网",
        "from": "2026-01-01T00:00:00Z", "to": "2026-01-02T00:00:00Z", "limit": "7",
    }  # fmt: skip
    async with open_client(services) as client:
        listed = (await client.get("/api/v1/sessions")).json()
        await client.get("/api/v1/sessions", params=query)

    assert [row["session_id"] for row in listed["items"]][:2] != []
    asked = fake.queries[-1]
    assert (asked.app, asked.release, asked.environment) == ("bot", "v1", "live")
    assert (asked.user_id, asked.tag, asked.limit) == ("u/7", "网", 7)
    assert str(asked.since) == "2026-01-01 00:00:00+00:00"
    assert str(asked.until) == "2026-01-02 00:00:00+00:00"


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/api/v1/sessions/none", 404),
        ("/api/v1/sessions?cursor=x", 422),
        ("/api/v1/sessions/s-1?cursor=x", 422),
        ("/api/v1/sessions?limit=0", 422),
        ("/api/v1/sessions?from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z", 422),
        ("/api/v1/sessions?odd=1", 422),
        ("/session?id=none", 404),
        ("/session", 404),
        ("/sessions?cursor=x", 200),
        ("/session?id=s-1&cursor=x", 200),
    ],
)
async def test_what_cannot_be_answered_is_refused(
    client: httpx.AsyncClient, path: str, status: int
) -> None:
    assert (await client.get(path)).status_code == status


async def test_sessions_need_a_key_where_there_is_one(outsider: httpx.AsyncClient) -> None:
    for path in ("/api/v1/sessions", "/api/v1/sessions/s-1"):
        assert (await outsider.get(path)).status_code == 401


async def test_the_pages_hold_hostile_texts_as_text(services: Services) -> None:
    ids = put(services, "<b>s</b>", "<script>alert(1)</script>", "that's wrong", app="<u>app</u>")
    async with open_client(services, headers=HTML) as client:
        listed = (await client.get("/sessions")).text
        session = (await client.get("/session", params={"id": "<b>s</b>"})).text
        chinese = (await client.get("/session", params={"id": "<b>s</b>", "lang": "zh"})).text

    for text in (listed, session):
        assert "<script>alert" not in text
        assert "<b>s</b>" not in text
        assert "<i>Answer" not in text
    assert f'href="/traces/{ids[0]}"' in session
    assert "Complaint" in session
    assert "不满" in chinese
