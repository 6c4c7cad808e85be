"""Rules that rewrite the names of applications."""

from __future__ import annotations

import time

import pytest

from rag_monitor.ingest.rewriting import AppOptions, Rewriting, pod_names
from rag_monitor.telemetry import REGISTRY

POD = r"-[0-9a-f]{8,10}-[a-z0-9]{5}$"


def rewritten(name: str, *rules: tuple[str, str]) -> str:
    return Rewriting(AppOptions(rewrite=rules)).rewritten(name)


def test_a_pods_name_becomes_its_applications() -> None:
    assert rewritten("bank-faq-7d9f8b6c5d-x2x4z", (POD, "")) == "bank-faq"
    assert rewritten("bank-faq", (POD, "")) == "bank-faq"


def test_rules_follow_one_another_and_may_use_groups() -> None:
    rules = ((POD, ""), (r"^(eu|us)-(?P<app>.*)$", r"\g<app> (\1)"))

    assert rewritten("eu-bank-7d9f8b6c5d-x2x4z", *rules) == "bank (eu)"


def test_no_rules_and_rules_that_leave_nothing_leave_the_name() -> None:
    assert rewritten("bank") == "bank"
    assert rewritten("bank", (".*", "")) == "bank"


@pytest.mark.parametrize(
    ("pattern", "replacement", "said"),
    [("(a", "", "no regular expression"), ("(a)", r"\2", "no group '2'"),
     ("(?P<a>.)", r"\g<b>", "no group 'b'")],
)  # fmt: skip
def test_rules_that_cannot_work_are_refused(pattern: str, replacement: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        AppOptions(rewrite=((pattern, replacement),))


def test_no_text_makes_a_pattern_cost_more_than_its_bound() -> None:
    """A pattern that takes years on such a text: cut off, counted, and then left out."""
    labels = {"stage": "derive", "reason": "rewrite_timeout"}
    before = REGISTRY.get_sample_value("rag_monitor_dropped_total", labels) or 0.0
    rewriting = Rewriting(AppOptions(rewrite=((r"(a+)+$", "x"), (r"-old$", ""))))
    names = ["a" * 150 + f"{n}!-old" for n in range(200)]

    began = time.process_time()
    found = [rewriting.rewritten(name) for name in names]

    assert time.process_time() - began < 5.0
    assert found == [name.removesuffix("-old") for name in names], "the other rules still hold"
    assert REGISTRY.get_sample_value("rag_monitor_dropped_total", labels) == before + 5


@pytest.mark.parametrize(
    ("names", "stem"),
    [
        ([f"bank-7d9f8b6c5d-x2x4{c}" for c in "zvk"], "bank"),
        ([f"bank-{c}2x4z" for c in "xzv"], "bank"),
        ([f"bank-{n}" for n in range(3)], "bank"),
        ([f"{n}f3a9c1d2e4b" for n in range(3)], ""),
        ([f"bank-0a1b2c3d-0000-4000-8000-00000000000{n}" for n in range(3)], "bank"),
    ],
)
def test_applications_named_after_their_pods_are_recognised(names: list[str], stem: str) -> None:
    found = pod_names(["desk", "loan-assistant", *names])

    assert found is not None
    example, pattern = found
    assert example == names[0]
    assert rewritten(names[0], (pattern, "")) == (stem or names[0])


def test_ordinary_names_are_not_taken_for_pods() -> None:
    ordinary = ["bank-faq", "bank-desk", "loan-assistant", "hr-2", "search", "gpt-4", "客服"]

    assert pod_names(ordinary) is None
