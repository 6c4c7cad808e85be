"""From judged traces to lists of documents: in the API, on the page, in the client, exported."""

from __future__ import annotations

import asyncio
import base64
import csv
import io
import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from rag_monitor.cli import documents as commands
from rag_monitor.cli.remote import Remote
from rag_monitor.client import Client
from rag_monitor.domain.trace import Retrieval, RetrievedDocument, Trace
from rag_monitor.evaluation.pipeline import Pipeline
from rag_monitor.evaluation.plan import EvaluationPlan
from rag_monitor.judges.embedded import create_lexical
from rag_monitor.outbound.connection import Reply
from rag_monitor.sampling.sampler import Sampler
from rag_monitor.server.services import Services
from rag_monitor.store.options import StoreOptions
from rag_monitor.store.store import Store
from rag_monitor.testing import EPOCH, ManualClock, make_trace
from rag_monitor.worker.document_counting import DocumentCounting
from rag_monitor.worker.evaluating import Evaluation
from rag_monitor.worker.fault_finding import FaultFinder
from tests.contract.evidence import claim, ingest
from tests.integration.test_fault_finding import OPTIONS
from tests.unit.server.conftest import open_client
from tests.unit.server.fakes import make_services

OLD = "2023年价目表：基础版每月收费49元。"
NEW = "2026年价目表：基础版每月收费59元。"
NOISE = "公司食堂周一至周五中午供应午餐。"
TITLES = {"old": '=HYPERLINK("http://x")', "new": "<b>价目表</b>", "noise": "食堂"}


def price_trace(number: int, answer: str, **passages: str) -> Trace:
    found = tuple(
        RetrievedDocument(
            id=id_, content=text, rank=rank,
            metadata={"title": TITLES[id_], "updated_at": text[:4]} if id_ != "noise" else {},
        )
        for rank, (id_, text) in enumerate(passages.items(), start=1)
    )  # fmt: skip
    trace = make_trace("基础版每月多少钱？", answer, [], id=str(number), app="shop")
    retrieval = Retrieval(documents=found, knowledge_base="prices")
    started = EPOCH + timedelta(seconds=number)
    return replace(trace, contexts=found, retrievals=(retrieval,), started_at=started)


@pytest.fixture
def store(database_url: str, clock: ManualClock) -> Iterator[Store]:
    options = StoreOptions(url=database_url, auto_migrate=True, ballast_bytes=0, partitions_ahead=1)
    with Store.open(options, clock) as opened:
        opened.writer.start()
        yield opened


@pytest.fixture
async def services(store: Store, clock: ManualClock) -> Services:
    """25 good answers, 25 with the old price, all with noise beside; counted once and again."""
    good = [price_trace(n, "基础版每月收费59元。", new=NEW, noise=NOISE) for n in range(25)]
    stale = [
        price_trace(n, "基础版每月收费49元。", old=OLD, new=NEW, noise=NOISE) for n in range(25, 50)
    ]
    await asyncio.to_thread(ingest, store, *good, *stale)
    pipeline = Pipeline(EvaluationPlan(baseline=create_lexical({})), Sampler(), clock)
    faults = FaultFinder(store.earlier_passages, clock)
    evaluation = Evaluation(store.tasks, pipeline, clock, OPTIONS, faults, store.earlier_turns)
    await evaluation.run(claim(store))
    counting = DocumentCounting(store.documents, clock)
    assert await counting.count_due() == 0, "scores settle first"
    clock.advance(timedelta(minutes=1))
    assert await counting.count_due() > 0
    while await counting.count_due():
        pass
    return replace(
        make_services(),
        documents=store.documents,
        inventory=store.inventory,
        traces=store.traces,
        clock=clock,
    )


async def get(services: Services, path: str, **query: Any) -> httpx.Response:
    async with open_client(services) as client:
        return await client.get(path, params=query)


async def test_lists_of_documents_over_the_api(services: Services) -> None:
    every = (await get(services, "/api/v1/documents")).json()
    counts = {one["document"]: one for one in every["items"]}

    assert {name: one["retrieved"] for name, one in counts.items()} == {
        "new": 50, "noise": 50, "old": 25,
    }  # fmt: skip
    assert counts["old"]["mean_rank"] == 1
    assert counts["new"]["updated_at"] == "2026"
    assert counts["noise"]["useful"]["judged"] == 50
    assert counts["old"]["at_fault"]["value"] == 1
    assert every["judge"].startswith("embedded")

    async def listed(name: str) -> list[str]:
        answer = await get(services, "/api/v1/documents", list=name, knowledge_base="prices")
        return [one["document"] for one in answer.json()["items"]]

    assert await listed("noisy") == ["noise"]
    assert await listed("harmful") == ["old"]
    assert await listed("stale") == ["old"]
    pairs = (await get(services, "/api/v1/documents", list="conflicting")).json()["conflicts"]
    assert [(p["used"]["document"], p["other"]["document"], p["traces"], p["outdated"])
            for p in pairs] == [("old", "new", 25, 25)]  # fmt: skip
    assert services.traces.get("default", pairs[0]["trace_id"])


