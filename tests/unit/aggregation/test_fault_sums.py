"""Shares of faults, estimated as any score is."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

import pytest

from rag_monitor.aggregation.estimates import EstimateOptions, Estimates
from rag_monitor.aggregation.fault_sums import of_metric
from rag_monitor.aggregation.keys import of_knowledge_base
from rag_monitor.aggregation.rollup import summarise
from rag_monitor.aggregation.totals import Totals, merged, sum_of
from rag_monitor.domain.decision import PEOPLE
from rag_monitor.domain.fault import FAULT_METRIC, FAULT_METRICS, Fault, fault_metric
from rag_monitor.domain.hit import Hit, HitKind
from rag_monitor.domain.judgement import JudgeIdentity
from rag_monitor.domain.rollup import TraceFacts
from rag_monitor.domain.score import Score, ScoreStatus
from rag_monitor.domain.selection import Selection
from rag_monitor.testing import EPOCH
from tests.unit.aggregation.memory import BIG, EMBEDDED, HOUR, MemoryRollups, facts, series, value

INVENTED = fault_metric(Fault.INVENTED)


def history(
    seed: int, traces: int = 300, rate: float = 0.4, turns: int | None = None
) -> list[TraceFacts]:
    """Traces of an hour, some judged by a second judge, some labelled by people.

    Args:
        seed: Of chance.
        traces: How many.
        rate: Of those that the second judge sees.
        turns: Of each session; None: no session is known.
    """
    draw = random.Random(seed)
    sessions = [None if turns is None else f"s-{number // turns}" for number in range(traces)]
    return [_trace(draw, rate, draw.random() < rate, session) for session in sessions]


def _trace(draw: random.Random, rate: float, judged: bool, session: str | None) -> TraceFacts:
    at_fault = draw.random() < 0.3
    scores = [_scores(draw, EMBEDDED)]
    faults = {str(EMBEDDED): _probabilities(draw, at_fault)}
    probabilities = {EMBEDDED.name: 1.0}
    if judged:
        status = draw.choices(tuple(ScoreStatus), (8, 1, 1, 1))[0]
        scores.append(_scores(draw, BIG, status))
        probabilities[BIG.name] = rate
        if status is ScoreStatus.SCORED:
            faults[str(BIG)] = _probabilities(draw, at_fault)
    labels = {}
    if judged and draw.random() < 0.5:
        probabilities[PEOPLE] = 0.5
        labels = {metric: float(at_fault and metric == INVENTED) for metric in FAULT_METRICS}
    kb = (Hit(kind=HitKind.KNOWLEDGE_BASE, name="loans", ok=True),) if draw.random() < 0.5 else ()
    at = EPOCH + timedelta(minutes=draw.randrange(60))
    found = facts(
        *scores, at=at, probabilities=probabilities, hits=kb, release="v1", session_id=session
    )
    return replace(found, faults=faults, labels=labels)


def _scores(
    draw: random.Random, judge: JudgeIdentity, status: ScoreStatus = ScoreStatus.SCORED
) -> Score:
    number = draw.random() if status is ScoreStatus.SCORED else None
    reason = None if status is ScoreStatus.SCORED else "a_reason"
    return value(number, judge=judge, status=status, reason=reason)


def _probabilities(draw: random.Random, at_fault: bool) -> dict[Fault, float]:
    invented = min(1.0, max(0.0, draw.gauss(0.7 if at_fault else 0.2, 0.2)))
    found = {Fault.INVENTED: invented, Fault.NONE: 1.0 - invented}
    return {fault: p for fault, p in found.items() if p}


def as_refusals(found: Sequence[TraceFacts]) -> list[TraceFacts]:
    """The same numbers as those of a score that is the worse the higher."""
    return [
        replace(
            one,
            faults={},
            labels={"refusal_rate": one.labels[INVENTED]} if one.labels else {},
            scores=tuple(
                replace(
                    score,
                    metric="refusal_rate",
                    value=one.faults[str(score.judge)].get(Fault.INVENTED, 0.0)
                    if score.status is ScoreStatus.SCORED
                    else None,
                )
                for score in one.scores
            ),
        )
        for one in found
    ]


@pytest.mark.parametrize("knowledge_base", [None, "loans"])
@pytest.mark.parametrize("judge", ["combined", str(EMBEDDED), str(BIG)])
@pytest.mark.parametrize("min_labelled", [None, 10])
@pytest.mark.parametrize("turns", [None, 4])
def test_a_share_is_estimated_from_probabilities_as_a_score_is_from_its_values(
    judge: str, knowledge_base: str | None, min_labelled: int | None, turns: int | None
) -> None:
    found = history(1, turns=turns)
    options = EstimateOptions(min_judged=10, min_labelled=min_labelled)
    names = {} if knowledge_base is None else {"knowledge_base": knowledge_base}

    share = Estimates(MemoryRollups(found), options).estimate(
        series(judge, INVENTED, **names), HOUR
    )
    score = Estimates(MemoryRollups(as_refusals(found)), options).estimate(
        series(judge, "refusal_rate", **names), HOUR
    )

    assert share.lower is not None
    assert (min_labelled is not None and judge != str(EMBEDDED)) == (share.judge_bias is not None)
    assert (share.design_effect == 1.0) == (turns is None)
    for name in ("value", "lower", "upper", "judge_bias", "judge_bias_se", "effective"):
        assert getattr(share, name) == pytest.approx(getattr(score, name)), name
    assert share.design_effect == pytest.approx(score.design_effect)
    for name in ("traces", "judged", "failed", "suspect", "labelled", "notes", "rests_on"):
        assert getattr(share, name) == getattr(score, name), name


@pytest.mark.parametrize("knowledge_base", [None, "loans"])
@pytest.mark.parametrize("judge", [str(EMBEDDED), str(BIG)])
@pytest.mark.parametrize("turns", [None, 4])
def test_the_sums_of_a_fault_are_those_of_a_row_of_its_own(
    judge: str, knowledge_base: str | None, turns: int | None
) -> None:
    found = history(9, turns=turns)

    shared = _sums(found, FAULT_METRIC, judge, knowledge_base)
    apart = _sums(as_refusals(found), "refusal_rate", judge, knowledge_base)

    assert apart.count > 20
    assert (apart.moment("h.n") > 5) == (judge == str(BIG))
    assert bool(apart.clusters) == (turns is not None)
    for name in ("count", "failed", "not_applicable", "suspect", "total", "squares", "weight"):
        assert getattr(shared, name) == pytest.approx(getattr(apart, name)), name
    for name in ("weighted_total", "weight_squares", "weighted_squares"):
        assert getattr(shared, name) == pytest.approx(getattr(apart, name)), name
    for name in shared.moments.keys() | apart.moments.keys():
        assert shared.moment(name) == pytest.approx(apart.moment(name), abs=1e-9), name
    for name in shared.clusters.keys() | apart.clusters.keys():
        ours, theirs = (list(sums.clusters.get(name, [0.0] * 64)) for sums in (shared, apart))
        assert ours == pytest.approx(theirs, abs=1e-9), name


def _sums(
    found: Sequence[TraceFacts], metric: str, judge: str, knowledge_base: str | None
) -> Totals:
    named = of_knowledge_base(metric, knowledge_base)
    rows = [row for row in summarise(found) if (row.key.metric, row.key.judge) == (named, judge)]
    return sum_of(of_metric(rows, INVENTED if metric == FAULT_METRIC else metric))


def test_the_sums_of_all_faults_are_one_row_for_each_judge_and_knowledge_base() -> None:
    rows = [row.key.metric for row in summarise([history(2, 1)[0]])]
    assert sum("fault" in metric for metric in rows) == len({m for m in rows if "fault" in m})
    assert {m for m in rows if "fault" in m} <= {"fault", "fault@loans"}


def test_minutes_that_are_added_up_give_the_same_share() -> None:
    found = history(3)
    source = MemoryRollups(found)
    apart = Estimates(source).estimate(series("combined", INVENTED), HOUR)
    source.rows = list(merged(source.rows, EPOCH))
    together = Estimates(source).estimate(series("combined", INVENTED), HOUR)
    assert together.value == pytest.approx(apart.value)
    assert together.upper == pytest.approx(apart.upper)


def test_the_shares_of_all_faults_add_up_to_one() -> None:
    estimates = Estimates(MemoryRollups(history(4)))
    values = [
        estimates.estimate(series(str(EMBEDDED), metric), HOUR).value for metric in FAULT_METRICS
    ]
    assert sum(v or 0.0 for v in values) == pytest.approx(1.0)
    assert all(v is not None for v in values)


def test_faults_are_no_scores() -> None:
    estimates = Estimates(MemoryRollups(history(5)))
    selection = Selection(project="default", app="test-app", window=HOUR)
    assert {one.metric for one in estimates.judged_series(selection)} == {"faithfulness"}


def test_traces_that_nobody_diagnosed_are_in_no_share() -> None:
    found = [replace(one, faults={}) for one in history(6)]
    share = Estimates(MemoryRollups(found)).estimate(series("combined", INVENTED), HOUR)
    assert (share.value, share.judged, share.traces) == (None, 0, len(found))


def test_a_diagnosis_by_a_judge_whose_scores_are_superseded_does_not_count() -> None:
    old = replace(EMBEDDED, prompts="0")
    found = [
        replace(one, faults={str(old): {Fault.INVENTED: 1.0}, **one.faults})
        for one in history(7, rate=0.0)
    ]
    share = Estimates(MemoryRollups(found)).estimate(series("combined", INVENTED), HOUR)
    assert share.rests_on == str(EMBEDDED)
    assert share.value is not None
    assert share.value < 0.6


def test_a_suspect_text_counts_as_the_fault_in_the_upper_bound() -> None:
    clean = [replace(one, faults={str(EMBEDDED): {Fault.NONE: 1.0}}) for one in history(8, 60, 0.0)]
    odd = facts(value(None, status=ScoreStatus.SUSPECT), release="v1")
    odd = replace(odd, faults={str(BIG): {Fault.NONE: 1.0}})
    before = Estimates(MemoryRollups(clean)).estimate(series(str(EMBEDDED), INVENTED), HOUR)
    after = Estimates(MemoryRollups([*clean, odd, odd])).estimate(
        series(str(EMBEDDED), INVENTED), HOUR
    )
    assert before.upper is not None
    assert after.upper is not None
    assert (after.suspect, after.lower) == (2, before.lower)
    assert after.upper > before.upper + 0.02


@pytest.mark.parametrize(("share", "shift"), [(0.08, 0.3), (0.2, -0.25), (0.4, 0.3)])
def test_sixty_labels_set_a_biased_model_right(share: float, shift: float) -> None:
    """Of 20 applications at most 3 intervals miss the true share, of uncorrected ones most."""
    draw = random.Random(f"{share} {shift}")
    found = [_labelled_history(draw, share, shift) for _ in range(20)]
    assert sum(_holds(one, share) for one in found) >= 17
    assert sum(_holds(one, share, EstimateOptions(min_labelled=None)) for one in found) <= 5


def _labelled_history(draw: random.Random, share: float, shift: float) -> list[TraceFacts]:
    """150 traces of which people labelled 60, by a model that is wrong by `shift`."""
    found = []
    for number in range(150):
        true = draw.random() < share
        p = min(1.0, max(0.0, draw.gauss(0.8 if true else 0.25, 0.1) + shift))
        asked = number < 60
        one = facts(value(0.5), probabilities={"embedded": 1.0} | ({PEOPLE: 0.4} if asked else {}))
        labels = {m: float(true and m == INVENTED) for m in FAULT_METRICS} if asked else {}
        faults = {str(EMBEDDED): {Fault.INVENTED: p, Fault.NONE: 1.0 - p}}
        found.append(replace(one, labels=labels, faults=faults))
    return found


def _holds(
    found: Sequence[TraceFacts], share: float, options: EstimateOptions | None = None
) -> bool:
    told = Estimates(MemoryRollups(found), options).estimate(series("combined", INVENTED), HOUR)
    assert told.labelled == 60
    assert told.lower is not None
    assert told.upper is not None
    return told.lower <= share <= told.upper
