"""What each kind of rule sees, and when it says that it cannot tell."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest

from rag_monitor.aggregation.combine import BadCount, Outcomes
from rag_monitor.alerting.conditions import wording
from rag_monitor.alerting.evaluator import Evaluator
from rag_monitor.alerting.options import AlertOptions
from rag_monitor.domain.alert import AlertRule, Finding, RuleKind
from rag_monitor.domain.hit import HitKind
from rag_monitor.domain.window import Estimate, Series, Window
from rag_monitor.metrics.names import with_display_names
from rag_monitor.testing import EPOCH
from tests.unit.alerting.fakes import APP, FakeEstimates, estimate, latency, look, rule

DROP = rule(RuleKind.DROP, metric="faithfulness")


def _against(now: Estimate, before: Estimate) -> FakeEstimates:
    """The window that ends at the epoch, and every earlier one."""

    def scores(series: Series, window: Window) -> Estimate:
        return now if window.end == EPOCH else before

    return FakeEstimates(scores=scores)


def test_a_drop_beyond_chance_and_large_enough_fires_with_all_its_numbers() -> None:
    found = look(_against(estimate(0.71, 212), estimate(0.93, 340)), DROP)

    assert found.active is True
    assert (found.value, found.baseline) == (0.71, 0.93)
    assert (found.judged, found.baseline_judged) == (212, 340)
    for part in ("0.93", "0.71", "−0.22", "212 judged", "340 in the baseline", "99.9% interval"):
        assert part in found.summary
    for part in ("从 0.930 降到 0.710", "评审 212 条", "基线 340 条", "上一窗口"):
        assert part in found.summary_zh
    assert found.worst_traces == ("a" * 32, "b" * 32)


@pytest.mark.parametrize(("seconds", "later"), [(0, 0), (15, 60), (45, 60)])
def test_the_worst_traces_come_from_the_minutes_that_were_counted(seconds: int, later: int) -> None:
    asked: list[Window] = []

    class Asked(FakeEstimates):
        def worst(self, *given: object) -> list[str]:
            asked.extend(item for item in given if isinstance(item, Window))
            return ["c" * 32]

    now = EPOCH + timedelta(seconds=seconds)
    item = rule(RuleKind.THRESHOLD, metric="faithfulness", params={"below": 0.9})
    estimates = Asked(scores=lambda *_: estimate(0.2, 400))

    found = Evaluator(estimates, AlertOptions()).evaluate(item, APP, now)

    assert found.worst_traces == ("c" * 32,)
    start = now - timedelta(seconds=item.window_s)
    assert asked == [Window(start, EPOCH + timedelta(seconds=later))]


@pytest.mark.parametrize(
    ("now", "before", "active"),
    [
        (estimate(0.85, 4000), estimate(0.93, 4000), False),  # sure, but too small
        (estimate(0.75, 60), estimate(0.88, 60), False),  # large, but may be chance
        (estimate(0.72, 100), estimate(0.88, 100), False),  # enough at 95%, not at 99.9%
        (estimate(0.95), estimate(0.71), False),  # a rise
        (estimate(0.8, 4000), estimate(0.9, 4000), True),  # exactly ten points
    ],
)
def test_a_drop_needs_both_size_and_evidence(now: Estimate, before: Estimate, active: bool) -> None:
    assert look(_against(now, before), DROP).active is active


@pytest.mark.parametrize(
    ("now", "before"),
    [
        (estimate(0.2, 49), estimate(0.9, 400)),
        (estimate(0.2, 400), estimate(0.9, 49)),
        (estimate(None, 0), estimate(0.9)),
        (estimate(0.2, notes=("incomplete",)), estimate(0.9)),
        (estimate(0.2, rests_on="openai_compatible/big/1"), estimate(0.9)),
    ],
)
def test_too_little_or_unlike_data_cannot_be_told(now: Estimate, before: Estimate) -> None:
    found = look(_against(now, before), DROP)

    assert found.active is None
    assert found.summary
    assert found.summary_zh


def test_a_rule_may_say_how_sure_it_wants_to_be() -> None:
    sides = _against(estimate(0.72, 100), estimate(0.88, 100))
    eager = rule(RuleKind.DROP, metric="faithfulness", params={"confidence": 0.95})

    found = look(sides, eager)

    assert found.active is True
    assert "95% interval" in found.summary
    assert look(sides, DROP).active is False


@pytest.mark.parametrize(
    ("item", "level"),
    [
        (DROP, 0.999),
        (rule(RuleKind.THRESHOLD, metric="faithfulness", params={"below": 0.8}), 0.999),
        (rule(RuleKind.HIT_RATE, metric="plugin", params={"name": "search"}), 0.999),
        (rule(RuleKind.LATENCY, metric="end_to_end_ms", params={"confidence": 0.99}), 0.99),
        (rule(RuleKind.JUDGE_FAILURES, metric="faithfulness"), 0.999),
        (rule(RuleKind.BURN_RATE, metric="faithfulness", params={"slo": 0.95}), None),
    ],
)
def test_an_interval_says_its_level_unless_its_ends_have_two(
    item: AlertRule, level: float | None
) -> None:
    estimates = FakeEstimates(
        scores=lambda series, window: estimate(0.71, 400),
        hits=lambda name, window: estimate(0.71, 400),
        latencies=lambda window: latency((1.28, 400)),
        counts=lambda window: BadCount(
            judge="j", judged=400, bad=40, effective_judged=400.0, effective_bad=40.0
        ),
        outcome=Outcomes(scored=380, failed=20),
    )

    found = look(estimates, item)

    assert found.lower is not None
    assert found.upper is not None
    assert found.level == level


def test_a_drop_against_last_week_looks_at_the_same_hours() -> None:
    estimates = _against(estimate(0.7), estimate(0.9))
    look(estimates, rule(RuleKind.DROP, metric="faithfulness", params={"baseline": "last_week"}))

    ends = {window.end for window in estimates.attempted}
    assert ends == {EPOCH, EPOCH - timedelta(days=7)}


def test_a_drop_against_the_release_before_names_both() -> None:
    estimates = FakeEstimates(
        scores=lambda series, window: estimate(0.6, release=series.release),
        baseline=estimate(0.9, release="v41"),
        release_names=["v42", "v41"],
    )
    found = look(
        estimates,
        rule(RuleKind.DROP, metric="faithfulness", params={"baseline": "previous_release"}),
    )

    assert found.active is True
    assert "v41" in found.summary
    assert "v42" in found.summary


def test_a_first_release_has_nothing_to_be_compared_with() -> None:
    item = rule(RuleKind.DROP, metric="faithfulness", params={"baseline": "previous_release"})

    assert look(FakeEstimates(release_names=["v1"]), item).active is None
    assert look(FakeEstimates(), item).notes == ("no_release",)


@pytest.mark.parametrize(
    ("value", "params", "active"),
    [
        (0.70, {"below": 0.8}, True),
        (0.79, {"below": 0.8}, False),
        (0.90, {"below": 0.8}, False),
        (0.90, {"above": 0.8}, True),
        (0.81, {"above": 0.8}, False),
    ],
)
def test_a_threshold_fires_on_the_whole_interval(
    value: float, params: dict[str, float], active: bool
) -> None:
    found = look(
        FakeEstimates(scores=lambda series, window: estimate(value)),
        rule(RuleKind.THRESHOLD, metric="faithfulness", params=params),
    )

    assert found.active is active
    assert "400 judged" in found.summary


def test_a_rule_on_inventions_speaks_of_their_share() -> None:
    item = rule(RuleKind.THRESHOLD, metric="fault:invented", params={"above": 0.1})
    found = look(FakeEstimates(scores=lambda series, window: estimate(0.4, 200)), item)

    assert found.active is True
    spoken = with_display_names(found.summary, "en")
    assert spoken.startswith("Share of invented answers of ")
    assert "编造占比（fault:invented）" in with_display_names(found.summary_zh, "zh")


@pytest.mark.parametrize(
    ("needed", "said"), [(30, "10 judged, 30 are needed"), (1, "10 judged, they give no interval")]
)
def test_a_threshold_without_an_interval_cannot_be_told(needed: int, said: str) -> None:
    found = look(
        FakeEstimates(scores=lambda series, window: estimate(0.1, 10)),
        rule(RuleKind.THRESHOLD, metric="faithfulness", params={"below": 0.8}, min_judged=needed),
    )

    assert found.active is None
    assert said in found.summary


def _silent(sent: Callable[[float], int]) -> FakeEstimates:
    """Nothing in the window; before, by how many hours ago a window of an hour ended."""

    def live(app: str, window: Window) -> int:
        return sent((EPOCH - window.end) / timedelta(hours=1))

    return FakeEstimates(trace_counts=lambda app, window: {}, live=live)


def test_no_data_forgets_apps_that_were_silent_for_a_week_but_not_those_named() -> None:
    long_ago = _silent(lambda ago: 10 if ago > 8 * 24 else 0)

    assert look(long_ago, rule()).active is False
    assert look(long_ago, rule(params={"since_s": 9 * 86_400})).active is True
    assert look(long_ago, rule(app=APP)).active is True


@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        (lambda ago: 1 if ago in {3, 7} else 0, False),  # a toy: two traces
        (lambda ago: 150 if ago in {3, 4} else 0, False),  # a golden run over the full hour
        (lambda ago: 100 if ago % 24 in {3, 4} else 0, False),  # one every night
        (lambda ago: 2 if 8 < ago < 400 else 0, True),  # an app of two traces an hour
        (lambda ago: 2 if 2 < ago < 400 else 0, False),  # it paused for two hours
        (lambda ago: 9 if 2 < ago < 9 else 0, None),  # one of this morning: who knows its nights?
        (lambda ago: 9 if 16 <= ago % 24 <= 23 else 0, False),  # a daily rhythm, in its pause
        (lambda ago: 9 if 16 <= ago % 24 <= 23 and ago > 30 else 0, True),  # after its pause
    ],
)
def test_no_data_expects_only_those_to_send_who_sent_regularly(
    sent: Callable[[float], int], expected: bool | None
) -> None:
    assert look(_silent(sent), rule()).active is expected


def test_the_first_traces_of_a_new_app_are_no_sign_that_it_fell_silent() -> None:
    """They may arrive between the two questions: nothing yet in the window, then something."""
    new = _silent(lambda ago: 30 if ago < 1 else 0)

    assert look(new, rule()).active is False


def test_a_share_falls_by_points_from_percent_to_percent() -> None:
    refusals = rule(RuleKind.DROP, metric="satisfaction_rate")

    found = look(_against(estimate(0.71, 212), estimate(0.93, 340)), refusals)

    assert found.unit == "share"
    assert "fell from 93.0% to 71.0% (−22.0 points, 99.9% interval" in found.summary
    assert " points; 212 judged" in found.summary
    assert "从 93.0% 降到 71.0%（−22.0 个百分点" in found.summary_zh


def test_nothing_is_rounded_to_nothing() -> None:
    found = look(_against(estimate(0.0, 400), estimate(1.0, 400)), DROP)

    assert "fell from 1.000 to 0.000" in found.summary


def test_errors_fire_beyond_chance_and_never_on_a_handful_of_traces() -> None:
    def told(ok: int, error: int) -> Finding:
        counts = {"ok": ok, "error": error}
        source = FakeEstimates(trace_counts=lambda app, window: counts)
        return look(source, rule(RuleKind.ERROR_RATE))

    outage, usual, toy = told(70, 30), told(95, 5), told(0, 2)

    assert (outage.active, outage.value, outage.judged) == (True, 0.3, 100)
    assert "traces with an error of bank-faq: 30.0%, limit 10%" in outage.summary
    assert "出错请求" in outage.summary_zh
    assert usual.active is False
    assert (toy.active, toy.notes) == (None, ("few_traces",))
    assert toy.summary == "2 traces of bank-faq, 50 are needed"


def test_judge_failures_need_evidence() -> None:
    item = rule(RuleKind.JUDGE_FAILURES, metric="faithfulness")

    few = look(FakeEstimates(outcome=Outcomes(scored=10, failed=9)), item)
    chance = look(FakeEstimates(outcome=Outcomes(scored=88, failed=12)), item)
    many = look(FakeEstimates(outcome=Outcomes(scored=70, failed=30)), item)

    assert (few.active, chance.active, many.active) == (None, False, True)
    assert "30 of 100" in many.summary


def test_a_budget_that_is_spent_is_no_failure_of_the_judge() -> None:
    item = rule(RuleKind.JUDGE_FAILURES, metric="faithfulness")
    shed = Outcomes(scored=70, failed=30, shed=30)

    found = look(FakeEstimates(outcome=shed), item)

    assert found.active is False
    assert "0 of 70" in found.summary


def test_the_suspect_share_links_the_worst_traces() -> None:
    found = look(
        FakeEstimates(outcome=Outcomes(scored=80, suspect=20)),
        rule(RuleKind.SUSPECT, metric="faithfulness"),
    )

    assert found.active is True
    assert found.worst_traces


def test_the_name_that_lost_most_is_reported_and_the_others_are_named() -> None:
    now = {"search": 0.3, "tax": 0.1, "loans": 0.9}

    def hits(name: str, window: Window) -> Estimate:
        return estimate(now[name] if window.end == EPOCH else 0.9)

    found = look(
        FakeEstimates(
            hits=hits,
            hit_name_list=[
                (HitKind.PLUGIN, "search"),
                (HitKind.KNOWLEDGE_BASE, "tax"),
                (HitKind.KNOWLEDGE_BASE, "loans"),
            ],
        ),
        rule(RuleKind.HIT_RATE),
    )

    assert found.active is True
    assert "tax" in found.summary
    assert found.notes == ("also:plugin:search",)


def test_a_hit_rate_rule_looks_only_at_its_kind() -> None:
    found = look(
        FakeEstimates(
            hits=lambda name, window: estimate(0.1 if window.end == EPOCH else 0.9),
            hit_name_list=[(HitKind.PLUGIN, "search")],
        ),
        rule(RuleKind.HIT_RATE, metric="workflow"),
    )

    assert found.active is None


@pytest.mark.parametrize(("value", "active"), [(0.0, True), (0.4, True), (0.5, False)])
def test_an_absolute_hit_rate_needs_no_baseline(value: float, active: bool) -> None:
    found = look(
        FakeEstimates(hits=lambda name, window: estimate(value)),
        rule(RuleKind.HIT_RATE, metric="plugin", params={"name": "search", "min_rate": 0.5}),
    )

    assert found.active is active


def _bad(judged: int, bad: int) -> BadCount:
    return BadCount(
        judged=judged,
        bad=bad,
        effective_judged=float(judged),
        effective_bad=float(bad),
        classes={1.0: (judged, bad)} if judged else {},
    )


@pytest.mark.parametrize(
    ("long", "short", "active"),
    [
        (_bad(300, 90), _bad(25, 8), True),
        (_bad(300, 90), _bad(25, 0), False),  # over already
        (_bad(300, 33), _bad(25, 8), False),  # 2.2 times, but may be chance
        (_bad(49, 49), _bad(25, 25), None),
    ],
)
def test_burn_rate_is_gated(long: BadCount, short: BadCount, active: bool | None) -> None:
    found = look(
        FakeEstimates(counts=lambda window: long if window.length == timedelta(hours=1) else short),
        rule(RuleKind.BURN_RATE, metric="faithfulness"),
    )

    assert found.active is active


@pytest.mark.parametrize(
    ("kind", "params"),
    [
        (RuleKind.DROP, {}),
        (RuleKind.THRESHOLD, {"below": 0.8}),
        (RuleKind.BURN_RATE, {"slo": 0.95}),
    ],
)
def test_a_rule_can_watch_one_knowledge_base_and_says_so(
    kind: RuleKind, params: dict[str, object]
) -> None:
    seen: list[str | None] = []

    class Watched(FakeEstimates):
        def estimate(
            self, series: Series, window: Window, *, min_judged: int | None = None
        ) -> Estimate:
            seen.append(series.knowledge_base)
            return estimate(0.71 if window.end == EPOCH else 0.93, 400)

        def bad_count(self, series: Series, window: Window) -> BadCount:
            seen.append(series.knowledge_base)
            return BadCount(judged=200, bad=100, effective_judged=200.0, effective_bad=100.0)

        def worst(self, *given: object) -> list[str]:
            seen.append(str(given[-1]))
            return ["c" * 32]

    item = rule(kind, metric="faithfulness", params={**params, "knowledge_base": "loans"})
    found = look(Watched(), item)

    assert found.active is True
    assert set(seen) == {"loans"}
    assert "knowledge base loans" in found.summary
    assert "知识库 loans" in found.summary_zh


@pytest.mark.parametrize(
    ("value", "said"),
    [(0.0, "0"), (3.21987, "3.22"), (9_999.4, "9999"), (6_013_217.0, "6,013,000")],
)
def test_a_number_of_any_size_has_no_power_of_ten(value: float, said: str) -> None:
    assert wording.measure(value) == said


@pytest.mark.parametrize(("count", "said"), [(0, "0 traces"), (1, "1 trace"), (12, "12 traces")])
def test_one_trace_is_not_many(count: int, said: str) -> None:
    assert wording.traces(count) == said
