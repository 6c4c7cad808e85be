"""What a trace can be taken along as: a command, a question for a golden set."""

from __future__ import annotations

import shlex
from dataclasses import replace
from typing import Any

import pytest

from rag_monitor.domain.feedback import Feedback
from rag_monitor.domain.rating import RatingKind
from rag_monitor.server.golden_items import golden_item
from rag_monitor.server.services import Services
from rag_monitor.server.ui.take_along import curl_command, sending_command
from rag_monitor.testing import EPOCH, make_trace
from tests.unit.server.conftest import open_client
from tests.unit.server.fakes import make_services
from tests.unit.server.story import make_stored
from tests.unit.server.test_pages import HTML, token_of

ADDRESS = "http://127.0.0.1"
TRACE = make_trace(question="保修多久？", answer="Two years.")


def mark(**given: Any) -> Feedback:
    values = {"project": "default", "trace_id": TRACE.trace_id, "value": 1.0, "created_at": EPOCH}
    return Feedback(**(values | given))


def item_of(*marks: Feedback) -> dict[str, Any]:
    item = golden_item(replace(make_stored(TRACE), feedback=marks))
    assert item is not None
    return item


@pytest.mark.parametrize(
    ("marks", "reference"),
    [
        ((), None),
        ((mark(),), "Two years."),
        ((mark(metric="faithfulness"),), "Two years."),
        ((mark(), mark(value=0.0, author="b")), None),
        ((mark(value=0.5),), None),
        ((mark(statement=0, metric="faithfulness"),), None),
        ((mark(metric="context_relevance"),), None),
        ((mark(kind=RatingKind.THUMB),), None),
        ((mark(value=0.0, corrected_answer="Three."),), "Three."),
        ((mark(corrected_answer="Three."), mark(corrected_answer="Four.")), "Four."),
    ],
)
def test_the_reference_is_what_people_stand_for(
    marks: tuple[Feedback, ...], reference: str | None
) -> None:
    expected = {"id": TRACE.trace_id, "question": "保修多久？"}
    if reference is not None:
        expected["reference"] = reference

    assert item_of(*marks) == expected


def test_documents_that_were_named_are_the_relevant_ones() -> None:
    found = item_of(mark(value=0.0, correct_document_ids=("d1", "d2")))

    assert found["relevant_ids"] == ["d1", "d2"]


@pytest.mark.parametrize("question", [None, "", "  "])
def test_without_a_question_there_is_no_item(question: str | None) -> None:
    assert golden_item(make_stored(replace(TRACE, question=question))) is None


def test_the_command_is_one_whatever_the_address_holds() -> None:
    command = curl_command("http://h/a'b $(x)", "0" * 32)

    assert shlex.split(command)[-1] == "http://h/a'b $(x)/api/v1/traces/" + "0" * 32


async def test_the_command_of_the_empty_page_sends_a_trace() -> None:
    services = make_services(empty=True)
    *_, header, url, _, body = shlex.split(sending_command(ADDRESS).replace("\\\n", ""))
    name, _, value = header.partition(": ")
    async with open_client(services) as client:
        taken = await client.post(url, content=body, headers={name: value})

    assert (taken.status_code, taken.json()["accepted"]) == (200, 1)


async def test_a_correction_on_the_page_becomes_the_reference(services: Services) -> None:
    trace_id = next(iter(services.traces.stored))[1]  # type: ignore[attr-defined]
    async with open_client(services, headers=HTML) as client:
        token = token_of((await client.get(f"/traces/{trace_id}")).text)
        form = {"token": token, "trace_id": trace_id, "value": "bad", "metric": "faithfulness"}
        said = {"corrected_answer": " Two years.\r\nSee page 3. "}
        await client.post("/ui/feedback", data=form | said)

    (kept,) = services.feedback.marks  # type: ignore[attr-defined]
    assert item_of(kept)["reference"] == "Two years.\nSee page 3."


async def test_the_page_of_a_trace_offers_both(services: Services) -> None:
    trace_id = next(iter(services.traces.stored))[1]  # type: ignore[attr-defined]
    async with open_client(services, headers=HTML) as client:
        text = (await client.get(f"/traces/{trace_id}")).text
        told = await client.get(f"/api/v1/traces/{trace_id}")

    part = text.split('id="take-along"')[1]
    assert f"/api/v1/traces/{trace_id}" in part
    assert "RAG_MONITOR_API_KEY" in part
    assert "&#34;question&#34;" in part
    assert told.status_code == 200


async def test_metrics_that_do_not_apply_are_folded_away(services: Services) -> None:
    async with open_client(services, headers=HTML) as client:
        pages = [
            (await client.get(f"/traces/{trace_id}")).text
            for _, trace_id in services.traces.stored  # type: ignore[attr-defined]
        ]

    folded = [text for text in pages if "not apply</summary>" in text]
    assert folded
    for text in folded:
        open_part = text.split("not apply</summary>")[0]
        assert 'class="badge not_applicable"' not in open_part
