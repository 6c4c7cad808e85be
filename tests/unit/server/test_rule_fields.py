"""The form of a rule has a field for everything that the schema and the parameters have."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from rag_monitor.alerting.params import PARAMS, UNITS, Number, Unit, Word
from rag_monitor.alerting.rules import check_rule
from rag_monitor.domain.alert import AlertRule, RuleKind
from rag_monitor.i18n import translate
from rag_monitor.server import ui
from rag_monitor.server.services import Services
from rag_monitor.server.ui.rule_fields import parameter_fields
from rag_monitor.server.ui.rule_form import read_fields, rule_form
from tests.unit.server.conftest import open_client
from tests.unit.server.fakes import make_services
from tests.unit.server.test_pages import HTML, token_of

CHANNELS = {"oncall": {"kind": "log"}, "值班": {"kind": "log"}}


def able(**options: object) -> Services:
    """Services that check rules as a server does."""
    services = make_services(**options)
    channels = tuple(services.settings.notifiers)
    return replace(services, check_rule=lambda rule: check_rule(rule, channels))


def fieldset(text: str, kind: str) -> str:
    return text.split(f'data-kind="{kind}"')[1].split("</fieldset>")[0]


@pytest.mark.parametrize("language", ["en", "zh"])
async def test_every_parameter_has_a_field_with_label_unit_range_and_default(language: str) -> None:
    async with open_client(make_services(), headers=HTML) as client:
        text = (await client.get("/settings", params={"lang": language})).text

    for kind, specs in PARAMS.items():
        part = fieldset(text, kind.value)
        assert re.findall(r' name="params\.\w+\.(\w+)"', part) == list(specs)
        for name, spec in specs.items():
            field = part.split(f"<code>{name}</code>")[1].split('<div class="field">')[0]
            if isinstance(spec, Number) and UNITS[spec.unit]:
                assert translate(_message(UNITS[spec.unit]), language) in field
            if isinstance(spec, Word):
                for label in spec.choices.values():
                    assert translate(_message(label), language) in field
            elif spec.default is not None and spec.unit is not Unit.DURATION:
                assert f'placeholder="{spec.default:g}"' in field
            if spec.help:
                assert translate(_message(spec.help), language).split("'")[0] in field


def _message(text: str) -> str:
    from rag_monitor.i18n import Message

    return text if isinstance(text, Message) else Message(text)


def test_a_range_is_the_one_that_is_checked() -> None:
    fields = {field.name: field for field in parameter_fields(RuleKind.DROP)}
    change = {field.name: field for field in parameter_fields(RuleKind.CHANGE)}
    burn = {field.name: field for field in parameter_fields(RuleKind.BURN_RATE)}

    assert fields["min_drop"].allowed == "0.001 to 0.999"
    assert fields["min_drop"].default == "0.1"
    assert change["every_judged"].allowed == "at least 100"
    assert burn["short_s"].allowed == "1 min to 366 d"


async def test_the_style_shows_the_parameters_of_every_kind_without_a_script() -> None:
    style = (Path(ui.__file__).parent / "static" / "app.css").read_text("utf-8")

    for kind in RuleKind:
        chosen = f'select[name="kind"] option[value="{kind}"]:checked) .params[data-kind="{kind}"]'
        assert chosen in style


RULES = (
    AlertRule(name="a", kind=RuleKind.DROP, metric="faithfulness", window_s=None),
    AlertRule(
        name="b",
        kind=RuleKind.BURN_RATE,
        metric="faithfulness",
        window_s=21_600.0,
        params={"short_s": 1800.0, "slo": 0.93, "multiple": 1.5},
        notifiers=("oncall",),
        repeat_s=0.0,
    ),
    AlertRule(
        name="c",
        kind=RuleKind.HIT_RATE,
        metric="plugin",
        params={"name": "007", "basis": "expected", "min_rate": 0.25},
        hold_for_s=93.5,
    ),
    AlertRule(name="d", kind=RuleKind.NO_DATA, window_s=3600.0, params={"since_s": 1_234_567.0}),
    AlertRule(
        name="e", kind=RuleKind.DROP, metric="faithfulness", params={"baseline": "last_week"}
    ),
)


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("rule", RULES)
async def test_a_rule_that_is_opened_and_saved_is_the_same_rule(
    rule: AlertRule, language: str
) -> None:
    """What the browser sends is read from the page itself."""
    services = able(notifiers=CHANNELS)
    services.rules.save(rule)
    async with open_client(services, headers=HTML) as client:
        text = (await client.get("/settings", params={"lang": language, "rule": rule.name})).text
        form = sent_by_a_browser(text)
        answer = await client.post("/ui/rules", data=form)

    saved = {one.name: one for one in services.rules.all("default")}
    assert answer.status_code == 303, re.findall("banner error.*", answer.text)
    assert saved[rule.name] == rule


def sent_by_a_browser(text: str) -> dict[str, str | list[str]]:
    """The fields of the rule form, as a browser without scripts sends them."""
    form = text.split('class="grid rule"')[1].split("</form>")[0]
    fields: dict[str, str | list[str]] = {}
    for tag in re.findall(r"<input [^>]*>", form):
        named = re.search(r' name="([^"]*)"', tag)
        if named is None:
            continue
        value = re.search(r' value="([^"]*)"', tag)
        if 'type="checkbox"' not in tag:
            fields[named[1]] = value[1] if value else ""
        elif " checked" in tag:
            ticked = fields.setdefault(named[1], [])
            assert isinstance(ticked, list)
            ticked.append(value[1] if value else "on")
    for name, options in re.findall(r'<select name="([^"]*)"[^>]*>(.*?)</select>', form, re.DOTALL):
        values = re.findall(r'<option(?: value="([^"]*)")?( selected)?>', options)
        chosen = [value for value, selected in values if selected]
        fields[name] = (chosen or [values[0][0]])[0]
    return fields


async def test_what_a_kind_does_not_have_stays_in_the_form_and_is_refused() -> None:
    services = able()
    odd = AlertRule(name="odd", kind=RuleKind.DROP, metric="faithfulness", params={"note": "<b>"})
    services.rules.save(odd)
    async with open_client(services, headers=HTML) as client:
        text = (await client.get("/settings?rule=odd")).text
        form = rule_form(odd, "en") | {"token": token_of(text), "original": "odd"}
        refused = await client.post("/ui/rules", data=form)

    assert 'name="params.drop.note" value="&lt;b&gt;"' in fieldset(text, "drop")
    assert refused.status_code == 422
    assert "a drop rule has no such parameter" in fieldset(refused.text, "drop")


async def test_channels_are_chosen_from_those_that_are_configured() -> None:
    services = able(notifiers=CHANNELS)
    async with open_client(services, headers=HTML) as client:
        token = token_of((await client.get("/settings")).text)
        form = {"token": token, "name": "low", "kind": "drop", "metric": "faithfulness"}
        saved = await client.post("/ui/rules", data=form | {"notifiers": ["oncall", "值班"]})
        text = (await client.get("/settings?rule=low")).text

    boxes = re.findall(r'<input type="checkbox" name="notifiers" value="([^"]*)"( checked)?>', text)
    assert saved.status_code == 303
    assert boxes == [("oncall", " checked"), ("值班", " checked")]


async def test_a_channel_that_is_gone_stays_ticked_and_is_refused_beside_the_boxes() -> None:
    services = able(notifiers=CHANNELS)
    rule = AlertRule(name="low", kind=RuleKind.DROP, metric="faithfulness", notifiers=("gone",))
    services.rules.save(rule)
    async with open_client(services, headers=HTML) as client:
        text = (await client.get("/settings?rule=low")).text
        form = rule_form(rule, "en") | {"token": token_of(text), "original": "low"}
        refused = await client.post("/ui/rules", data=form)

    assert 'value="gone" checked> gone <span class="muted">not configured' in text
    beside = refused.text.split('data-beside="notifiers">')[1].split("</small>")[0]
    assert "there is no channel &#39;gone&#39;" in beside


async def test_all_that_is_wrong_stands_beside_its_field() -> None:
    async with open_client(able(), headers=HTML) as client:
        token = token_of((await client.get("/settings")).text)
        form = {
            "token": token,
            "name": "",
            "kind": "drop",
            "metric": "faithfulness",
            "window_s": "90",
            "hold_for_s": "2 min",
            "min_judged": "many",
            "params.drop.min_drop": "much",
        }
        text = (await client.post("/ui/rules", data=form)).text

    beside = dict(re.findall(r'data-beside="([^"]*)"><span class="wrong">(.*?)</span>', text))
    assert beside == {
        "name": "must not be empty",
        "window_s": "say whether it is 90 s, 90 min, 90 h or 90 d",
        "min_judged": "must be a number",
        "params.drop.min_drop": "must be a number",
    }
    assert 'data-beside="hold_for_s">= 2 min<' in text
    assert 'name="params.drop.min_drop" value="much"' in text


async def test_both_fields_of_a_choice_are_marked_when_both_are_given() -> None:
    async with open_client(able(), headers=HTML) as client:
        token = token_of((await client.get("/settings")).text)
        form = {"token": token, "name": "low", "kind": "threshold", "metric": "faithfulness"}
        params = {"params.threshold.below": "0.8", "params.threshold.above": "0.9"}
        text = (await client.post("/ui/rules?lang=zh", data=form | params)).text

    beside = dict(re.findall(r'data-beside="([^"]*)"><span class="wrong">(.*?)</span>', text))
    assert beside == dict.fromkeys(params, "两者必须且只能填一个")


def test_a_name_that_reads_as_a_number_stays_a_name() -> None:
    given = {"kind": "hit_rate", "params.hit_rate.name": "42", "params.hit_rate.min_rate": "5 %"}

    assert read_fields(given).fields["params"] == {"name": "42", "min_rate": 0.05}


@pytest.mark.parametrize(
    ("field", "text", "said"),
    [
        ("params.burn_rate.short_s", "30 s", "must lie between 1 min and 366 d"),
        ("params.burn_rate.short_s", "300", "say whether it is 300 s, 300 min, 300 h or 300 d"),
        ("params.burn_rate.slo", "0.2", "must lie between 0.5 and 0.9999, not 0.2. Shares are"),
        ("params.burn_rate.slo", "nan", "must be a number"),
        ("params.burn_rate.multiple", "20", "at an objective of 0.95 the burn rate is at most 20"),
        ("repeat_s", "5 s", "must be 0 (never) or at least 60 s, not 5 s"),
    ],
)
async def test_a_parameter_out_of_its_range_is_told_beside_it_in_its_unit(
    field: str, text: str, said: str
) -> None:
    async with open_client(able(), headers=HTML) as client:
        token = token_of((await client.get("/settings")).text)
        form = {"token": token, "name": "low", "kind": "burn_rate", "metric": "faithfulness"}
        answer = await client.post("/ui/rules", data=form | {field: text})

    beside = dict(
        re.findall(r'data-beside="([^"]*)"><span class="wrong">(.*?)</span>', answer.text)
    )
    assert answer.status_code == 422
    assert list(beside) == [field]
    assert beside[field].startswith(said)
