"""Scores of other tools: in the API and on the page, as they were reported."""

from __future__ import annotations

from dataclasses import replace

from rag_monitor.domain.score import ReportedScore
from rag_monitor.server.services import Services
from tests.unit.server.conftest import open_client
from tests.unit.server.test_pages import HTML, trace_id_of


def report(services: Services) -> str:
    """The first trace, with what two tools say of it."""
    trace_id = trace_id_of(services)
    stored = services.traces.stored["default", trace_id]  # type: ignore[attr-defined]
    told = ReportedScore(
        project="default",
        trace_id=trace_id,
        source="ragas-nightly",
        name="faithfulness",
        value=0.1234567,
        label="fail",
        explanation="<b>no source</b>",
        reported_at=stored.received_at,
        received_at=stored.received_at,
    )
    failed = replace(told, source="", name="tone", span_id="b7ad6b7169203331", value=None)
    services.traces.stored["default", trace_id] = replace(  # type: ignore[attr-defined]
        stored, reported=(replace(failed, label=None, explanation=None, error="timeout"), told)
    )
    return trace_id


async def test_the_api_gives_them_beside_ours(services: Services) -> None:
    trace_id = report(services)
    async with open_client(services) as client:
        trace = (await client.get(f"/api/v1/traces/{trace_id}")).json()

    failed, told = trace["reported_scores"]
    assert (told["source"], told["name"], told["value"]) == (
        "ragas-nightly",
        "faithfulness",
        0.1234567,
    )
    assert (told["span_id"], told["label"], told["error"]) == (None, "fail", None)
    assert (failed["source"], failed["span_id"]) == ("", "b7ad6b7169203331")
    assert (failed["value"], failed["error"]) == (None, "timeout")
    ours = next(score for score in trace["scores"] if score["metric"] == "faithfulness")
    assert ours["value"] != told["value"]


async def test_the_page_shows_them_apart_and_says_what_they_are(services: Services) -> None:
    trace_id = report(services)
    async with open_client(services, headers=HTML) as client:
        text = (await client.get(f"/traces/{trace_id}")).text
        chinese = (await client.get(f"/traces/{trace_id}?lang=zh")).text
        other = (await client.get("/traces")).text

    panel = text.split('id="reported"')[1].split("</section>")[0]
    assert "<code>ragas-nightly</code>" in panel
    assert "0.1235" in panel
    assert "&lt;b&gt;no source&lt;/b&gt;" in panel
    assert "timeout" in panel
    assert "a tool that gives no name" in panel
    assert "enter no estimate" in panel
    assert "其他工具的评分" in chinese
    assert "ragas-nightly" not in other


async def test_a_trace_that_nobody_else_scored_has_no_such_panel(services: Services) -> None:
    async with open_client(services, headers=HTML) as client:
        text = (await client.get(f"/traces/{trace_id_of(services)}")).text

    assert 'id="reported"' not in text


async def test_words_alone_stand_without_a_number(services: Services) -> None:
    trace_id = report(services)
    stored = services.traces.stored["default", trace_id]  # type: ignore[attr-defined]
    words = replace(stored.reported[1], value=None, label=None, explanation="too long")
    services.traces.stored["default", trace_id] = replace(  # type: ignore[attr-defined]
        stored, reported=(words,)
    )
    async with open_client(services, headers=HTML) as client:
        text = (await client.get(f"/traces/{trace_id}")).text

    panel = text.split('id="reported"')[1].split("</section>")[0]
    assert "too long" in panel
    assert "None" not in panel
