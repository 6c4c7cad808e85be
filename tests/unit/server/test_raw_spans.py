"""What a trace was read from, on its page: bounded, escaped, and told where it is gone."""

from __future__ import annotations

import html
import json
from collections.abc import AsyncIterator

import httpx
import pytest

from rag_monitor.domain.ports import BlobFormat
from rag_monitor.server.services import Services
from rag_monitor.server.ui import raw_spans
from rag_monitor.server.ui.raw_spans import evidence_of
from tests.unit.ingest.evidence import protobuf, span
from tests.unit.server.conftest import open_client
from tests.unit.server.test_pages import HTML

HOSTILE = '<script>alert("1")</script>'


@pytest.fixture
async def browser(services: Services) -> AsyncIterator[httpx.AsyncClient]:
    async with open_client(services, headers=HTML) as client:
        yield client


def otlp(*spans: dict[str, object]) -> tuple[BlobFormat, bytes]:
    return BlobFormat.OTLP, protobuf(*spans)


def some_trace(services: Services, *blobs: tuple[BlobFormat, bytes]) -> str:
    """The id of a stored trace that was read from these."""
    (_, trace_id), *_ = services.traces.stored  # type: ignore[attr-defined]
    services.spans.stored[trace_id] = blobs  # type: ignore[attr-defined]
    return str(trace_id)


async def panel(browser: httpx.AsyncClient, trace_id: str, query: str = "?spans=yes") -> str:
    answer = await browser.get(f"/traces/{trace_id}{query}")
    assert answer.status_code == 200
    return answer.text.split('id="spans"')[1].split("</section>")[0]


async def test_spans_are_shown_in_their_order_with_all_that_they_say(
    browser: httpx.AsyncClient, services: Services
) -> None:
    trace_id = some_trace(
        services,
        otlp(span(2, "search", {"k": 3}, parent=1, ms=(5, 30))),
        otlp(
            span(1, "ask", {"tags": ["a", "b"]}, ms=(0, 1500), events=[("first", 12, {"n": 1})]),
            span(3, "model", parent=1, ms=(30, 90), status={"code": 2, "message": "no credit"}),
        ),
    )

    text = await panel(browser, trace_id)

    names = [part.split("</b>")[0] for part in text.split("<summary><b>")[1:]]
    assert names == ["ask", "search", "model"]
    assert text.count("depth-1") == 2
    for shown in ("[&#34;a&#34;, &#34;b&#34;]", "+5 ms", "1.50 s", "+12 ms", "no credit", "tests"):
        assert shown in text, shown


async def test_nobody_who_does_not_ask_pays_for_them(
    browser: httpx.AsyncClient, services: Services
) -> None:
    trace_id = some_trace(services, otlp(span(1, "ask", {"secret": "xyz"})))

    text = await panel(browser, trace_id, query="")

    assert f'href="/traces/{trace_id}?spans=yes#spans"' in text
    assert "xyz" not in text


async def test_what_is_gone_or_unreadable_is_said(
    browser: httpx.AsyncClient, services: Services
) -> None:
    gone = await panel(browser, some_trace(services))
    broken = await panel(browser, some_trace(services, (BlobFormat.OTLP, b"\xff\xff\xff")))

    assert "not stored any more" in gone
    assert "cannot be read" in broken


async def test_texts_of_senders_are_text(browser: httpx.AsyncClient, services: Services) -> None:
    spans = span(
        1, HOSTILE, {HOSTILE: HOSTILE}, events=[(HOSTILE, 1, {HOSTILE: [HOSTILE]})],
        status={"code": 2, "message": HOSTILE},
    )  # fmt: skip
    row = json.dumps({"question": HOSTILE}).encode()

    text = await panel(browser, some_trace(services, otlp(spans), (BlobFormat.TRACE_JSON, row)))

    assert "<script>" not in text
    assert html.unescape(text).count("<script>") == 8


def test_number_and_length_are_bounded_and_what_is_left_out_is_counted() -> None:
    many = [
        span(
            number,
            "n" * 5000,
            {f"{key:03}" * 100: "v" * 10_000 for key in range(70)},
            parent=number - 1,
            events=[("event", 1, {})] * 30,
        )
        for number in range(1, 131)
    ]

    found = evidence_of([otlp(*many)])

    assert len(found.spans) == raw_spans.MAX_SPANS
    assert found.left_out == 30
    first = found.spans[0]
    assert len(first.own.name) == raw_spans.MAX_NAME
    assert len(first.own.attributes) == raw_spans.MAX_ATTRIBUTES
    assert first.own.left_out == 10
    assert (len(first.events), first.more_events) == (raw_spans.MAX_EVENTS, 10)
    assert first.own.attributes[0][1].startswith("v" * raw_spans.MAX_VALUE + "… (+8,000)")
    values = [value for one in found.spans for _, value in one.own.attributes]
    assert sum(value.count("v") for value in values) == raw_spans.MAX_TEXT


def test_spans_that_are_their_own_ancestors_end() -> None:
    found = evidence_of([otlp(span(1, "a", parent=2), span(2, "b", parent=1))])

    assert [one.own.name for one in found.spans] == ["a", "b"]


def test_rows_that_were_sent_again_come_newest_first() -> None:
    rows = [json.dumps({"question": f"q{n}"}).encode() for n in range(7)]

    found = evidence_of((BlobFormat.TRACE_JSON, row) for row in rows)

    assert [json.loads(row)["question"] for row in found.rows] == ["q6", "q5", "q4", "q3", "q2"]
    assert found.left_out == 2


def test_a_row_that_is_no_json_is_shown_as_it_came() -> None:
    found = evidence_of([(BlobFormat.TRACE_JSON, b"[" * 100_000)])

    assert found.rows[0].startswith("[[[[")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("http.request.header.authorization", ["Bearer 7f3k29xq81zz"]),
        ("authorization", "Bearer 7f3k29xq81zz"),
        ("llm.request", '{"api_key": "7f3k29xq81zz", "prompt": "hello"}'),
        ("url.full", "https://example.com/v1?api_key=7f3k29xq81zz&q=1"),
        ("db.connection_string", "postgresql://bob:7f3k29xq81zz@db/x"),
        ("http.request.header.x-api-key", ["7f3k29xq81zz"]),
        ("http.request.header.cookie", ["session=7f3k29xq81zz"]),
    ],
)
async def test_keys_and_tokens_are_hidden(
    browser: httpx.AsyncClient, services: Services, name: str, value: object
) -> None:
    trace_id = some_trace(services, otlp(span(1, "ask", {name: value})))

    text = await panel(browser, trace_id)

    assert name in text
    assert "7f3k29xq81zz" not in text
