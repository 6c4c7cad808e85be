"""Topics in the API, on their page and as CSV."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Mapping
from datetime import timedelta

import pytest

from rag_monitor.client import Client
from rag_monitor.domain.topic import Topic, TopicQuestion, TopicSums
from rag_monitor.outbound.connection import Reply
from rag_monitor.server.csv_text import safe_cell
from rag_monitor.server.services import Services
from rag_monitor.testing import EPOCH
from tests.security.hostile_texts import SCRIPTS
from tests.unit.server.conftest import open_client
from tests.unit.server.fake_topics import FakeTopics

HTML = {"accept": "text/html"}
TODAY = EPOCH.date()
TRACE = "a" * 32


def _fill(services: Services, question: str = "Where is my refund?", name: str = "refund") -> str:
    """Two topics: one of gaps, and a larger one without a fault; returns their app."""
    fake = services.topics
    assert isinstance(fake, FakeTopics)
    at = {"first_seen": EPOCH, "last_seen": EPOCH}
    fake.topics = [Topic(id=1, name=name, **at), Topic(id=2, name="parcel", **at)]
    fake.by_day = {
        (TODAY, 1): TopicSums(
            questions=20,
            diagnosed=20,
            at_fault=15.0,
            faults=Counter(knowledge_gap=12, missed_retrieval=3),
            refused=10,
            scored=20,
            total=10.0,
            squares=5.0,
            latencies=Counter({100: 20}),
        ),
        (TODAY, 2): TopicSums(questions=60, diagnosed=60, at_fault=1.0),
        (TODAY - timedelta(days=9), 2): TopicSums(questions=60),
    }
    fake.asked = {
        1: [
            TopicQuestion(
                trace_id=TRACE, question=question, started_at=EPOCH, fault="knowledge_gap"
            )
        ]
    }
    return services.traces.apps("default")[0].app


async def test_the_topic_of_most_impact_comes_first(services: Services) -> None:
    app = _fill(services)
    async with open_client(services) as client:
        told = (await client.get("/api/v1/topics", params={"app": app})).json()

    first, second = told["topics"]
    assert (first["id"], second["id"]) == (1, 2)
    assert first["impact"] == pytest.approx(0.25 * 0.75)
    assert first["traffic"]["value"] == 0.25
    assert first["traffic"]["lower"] < 0.25 < first["traffic"]["upper"]
    assert first["faults"]["knowledge_gap"]["value"] == 0.6
    assert first["faithfulness"] == {"value": 0.5, **_ends(first["faithfulness"]), "count": 20}
    assert first["p50_ms"] == pytest.approx(1.05**100)
    assert first["satisfaction"] is None
    assert first["event"] == "new"
    assert [one["question"] for one in first["typical"]] == ["Where is my refund?"]


def _ends(share: Mapping[str, float]) -> dict[str, float]:
    return {"lower": share["lower"], "upper": share["upper"]}


async def test_topics_are_counted_by_whole_days(services: Services) -> None:
    app = _fill(services)
    async with open_client(services) as client:
        told = (await client.get("/api/v1/topics", params={"app": app, "window": "1h"})).json()

    assert told["start"].startswith(f"{TODAY}T00:00:00")
    assert told["end"].startswith(f"{TODAY + timedelta(days=1)}T00:00:00")


@pytest.mark.parametrize("query", [{}, {"app": "x", "window": "long"}, {"app": "x", "topic": "1"}])
async def test_what_cannot_be_asked_is_refused(services: Services, query: dict[str, str]) -> None:
    async with open_client(services) as client:
        assert (await client.get("/api/v1/topics", params=query)).status_code == 422


async def test_topics_need_a_key_where_there_is_one(locked: Services) -> None:
    async with open_client(locked) as client:
        for path in ("/api/v1/topics?app=x", "/api/v1/topics/gaps.csv?app=x"):
            assert (await client.get(path)).status_code == 401


async def test_gaps_come_as_csv_that_no_spreadsheet_runs(services: Services) -> None:
    app = _fill(services, question='=HYPERLINK("http://x"),\n"退款"', name="@refund")
    async with open_client(services) as client:
        reply = await client.get("/api/v1/topics/gaps.csv", params={"app": app})

    assert reply.headers["content-type"] == "text/csv; charset=utf-8"
    assert "attachment" in reply.headers["content-disposition"]
    head, row = csv.reader(io.StringIO(reply.content.decode("utf-8-sig"), newline=""))
    assert head == ["topic", "question", "asked_at", "trace_id"]
    assert row == ["'@refund", '\'=HYPERLINK("http://x"),\n"退款"', EPOCH.isoformat(), TRACE]


@pytest.mark.parametrize("cell", ["=1", "+1", "-1", "@a", "\t=1", "\r=1", " =1", "\n=1", "＝1"])
def test_a_formula_becomes_text(cell: str) -> None:
    assert safe_cell(cell) == f"'{cell}"


@pytest.mark.parametrize("cell", ["", "How much is 1+1?", "退款=钱", "'quoted'"])
def test_other_text_stays_as_it_is(cell: str) -> None:
    assert safe_cell(cell) == cell


async def test_the_page_says_what_to_add_and_what_to_fix(services: Services) -> None:
    app = _fill(services)
    async with open_client(services, headers=HTML) as client:
        text = (await client.get("/topics", params={"app": app})).text
        chinese = (await client.get(f"/topics?app={app}&lang=zh")).text

    to_add = text.split('id="to-add"')[1].split("</section>")[0]
    assert "Where is my refund?" in to_add
    assert f"/api/v1/topics/gaps.csv?app={app}&amp;topic=1" in to_add
    to_fix = text.split('id="to-fix"')[1].split("</section>")[0]
    assert "refund" in to_fix
    assert text.index('id="topic-1"') < text.index('id="topic-2"')
    assert "主题" in chinese
    assert "需要补充到知识库的内容" in chinese


async def test_the_page_without_topics_says_when_there_will_be_some(services: Services) -> None:
    async with open_client(services, headers=HTML) as client:
        text = (await client.get("/topics")).text
    assert "A topic appears once a few similar questions were judged." in text


@pytest.mark.parametrize("hostile", SCRIPTS)
async def test_names_and_questions_are_only_ever_text(services: Services, hostile: str) -> None:
    app = _fill(services, question=hostile, name=hostile)
    async with open_client(services, headers=HTML) as client:
        reply = await client.get("/topics", params={"app": app})
    assert reply.status_code == 200
    if "<" in hostile:
        assert hostile not in reply.text


def test_the_client_gives_topics_as_rows() -> None:
    share = {"value": 0.5, "lower": 0.4, "upper": 0.6, "count": 9}
    topic = (
        '{"topics": [{"id": 1, "name": "refund", "first_seen": "2026-01-01T00:00:00+00:00", '
        '"traffic": %s, "faults": {"invented": %s}, "change": null, "typical": []}]}'
    ) % ((str(share).replace("'", '"'),) * 2)
    asked: list[str] = []

    def answer(
        method: str, path: str, body: bytes | None, headers: Mapping[str, str], timeout_s: float
    ) -> Reply:
        asked.append(path)
        return Reply(status=200, reason="OK", headers={}, body=topic.encode())

    client = Client("http://127.0.0.1:1", transport=answer)
    [row] = client.topics("shop", window="7d", as_frame="pandas").to_dict("records")
    assert (row["traffic"], row["traffic_lower"], row["fault.invented"]) == (0.5, 0.4, 0.5)
    assert asked == ["/api/v1/topics?app=shop&window=7d"]
