"""Where nothing alarms, pages and the API say which rules cannot tell, and what they would need."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from rag_monitor.domain.alert import AlertRule, RuleKind
from rag_monitor.domain.rule_state import Counted, RuleState, Verdict
from rag_monitor.server.rule_report import report_of
from rag_monitor.server.services import Services
from rag_monitor.testing import EPOCH
from tests.unit.alerting.fakes import FakeStates
from tests.unit.server.conftest import open_client
from tests.unit.server.fakes import make_services
from tests.unit.server.test_pages import HTML, token_of

RULE = "faithfulness drop"
RULES = [
    AlertRule(name=RULE, kind=RuleKind.DROP, metric="faithfulness", window_s=None),
    AlertRule(name="off", kind=RuleKind.DROP, metric="faithfulness", enabled=False),
    AlertRule(name="elsewhere", kind=RuleKind.DROP, metric="faithfulness", app="other"),
]


def state(rule: str = RULE, app: str = "support-bot", **fields: Any) -> RuleState:
    """A rule that has seven judged and needs fifty."""
    few: dict[str, Any] = {
        "verdict": Verdict.CANNOT_TELL,
        "since": EPOCH,
        "looked_at": EPOCH,
        "window_s": 3600.0,
        "needed": 50,
        "has": 7,
        "fitting_window_s": 43_200.0,
        "summary": "7 judged, 50 are needed",
        "notes": ("few_judged",),
    }
    return RuleState(project="default", rule=rule, app=app, **{**few, **fields})


def kept(*states: RuleState) -> FakeStates:
    return FakeStates({(one.project, one.rule, one.app): one for one in states})


def test_only_rules_that_watch_the_app_and_cannot_tell_are_named() -> None:
    states = [
        state(),
        state("off"),
        state("elsewhere"),
        state("gone"),
        state(app="another"),
    ]

    report = report_of(states, RULES, ["support-bot"])

    assert [(one.rule, one.app) for one in report.untold] == [(RULE, "support-bot")]
    assert report.watching == 1


async def test_the_list_of_rules_says_how_each_stands(services: Services) -> None:
    apps = [app.app for app in services.traces.apps("default")]
    states = kept(
        *(state(app=app, verdict=Verdict.OK) for app in apps[1:]),
        state(app=apps[0], verdict=Verdict.FIRING),
        state("end-to-end latency", apps[0], verdict=Verdict.OK),
    )
    services = replace(services, rule_states=states)  # type: ignore[arg-type]
    services.rules.save(replace(RULES[0], name="new"))
    async with open_client(services, headers=HTML) as client:
        pages = [(await client.get(path)).text for path in ("/alerts", "/settings?saved=no+such")]

    for text in pages:
        rules = text.split('<table class="history')[0]
        rows = {row.split("</th>")[0]: row for row in rules.split("<tr>") if 'scope="row"' in row}
        (drop,) = (row for name, row in rows.items() if f">{RULE}</a>" in name)
        (latency,) = (row for name, row in rows.items() if ">end-to-end latency</a>" in name)
        (new,) = (row for name, row in rows.items() if ">new</a>" in name)
        assert '<span class="badge firing">firing 1</span>' in drop
        assert f'<span class="badge calm">quiet {len(apps) - 1}</span>' in drop
        assert '<span class="badge calm">quiet</span>' in latency
        assert '<span class="badge' not in new
        assert "Saved: " not in text


def test_a_rule_that_has_nothing_to_watch_is_not_counted() -> None:
    assert report_of([state(verdict=Verdict.IDLE)], RULES, ["support-bot"]).watching == 0


async def test_overview_and_alerts_say_what_a_rule_needs_and_offer_a_window(
    services: Services,
) -> None:
    services = replace(
        services,
        rule_states=kept(state(), state("end-to-end latency", verdict=Verdict.OK)),  # type: ignore[arg-type]
    )
    async with open_client(services, headers=HTML) as client:
        overview = (await client.get("/?app=support-bot")).text
        alerts = (await client.get("/alerts?app=support-bot")).text
        chinese = (await client.get("/alerts?app=support-bot&lang=zh")).text

    assert "1 of 2 rules cannot tell" in overview
    assert "No alert is open, but 1 of 2 rules cannot tell." in alerts
    assert "Nothing is wrong right now." not in alerts
    assert "needs 50 judged in 1 h, has 7; 12 h would do" in alerts
    assert "Use 12 h" in alerts
    assert "需要 1 小时内有 50 条评审" in chinese


async def test_one_click_fixes_the_window_of_an_app_and_another_frees_it(
    services: Services,
) -> None:
    states = kept(state())
    services = replace(services, rule_states=states)  # type: ignore[arg-type]
    async with open_client(services, headers=HTML) as client:
        page = (await client.get("/alerts?app=support-bot")).text
        form = {"token": token_of(page), "rule": RULE, "app": "support-bot", "window_s": "43200.0"}
        clicked = await client.post("/ui/rules/window", data=form)
        (choice,) = states.windows()
        assert clicked.status_code == 303
        assert (choice.window_s, bool(choice.chosen_by)) == (43_200.0, True)
        wrong = await client.post("/ui/rules/window", data={**form, "rule": "no such"})
        assert wrong.status_code == 404
        refused = await client.post("/ui/rules/window", data={**form, "window_s": "an hour"})
        assert refused.status_code == 422
        await client.post("/ui/rules/window", data={**form, "window_s": ""})

    assert states.windows() == []


async def test_the_api_tells_how_rules_stand_and_that_a_server_is_empty(
    services: Services,
) -> None:
    states = kept(state())
    services = replace(services, rule_states=states)  # type: ignore[arg-type]
    async with open_client(services) as client:
        told = (await client.get("/api/v1/rules")).json()
        given = {"rule": RULE, "app": "support-bot", "window_s": 43_200}
        fixed = await client.put("/api/v1/rules/window", json=given)

    (shown,) = told["states"]
    assert (shown["state"], shown["needed"], shown["has"]) == ("cannot_tell", 50, 7)
    assert (shown["window_s"], shown["fitting_window_s"]) == (3600.0, 43_200.0)
    assert shown["counted"] == Counted.JUDGED.value
    assert told["empty"] is False
    assert fixed.status_code == 200
    assert states.windows()[0].window_s == 43_200.0


async def test_an_empty_server_says_so() -> None:
    empty_services = make_services(empty=True)
    async with open_client(empty_services, headers=HTML) as client:
        page = (await client.get("/alerts")).text
    async with open_client(empty_services) as client:
        told = (await client.get("/api/v1/rules")).json()

    assert "No application has sent traces yet: nothing is watched." in page
    assert "Nothing is wrong right now." not in page
    assert told["empty"] is True


async def test_where_every_rule_can_tell_nothing_is_said(services: Services) -> None:
    async with open_client(services, headers=HTML) as client:
        overview = (await client.get("/?app=support-bot")).text
        alerts = (await client.get("/alerts?app=support-bot")).text

    assert "rules cannot tell" not in overview
    assert "Nothing is wrong right now." in alerts


async def test_a_filter_that_a_page_does_not_know_is_named(services: Services) -> None:
    async with open_client(services, headers=HTML) as client:
        for path in ("/", "/compare", "/judges", "/alerts", "/labels"):
            told = (await client.get(path, params={"environment": "staging"})).text
            assert "Cannot be applied: <code>environment=staging</code>" in told, path
        traces = (await client.get("/traces", params={"window": "1h"})).text
        overview = (await client.get("/?app=support-bot&release=v41")).text

    assert "Cannot be applied: <code>window=1h</code>" in traces
    assert "Cannot be applied: <code>release=v41</code>" in overview
