"""The labelling pages: one question, blind until answered, under the reviewer's own name."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from urllib.parse import unquote

import httpx
import pytest

from rag_monitor.config.options import LabelOptions
from rag_monitor.domain.decision import PEOPLE, SamplingDecision, SamplingReason
from rag_monitor.domain.feedback import Feedback
from rag_monitor.domain.stored import StoredTrace
from rag_monitor.server.services import Services
from rag_monitor.server.ui.judge_page import people_agreement
from rag_monitor.server.ui.label_pages import REASONS
from rag_monitor.store.label_queue import LabelReason
from rag_monitor.testing import EPOCH
from tests.unit.server.conftest import open_client
from tests.unit.server.fakes import make_services
from tests.unit.server.story import JUDGE
from tests.unit.server.test_pages import HTML, token_of

QUESTION = "Is every statement supported by the passages?"


@pytest.fixture
async def amy(services: Services) -> AsyncIterator[httpx.AsyncClient]:
    """A browser that was told her name."""
    async with open_client(services, headers=HTML) as client:
        client.cookies.set("rag_monitor_reviewer", "Amy")
        yield client


def judged(services: Services) -> StoredTrace:
    """A trace that a judge called supported or not, with what others said of it."""
    return next(
        one
        for one in services.traces.stored.values()  # type: ignore[attr-defined]
        if any(score.value is not None for score in one.scores)
    )


def mark(trace_id: str, author: str, value: float, comment: str | None = None) -> Feedback:
    return Feedback(
        project="default",
        trace_id=trace_id,
        metric="faithfulness",
        value=value,
        author=author,
        comment=comment,
        created_at=EPOCH,
    )


async def answered(
    client: httpx.AsyncClient, trace_id: str, answer: str = "supported", **more: str
) -> httpx.Response:
    token = token_of((await client.get(f"/labels/{trace_id}")).text)
    form = {"token": token, "trace_id": trace_id, "answer": answer, **more}
    return await client.post("/ui/labels", data=form)


def test_every_reason_has_its_words() -> None:
    assert set(REASONS) == {reason.value for reason in LabelReason}


async def test_the_list_says_why_and_gives_no_score_away(
    amy: httpx.AsyncClient, services: Services
) -> None:
    text = (await amy.get("/labels")).text

    first = services.label_queue.tasks[0].trace.trace_id  # type: ignore[attr-defined]
    for reason in ("drawn for people", "judges disagree", "judge unsure"):
        assert f">{reason}</span>" in text
    assert f'href="/labels/{first}"' in text
    assert "0.20" not in text
    assert "0.90" not in text
    assert "0 of the 50 marks that the correction needs" in text
    asked = services.label_queue.asked[-1][0]  # type: ignore[attr-defined]
    assert (asked.reviewer, asked.marks_per_trace) == ("Amy", 1)


async def test_nothing_is_given_away_before_the_answer(
    amy: httpx.AsyncClient, services: Services
) -> None:
    stored = judged(services)
    trace = stored.trace
    services.feedback.add(mark(trace.trace_id, "Bo", 0.0, "the fee is made up"))

    before = (await amy.get(f"/labels/{trace.trace_id}")).text
    answer = await answered(amy, trace.trace_id)
    after = (await amy.get(answer.headers["location"])).text

    assert QUESTION in before
    assert trace.contexts is not None
    for shown in (trace.question, trace.answer, trace.contexts[0].content):
        assert shown is not None
        assert shown.split("\n")[0][:30] in before
    # Not even a link or a class tells what a judge or somebody else said.
    for hidden in (str(JUDGE), "embedded", "Bo", "made up", "verdict", "unsupported", "/traces/"):
        assert hidden not in before.replace('<a class="button" href="/traces"', ""), hidden
        if hidden != "unsupported":
            assert hidden in after
    assert "Thank you" not in before
    assert answer.status_code == 303


async def test_the_answer_is_stored_under_the_reviewers_name_and_written_down(
    amy: httpx.AsyncClient, services: Services
) -> None:
    trace_id = judged(services).trace.trace_id

    await answered(amy, trace_id, "not_supported", comment="no such fee", app="loan-assistant")

    (given,) = services.feedback.marks  # type: ignore[attr-defined]
    assert (given.metric, given.value, given.author) == ("faithfulness", 0.0, "Amy")
    assert (given.kind, given.statement, given.comment) == (None, None, "no such fee")
    (event,) = services.audit.list("default", action=None, before=None, limit=9)
    assert (event.action, event.target) == ("label.mark", trace_id)
    assert event.details == {"metric": "faithfulness", "value": 0.0, "reviewer": "Amy"}
    assert services.label_queue.claimed == []  # type: ignore[attr-defined]


async def test_a_reviewer_may_change_their_mind(amy: httpx.AsyncClient, services: Services) -> None:
    trace_id = judged(services).trace.trace_id
    await answered(amy, trace_id, "supported")

    page = (await amy.get(f"/labels/{trace_id}")).text
    await answered(amy, trace_id, "cannot_tell")
    changed = (await amy.get(f"/labels/{trace_id}")).text

    assert "<b>Supported</b>" in page
    assert "Change my mark" in page
    assert 'data-press="1"' not in page, "a key that is still held must not change the mark"
    assert "<b>Cannot tell</b>" in changed


async def test_next_claims_a_trace_and_leads_to_it(
    amy: httpx.AsyncClient, services: Services
) -> None:
    queue = services.label_queue
    first = queue.tasks[0].trace.trace_id  # type: ignore[attr-defined]

    found = await amy.get("/labels/next?app=loan-assistant")
    queue.tasks.clear()  # type: ignore[attr-defined]
    ended = await amy.get("/labels/next")
    listed = await amy.get(ended.headers["location"])

    assert found.headers["location"] == f"/labels/{first}?app=loan-assistant"
    assert queue.claimed == [("Amy", first)]  # type: ignore[attr-defined]
    assert ended.headers["location"] == "/labels?ended=1"
    assert "That was the last one" in listed.text


async def test_where_nobody_signs_in_one_says_who_one_is(services: Services) -> None:
    async with open_client(services, headers=HTML) as client:
        listed = await client.get("/labels")
        nobody = await client.get("/labels/next")
        trace_id = judged(services).trace.trace_id
        page = await client.get(f"/labels/{trace_id}")
        refused = await client.post(
            "/ui/labels",
            data={"token": token_of(listed.text), "trace_id": trace_id, "answer": "supported"},
        )
        form = {"token": token_of(listed.text), "name": "  梅\u200b 王 \n"}
        named = await client.post("/ui/labels/reviewer", data=form)
        welcome = await client.get("/labels")
        await answered(client, trace_id)

    assert "Your name" in listed.text
    assert "Start marking" not in listed.text
    assert nobody.headers["location"] == "/labels"
    assert 'name="answer"' not in page.text
    assert refused.status_code == 422
    assert unquote(named.headers["set-cookie"].split(";")[0]) == "rag_monitor_reviewer=梅 王"
    assert "HttpOnly" in named.headers["set-cookie"]
    assert "Start marking" in welcome.text
    assert services.feedback.marks[0].author == "梅 王"  # type: ignore[attr-defined]


async def test_who_signed_in_marks_under_the_name_of_their_key(
    locked: Services,
) -> None:
    trace_id = judged(locked).trace.trace_id
    async with open_client(locked, headers=HTML | {"x-api-key": "master-key"}) as client:
        client.cookies.set("rag_monitor_reviewer", "Amy")  # of the time when nobody signed in
        listed = (await client.get("/labels")).text
        await answered(client, trace_id)

    assert "Your marks carry the name admin." in listed
    assert locked.feedback.marks[0].author == "admin"  # type: ignore[attr-defined]
    assert locked.audit.list("default", action=None, before=None, limit=9)[0].details == {
        "metric": "faithfulness",
        "value": 1.0,
    }


async def test_what_cannot_be_read_is_refused(amy: httpx.AsyncClient, services: Services) -> None:
    trace_id = judged(services).trace.trace_id

    assert (await answered(amy, trace_id, "perhaps")).status_code == 422
    assert (await amy.get(f"/labels/{'f' * 32}")).status_code == 404
    assert (await amy.get("/labels/nowhere")).status_code == 404
    token = token_of((await amy.get("/labels")).text)
    gone = {"token": token, "trace_id": "f" * 32, "answer": "supported"}
    assert (await amy.post("/ui/labels", data=gone)).status_code == 404
    assert services.feedback.marks == []  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("drawn", "answer", "said"),
    [
        (True, "supported", "counts in the estimates."),
        (False, "supported", "checks the judge."),
        (True, "cannot_tell", "Your mark is recorded."),
    ],
)
async def test_it_is_said_what_the_mark_does(
    amy: httpx.AsyncClient, services: Services, drawn: bool, answer: str, said: str
) -> None:
    stored = judged(services)
    key = ("default", stored.trace.trace_id)
    draw = SamplingDecision(
        judge=PEOPLE, included=True, probability=0.02, reason=SamplingReason.BASE_RATE
    )
    if drawn:
        with_draw = replace(stored, decisions=(*stored.decisions, draw))
        services.traces.stored[key] = with_draw  # type: ignore[attr-defined]

    await answered(amy, key[1], answer)

    assert said in (await amy.get(f"/labels/{key[1]}")).text


async def test_how_many_are_asked_is_a_setting() -> None:
    services = make_services(labels=LabelOptions(marks_per_trace=3))
    async with open_client(services, headers=HTML) as client:
        client.cookies.set("rag_monitor_reviewer", "Amy")
        await client.get("/labels")
        await client.get("/labels/next")

    asked = services.label_queue.asked  # type: ignore[attr-defined]
    assert {query.marks_per_trace for query, _ in asked} == {3}
    with pytest.raises(ValueError, match="marks_per_trace"):
        LabelOptions(marks_per_trace=6)


def test_agreement_of_people_leaves_out_who_cannot_tell() -> None:
    marks: dict[str, Mapping[str, float]] = {
        f"{n}": {"amy": float(n % 2), "bo": float(n % 2 if n > 3 else 1), "cy": 0.5}
        for n in range(24)
    }

    found = people_agreement(marks)

    assert found is not None
    assert (found.traces, found.reviewers, found.few) == (24, 2, False)
    # Of 48 labels 22 are 0 and 26 are 1; on traces 0 and 2 they differ.
    assert found.alpha is not None
    assert found.alpha.value == pytest.approx(1 - 47 * 4 / (2 * 22 * 26))
    assert [(pair.first, pair.second, pair.agreeing) for pair in found.pairs] == [("amy", "bo", 22)]
    assert people_agreement({"1": {"amy": 1.0, "bo": 0.5}}) is None


def test_who_was_asked_to_settle_a_contradiction_does_not_count_in_the_agreement() -> None:
    marks: dict[str, dict[str, float]] = {
        f"{n}": {"amy": float(n % 2), "bo": float(n % 2 if n > 3 else 1)} for n in range(24)
    }
    before = people_agreement(marks, 2)
    for n in (0, 2):
        marks[f"{n}"]["dee"] = 0.0

    assert people_agreement(marks, 2) == before
    assert people_agreement(marks, 3) != before


async def test_the_judges_page_tells_how_well_people_agree(services: Services) -> None:
    async with open_client(services, headers=HTML) as client:
        text = (await client.get("/judges")).text
        services.feedback.newest_marks = lambda *_: {  # type: ignore[method-assign]
            "1": {"amy": 1.0, "bo": 0.0}
        }
        few = (await client.get("/judges")).text

    assert "over 40 traces that at least two of 2 people marked" in text
    assert "Krippendorff&#39;s α" in text
    assert "amy · bo" in text
    assert "20 traces are needed" in few
    assert "Krippendorff" not in few


async def test_where_nothing_was_sent_no_draw_is_said_to_be_marked() -> None:
    async with open_client(make_services(empty=True), headers=HTML) as client:
        text = (await client.get("/labels")).text

    assert "No traces yet." in text
    assert "people have marked" not in text
