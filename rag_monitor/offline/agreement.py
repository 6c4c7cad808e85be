"""How well a judge's `answer_supported` agrees with people's labels on one data set."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Final

from rag_monitor.statistics.agreement import (
    BinaryAgreement,
    auroc,
    auroc_interval,
    binary_agreement,
    clustered_bootstrap,
    cohen_kappa,
    f1_interval,
    kappa_interval,
    mean_of_two_interval,
    share_interval,
)
from rag_monitor.statistics.calibration import brier, ece_equal_mass
from rag_monitor.statistics.reliability import ReliabilityTally
from rag_monitor.statistics.wilson import Interval


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
_FEWEST_GROUPS: Final = 5
"""Of fewer, resamples are too much alike to say anything about further ones."""
_POINT: Final = 1e-9
"""Width of an interval that only rounding has made wider than a point."""
_FEWEST: Final = 20
"""Rows of a language or task for which figures of their own are given."""


def agreement_report(rows: Rows, *, runs: int = 1000) -> dict[str, Any]:
    """Every figure as `{"value", "lower", "upper"}`, with the counts behind them.

    The 95 % intervals come from a bootstrap over groups, see `_interval` for where it has none;
    both ends are None where there is no honest one.

    Args:
        rows: Judged and labelled rows of one data set, both classes among them.
        runs: Resamples.
    """
    report = _figures(rows, runs)
    report["reliability"] = reliability_bins(rows)
    report |= {f"by_{facet}": figures for facet in FACETS if (figures := _by(rows, facet, runs))}
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
        value = figure(rows)
        interval = _interval(
            name, value, rows, clustered_bootstrap(rows, groups, figure, runs=runs)
        )
        report[name] = {
            "value": value,
            "lower": interval.lower if interval else None,
            "upper": interval.upper if interval else None,
        }
    return report


def _interval(
    name: str, value: float | None, rows: Rows, resampled: Interval | None
) -> Interval | None:
    """The bootstrap's interval, where it has one.

    From a handful of groups it is far too narrow, and where nothing varies it is a point: then the
    figure's own interval stands in, by groups, or there is none.
    """
    if value is None:
        return None
    groups = len({row.group for row in rows})
    if resampled is not None and resampled.width > _POINT:
        return resampled if groups >= _FEWEST_GROUPS else None
    counts = _binary(rows)
    bad, good = _groups(rows, lambda r: not r.faithful), _groups(rows, lambda r: r.faithful)
    flagged = _groups(rows, lambda r: r.flagged)
    either = _groups(rows, lambda r: r.flagged or not r.faithful)
    right = (counts.tp + counts.tn) / len(rows)
    if name == "auroc":
        return auroc_interval(value, bad, good) if value in (0.0, 1.0) else None
    if name == "balanced_accuracy":
        sensitivity, specificity = (
            counts.tp / (counts.tp + counts.fn),
            counts.tn / (counts.tn + counts.fp),
        )
        alike = {sensitivity, specificity} <= {0.0, 1.0}
        return mean_of_two_interval((sensitivity, bad), (specificity, good)) if alike else None
    if name == "kappa":
        chance = _chance(counts)
        alike = right in (0.0, 1.0) and chance < 1.0
        return kappa_interval(right, chance, groups) if alike else None
    if name == "brier":
        return share_interval(value, groups)
    if name == "ece" or value not in (0.0, 1.0):
        return None
    if name == "f1":
        return f1_interval(value, either)
    return share_interval(value, flagged if name == "precision" else bad)


def _groups(rows: Rows, wanted: Callable[[JudgedRow], bool]) -> int:
    return len({row.group for row in rows if wanted(row)})


def _chance(counts: BinaryAgreement) -> float:
    """How often both sides would say the same by chance."""
    whole = counts.tp + counts.fp + counts.tn + counts.fn
    flagged, unfaithful = (counts.tp + counts.fp) / whole, (counts.tp + counts.fn) / whole
    return flagged * unfaithful + (1.0 - flagged) * (1.0 - unfaithful)


def reliability_bins(rows: Rows) -> list[dict[str, float]]:
    """Stated against observed share of faithful rows, in bins of equal mass."""
    tally = ReliabilityTally()
    for row in rows:
        tally.add(row.probability, row.faithful)
    reliability = tally.report()
    return [asdict(cell) for cell in reliability.bins] if reliability else []


def _flags(rows: Rows) -> list[bool]:
    return [row.flagged for row in rows]


def _labels(rows: Rows) -> list[bool]:
    return [not row.faithful for row in rows]


def _binary(rows: Rows) -> BinaryAgreement:
    return binary_agreement(_flags(rows), _labels(rows))
