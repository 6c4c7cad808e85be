"""Agreement figures have the right sign, the right values and intervals around them."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

from rag_monitor.offline.agreement import JudgedRow, agreement_report
from rag_monitor.statistics.wilson import wilson_interval


def _rows(pairs: list[tuple[float, bool]]) -> list[JudgedRow]:
    return [
        JudgedRow(probability=p, flagged=p < 0.5, faithful=faithful, group=f"g{number % 10}")
        for number, (p, faithful) in enumerate(pairs)
    ]


def test_a_judge_that_is_always_right_scores_one() -> None:
    report = agreement_report(_rows([(1.0, True), (0.0, False)] * 20), runs=50)

    for name in ("auroc", "balanced_accuracy", "f1", "precision", "recall", "kappa"):
        assert report[name]["value"] == pytest.approx(1.0)
    assert report["brier"]["value"] == report["ece"]["value"] == 0.0
    assert (report["unfaithful"], report["tp"], report["fn"]) == (20, 20, 0)


def test_a_judge_that_is_always_wrong_scores_nothing() -> None:
    report = agreement_report(_rows([(0.1, True), (0.9, False)] * 20), runs=50)

    assert report["auroc"]["value"] == 0.0
    assert report["recall"]["value"] == 0.0
    assert report["brier"]["value"] == pytest.approx(0.81)


def test_a_judge_that_is_always_right_on_few_rows_is_not_proven_perfect() -> None:
    few = agreement_report(_rows([(1.0, True), (0.0, False)] * 5), runs=50)
    many = agreement_report(
        [
            replace(row, group=str(n))
            for n, row in enumerate(_rows([(1.0, True), (0.0, False)] * 200))
        ],
        runs=50,
    )

    for name in ("auroc", "balanced_accuracy", "f1", "precision", "recall", "kappa"):
        assert few[name]["upper"] == many[name]["upper"] == 1.0
        assert few[name]["lower"] < 0.85
        assert 0.95 < many[name]["lower"] < 1.0
    # Five groups have an unfaithful row.
    assert few["recall"]["lower"] == pytest.approx(wilson_interval(5, 5).lower)
    assert few["brier"]["lower"] == 0.0
    assert few["brier"]["upper"] > 0.2
    assert (few["ece"]["lower"], few["ece"]["upper"]) == (None, None)


def test_a_judge_that_flags_everything_has_no_kappa_interval_and_an_open_precision() -> None:
    report = agreement_report(_rows([(0.1, True), (0.2, False)] * 20), runs=50)

    assert report["kappa"] == {"value": 0.0, "lower": None, "upper": None}
    assert report["recall"]["lower"] < 0.8
    assert report["balanced_accuracy"]["lower"] < 0.5 < report["balanced_accuracy"]["upper"]


def test_rows_of_one_or_two_sources_prove_next_to_nothing() -> None:
    rows = _rows([(0.9, True), (0.4, False), (0.6, False), (0.3, True)] * 10)
    one = agreement_report([replace(row, group="book") for row in rows], runs=50)
    two = agreement_report([replace(r, group=str(n < 17)) for n, r in enumerate(rows)], runs=50)

    for report in (one, two):
        for name in ("auroc", "balanced_accuracy", "f1", "kappa", "ece"):
            assert (report[name]["lower"], report[name]["upper"]) == (None, None)


def test_the_interval_of_recall_covers_what_is_true() -> None:
    generator = Random(3)
    covered = 0
    for _ in range(200):
        rows = [
            JudgedRow(
                probability=0.1 if flagged else 0.9, flagged=flagged, faithful=False, group=str(n)
            )
            for n in range(40)
            for flagged in (generator.random() < 0.97,)
        ]
        figure = agreement_report(rows, runs=100)["recall"]
        covered += figure["lower"] <= 0.97 <= figure["upper"]

    assert covered >= 180


def test_intervals_hold_the_value() -> None:
    mixed = [(0.9, True), (0.4, False), (0.6, False), (0.3, True), (0.8, True)] * 12

    report = agreement_report(_rows(mixed), runs=200)

    for name in ("auroc", "balanced_accuracy", "f1", "kappa", "brier"):
        figure = report[name]
        assert figure["lower"] <= figure["value"] <= figure["upper"]


def test_figures_are_also_given_by_language_and_task() -> None:
    right = [
        JudgedRow(probability=p, flagged=p < 0.5, faithful=p > 0.5, group=str(n), facets=facets)
        for n in range(30)
        for p in (0.9, 0.1)
        for facets in ({"lang": "en", "task": "qa"},)
    ]
    wrong = [
        JudgedRow(probability=p, flagged=p < 0.5, faithful=p < 0.5, group=str(n), facets=facets)
        for n in range(30)
        for p in (0.9, 0.1)
        for facets in ({"lang": "zh", "task": "qa"},)
    ]
    few = [JudgedRow(probability=0.9, flagged=False, faithful=True, group="x")]

    report = agreement_report([*right, *wrong, *few], runs=50)

    assert report["by_lang"]["en"]["auroc"]["value"] == 1.0
    assert report["by_lang"]["zh"]["auroc"]["value"] == 0.0
    assert report["by_lang"]["unknown"] == {"rows": 1, "unfaithful": 0}
    assert report["by_task"]["qa"]["rows"] == 120


def test_rows_of_one_kind_are_not_split() -> None:
    assert "by_lang" not in agreement_report(_rows([(1.0, True), (0.0, False)] * 20), runs=50)
