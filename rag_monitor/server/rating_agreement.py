"""Whether low scores tell which answers users rate down: the area under the curve, by metric."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from rag_monitor.domain.rollup import REFUSAL_METRIC
from rag_monitor.domain.stored import LabelledScore
from rag_monitor.statistics.agreement import auroc, auroc_interval
from rag_monitor.statistics.wilson import Interval

ENOUGH: Final = 20
"""Fewer answers with a label than this tell nothing about a judge."""
OF_EACH: Final = 5
"""Nor do fewer good or bad ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RatingAgreement:
    """One metric of one judge against what users of an app say."""

    app: str
    metric: str
    judge: str
    """Identity."""
    satisfied: int
    """Rated answers with this score that satisfied their users."""
    dissatisfied: int
    auroc: float | None
    """P(an answer that did not satisfy has the worse score of two), ties count half; 0.5: the score
    tells nothing. None: too few answers of either kind."""

    @property
    def rated(self) -> int:
        """Answers with a rating and this score."""
        return self.satisfied + self.dissatisfied

    @property
    def interval(self) -> Interval | None:
        """At 95 %, with an answer as one draw; None: too few answers."""
        if self.auroc is None:
            return None
        return auroc_interval(self.auroc, self.satisfied, self.dissatisfied)


def rating_agreement(rows: Iterable[LabelledScore]) -> list[RatingAgreement]:
    """Every metric and judge of every app, those with most ratings first.

    Args:
        rows: Scores of rated answers, with 1 for a label where users are satisfied, else 0.
    """
    grouped: dict[tuple[str, str, str], list[LabelledScore]] = defaultdict(list)
    for row in rows:
        grouped[row.app, row.metric, row.judge].append(row)
    agreements = [_agreement(*key, members) for key, members in grouped.items()]
    agreements.sort(key=lambda one: (one.app, -one.rated, one.metric, one.judge))
    return agreements


def _agreement(app: str, metric: str, judge: str, rows: Sequence[LabelledScore]) -> RatingAgreement:
    labels = [row.label > 0.5 for row in rows]
    # Of refusals the high value is the bad one.
    sign = -1.0 if metric == REFUSAL_METRIC else 1.0
    good = sum(labels)
    bad = len(labels) - good
    enough = len(rows) >= ENOUGH and min(good, bad) >= OF_EACH
    return RatingAgreement(
        app=app,
        metric=metric,
        judge=judge,
        satisfied=good,
        dissatisfied=bad,
        auroc=auroc([sign * row.value for row in rows], labels) if enough else None,
    )
