"""Rules that cannot work are refused, with the field and the way to mend them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from rag_monitor.alerting.params import PARAMS
from rag_monitor.alerting.rules import check_rule, default_rules
from rag_monitor.domain.alert import AlertRule, RuleKind
from rag_monitor.domain.fault import Fault, fault_metric
from rag_monitor.errors import RuleError


def _rule(kind: RuleKind, **fields: Any) -> AlertRule:
    return AlertRule(name="r", kind=kind, **fields)


def test_the_shipped_rules_can_work() -> None:
    rules = default_rules("shop")

    for item in rules:
        check_rule(item)

    kinds = [(item.kind, item.metric) for item in rules]
    assert (RuleKind.DROP, "faithfulness") in kinds
    assert (RuleKind.DROP, "context_precision") in kinds
    assert (RuleKind.DROP, "context_sufficiency") in kinds
    assert (RuleKind.LATENCY, "end_to_end_ms") in kinds
    others = {RuleKind.ERROR_RATE, RuleKind.HIT_RATE, RuleKind.NO_DATA, RuleKind.JUDGE_FAILURES}
    assert others <= {k for k, _ in kinds}
    assert {item.app for item in rules} == {"shop"}
    assert all(item.shipped for item in rules)
    assert len({item.name for item in rules}) == len(rules)


@pytest.mark.parametrize("fault", list(Fault))
def test_a_rule_can_watch_the_share_of_a_fault(fault: Fault) -> None:
    metric = fault_metric(fault)
    check_rule(AlertRule(name="r", kind=RuleKind.THRESHOLD, metric=metric, params={"above": 0.1}))
    drop = AlertRule(name="r", kind=RuleKind.DROP, metric=metric)
    if fault is Fault.NONE:
        check_rule(drop)  # that fewer traces are without a fault is bad
    else:
        with pytest.raises(RuleError, match="metric"):
            check_rule(drop)


def test_every_kind_has_its_parameters_written_down() -> None:
    assert set(PARAMS) == set(RuleKind)


@pytest.mark.parametrize(
    ("rule", "field"),
    [
        (AlertRule(name=" ", kind=RuleKind.NO_DATA), "name"),
        (AlertRule(name="a\nb", kind=RuleKind.NO_DATA), "name"),
        (_rule(RuleKind.NO_DATA, window_s=5), "window_s"),
        (_rule(RuleKind.NO_DATA, window_s=float("nan")), "window_s"),
        (_rule(RuleKind.NO_DATA, hold_for_s=-1), "hold_for_s"),
        (_rule(RuleKind.NO_DATA, repeat_s=1), "repeat_s"),
        (_rule(RuleKind.NO_DATA, metric="faithfulness"), "metric"),
        (_rule(RuleKind.NO_DATA, min_judged=0), "min_judged"),
        (_rule(RuleKind.DROP), "metric"),
        (_rule(RuleKind.DROP, metric="faithfullness"), "did you mean 'faithfulness'"),
        (_rule(RuleKind.DROP, metric="faithfulness", params={"min_drop": 3}), "params.min_drop"),
        (_rule(RuleKind.DROP, metric="faithfulness", params={"min_drop": "x"}), "params.min_drop"),
        (_rule(RuleKind.DROP, metric="faithfulness", params={"mindrop": 0.1}), "min_drop"),
        (_rule(RuleKind.DROP, metric="faithfulness", params={"baseline": "x"}), "last_week"),
        (_rule(RuleKind.THRESHOLD, metric="faithfulness"), "exactly one"),
        (
            _rule(RuleKind.THRESHOLD, metric="faithfulness", params={"below": 0.8, "above": 0.9}),
            "exactly one",
        ),
        (_rule(RuleKind.THRESHOLD, metric="faithfulness", params={"below": 0}), "never fire"),
        (_rule(RuleKind.THRESHOLD, metric="faithfulness", params={"above": 1}), "never fire"),
        (
            _rule(
                RuleKind.CHANGE, metric="faithfulness", params={"days": 30, "every_judged": 10_000}
            ),
            "params.days",
        ),
        (_rule(RuleKind.CHANGE, metric="refusal_rate"), "metric"),
        (_rule(RuleKind.LATENCY, metric="end_to_end"), "end_to_end_ms"),
        (
            _rule(RuleKind.LATENCY, metric="end_to_end_ms", params={"max_ms": 5, "min_rise": 0.5}),
            "params.max_ms",
        ),
        (
            _rule(
                RuleKind.LATENCY,
                metric="end_to_end_ms",
                params={"baseline": "previous_release"},
            ),
            "params.baseline",
        ),
        (_rule(RuleKind.HIT_RATE, params={"name": "search"}), "metric"),
        (_rule(RuleKind.HIT_RATE, params={"min_rate": 0.5, "min_drop": 0.1}), "params.min_rate"),
        (_rule(RuleKind.HIT_RATE, params={"min_rate": 0}), "never fire"),
        (_rule(RuleKind.BUDGET, app="shop"), "app"),
    ],
)
def test_a_rule_that_cannot_work_is_refused_by_field(rule: AlertRule, field: str) -> None:
    with pytest.raises(RuleError, match=field.replace(".", r"\.")):
        check_rule(rule)


@pytest.mark.parametrize("slo", [0.93, 0.9, 0.8])
def test_a_burn_rate_that_cannot_be_reached_is_refused_with_the_reason(slo: float) -> None:
    rule = _rule(RuleKind.BURN_RATE, metric="faithfulness", params={"slo": slo, "multiple": 14.4})

    with pytest.raises(RuleError, match="can never be exceeded"):
        check_rule(rule)


def test_a_burn_rate_that_can_just_be_reached_is_taken() -> None:
    check_rule(
        _rule(RuleKind.BURN_RATE, metric="faithfulness", params={"slo": 0.95, "multiple": 14.4})
    )


def test_a_burn_rate_on_too_few_judged_is_refused_as_inert() -> None:
    params = {"judged_per_hour": 19.0}

    with pytest.raises(RuleError, match="could never fire"):
        check_rule(_rule(RuleKind.BURN_RATE, metric="faithfulness", min_judged=20, params=params))
    check_rule(
        _rule(
            RuleKind.BURN_RATE,
            metric="faithfulness",
            min_judged=20,
            window_s=21_600,
            params=params,
        )
    )


def test_a_burn_rate_with_a_lower_minimum_than_the_gate_is_refused() -> None:
    with pytest.raises(RuleError, match="at least 20"):
        check_rule(_rule(RuleKind.BURN_RATE, metric="faithfulness", min_judged=10))


def test_the_short_window_must_be_shorter() -> None:
    with pytest.raises(RuleError, match=r"params\.short_s"):
        check_rule(_rule(RuleKind.BURN_RATE, metric="faithfulness", params={"short_s": 3600.0}))


@pytest.mark.parametrize(
    ("channels", "hint"),
    [(("slack", "oncall"), "did you mean 'slack'?); configured: slack, oncall"), ((), "none")],
)
def test_a_rule_for_a_channel_that_is_not_there_is_refused(
    channels: tuple[str, ...], hint: str
) -> None:
    rule = replace(_rule(RuleKind.NO_DATA), notifiers=("slak",))

    check_rule(rule)
    check_rule(replace(rule, notifiers=channels), channels)
    with pytest.raises(RuleError, match="no channel 'slak'") as told:
        check_rule(rule, channels)
    assert hint in str(told.value)


@pytest.mark.parametrize("url", ["", "https://wiki.example.com/a?b=c#d", "http://wiki/%E5%BF%A0"])
def test_a_runbook_is_a_web_address(url: str) -> None:
    check_rule(AlertRule(name="r", kind=RuleKind.NO_DATA, runbook_url=url))


@pytest.mark.parametrize(
    "url",
    ["javascript:alert(1)", "wiki/page", "https://a b", "https://a)b", "https://a<b", "https://"],
)
def test_what_a_channel_could_not_link_to_is_no_runbook(url: str) -> None:
    with pytest.raises(RuleError, match="runbook_url: must be an http"):
        check_rule(AlertRule(name="r", kind=RuleKind.NO_DATA, runbook_url=url))
