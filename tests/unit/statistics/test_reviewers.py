"""How well people agree: values worked out by hand, and by counting every pair of labels."""

from __future__ import annotations

from collections import Counter
from itertools import permutations
from random import Random

import pytest

from rag_monitor.statistics.agreement import kappa_interval
from rag_monitor.statistics.reviewers import krippendorff_alpha, pair_agreements


def table(**rows: str) -> dict[int, dict[str, bool]]:
    """What each said of each unit: 1, 0, or a dot where they said nothing."""
    units: dict[int, dict[str, bool]] = {}
    for name, row in rows.items():
        for unit, cell in enumerate(row):
            if cell != ".":
                units.setdefault(unit, {})[name] = cell == "1"
    return units


def test_alpha_of_two_observers_is_the_published_one() -> None:
    # Krippendorff 2011, section A: of 20 values 14 are 0 and 6 are 1, four lie off the diagonal.
    found = krippendorff_alpha(table(jon="0100000010", han="1110010000"))

    assert found is not None
    assert found.value == pytest.approx(1 - 19 * 4 / (14 * 6))
    assert found.value == pytest.approx(0.095, abs=5e-4)
    assert found.units == 10


def test_alpha_leaves_out_what_only_one_has_said() -> None:
    # Of units 0 to 3 every pair counts 1/(m-1): unit 1 has three labels, two of them 1.
    # Values 1: 2 + 2 + 0 + 1 = 5, values 0: 0 + 1 + 2 + 1 = 4; off the diagonal 2·2·1/2 + 2·1·1/1.
    found = krippendorff_alpha(table(ann="1101.1", bo="1100..", cy=".0..1."))

    assert found is not None
    assert found.units == 4
    assert found.value == pytest.approx(1 - 8 * 4 / (2 * 5 * 4))


@pytest.mark.parametrize("seed", range(20))
def test_alpha_is_what_counting_every_pair_gives(seed: int) -> None:
    generator = Random(seed)
    names = "abcd"[: generator.randint(2, 4)]
    rows = {n: "".join(generator.choice("011.") for _ in range(12)) for n in names}
    labels = table(**rows)

    pairs: Counter[tuple[bool, bool]] = Counter()
    for said in labels.values():
        for one, other in permutations(said.values(), 2):
            pairs[one, other] += 1 / (len(said) - 1)  # type: ignore[assignment]
    ones = sum(count for (one, _), count in pairs.items() if one)
    total = sum(pairs.values())
    observed = (pairs[True, False] + pairs[False, True]) / total
    expected = 2 * ones * (total - ones) / (total * (total - 1))

    found = krippendorff_alpha(labels)
    assert found is not None
    assert found.value == pytest.approx(1 - observed / expected)


def test_labels_that_are_all_the_same_tell_nothing() -> None:
    assert krippendorff_alpha(table(ann="1111", bo="1111")) is None
    assert krippendorff_alpha(table(ann="10..", bo="..01")) is None
    assert krippendorff_alpha({}) is None


def test_the_interval_holds_alpha_and_narrows_with_more_units() -> None:
    few = krippendorff_alpha(table(ann="1101001101" * 3, bo="1001011101" * 3))
    many = krippendorff_alpha(table(ann="1101001101" * 60, bo="1001011101" * 60))

    for found in (few, many):
        assert found is not None
        assert found.interval is not None
        assert found.interval.lower < found.value < found.interval.upper
    assert few.interval.width > 3 * many.interval.width  # type: ignore[union-attr]
    assert few == krippendorff_alpha(table(ann="1101001101" * 3, bo="1001011101" * 3))


def test_agreement_without_exception_is_no_proof() -> None:
    found = krippendorff_alpha(table(ann="10" * 10, bo="10" * 10))

    assert found is not None
    assert found.value == 1.0
    assert found.interval == kappa_interval(1.0, 0.5, 20)
    (pair,) = pair_agreements(table(ann="10" * 10, bo="10" * 10))
    assert pair.interval == kappa_interval(1.0, 0.5, 20)


def test_the_interval_covers_the_truth_as_often_as_said() -> None:
    # Both see the truth, half and half, and each errs on a tenth: alpha is (1 - 2·0.1)² = 0.64.
    generator = Random(3)
    covered = 0
    for _ in range(300):
        labels = {}
        for unit in range(80):
            truth = generator.random() < 0.5
            labels[unit] = {name: truth != (generator.random() < 0.1) for name in ("ann", "bo")}
        found = krippendorff_alpha(labels)
        assert found is not None
        assert found.interval is not None
        covered += found.interval.lower <= 0.64 <= found.interval.upper
    assert 0.91 <= covered / 300 <= 0.99


def test_pairs_with_few_common_units_are_left_out_and_the_fullest_comes_first() -> None:
    # ann and bo: 20 yes·yes, 5 yes·no, 10 no·yes, 15 no·no: Po 0.7, Pe 0.5·0.6 + 0.5·0.4 = 0.5.
    ann, bo = "1" * 25 + "0" * 25, "1" * 20 + "0" * 5 + "1" * 10 + "0" * 15
    found = pair_agreements(table(ann=ann, bo=bo, cy="1" * 30, dee="0" * 19))

    assert [(pair.first, pair.second, pair.units, pair.agreeing) for pair in found] == [
        ("ann", "bo", 50, 35),
        ("ann", "cy", 30, 25),
        ("bo", "cy", 30, 25),
    ]
    assert found[0].kappa.value == pytest.approx((0.7 - 0.5) / 0.5)
    assert found[0].interval.lower < 0.4 < found[0].interval.upper
