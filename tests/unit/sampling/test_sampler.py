"""Who is judged, with what probability, and why."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rag_monitor.domain.decision import SamplingReason
from rag_monitor.domain.ports import BudgetState
from rag_monitor.domain.trace import Retrieval, Trace, TraceStatus, derive_trace_id
from rag_monitor.errors import ConfigurationError
from rag_monitor.sampling.hash_sampling import hash_unit, is_sampled
from rag_monitor.sampling.options import SamplingOptions
from rag_monitor.sampling.policy import SamplingState
from rag_monitor.sampling.sampler import Sampler
from rag_monitor.testing import make_trace

BIG = "openai_compatible"
TRACE = make_trace()


def traces(n: int) -> list[Trace]:
    return [replace(TRACE, trace_id=derive_trace_id("p", "a", str(i))) for i in range(n)]


def test_the_draw_is_the_published_function() -> None:
    assert hash_unit("judge", "4bf92f3577b34da6a3ce929d0e0e4736") == 0.4784796204745786


def test_a_probability_of_one_always_draws_and_of_nothing_never() -> None:
    assert all(is_sampled("s", t.trace_id, 1.0) for t in traces(200))
    assert not any(is_sampled("s", t.trace_id, 0.0) for t in traces(200))


def test_about_the_wanted_share_is_drawn_and_always_the_same() -> None:
    sampler = Sampler(SamplingOptions(rate=0.2))
    first = [sampler.decide(t, BIG).included for t in traces(2000)]

    assert first == [sampler.decide(t, BIG).included for t in traces(2000)]
    assert 0.17 < sum(first) / 2000 < 0.23


def test_another_salt_is_another_sample() -> None:
    first = Sampler(SamplingOptions(rate=0.5, salt="a"))
    second = Sampler(SamplingOptions(rate=0.5, salt="b"))
    both = sum(
        first.decide(t, BIG).included and second.decide(t, BIG).included for t in traces(1000)
    )

    assert 200 < both < 300


@pytest.mark.parametrize("judge", ["embedded", "embedded-lexical"])
def test_the_embedded_judge_sees_everything(judge: str) -> None:
    decision = Sampler().decide(TRACE, judge)

    assert (decision.included, decision.probability) == (True, 1.0)
    assert decision.reason is SamplingReason.ALWAYS


@pytest.mark.parametrize("cheap", [None, {"answer_supported": 0.5}, {"answer_supported": 0.999}])
def test_a_full_rate_means_always(cheap: dict[str, float] | None) -> None:
    decision = Sampler(SamplingOptions(rate=1.0)).decide(TRACE, BIG, baseline_scores=cheap)

    assert (decision.included, decision.probability) == (True, 1.0)
    assert decision.reason is SamplingReason.ALWAYS


def test_the_base_rate_is_stored_with_its_design() -> None:
    decision = Sampler(SamplingOptions(salt="v2")).decide(TRACE, BIG)

    assert decision.probability == 0.05
    assert decision.reason is SamplingReason.BASE_RATE
    assert (decision.judge, decision.salt, decision.stratum) == (BIG, "v2", "")


def test_an_unsure_cheap_score_is_judged_more_often_and_a_sure_one_down_to_the_floor() -> None:
    sampler = Sampler(SamplingOptions(rate=0.1))

    unsure = sampler.decide(TRACE, BIG, baseline_scores={"faithfulness": 0.5})
    sure = sampler.decide(TRACE, BIG, baseline_scores={"faithfulness": 1.0})

    assert unsure.probability > 0.1
    assert unsure.reason is SamplingReason.UNCERTAIN
    assert sure.probability == pytest.approx(sampler.pi_min) == pytest.approx(0.04)
    assert sure.reason is SamplingReason.BASE_RATE


def test_answer_supported_is_the_preferred_cheap_score() -> None:
    sampler = Sampler()

    both = sampler.decide(
        TRACE, BIG, baseline_scores={"faithfulness": 0.5, "answer_supported": 1.0}
    )
    other = sampler.decide(
        TRACE, BIG, baseline_scores={"context_relevance": 1.0, "answer_relevance": 0.0}
    )

    assert both.probability == pytest.approx(sampler.pi_min)
    assert other.reason is SamplingReason.UNCERTAIN


def test_the_previous_windows_uncertainty_keeps_the_mean_rate() -> None:
    options = SamplingOptions(rate=0.1)
    eager = Sampler(options, SamplingState(mean_uncertainty={"test-app": 0.1}))
    calm = Sampler(options, SamplingState(mean_uncertainty={"test-app": 0.5}))

    assert calm.decide(TRACE, BIG, baseline_scores={"faithfulness": 0.5}).probability == 0.1
    assert eager.decide(TRACE, BIG, baseline_scores={"faithfulness": 0.5}).probability == 0.34


def test_a_failed_trace_and_a_new_release_are_looked_at_closely() -> None:
    state = SamplingState(new_releases=frozenset({("test-app", "v2")}))
    sampler = Sampler(SamplingOptions(error_rate=0.6, new_release_rate=0.3), state)

    broken = sampler.decide(replace(TRACE, status=TraceStatus.ERROR), BIG)
    fresh = sampler.decide(replace(TRACE, release="v2"), BIG)
    both = sampler.decide(replace(TRACE, release="v2", status=TraceStatus.ERROR), BIG)

    assert (broken.probability, broken.reason) == (0.6, SamplingReason.ERROR)
    assert (fresh.probability, fresh.reason) == (0.3, SamplingReason.NEW_RELEASE)
    assert (both.probability, both.reason) == (0.6, SamplingReason.ERROR)


def test_strata_have_rates_of_their_own() -> None:
    options = SamplingOptions(
        strata={"knowledge_base=loans": 0.3, "environment=staging": 0.01, "tag=vip": 0.8}
    )
    sampler = Sampler(options)
    loans = replace(TRACE, retrievals=(Retrieval(knowledge_base="loans"),), tags=("vip",))
    staging = replace(TRACE, environment="staging")

    assert sampler.decide(loans, BIG).probability == 0.3
    assert sampler.decide(loans, BIG).stratum == "knowledge_base=loans"
    assert sampler.decide(staging, BIG).reason is SamplingReason.STRATUM
    assert sampler.pi_min == pytest.approx(0.004)
    assert sampler.decide(TRACE, BIG).stratum == ""


def test_a_quiet_app_gets_its_minimum_of_judged_traces() -> None:
    sampler = Sampler(state=SamplingState(expected_traces={"test-app": 60}))

    assert sampler.decide(TRACE, BIG).probability == 0.5


def test_a_budget_that_runs_out_lowers_probabilities_towards_the_floor() -> None:
    options = SamplingOptions(rate=0.5, floor_share=0.2)
    half = SamplingState(budget=BudgetState(remaining=0.1))
    spent = SamplingState(budget=BudgetState(remaining=0.0, exhausted=True))

    lowered = Sampler(options, half).decide(TRACE, BIG)
    floored = Sampler(options, spent).decide(TRACE, BIG)

    assert (lowered.probability, lowered.reason) == (0.3, SamplingReason.BUDGET)
    assert (floored.probability, floored.reason) == (0.1, SamplingReason.BUDGET)


def test_a_person_is_always_heard() -> None:
    spent = SamplingState(budget=BudgetState(remaining=0.0, exhausted=True))
    sampler = Sampler(state=spent)

    forced = sampler.decide(TRACE, BIG, forced=True)
    marked = sampler.decide(TRACE, BIG, feedback=True)

    assert (forced.included, forced.probability, forced.reason) == (
        True,
        1.0,
        SamplingReason.FORCED,
    )
    assert (marked.probability, marked.stratum) == (1.0, "feedback")
    assert marked.reason is SamplingReason.FEEDBACK


def test_no_probability_falls_below_the_floor() -> None:
    spent = SamplingState(budget=BudgetState(remaining=0.0, exhausted=True))
    for rate in (0.001, 0.013, 0.05, 0.333, 1.0):
        sampler = Sampler(SamplingOptions(rate=rate), spent)
        for f in (0.0, 0.001, 0.3, 0.5, 1.0):
            assert (
                sampler.decide(TRACE, BIG, baseline_scores={"x": f}).probability >= sampler.pi_min
            )


def test_a_new_state_takes_over_at_the_boundary() -> None:
    sampler = Sampler()
    sampler.begin_window({"default": SamplingState(expected_traces={"test-app": 30})})

    assert sampler.decide(TRACE, BIG).probability == 1.0


@pytest.mark.parametrize(
    ("setting", "complaint"),
    [
        ({"rate": 0.0}, "rate"),
        ({"rate": 5.0}, "rate"),
        ({"error_rate": -0.1}, "error_rate"),
        ({"salt": ""}, "salt"),
        ({"salt": "x" * 65}, "salt"),
        ({"min_per_window": -1}, "min_per_window"),
        ({"strata": {"colour=red": 0.5}}, "colour=red.*app=NAME"),
        ({"strata": {"app=x": 0.0}}, "strata"),
    ],
)
def test_a_design_that_cannot_work_is_refused(setting: dict[str, object], complaint: str) -> None:
    with pytest.raises(ConfigurationError, match=complaint):
        SamplingOptions(**setting)  # type: ignore[arg-type]
