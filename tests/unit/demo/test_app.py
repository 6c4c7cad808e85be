"""The demo application over HTTP, watched by its own SDK."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Any

import httpx
import pytest

import rag_monitor as rm
from rag_monitor.demo.app import create_app
from rag_monitor.demo.assistant import Assistant
from rag_monitor.demo.corpus import load_questions
from tests.otlp_sink import OtlpSink

GOOD = "How long is the warranty on refurbished products?"
LOAN = "贷款100万元，期限30年，年利率3.30%，每月还款多少？"


@pytest.fixture
def sink() -> Iterator[OtlpSink]:
    with OtlpSink() as listening:
        rm.configure(app="service-desk", endpoint=listening.url, release="1.0")
        yield listening
        rm.shutdown()


@pytest.fixture
async def browser() -> AsyncIterator[httpx.AsyncClient]:
    transport = httpx.ASGITransport(create_app(Assistant()), client=("127.0.0.1", 5000))
    async with httpx.AsyncClient(transport=transport, base_url="http://demo") as client:
        yield client


async def _ask(browser: httpx.AsyncClient, question: str, **fields: Any) -> str:
    reply = await browser.post("/chat", json={"question": question, **fields})
    reply.raise_for_status()
    return reply.text


def _only(sink: OtlpSink) -> dict[str, Any]:
    assert rm.flush(5.0)
    (record,) = sink.records
    return record


async def test_a_good_answer_is_captured_with_passages_hits_and_timings(
    sink: OtlpSink, browser: httpx.AsyncClient
) -> None:
    answer = await _ask(browser, GOOD, session_id="s-1", user_id="u-1")

    record = _only(sink)
    assert answer == "Refurbished products carry a warranty of 12 months."
    assert (record["question"], record["answer"]) == (GOOD, answer)
    assert record["release"] == "1.0"
    assert record["streamed"] is True
    assert record["retrievals"][0]["documents"][0]["id"] == "en-returns-04"
    assert {(hit["kind"], hit["name"]) for hit in record["hits"]} == {
        ("workflow", "faq"),
        ("knowledge_base", "shop-returns"),
    }
    timings = record["timings"]
    assert 0 < timings["first_byte_ms"] <= timings["end_to_end_ms"]


async def test_labels_travel_with_the_question(sink: OtlpSink, browser: httpx.AsyncClient) -> None:
    question = next(q for q in load_questions("zh") if q.text == LOAN)

    await _ask(browser, LOAN, expected=question.expected)

    record = _only(sink)
    assert record["expected"]["plugin"] == ["rate_calculator"]
    assert record["expected"]["workflow"] == ["loan_calculation"]


async def test_what_a_plugin_found_reaches_the_model_as_a_context(
    sink: OtlpSink, browser: httpx.AsyncClient
) -> None:
    answer = await _ask(browser, LOAN)

    record = _only(sink)
    assert ("plugin", "rate_calculator") in {(h["kind"], h["name"]) for h in record["hits"]}
    contexts = [c if isinstance(c, str) else c["content"] for c in record["contexts"]]
    assert contexts[0] == answer


async def test_a_broken_release_retrieves_elsewhere_and_invents(
    sink: OtlpSink, browser: httpx.AsyncClient
) -> None:
    faults = {"retriever": True, "invent": True, "release": "1.1"}
    assert (await browser.post("/break", json=faults)).status_code == 200

    answer = await _ask(browser, GOOD)

    record = _only(sink)
    assert record["release"] == "1.1"
    assert "12 months" not in answer
    homes = {d["knowledge_base"] for d in record["retrievals"][0]["documents"]}
    assert "shop-returns" not in homes


async def test_only_this_machine_may_break_the_demo() -> None:
    transport = httpx.ASGITransport(create_app(Assistant()), client=("203.0.113.9", 5000))
    async with httpx.AsyncClient(transport=transport, base_url="http://demo") as stranger:
        reply = await stranger.post("/break", json={"retriever": True})

    assert reply.status_code == 403


class _Parrot:
    """A model that repeats its first context."""

    model = "parrot"

    async def stream(self, question: str, contexts: Sequence[str]) -> AsyncIterator[str]:
        for word in contexts[0].split():
            yield word + " "


async def test_a_configured_model_writes_the_answer_and_is_named(sink: OtlpSink) -> None:
    transport = httpx.ASGITransport(create_app(Assistant(generator=_Parrot())))
    async with httpx.AsyncClient(transport=transport, base_url="http://demo") as browser:
        answer = await _ask(browser, GOOD)

    assert answer.startswith("All new products carry a warranty")
    assert _only(sink)["model"] == "parrot"
