"""How well a judge's `answer_supported` agrees with people's labels on one data set."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from rag_monitor.evaluation.reliability import ReliabilityTally
from rag_monitor.statistics.agreement import (
    auroc,
    binary_agreement,
    clustered_bootstrap,
    cohen_kappa,
)
from rag_monitor.statistics.calibration import brier, ece_equal_mass


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedRow:
    """A row with the judge's answer and a person's."""

    probability: float
    """P(no statement is unsupported)."""
    flagged: bool
    """The judge's hard verdict: below its threshold."""
    faithful: bool
    """What the person said."""
    group: str
    """Rows of one group (question, source) are not independent."""


Rows = Sequence[JudgedRow]

FIGURES: dict[str, Callable[[Rows], float | None]] = {
    "auroc": lambda rows: auroc([-r.probability for r in rows], [not r.faithful for r in rows]),
    "balanced_accuracy": lambda rows: _binary(rows).balanced_accuracy,
    "f1": lambda rows: _binary(rows).f1,
    "precision": lambda rows: _binary(rows).precision,
    "recall": lambda rows: _binary(rows).recall,
    "kappa": lambda rows: cohen_kappa(_flags(rows), _labels(rows)).value,
    "ece": lambda rows: ece_equal_mass([r.probability for r in rows], [r.faithful for r in rows]),
    "brier": lambda rows: brier([r.probability for r in rows], [r.faithful for r in rows]),
}
"""Figure to its computation; the positive class is "unfaithful", as in the literature."""


def agreement_report(rows: Rows, *, runs: int = 1000) -> dict[str, Any]:
    """Every figure as `{"value", "lower", "upper"}`, with the counts behind them.

    Args:
        rows: Judged and labelled rows of one data set, both classes among them.
        runs: Resamples of the bootstrap over groups; the 95 % intervals come from it.
    """
    counts = _binary(rows)
    groups = [row.group for row in rows]
    report: dict[str, Any] = {
        "unfaithful": sum(not row.faithful for row in rows),
        "groups": len(set(groups)),
        "tp": counts.tp,
        "fp": counts.fp,
        "tn": counts.tn,
        "fn": counts.fn,
    }
    for name, figure in FIGURES.items():
        interval = clustered_bootstrap(rows, groups, figure, runs=runs)
        report[name] = {
            "value": figure(rows),
            "lower": interval.lower if interval else None,
            "upper": interval.upper if interval else None,
        }
    report["reliability"] = reliability_bins(rows)
    return report


def reliability_bins(rows: Rows) -> list[dict[str, float]]:
    """Stated against observed share of faithful rows, in tenths of the stated probability."""
    tally = ReliabilityTally()
    for row in rows:
        tally.add(row.probability, row.faithful)
    found = tally.report()
    return [asdict(cell) for cell in found.bins] if found else []


def _flags(rows: Rows) -> list[bool]:
    return [row.flagged for row in rows]


def _labels(rows: Rows) -> list[bool]:
    return [not row.faithful for row in rows]


def _binary(rows: Rows) -> Any:
    return binary_agreement(_flags(rows), _labels(rows))
