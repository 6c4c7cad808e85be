"""Labels of people in live estimates: they move the value and its interval, or say why not."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

import pytest

from benchmarks.statistics_reference import three_level_mean
from rag_monitor.aggregation.comparison import compare
from rag_monitor.aggregation.estimates import EstimateOptions, Estimates
from rag_monitor.domain.decision import PEOPLE
from rag_monitor.domain.rollup import TraceFacts
from rag_monitor.domain.window import Estimate, Series, Window
from rag_monitor.testing import EPOCH
from tests.unit.aggregation.memory import BIG, EMBEDDED, MemoryRollups, facts, value

HOUR = Window(EPOCH, EPOCH + timedelta(hours=1))
SERIES = Series(project="default", app="shop", metric="faithfulness", judge="combined")
JUDGED, ASKED = 0.25, 0.5


def traffic(count: int, *, seed: int = 5, lenient: float = 0.5) -> list[TraceFacts]:
    """All scored by the embedded judge, a quarter judged, half of those labelled by people.

    The judge overlooks a share of the bad answers; people do not.
    """
    draw = random.Random(seed)
    found = []
    for _ in range(count):
        bad = draw.random() < 0.2
        said = 0.0 if bad and draw.random() > lenient else 1.0
        scores = [value(0.3 if bad else 0.8, judge=EMBEDDED)]
        probabilities = {"embedded": 1.0, "openai_compatible": JUDGED}
        labels = {}
        if draw.random() < JUDGED:
            scores.append(value(said, judge=BIG))
            if draw.random() < ASKED:
                probabilities[PEOPLE] = ASKED
                labels["faithfulness"] = 0.0 if bad else 1.0
        item = facts(*scores, at=EPOCH, app="shop", probabilities=probabilities)
        found.append(replace(item, labels=labels))
    return found


def look(found: Sequence[TraceFacts], options: EstimateOptions | None = None) -> Estimate:
    return Estimates(MemoryRollups(found), options).estimate(SERIES, HOUR)


def ends(estimate: Estimate) -> tuple[float, float]:
    assert estimate.lower is not None
    assert estimate.upper is not None
    return estimate.lower, estimate.upper


def without_labels(found: Sequence[TraceFacts]) -> list[TraceFacts]:
    return [replace(item, labels={}) for item in found]


def test_people_correct_a_lenient_judge_and_widen_its_interval() -> None:
    found = traffic(1200)
    judge, people = look(without_labels(found)), look(found)

    assert judge.value == pytest.approx(0.9, abs=0.04)
    assert people.value == pytest.approx(0.8, abs=0.06)
    lower, upper = ends(people)
    assert lower <= 0.8 <= upper
    assert people.labelled == sum(bool(item.labels) for item in found)
    assert people.judge_bias == pytest.approx(-0.1, abs=0.05)
    assert people.judge_bias_se == pytest.approx(0.03, abs=0.02)
    assert "corrected_by_people" in people.notes


def test_one_more_label_moves_the_estimate_and_its_interval() -> None:
    found = traffic(1200)
    place = next(
        n
        for n, item in enumerate(found)
        if item.labels and item.scores[-1].value == 1.0 and item.labels["faithfulness"] == 1.0
    )
    before = look(found)

    found[place] = replace(found[place], labels={"faithfulness": 0.0})
    after = look(found)

    assert (after.value or 0.0) < (before.value or 0.0)
    assert ends(after) != ends(before)
    assert after.labelled == before.labelled


def test_too_few_labels_are_counted_and_leave_the_estimate_alone() -> None:
    found = traffic(200)
    labelled = sum(bool(item.labels) for item in found)
    assert labelled < 50

    told = look(found)

    assert told.labelled == labelled
    assert told.judge_bias is None
    assert told.value == look(without_labels(found)).value


def test_labels_on_traces_that_nobody_was_asked_about_do_not_correct() -> None:
    found = [
        replace(item, probabilities={k: v for k, v in item.probabilities.items() if k != PEOPLE})
        for item in traffic(1200)
    ]

    told = look(found)

    assert told.labelled > 50
    assert told.value == look(without_labels(found)).value


def test_rules_watch_the_judge_alone() -> None:
    found = traffic(1200)
    rules = EstimateOptions(min_labelled=None)

    assert look(found, rules).value == look(without_labels(found)).value


def test_a_corrected_window_is_not_compared_with_an_uncorrected_one() -> None:
    found = traffic(1200)

    assert compare(look(found), look(without_labels(found))).notes == ("different_judges",)


def test_where_people_label_all_traces_the_estimate_is_their_mean() -> None:
    draw = random.Random(2)
    labels = [float(draw.random() < 0.7) for _ in range(400)]
    found = [
        replace(
            facts(
                value(0.9 if label else 0.6, judge=EMBEDDED),
                at=EPOCH,
                app="shop",
                probabilities={"embedded": 1.0, PEOPLE: 1.0},
            ),
            labels={"faithfulness": label},
        )
        for label in labels
    ]

    told = look(found)

    mean = sum(labels) / len(labels)
    assert told.value == pytest.approx(mean)
    lower, upper = ends(told)
    wilson = 2 * 1.96 * (mean * (1 - mean) / len(labels)) ** 0.5
    assert upper - lower == pytest.approx(wilson, rel=0.1)
    assert "embedded_uncorrected" not in told.notes


def test_the_sums_agree_with_the_three_level_estimator() -> None:
    found = traffic(3000, seed=9)
    f, judge, pi, judged, human, asked = [], [], [], [], [], []
    for item in found:
        said = item.scores[-1].value if len(item.scores) > 1 else None
        f.append(item.scores[0].value or 0.0)
        judge.append(said)
        judged.append(said is not None)
        pi.append(JUDGED)
        human.append(item.labels.get("faithfulness"))
        asked.append(bool(item.labels))
    exact = three_level_mean(f, judge, pi, judged, human, [ASKED] * len(found), asked)

    told = look(found)

    # The bias is a weighted mean here and a sum over known probabilities there.
    assert told.value == pytest.approx(exact.value, abs=exact.se)
    assert told.judge_bias == pytest.approx(exact.judge_bias.value, abs=exact.judge_bias.se)
    lower, upper = ends(told)
    assert (upper - lower) / 3.92 == pytest.approx(exact.se, rel=0.2)
