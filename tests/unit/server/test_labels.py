"""Judges against people."""

from __future__ import annotations

import pytest

from rag_monitor.charts.scores import reliability
from rag_monitor.domain.stored import LabelledScore
from rag_monitor.server.ui.judge_page import agreement_by_judge


def row(
    value: float, label: float, metric: str = "faithfulness", **fields: object
) -> LabelledScore:
    given = {"flagged": None, "judge": "packed/m"} | fields
    return LabelledScore(
        trace_id="a" * 32,
        app="desk",
        metric=metric,
        value=value,
        label=label,
        **given,  # type: ignore[arg-type]
    )


def test_the_confusion_counts_good_against_good() -> None:
    rows = [row(0.9, 1.0), row(0.9, 0.0), row(0.2, 0.0), row(0.2, 1.0), row(0.95, 1.0)]

    (found,) = agreement_by_judge(rows)["packed/m"]

    cells = found.cells
    assert (cells.tp, cells.fp, cells.tn, cells.fn) == (2, 1, 1, 1)
    assert found.kappa.value == pytest.approx((0.6 - 0.52) / 0.48)
    assert found.count == 5
    assert found.reliability is None
    assert not found.telling


def test_a_judge_that_calls_everything_good_is_not_verified_by_good_answers() -> None:
    (found,) = agreement_by_judge([row(0.9, 1.0)] * 40 + [row(0.2, 0.0)] * 4)["packed/m"]
    (enough,) = agreement_by_judge([row(0.9, 1.0)] * 40 + [row(0.2, 0.0)] * 5)["packed/m"]

    assert not found.telling
    assert enough.telling


def test_a_judge_never_wrong_yet_has_an_interval_and_not_a_point() -> None:
    (found,) = agreement_by_judge([row(0.9, 1.0)] * 15 + [row(0.2, 0.0)] * 5)["packed/m"]

    assert (found.kappa.value, found.auroc, found.cells.balanced_accuracy) == (1.0, 1.0, 1.0)
    for ends in (found.kappa_interval, found.auroc_interval):
        assert ends is not None
        assert 0.4 < ends.lower < 0.85
        assert ends.upper == 1.0


def test_one_class_alone_has_no_area_and_no_balance() -> None:
    (found,) = agreement_by_judge([row(0.9, 1.0)] * 30)["packed/m"]

    assert found.auroc_interval is None
    assert not found.telling


def test_people_who_are_unsure_confirm_and_refute_nothing() -> None:
    assert agreement_by_judge([row(0.9, 0.5)]) == {}


def test_the_judges_own_threshold_decides_where_it_has_one() -> None:
    rows = [row(0.9, 0.0, "answer_supported", flagged=True)]

    (found,) = agreement_by_judge(rows)["packed/m"]

    assert found.cells.tn == 1


def test_judges_and_metrics_are_kept_apart() -> None:
    rows = [row(0.9, 1.0), row(0.9, 1.0, judge="other/m"), row(0.9, 1.0, "context_precision")]

    found = agreement_by_judge(rows)

    assert {judge: [m.metric for m in each] for judge, each in found.items()} == {
        "packed/m": ["context_precision", "faithfulness"],
        "other/m": ["faithfulness"],
    }


def test_the_diagram_has_one_dot_per_bin_of_equal_size() -> None:
    rows = [
        row(n / 40, float(n % 4 > 0) if n >= 20 else 0.0, "answer_supported") for n in range(40)
    ]

    (found,) = agreement_by_judge(rows)["packed/m"]

    assert found.telling
    assert found.reliability is not None
    bins = found.reliability.bins
    assert [one.n for one in bins] == [10, 10, 10, 10]
    assert [one.stated for one in bins] == pytest.approx([0.1125, 0.3625, 0.6125, 0.8625])
    assert bins[0].observed == 0.0
    assert all(one.lower <= one.observed <= one.upper for one in bins)
    svg = reliability(bins, "<x>", "a", "b")
    assert svg.count("<circle") == 4
    assert 'aria-label="&lt;x&gt;"' in svg
