"""Shares of faults and what people say of them, over the API and on the page of a trace."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import httpx
import pytest

from rag_monitor.aggregation.comparison import compare
from rag_monitor.domain.decision import PEOPLE, SamplingDecision, SamplingReason
from rag_monitor.domain.fault import Diagnosis, Fault, fault_metric
from rag_monitor.domain.stored import AuditEvent
from rag_monitor.domain.window import Estimate, Series, Window
from rag_monitor.server.services import Services
from rag_monitor.server.ui.changes import Changed
from rag_monitor.testing import EPOCH
from tests.unit.server.conftest import open_client
from tests.unit.server.fakes import make_services
from tests.unit.server.story import JUDGE
from tests.unit.server.test_pages import HTML, token_of, trace_id_of


def diagnose(services: Services, *, drawn: bool = False) -> str:
    """Say what was at fault in the first trace; its id."""
    trace_id = trace_id_of(services)
    stored = services.traces.stored["default", trace_id]  # type: ignore[attr-defined]
    shares = {Fault.INVENTED: 0.6, Fault.BAD_RANKING: 0.3, Fault.NONE: 0.1}
    found = Diagnosis(judge=str(JUDGE), probabilities=shares)
    decision = SamplingDecision(
        judge=PEOPLE, included=True, probability=0.02, reason=SamplingReason.BASE_RATE
    )
    decisions = (*stored.decisions, decision) if drawn else stored.decisions
    services.traces.stored["default", trace_id] = replace(  # type: ignore[attr-defined]
        stored, faults=(found,), decisions=decisions
    )
    return trace_id


def audited(services: Services) -> list[AuditEvent]:
    return services.audit.list("default", action=None, before=None, limit=9)


async def test_every_fault_is_a_share_with_its_interval(client: httpx.AsyncClient) -> None:
    answer = (await client.get("/api/v1/faults", params={"app": "loan-assistant"})).json()

    (app,) = answer["apps"]
    assert [one["fault"] for one in app["faults"]] == [fault.value for fault in Fault]
    invented = next(one for one in app["faults"] if one["fault"] == "invented")
    assert (invented["value"], invented["stage"]) == (0.09, "generation")
    assert invented["lower"] < 0.09 < invented["upper"]
    assert invented["metric"] == "fault:invented"
    assert app["faults"][0]["stage"] is None


async def test_faults_come_app_by_app_and_page_by_page(client: httpx.AsyncClient) -> None:
    first = (await client.get("/api/v1/faults", params={"limit": 1})).json()
    rest = (await client.get("/api/v1/faults", params={"cursor": first["next"]})).json()

    names = [app["app"] for page in (first, rest) for app in page["apps"]]
    assert len(names) == len(set(names)) > 1
    assert (first["apps_folded"], rest["next"]) == (len(names) - 1, None)


async def test_filters_of_faults_are_handed_on(client: httpx.AsyncClient) -> None:
    where = {"app": "loan-assistant", "release": "v42", "knowledge_base": "loans"}
    (app,) = (await client.get("/api/v1/faults", params=where)).json()["apps"]

    told = {(one["release"], one["knowledge_base"]) for one in app["faults"]}
    assert told == {("v42", "loans")}


@pytest.mark.parametrize(
    ("where", "status", "said"),
    [
        ({"environment": "production"}, 422, "`environment`: nothing is told apart by it"),
        ({"app": "loan-asistant"}, 404, "Did you mean 'loan-assistant'?"),
        ({"relase": "v1"}, 422, "`relase`: there is no parameter 'relase'. Did you mean"),
        ({"cursor": "nonsense"}, 422, "`cursor`: is not one this server gave"),
    ],
)
async def test_a_filter_of_faults_that_cannot_be_applied_is_refused(
    client: httpx.AsyncClient, where: dict[str, str], status: int, said: str
) -> None:
    answer = await client.get("/api/v1/faults", params=where)

    assert answer.status_code == status
    assert said in answer.json()["detail"]


async def test_a_share_is_drawn_over_time(client: httpx.AsyncClient) -> None:
    where = {"app": "loan-assistant", "metric": "fault:invented", "window": "6h"}
    answer = (await client.get("/api/v1/series", params=where)).json()
    wrong = await client.get("/api/v1/series", params=where | {"metric": "fault:imagined"})

    assert {point["value"] for point in answer["points"]} == {0.09}
    assert wrong.status_code == 422


@pytest.mark.parametrize(("fault", "value"), [("invented", 0.0), ("none", 1.0)])
async def test_what_was_at_fault_is_a_mark_that_is_written_down(
    client: httpx.AsyncClient, services: Services, fault: str, value: float
) -> None:
    trace_id = trace_id_of(services)
    sent = {"trace_id": trace_id, "fault": fault, "author": "amy"}

    answer = await client.post("/api/v1/feedback", json=sent)

    assert answer.status_code == 201
    told = answer.json()
    assert (told["fault"], told["value"], told["metric"]) == (fault, value, None)
    (mark,) = services.feedback.marks  # type: ignore[attr-defined]
    assert (mark.fault, mark.author) == (Fault(fault), "amy")
    (event,) = audited(services)
    assert (event.action, event.target, event.details) == (
        "fault.label", trace_id, {"fault": fault, "reviewer": "amy"},
    )  # fmt: skip


@pytest.mark.parametrize(
    ("sent", "said"),
    [
        ({"fault": "imagined"}, "invented"),
        ({"fault": "invented", "value": 0.0}, "leave `value`, `metric` and `statement` out"),
        ({"fault": "invented", "metric": "faithfulness"}, "leave `value`, `metric`"),
        ({"fault": "invented", "statement": 0}, "leave `value`, `metric`"),
        ({"metric": "faithfulness"}, "or a `fault`"),
    ],
)
async def test_a_mark_is_a_value_or_a_fault(
    client: httpx.AsyncClient, services: Services, sent: dict[str, object], said: str
) -> None:
    answer = await client.post("/api/v1/feedback", json={"trace_id": trace_id_of(services)} | sent)

    assert answer.status_code == 422
    assert said in answer.text
    assert services.feedback.marks == []  # type: ignore[attr-defined]


async def test_the_page_of_a_trace_asks_what_was_at_fault_in_one_click(services: Services) -> None:
    trace_id = diagnose(services)
    async with open_client(services, headers=HTML) as client:
        page = (await client.get(f"/traces/{trace_id}")).text
        form = {"token": token_of(page), "trace_id": trace_id, "fault": "bad_ranking"}
        answer = await client.post("/ui/feedback", data=form)
        wrong = await client.post("/ui/feedback", data=form | {"fault": "imagined"})

    panel = page[page.index('id="fault"') :]
    places = [panel.index(f'name="fault" value="{f}"') for f in ("invented", "bad_ranking", "none")]
    assert places == sorted(places)
    assert all(f'name="fault" value="{fault.value}"' in panel for fault in Fault)
    assert answer.headers["location"] == f"/traces/{trace_id}?thanks=kept&of=fault#fault"
    (mark,) = services.feedback.marks  # type: ignore[attr-defined]
    assert (mark.fault, mark.value, mark.metric) == (Fault.BAD_RANKING, 0.0, None)
    assert [event.action for event in audited(services)] == ["fault.label"]
    assert wrong.status_code == 422


@pytest.mark.parametrize(("drawn", "said"), [(True, "estimates"), (False, "kept")])
async def test_a_label_counts_in_the_estimates_where_people_were_drawn(
    services: Services, drawn: bool, said: str
) -> None:
    trace_id = diagnose(services, drawn=drawn)
    async with open_client(services, headers=HTML) as client:
        token = token_of((await client.get(f"/traces/{trace_id}")).text)
        form = {"token": token, "trace_id": trace_id, "fault": "none"}
        answer = await client.post("/ui/feedback", data=form)

    assert f"?thanks={said}&" in answer.headers["location"]


async def test_labels_of_faults_are_shown_in_both_languages(services: Services) -> None:
    trace_id = diagnose(services)
    async with open_client(services, headers=HTML, follow_redirects=True) as client:
        token = token_of((await client.get(f"/traces/{trace_id}")).text)
        form = {"token": token, "trace_id": trace_id, "fault": "bad_ranking"}
        thanked = (await client.post("/ui/feedback", data=form)).text
        stored = services.traces.stored["default", trace_id]  # type: ignore[attr-defined]
        marks = tuple(services.feedback.marks)  # type: ignore[attr-defined]
        services.traces.stored["default", trace_id] = replace(stored, feedback=marks)  # type: ignore[attr-defined]
        english = (await client.get(f"/traces/{trace_id}")).text
        chinese = (await client.get(f"/traces/{trace_id}", headers={"accept-language": "zh"})).text

    assert thanked.count('class="thanks"') == 1
    assert thanked.index('id="fault"') < thanked.index('class="thanks"')
    assert "<b>Ranked too low</b>" in english[english.index('class="plain marks"') :]
    assert "实际故障：" in chinese
    assert "<b>排序靠后</b>" in chinese


async def test_a_key_that_may_only_read_labels_no_fault(locked: Services) -> None:
    trace_id = diagnose(locked)
    async with open_client(locked, headers={"x-api-key": "master-key"}) as client:
        made = await client.post("/api/v1/keys", json={"name": "eyes", "scopes": ["read"]})
    reading = {"x-api-key": made.json()["secret"]}
    async with open_client(locked, headers=reading) as client:
        refused = await client.post(
            "/api/v1/feedback", json={"trace_id": trace_id, "fault": "none"}
        )
        shares = await client.get("/api/v1/faults")

    assert (refused.status_code, shares.status_code) == (403, 200)


@pytest.mark.parametrize(
    ("language", "shown"),
    [
        ("en", ("Faults", "without a fault: 84%", "Invented", "9.0%", "Generation")),
        ("zh", ("故障", "无故障：84%", "编造", "9.0%", "生成")),
    ],
)
async def test_the_page_of_an_app_has_a_strip_of_its_faults(
    services: Services, language: str, shown: tuple[str, ...]
) -> None:
    async with open_client(services, headers=HTML | {"accept-language": language}) as client:
        text = (await client.get("/", params={"app": "loan-assistant"})).text
    strip = text.split('<div class="panel faults">')[1].split("</ul>")[0]

    for part in shown:
        assert part in strip
    shares = [part.split("</b>")[0] for part in strip.split("<b>")[1:]]
    assert shares == ["9.0%", "5.0%", "2.0%"]


async def test_an_app_whose_faults_nobody_judged_has_no_strip() -> None:
    async with open_client(make_services(empty=True), headers=HTML) as client:
        assert "panel faults" not in (await client.get("/")).text


async def test_faults_of_two_releases_are_compared(services: Services) -> None:
    releases = services.traces.releases("default", "loan-assistant")
    where = {"app": "loan-assistant", "a": releases[0], "b": releases[1]}
    async with open_client(services, headers=HTML) as client:
        text = (await client.get("/compare", params=where)).text
        asked = {"app": "loan-assistant", "release": releases[0], "against": releases[1]}
        told = (await client.get("/api/v1/releases/compare", params=asked)).json()

    table = text.split("<h2>Faults</h2>")[1].split("</table>")[0]
    for part in ("Share without a fault", "Share of invented answers", "no clear difference"):
        assert part in table
    assert "Share ranked too low" not in table  # neither release has it
    changes = {one["metric"]: one for one in told["changes"]}
    assert changes["fault:invented"]["value"] == 0.0
    assert "fault:bad_ranking" not in changes


@pytest.mark.parametrize(
    ("fault", "grew", "verdict"),
    [
        (Fault.INVENTED, True, "worse"),
        (Fault.NONE, True, "better"),
        (Fault.INVENTED, False, "better"),
    ],
)
def test_more_of_a_fault_is_worse_and_more_without_one_is_better(
    fault: Fault, grew: bool, verdict: str
) -> None:
    def estimate(value: float) -> Estimate:
        series = Series(project="default", app="a", metric=fault_metric(fault), judge="combined")
        window = Window(EPOCH, EPOCH + timedelta(hours=1))
        return Estimate(
            series=series, window=window, value=value, lower=value - 0.02, upper=value + 0.02
        )

    a, b = (estimate(0.5), estimate(0.2)) if grew else (estimate(0.2), estimate(0.5))
    changed = Changed(metric=fault_metric(fault), before=b, after=a, change=compare(a, b))

    assert changed.verdict == verdict


@pytest.mark.parametrize("called", ["fault:none", "Share without a fault", "无故障占比"])
async def test_a_rule_on_faults_is_made_on_the_page_and_read_back(
    services: Services, called: str
) -> None:
    async with open_client(services, headers=HTML) as client:
        token = token_of((await client.get("/settings")).text)
        form = {"token": token, "name": "faults", "kind": "drop", "metric": called}
        answer = await client.post("/ui/rules", data=form | {"enabled": "on"})
        rules = (await client.get("/api/v1/rules")).json()["rules"]
        put = await client.put("/api/v1/rules", json={"rules": rules})

    assert (answer.status_code, put.status_code) == (303, 200)
    assert {one["name"]: one["metric"] for one in put.json()["rules"]}["faults"] == "fault:none"
