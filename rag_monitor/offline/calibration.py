"""Fit a calibration of `answer_supported` on labelled rows, and say how good it is elsewhere.

The figures come from rows of sources the fit never saw: the sources fall into two halves, each half
is judged by the fit on the other. The stored map is then fitted on all rows.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from rag_monitor.errors import RagMonitorError
from rag_monitor.judges.calibration import Calibration, Map
from rag_monitor.offline.agreement import JudgedRow
from rag_monitor.statistics.calibration import (
    Isotonic,
    Platt,
    brier,
    ece_equal_mass,
    fit_isotonic,
    fit_platt,
)

Method = Literal["platt", "isotonic", "auto"]

_FEWEST: Final = 100
"""Labels a two-parameter fit needs."""
_ISOTONIC_FROM: Final = 1_000
_FEWEST_OF_A_CLASS: Final = 10
_PLACES: Final = 9
"""A sum's last bit differs from run to run; the version must not, or a series would break."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FittedCalibration:
    """A calibration and what is known about it."""

    calibration: Calibration
    facts: dict[str, Any]


def fit_calibration(
    rows: Sequence[JudgedRow], judge: str, method: Method = "auto"
) -> FittedCalibration:
    """Fit a map and a threshold (highest balanced accuracy) on judged and labelled rows.

    Args:
        rows: Judged without a calibration; `group` says which rows share a source.
        judge: Identity of the judge, without a calibration.
        method: `auto` takes isotonic from 1,000 rows, else Platt.

    Raises:
        RagMonitorError: Fewer than 100 rows, fewer than ten of a class, or all of one source.
    """
    rows = [replace(row, probability=round(row.probability, _PLACES)) for row in rows]
    _check(rows)
    chosen = method
    if chosen == "auto":
        chosen = "isotonic" if len(rows) >= _ISOTONIC_FROM else "platt"
    fitted = _fit(rows, chosen)
    threshold = _threshold([fitted.apply(r.probability) for r in rows], rows)
    calibration = Calibration(judge=judge, map=fitted, threshold=threshold)
    return FittedCalibration(calibration=calibration, facts=_facts(rows, chosen))


def _check(rows: Sequence[JudgedRow]) -> None:
    faithful = sum(row.faithful for row in rows)
    if len(rows) < _FEWEST:
        raise RagMonitorError(
            "a calibration needs {fewest} labelled rows that can be judged; there are {count}",
            fewest=_FEWEST,
            count=len(rows),
        )
    if min(faithful, len(rows) - faithful) < _FEWEST_OF_A_CLASS:
        raise RagMonitorError(
            "a calibration needs {fewest_of_a_class} faithful and {fewest_of_a_class} unfaithful "
            "rows; there are {faithful} and {unfaithful}",
            fewest_of_a_class=_FEWEST_OF_A_CLASS,
            faithful=faithful,
            unfaithful=len(rows) - faithful,
        )


def _fit(rows: Sequence[JudgedRow], method: str) -> Map:
    p, y = [row.probability for row in rows], [row.faithful for row in rows]
    if method == "isotonic":
        steps = fit_isotonic(p, y)
        return Isotonic(_rounded(steps.x), _rounded(steps.y))
    line = fit_platt(p, y)
    return Platt(*_rounded((line.slope, line.intercept)))


def _rounded(values: Iterable[float]) -> tuple[float, ...]:
    return tuple(round(value, _PLACES) for value in values)


def _threshold(probabilities: Sequence[float], rows: Sequence[JudgedRow]) -> float:
    """The cut between two rows that gives the highest balanced accuracy."""
    faithful = sum(row.faithful for row in rows)
    unfaithful = len(rows) - faithful
    order = sorted(range(len(rows)), key=probabilities.__getitem__)
    best, chosen, caught, lost = 1.0, 0.5, 0, 0
    for place, index in enumerate(order):
        caught += not rows[index].faithful
        lost += rows[index].faithful
        following = probabilities[order[place + 1]] if place + 1 < len(order) else 1.0
        gained = caught / unfaithful + 1 - lost / faithful
        if gained > best and following > probabilities[index]:
            best, chosen = gained, (probabilities[index] + following) / 2
    return round(chosen, 4)


def _facts(rows: Sequence[JudgedRow], method: str) -> dict[str, Any]:
    halves: tuple[list[JudgedRow], list[JudgedRow]] = ([], [])
    for row in rows:
        halves[_half(row.group)].append(row)
    base = sum(row.faithful for row in rows) / len(rows)
    facts: dict[str, Any] = {
        "rows": len(rows),
        "sources": len({row.group for row in rows}),
        "faithful": sum(row.faithful for row in rows),
        "brier_of_base_rate": round(base * (1 - base), 4),
        "before": _measure([row.probability for row in rows], rows),
    }
    if any(len({row.faithful for row in half}) < 2 for half in halves):
        return {**facts, "held_out": None}
    calibrated: list[float] = []
    seen: list[JudgedRow] = []
    for fitted_on, applied_to in (halves, halves[::-1]):
        fitted = _fit(fitted_on, method)
        calibrated += [fitted.apply(row.probability) for row in applied_to]
        seen += applied_to
    return {**facts, "held_out": _measure(calibrated, seen)}


def _measure(probabilities: Sequence[float], rows: Sequence[JudgedRow]) -> dict[str, float]:
    labels = [row.faithful for row in rows]
    return {
        "ece": round(ece_equal_mass(probabilities, labels), 4),
        "brier": round(brier(probabilities, labels), 4),
    }


def _half(group: str) -> int:
    """Which half a source falls into; the same in every run."""
    return hashlib.sha256(group.encode("utf-8", "replace")).digest()[0] % 2
