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
        "{field}: must be shorter than {window_field} ({window:g}), not {value:g}",
        field=FieldName("params.short_s"),
        window_field=FieldName("window_s"),
        window=3600,
        value=7200,
    )
    both = Message(
        "{field}: give exactly one of the two",
        field=(FieldName("params.below"), FieldName("params.above")),
    )

    assert short == "params.short_s: must be shorter than window_s (3600), not 7200"
    assert rule_problem(short, "en") == (
        "Parameter short_s: must be shorter than “Window, seconds” (3600), not 7200"
    )
    assert rule_problem(short, "zh") == "参数 short_s：须短于 “窗口（秒）”（3600），不能是 7200"
    assert rule_problem(both, "en").startswith("Parameter below, Parameter above: give")
    assert rule_problem(both, "zh").startswith("参数 below、参数 above：两者必须")


@pytest.mark.parametrize("language", ["en", "zh"])
async def test_the_labels_are_those_of_the_form(language: str) -> None:
    async with open_client(make_services(), headers=HTML) as client:
        text = (await client.get("/settings", params={"lang": language})).text

    for field, label in LABELS.items():
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
        ({"window_s": "an hour"}, "en", ">Window, seconds: must be a number<"),
        ({"window_s": "an hour"}, "zh", ">窗口（秒）：须为数字<"),
        ({"window_s": "59"}, "en", ">Window, seconds: must lie between 60 and 34,560,000<"),
        ({"window_s": "-1"}, "zh", ">窗口（秒）：须在 60 到 34,560,000 之间<"),
        ({"window_s": "inf"}, "zh", ">窗口（秒）：须为数字<"),
        ({"hold_for_s": "-1"}, "zh", ">持续（秒）：须在 0 到 34,560,000 之间<"),
        ({"repeat_s": "1e9"}, "zh", ">重复通知间隔（秒）：须在 0 到 34,560,000 之间<"),
        ({"min_judged": "2.5"}, "zh", ">最少评审数：须为整数<"),
        ({"min_judged": "0"}, "zh", ">最少评审数：须在 1 到 1,000,000,000 之间<"),
        ({"min_judged": "1e30"}, "en", ">Judged at least: must lie between 1 and 1,000,000,000<"),
        ({"min_judged": "1e10"}, "zh", ">最少评审数：须在 1 到 1,000,000,000 之间<"),
        ({"min_judged": "nan"}, "zh", ">最少评审数：须为数字<"),
        ({"params": "below = nan"}, "en", ">Parameter below: must be a number<"),
        ({"params": "below = nan"}, "zh", ">参数 below：须为数字<"),
        ({"params": f"judge = {'x' * 501}"}, "zh", ">参数 judge：最多 500 个字符<"),
        ({"params": "Below = 1"}, "zh", ">参数 Below：只能用小写字母、数字和下划线<"),
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
    ("params", "language", "said"),
    [
        ("below 0.9", "en", "Parameters: line 1 should read name = value, not &#39;below 0.9&#39;"),
        ("below = 0.9\n\n= 3", "en", "Parameters: line 3 should read name = value"),
        ("below =", "en", "Parameters: line 1 should read name = value"),
        ("below = 0.8\nbelow = 0.7", "en", "Parameters: line 2 gives &#39;below&#39; again"),
        ("below = 0.8\nbelow：0.8", "zh", "参数：第 2 行重复填写了 &#39;below&#39;，只填一次"),
        ("below = 0.9\n低于 0.9", "zh", "参数：第 2 行应写成 名称 = 值，不能是 &#39;低于 0.9"),
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
