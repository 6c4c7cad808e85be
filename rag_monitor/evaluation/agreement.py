"""How well a judge's `answer_supported` agrees with people's labels on one data set."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Final

from rag_monitor.statistics.agreement import (
    auroc,
    binary_agreement,
    clustered_bootstrap,
    cohen_kappa,
)
from rag_monitor.statistics.calibration import brier, ece_equal_mass
from rag_monitor.statistics.reliability import ReliabilityTally


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
    facets: Mapping[str, str] = field(default_factory=dict)
    """What figures are also given by: `lang`, `task`."""


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


FACETS: Final = ("lang", "task")
_FEWEST: Final = 20
"""Rows of a language or task for which figures of their own are given."""


def agreement_report(rows: Rows, *, runs: int = 1000) -> dict[str, Any]:
    """Every figure as `{"value", "lower", "upper"}`, with the counts behind them.

    Args:
        rows: Judged and labelled rows of one data set, both classes among them.
        runs: Resamples of the bootstrap over groups; the 95 % intervals come from it.
    """
    report = _figures(rows, runs)
    report["reliability"] = reliability_bins(rows)
    report |= {f"by_{facet}": found for facet in FACETS if (found := _by(rows, facet, runs))}
    return report


def _by(rows: Rows, facet: str, runs: int) -> dict[str, Any]:
    """Figures by language or task, where rows are of several; too few or one class: counts only."""
    parts: dict[str, list[JudgedRow]] = {}
    for row in rows:
        parts.setdefault(row.facets.get(facet, ""), []).append(row)
    if len(parts) < 2:
        return {}
    return {
        name or "unknown": _figures(part, runs)
        if len(part) >= _FEWEST and len({row.faithful for row in part}) == 2
        else {"rows": len(part), "unfaithful": sum(not row.faithful for row in part)}
        for name, part in sorted(parts.items())
    }


def _figures(rows: Rows, runs: int) -> dict[str, Any]:
    counts = _binary(rows)
    groups = [row.group for row in rows]
    report: dict[str, Any] = {
        "rows": len(rows),
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
    return report


def reliability_bins(rows: Rows) -> list[dict[str, float]]:
    """Stated against observed share of faithful rows, in bins of equal mass."""
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