async def test_pages_follow_one_another_and_filters_are_obeyed_or_refused(
    services: Services,
) -> None:
    seen, cursor = [], None
    while True:
        query = {"limit": 1} | ({"cursor": cursor} if cursor else {})
        page = (await get(services, "/api/v1/documents", **query)).json()
        seen += [one["document"] for one in page["items"]]
        if (cursor := page["next_cursor"]) is None:
            break
    assert seen == ["new", "noise", "old"]

    day = EPOCH.date()
    nothing = [
        {"app": "bank"},
        {"knowledge_base": "manuals"},
        {"from": day + timedelta(days=1), "to": day + timedelta(days=2)},
        {"from": day - timedelta(days=9), "to": day},
    ]
    for query in nothing:
        answer = await get(services, "/api/v1/documents", **query)
        assert (answer.status_code, answer.json()["items"]) == (200, []), query
    exact = {"app": "shop", "knowledge_base": "prices", "from": day, "to": day + timedelta(days=1)}
    assert len((await get(services, "/api/v1/documents", **exact)).json()["items"]) == 3
    hints = (await get(services, "/api/v1/documents", knowledge_base="price")).json()["hints"]
    assert "prices" in hints[0]
    refused = [
        {"list": "noisey"}, {"cursor": "x"}, {"from": day, "to": day}, {"to": f"{day}T12:00:00Z"},
        {"release": "v1"}, {"list": "never_retrieved", "app": "shop"}, {"limit": 0},
        {"list": "never_retrieved", "to": day}, {"from": "2020-01-01"},
    ]  # fmt: skip
    for query in refused:
        answer = await get(services, "/api/v1/documents", **query)
        assert answer.status_code == 422, query
    deep = base64.urlsafe_b64encode(b"[" * 2_900).decode().rstrip("=")
    assert (await get(services, "/api/v1/documents", cursor=deep)).status_code == 422
    strange = json.dumps(["never_retrieved", "a\x00", "\ud800"]).encode()
    cursor = base64.urlsafe_b64encode(strange).decode().rstrip("=")
    answer = await get(services, "/api/v1/documents", list="never_retrieved", cursor=cursor)
    assert (answer.status_code, answer.json()["items"]) == (200, [])
    of_other_list = (await get(services, "/api/v1/documents", limit=1)).json()["next_cursor"]
    answer = await get(services, "/api/v1/documents", list="noisy", cursor=of_other_list)
    assert answer.status_code == 422


async def test_what_an_inventory_has_and_nobody_retrieved_is_listed(
    services: Services, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hint = (
        await get(services, "/api/v1/documents", list="never_retrieved", knowledge_base="prices")
    ).json()["hints"]
    assert "rag-monitor documents import" in hint[0]
    file = tmp_path / "inventory.csv"
    file.write_text("id,title,owner\nold,Price list,me\nunread,没人看,me\n", encoding="utf-8")
    loop = asyncio.get_running_loop()
    transport = _transport(services, loop)
    monkeypatch.setattr(commands, "Remote", lambda url, key: Remote(url, key, transport=transport))

    await asyncio.to_thread(
        commands.import_inventory, file, "prices", False, "http://x", "", "en", True
    )

    def never() -> list[dict[str, Any]]:
        client = Client("http://x", transport=transport)
        found: list[dict[str, Any]] = client.documents(list_name="never_retrieved")
        return found

    [one] = await asyncio.to_thread(never)
    assert (one["document"], one["title"], one["retrieved"]) == ("unread", "没人看", 0)
    file.write_text("id\nold\n", encoding="utf-8")
    services.clock.advance(timedelta(seconds=1))  # type: ignore[attr-defined]
    await asyncio.to_thread(
        commands.import_inventory, file, "prices", True, "http://x", "", "en", True
    )
    assert await asyncio.to_thread(never) == []
    frame = await asyncio.to_thread(
        lambda: Client("http://x", transport=transport).documents(as_frame="pandas")
    )
    assert list(frame["document"]) == ["new", "noise", "old"]
    assert frame["at_fault.value"][2] == 1


async def test_the_export_runs_no_formula(services: Services) -> None:
    answer = await get(services, "/api/v1/documents.csv", knowledge_base="prices")

    assert answer.headers["content-type"].startswith("text/csv")
    rows = list(csv.DictReader(io.StringIO(answer.content.decode("utf-8-sig"))))
    assert [row["document"] for row in rows] == ["new", "noise", "old"]
    assert rows[2]["title"] == '\'=HYPERLINK("http://x")'
    assert rows[2]["at_fault.value"] == "1.0"


@pytest.mark.parametrize("language", ["en", "zh"])
async def test_the_page_shows_documents_and_lists(services: Services, language: str) -> None:
    shown = (await get(services, "/documents", lang=language, knowledge_base="prices")).text
    assert "&lt;b&gt;价目表&lt;/b&gt;" in shown
    assert "<b>价目表</b>" not in shown
    assert ("Documents" if language == "en" else "文档") in shown

    pairs = (await get(services, "/documents", lang=language, list="conflicting")).text
    assert "/traces/" in pairs
    assert "No document is on this list." not in pairs
    odd = await get(
        services, "/documents", lang=language, list="x", cursor="y", to="z", window="1h"
    )
    assert odd.status_code == 200
    for name in ("list=x", "cursor=y", "to=z", "window=1h"):
        assert f"<code>{name}</code>" in odd.text


def _transport(services: Services, loop: asyncio.AbstractEventLoop) -> Any:
    """The server in this process, asked from a thread."""

    async def ask(method: str, path: str, body: bytes | None, headers: Any) -> httpx.Response:
        async with open_client(services) as client:
            return await client.request(method, path, content=body, headers=headers)

    def send(method: str, path: str, body: bytes | None, headers: Any, timeout_s: float) -> Reply:
        future = asyncio.run_coroutine_threadsafe(ask(method, path, body, headers), loop)
        answer = future.result(timeout_s)
        return Reply(
            status=answer.status_code, reason=answer.reason_phrase,
            headers=dict(answer.headers), body=answer.content,
        )  # fmt: skip

    return send
