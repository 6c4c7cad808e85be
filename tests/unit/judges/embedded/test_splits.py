"""Each group of what was written has one role, and about as many have each as is said."""

from __future__ import annotations

import pytest

from benchmarks.embedded_judge import splits
from benchmarks.embedded_judge.entailment import is_held_out

GROUPS = [f"group {number}" for number in range(6000)]


def test_a_third_is_once_and_an_eighth_of_the_rest_is_validation() -> None:
    once = {group for group in GROUPS if splits.is_once(group)}
    validation = {group for group in GROUPS if splits.is_validation(group)}

    assert not once & validation
    assert len(once) / len(GROUPS) == pytest.approx(1 / 3, abs=0.02)
    assert len(validation) / (len(GROUPS) - len(once)) == pytest.approx(1 / 8, abs=0.02)


def test_the_split_is_the_same_in_every_run() -> None:
    # The shipped encoder learnt from what these say: another split would be another model.
    assert [n for n in range(30) if splits.is_once(f"group {n}")] == [8, 11, 12, 16, 22, 25, 26, 28]
    assert [n for n in range(30) if splits.is_validation(f"group {n}")] == [19]


def test_answers_over_the_same_passages_share_their_role() -> None:
    assert splits.group_of("en1-001-1") == splits.group_of("en1-001-4") == "en1-001"
    assert splits.group_of("zh1-012-2") == "zh1-012"


@pytest.mark.parametrize(("source", "share"), [("fool_me_twice", 4), ("cmrc", 8)])
def test_one_group_in_so_many_of_public_pairs_is_held_out(source: str, share: int) -> None:
    held_out = [group for group in GROUPS if is_held_out(source, group)]

    assert len(held_out) / len(GROUPS) == pytest.approx(1 / share, abs=0.02)
