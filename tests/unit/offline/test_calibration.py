import random
from dataclasses import replace
from math import nextafter

import pytest

from rag_monitor.errors import RagMonitorError
from rag_monitor.offline.agreement import JudgedRow
from rag_monitor.offline.calibration import fit_calibration


def rows(number: int, shown: float = 0.5) -> list[JudgedRow]:
    """Rows whose stated probability is the root (0.5) of the true one: far too sure."""
    draw = random.Random(3)
    found = []
    for index in range(number):
        true = draw.random()
        found.append(
            JudgedRow(
                probability=true**shown,
                flagged=False,
                faithful=draw.random() < true,
                group=f"source {index // 3}",
            )
        )
    return found


@pytest.mark.parametrize(("number", "method"), [(400, "platt"), (1500, "isotonic")])
def test_a_fit_makes_probabilities_honest_on_sources_it_never_saw(number: int, method: str) -> None:
    fitted = fit_calibration(rows(number), "judge/1")

    facts = fitted.facts
    assert fitted.calibration.method == method
    assert facts["held_out"]["ece"] < facts["before"]["ece"] / 2
    assert facts["held_out"]["brier"] < facts["brier_of_base_rate"]


def test_the_threshold_splits_best() -> None:
    sure = [
        JudgedRow(probability=p, flagged=False, faithful=p > 0.6, group=str(n))
        for n, p in enumerate(i / 200 for i in range(200))
    ]

    calibration = fit_calibration(sure, "judge/1").calibration

    assert calibration.apply(0.6) < calibration.threshold < calibration.apply(0.605)


def test_the_version_follows_the_content() -> None:
    one, same, other = (
        fit_calibration(rows(n), "judge/1").calibration.version for n in (200, 200, 260)
    )

    assert one == same != other


def test_too_few_labels_are_refused() -> None:
    with pytest.raises(RagMonitorError, match="needs 100"):
        fit_calibration(rows(99), "judge/1")


def test_labels_of_one_class_are_refused() -> None:
    good = [
        JudgedRow(probability=0.5, flagged=False, faithful=True, group=str(n)) for n in range(200)
    ]

    with pytest.raises(RagMonitorError, match="unfaithful"):
        fit_calibration(good, "judge/1")


def test_one_source_alone_gives_no_held_out_figures() -> None:
    alone = [
        JudgedRow(
            probability=r.probability, flagged=r.flagged, faithful=r.faithful, group="the only one"
        )
        for r in rows(200)
    ]

    assert fit_calibration(alone, "judge/1").facts["held_out"] is None


@pytest.mark.parametrize(("number", "method"), [(400, "platt"), (1500, "isotonic")])
def test_the_last_bit_of_a_probability_makes_no_other_version(number: int, method: str) -> None:
    stated = rows(number)
    moved = [replace(row, probability=nextafter(row.probability, 1.0)) for row in stated]

    one, other = (fit_calibration(each, "judge/1").calibration for each in (stated, moved))

    assert one.method == method
    assert one.version == other.version
