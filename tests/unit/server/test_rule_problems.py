"""What is wrong with a rule is said in the language of whoever wrote it."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest

from rag_monitor.alerting.rules import check_rule
from rag_monitor.domain.alert import AlertRule, FieldName, RuleKind
from rag_monitor.errors import RuleError
from rag_monitor.i18n import Message, translate
from rag_monitor.server.services import Services
from rag_monitor.server.ui.rule_form import LABELS, rule_problem
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

    sentence = str(refused.value)
    chinese = rule_problem(sentence, "zh")
    assert isinstance(sentence, Message)
    assert "：" in chinese
    assert "must" not in chinese
    for said in (chinese, rule_problem(sentence, "en")):
        assert not re.search("window_s|hold_for_s|repeat_s|min_judged|params|notifiers", said)


def test_what_is_no_message_stays_as_it_is() -> None:
    assert rule_problem("name: is odd", "zh") == "name: is odd"
    assert rule_problem("Something else", "zh") == "Something else"


def test_a_parameter_is_named_and_a_field_mentioned_in_a_sentence_too() -> None:
    short = Message(
        "{field}: must be shorter than {window_field} ({window:g} s), not {value:g} s",
        field=FieldName("params.short_s"),
        window_field=FieldName("window_s"),
        window=3600,
        value=7200,
    )
    both = Message(
        "{field}: give exactly one of the two",
        field=(FieldName("params.below"), FieldName("params.above")),
    )

    assert short == "params.short_s: must be shorter than window_s (3600 s), not 7200 s"
    assert rule_problem(short, "en") == (
        "Parameter short_s: must be shorter than “Window” (3600 s), not 7200 s"
    )
    assert rule_problem(short, "zh") == "参数 short_s：须短于 “时间窗口”（3600 秒），不能是 7200 秒"
    assert rule_problem(both, "en").startswith("Parameter below, Parameter above: give")
    assert rule_problem(both, "zh").startswith("参数 below、参数 above：两者必须")


@pytest.mark.parametrize("language", ["en", "zh"])
async def test_the_labels_are_those_of_the_form(language: str) -> None:
    async with open_client(make_services(), headers=HTML) as client:
        text = (await client.get("/settings", params={"lang": language})).text

    for field in LABELS.keys() - {"params", "notifiers"}:  # several fields each
        label = LABELS[field]
        said = translate(Message(label), language)
        called = re.search(rf'<label[^>]*>([^<]*)<\w+ name="{field}"', text)
        assert called is not None, field
        # The form may add how a field is filled in; both languages begin with what it is.
        assert called[1].startswith(said), field


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
        ({"window_s": "an hour"}, "en", ">Window: write a number and its unit, such as 45 s"),
        ({"window_s": "90"}, "en", ">Window: say whether it is 90 s, 90 min, 90 h or 90 d<"),
        ({"window_s": "90"}, "zh", ">时间窗口：请写明是 90 秒、90 分钟、90 小时还是 90 天<"),
        ({"window_s": "an hour"}, "zh", ">时间窗口：请写数字和单位，如 45 秒"),
        ({"window_s": "59 s"}, "en", ">Window: must lie between 1 min and 400 d<"),
        ({"window_s": "59 秒"}, "zh", ">时间窗口：须在 1 分钟 到 400 天 之间<"),
        ({"window_s": "-1 h"}, "zh", ">时间窗口：请写数字和单位，如 45 秒"),
        ({"window_s": "inf"}, "zh", ">时间窗口：请写数字和单位，如 45 秒"),
        ({"hold_for_s": "401 天"}, "zh", ">持续：须在 0 秒 到 400 天 之间<"),
        ({"repeat_s": "9999 h"}, "zh", ">重复通知间隔：须在 0 秒 到 400 天 之间<"),
        ({"min_judged": "2.5"}, "zh", ">最少评审数：须为整数<"),
        ({"min_judged": "0"}, "zh", ">最少评审数：须在 1 到 1,000,000,000 之间<"),
        ({"min_judged": "1e30"}, "en", ">Judged at least: must lie between 1 and 1,000,000,000<"),
        ({"min_judged": "1e10"}, "zh", ">最少评审数：须在 1 到 1,000,000,000 之间<"),
        ({"min_judged": "nan"}, "zh", ">最少评审数：须为数字<"),
        ({"params.drop.min_drop": "nan"}, "en", ">Parameter min_drop: must be a number<"),
        ({"params.drop.min_drop": "nan"}, "zh", ">参数 min_drop：须为数字<"),
        ({"params.drop.judge": "x" * 501}, "zh", ">参数 judge：最多 500 个字符<"),
        ({"params.drop.Below": "1"}, "zh", ">参数 Below：只能用小写字母、数字和下划线<"),
        ({"name": "a\0b"}, "en", ">Name: must not contain control characters<"),
        ({"name": "a\0b"}, "zh", ">名称：不能含有控制字符<"),
        ({"name": "x" * 201}, "zh", ">名称：最多 200 个字符<"),
        ({"name": ""}, "zh", ">名称：不能为空<"),
        ({"notifiers": ",".join("a" * 51)}, "zh", ">通知渠道：最多 50 个<"),
        ({"kind": "odd"}, "zh", ">类型：不在可选范围内<"),
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
    ("text", "value"),
    [("0.9", 0.9), ("０．９", 0.9), ("90 %", 0.9), ("90％", 0.9), ("99.9%", 0.999)],
)
async def test_a_share_is_a_number_or_a_percentage_in_whatever_width(
    text: str, value: float
) -> None:
    services = replace(make_services(), check_rule=check_rule)
    async with open_client(services, headers=HTML) as client:
        token = token_of((await client.get("/settings")).text)
        form = {"token": token, "name": "low", "kind": "threshold", "metric": "faithfulness"}
        answer = await client.post("/ui/rules", data=form | {"params.threshold.below": text})

    saved = {rule.name: rule for rule in services.rules.all("default")}
    assert answer.status_code == 303, answer.text
    assert saved["low"].params == {"below": value}


async def test_parameters_of_other_kinds_are_left_aside() -> None:
    """Their fields stand in the form as well, and come with it."""
    services = replace(make_services(), check_rule=check_rule)
    async with open_client(services, headers=HTML) as client:
        token = token_of((await client.get("/settings")).text)
        form = {"token": token, "name": "low", "kind": "drop", "metric": "faithfulness"}
        params = {"params.drop.min_drop": "0.2", "params.threshold.below": "much"}
        answer = await client.post("/ui/rules", data=form | params)

    saved = {rule.name: rule for rule in services.rules.all("default")}
    assert answer.status_code == 303, answer.text
    assert saved["low"].params == {"min_drop": 0.2}


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


@pytest.mark.parametrize(
    ("accepted", "said"),
    [
        ({}, "params.below, params.above: give exactly one of the two"),
        (
            {"accept-language": "zh-CN, en;q=0.5"},
            "params.below、params.above：两者必须且只能填一个",
        ),
        ({"accept-language": "fr"}, "params.below, params.above: give exactly one of the two"),
    ],
)
async def test_the_interface_refuses_a_rule_in_the_language_that_is_accepted(
    accepted: dict[str, str], said: str
) -> None:
    services = replace(make_services(), check_rule=check_rule)
    rule = {"name": "low", "kind": "threshold", "metric": "faithfulness"}
    async with open_client(services) as client:
        answer = await client.post("/api/v1/rules/check", json=rule, headers=accepted)

    assert answer.status_code == 422
    assert answer.json()["detail"] == said
