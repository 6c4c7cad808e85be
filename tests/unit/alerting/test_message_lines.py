"""What is left of an alert when many go out as one message."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rag_monitor.alerting.messages import DETAILED, compose
from rag_monitor.alerting.rule_names import rule_name
from rag_monitor.alerting.rules import default_rules
from rag_monitor.domain.alert import Notification
from tests.unit.alerting.fakes import notification


def _slow() -> Notification:
    given = notification(rule_name="latency", app="faq")
    finding = replace(given.alert.finding, value=6164.15, baseline=682.69, unit="ms")
    return replace(given, alert=replace(given.alert, finding=finding))


@pytest.mark.parametrize(
    ("language", "said"), [("en", "6.16 s against 683 ms"), ("zh", "6.16 s 对比 683 ms")]
)
def test_a_line_gives_the_number_with_its_unit_and_what_it_is_held_against(
    language: str, said: str
) -> None:
    message = compose([_slow()] * (DETAILED + 1), language)

    assert [item.lines for item in message.items] == [()] * (DETAILED + 1)
    assert all(item.title.endswith(f"latency · faq · {said}") for item in message.items)


def test_one_incident_that_fires_every_shipped_rule_it_can_is_told_in_full() -> None:
    names = (
        *("faithfulness drop", "context precision drop", "context sufficiency drop"),
        *("end-to-end latency", "hit rate drop"),
    )

    message = compose([notification(rule_name=name) for name in names])

    assert all("fell from 0.93 to 0.71" in item.lines[0] for item in message.items)


@pytest.mark.parametrize("rule", [rule.name for rule in default_rules()])
def test_a_shipped_rule_has_a_chinese_name_on_pages_and_in_messages(rule: str) -> None:
    name = rule_name(rule, "zh")

    title = compose([notification(rule_name=rule, app="faq")], "zh").title

    assert not name.isascii()
    assert f"{name} · faq" in title
    assert rule_name(rule, "en") == rule


def test_a_rule_keeps_the_name_that_somebody_gave_it() -> None:
    assert rule_name("latency of the shop", "zh") == "latency of the shop"
