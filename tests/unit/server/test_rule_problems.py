"""What is wrong with a rule is said in the language of whoever wrote it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from rag_monitor.alerting.rules import check_rule
from rag_monitor.domain.alert import AlertRule, RuleKind
from rag_monitor.errors import RuleError
from rag_monitor.server.context import Services
from rag_monitor.server.ui.rule_problems import rule_problem
from tests.unit.server.conftest import open_client
from tests.unit.server.fakes import make_services
from tests.unit.server.test_pages import HTML, token_of

DROP = AlertRule(name="r", kind=RuleKind.DROP, metric="faithfulness")


def of(kind: RuleKind, metric: str | None = None, **fields: Any) -> AlertRule:
    params = fields.pop("params", {})
    return AlertRule(name="r", kind=kind, metric=metric, params=params, **fields)


WRONG = (
    replace(DROP, name=" "),
    replace(DROP, app=""),
    replace(DROP, min_judged=0),
    replace(DROP, window_s=10.0),
    replace(DROP, hold_for_s=-1.0),
    replace(DROP, repeat_s=5.0),
    replace(DROP, metric=None),
    replace(DROP, metric="faithfullness"),
    replace(DROP, metric="xyz"),
    replace(DROP, params={"min_dorp": 0.1}),
    replace(DROP, params={"zzzzzz": 0.1}),
    replace(DROP, params={"min_drop": "much"}),
    replace(DROP, params={"min_drop": 7.5}),
    replace(DROP, params={"baseline": "yesterday"}),
    replace(DROP, params={"baseline": 3.0}),
    of(RuleKind.NO_DATA, "faithfulness"),
    of(RuleKind.BUDGET, app="faq"),
    of(RuleKind.THRESHOLD, "faithfulness"),
    of(RuleKind.THRESHOLD, "faithfulness", params={"below": 0.0}),
    of(RuleKind.THRESHOLD, "faithfulness", params={"above": 1.0}),
    of(RuleKind.CHANGE, "faithfulness", params={"days": 3.0, "every_judged": 1000.0}),
    of(RuleKind.BURN_RATE, "faithfulness", params={"slo": 0.9, "multiple": 14.4}),
    of(RuleKind.BURN_RATE, "faithfulness", params={"short_s": 7200.0}),
    of(RuleKind.BURN_RATE, "faithfulness", min_judged=3),
    of(RuleKind.BURN_RATE, "faithfulness", params={"judged_per_hour": 2.0}),
    of(RuleKind.HIT_RATE, params={"name": "search"}),
    of(RuleKind.HIT_RATE, params={"min_rate": 0.5, "min_drop": 0.1}),
    of(RuleKind.HIT_RATE, params={"min_rate": 0.0}),
    of(RuleKind.LATENCY, "end_to_end_ms", params={"max_ms": 900.0, "min_rise": 0.1}),
)


@pytest.mark.parametrize("rule", WRONG)
def test_every_check_of_a_rule_has_its_chinese(rule: AlertRule) -> None:
    with pytest.raises(RuleError) as refused:
        check_rule(rule)

    english = str(refused.value)
    chinese = rule_problem(english, "zh")
    assert rule_problem(english, "en") == english
    assert "：" in chinese
    assert "must" not in chinese
    assert chinese.partition("：")[0].split("、")[0] == english.partition(":")[0].split(",")[0]


def test_a_sentence_of_another_form_stays_as_it_is() -> None:
    assert rule_problem("name: is odd", "zh") == "name: is odd"


async def test_a_refused_rule_is_told_in_chinese_on_the_page() -> None:
    services = replace(make_services(), check_rule=check_rule)
    async with open_client(services, headers=HTML) as client:
        token = token_of((await client.get("/settings?lang=zh")).text)
        form = {"token": token, "name": "low", "kind": "threshold", "metric": "faithfulness"}
        answer = await client.post("/ui/rules", data=form)

    assert "两者必须且只能填一个" in answer.text


@pytest.mark.parametrize(
    ("fields", "language", "said"),
    [
        ({"window_s": "an hour"}, "en", "window_s: must be a number"),
        ({"window_s": "an hour"}, "zh", "window_s：须为数字"),
        ({"min_judged": "2.5"}, "zh", "min_judged：须为整数"),
        ({"name": ""}, "zh", "name：不能为空"),
        ({"kind": "odd"}, "zh", "kind：不在可选范围内"),
    ],
)
async def test_a_field_that_cannot_be_read_is_named(
    fields: dict[str, str], language: str, said: str
) -> None:
    async with open_client(make_services(), headers=HTML) as client:
        token = token_of((await client.get(f"/settings?lang={language}")).text)
        form = {"token": token, "name": "low", "kind": "drop", "metric": "faithfulness"}
        answer = await client.post("/ui/rules", data=form | fields)

    assert answer.status_code == 422
    assert said in answer.text


@pytest.mark.parametrize(
    ("params", "language", "said"),
    [
        ("below 0.9", "en", "params: line 1 should read name = value, not &#39;below 0.9&#39;"),
        ("below = 0.9\n\n= 3", "en", "params: line 3 should read name = value"),
        ("below =", "en", "params: line 1 should read name = value"),
        ("below = 0.8\nbelow = 0.7", "en", "params: line 2 gives &#39;below&#39; again"),
        ("below = 0.8\nbelow：0.8", "zh", "params：第 2 行重复填写了 &#39;below&#39;，只填一次"),
        ("below = 0.9\n低于 0.9", "zh", "params：第 2 行应写成 名称 = 值，不能是 &#39;低于 0.9"),
    ],
)
async def test_a_parameter_that_cannot_be_read_is_refused_by_its_line(
    params: str, language: str, said: str
) -> None:
    services = make_services()
    async with open_client(services, headers=HTML) as client:
        token = token_of((await client.get(f"/settings?lang={language}")).text)
        form = {"token": token, "name": "low", "kind": "threshold", "metric": "faithfulness"}
        answer = await client.post("/ui/rules", data=form | {"params": params})

    assert answer.status_code == 422
    assert said in answer.text
    assert params.splitlines()[0] in answer.text
    assert "low" not in {rule.name for rule in services.rules.all("default")}


@pytest.mark.parametrize("sign", ["=", "＝", ":", "：", " ＝ "])
async def test_signs_of_chinese_keyboards_separate_as_well(sign: str) -> None:
    services = replace(make_services(), check_rule=check_rule)
    async with open_client(services, headers=HTML) as client:
        token = token_of((await client.get("/settings")).text)
        form = {"token": token, "name": "low", "kind": "threshold", "metric": "faithfulness"}
        answer = await client.post("/ui/rules", data=form | {"params": f"below{sign}0.9\n"})

    saved = {rule.name: rule for rule in services.rules.all("default")}
    assert answer.status_code == 303, answer.text
    assert saved["low"].params == {"below": 0.9}


@pytest.mark.parametrize(
    ("language", "said"),
    [("en", "Faithfulness · faithfulness"), ("zh", "忠实度 · faithfulness")],
)
async def test_the_metric_of_a_rule_is_chosen_by_what_the_pages_call_it(
    services: Services, language: str, said: str
) -> None:
    async with open_client(services, headers=HTML) as client:
        text = (await client.get("/settings", params={"lang": language})).text

    assert f'<option value="faithfulness" selected>{said}</option>' in text
    assert f'<option value="plugin">{"插件" if language == "zh" else "Plugin"} · plugin' in text


@pytest.mark.parametrize("called", ["faithfulness", "忠实度", "Faithfulness", " FAITHFULNESS "])
async def test_a_metric_may_be_called_by_its_label(services: Services, called: str) -> None:
    async with open_client(services, headers=HTML) as client:
        token = token_of((await client.get("/settings")).text)
        form = {"token": token, "name": "r", "kind": "drop", "metric": called, "enabled": "on"}
        answer = await client.post("/ui/rules", data=form)

    assert answer.status_code == 303
    assert services.rules.rules["r"].metric == "faithfulness"  # type: ignore[attr-defined]


async def test_a_metric_that_nothing_is_called_stays_in_the_form(services: Services) -> None:
    async with open_client(services, headers=HTML) as client:
        token = token_of((await client.get("/settings")).text)
        form = {
            "token": token,
            "name": "r",
            "kind": "drop",
            "metric": "faithfullness",
            "window_s": "1",
        }
        answer = await client.post("/ui/rules", data=form)

    assert answer.status_code == 422
    assert "<option selected>faithfullness</option>" in answer.text
