"""Rows without a score: how many of those that should have one, and why.

Where a metric does not apply by a row's own nature (a refusal, no label of its kind), nothing is
missing. Everything else that leaves a row without a score counts: the row could not be read, the
judge failed, what the metric reads is not there.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from rag_monitor.domain.score import Score, ScoreStatus

MOST: Final = 0.05
"""Share of rows that may be missing, unless another is named."""
UNREADABLE: Final = "unreadable_row"
"""Reason of rows that could not be read."""
_BY_NATURE: Final = frozenset(
    {
        "refusal", "refusal_on_empty_contexts", "no_statements", "no_key_points", "no_contexts",
        "no_reference", "no_tokens_in_the_reference", "no_entities", "no_relevant_ids",
        "no_relevant_passage", "only_retrieved_labelled", "fewer_than_two_tokens",
    }
)  # fmt: skip
_OF_ROW: Final = re.compile(r"row \d+: ")
"""How scores files say of a row that it could not be read."""
_LONGEST: Final = 120
_REASONS_KEPT: Final = 50
_OTHER: Final = "other"
_ROUNDING: Final = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class Missing:
    """How much of what should have a score has none."""

    share: float = 0.0
    """0 to 1."""
    reasons: Mapping[str, int] = field(default_factory=dict)
    """Rows by why they have none, most frequent first."""


def exceeds(share: float, most: float) -> bool:
    """Whether more is missing than may be."""
    return share > most + _ROUNDING


def is_due(reason: str) -> bool:
    """Whether a row that has no score for this reason should have one."""
    return reason not in _BY_NATURE


class MissingTally:
    """Counts the rows that should have a score, and those that have none."""

    def __init__(self) -> None:
        self._rows = 0
        self._reasons: Counter[str] = Counter()

    def add(self, score: Score) -> None:
        """Count one score, or what stands in its place."""
        reason = score.reason or score.status.value
        if score.status is ScoreStatus.SCORED:
            self._rows += 1
        elif score.status is not ScoreStatus.NOT_APPLICABLE or is_due(reason):
            self.lack(reason)

    def have(self, rows: int = 1) -> None:
        """Count rows that have what they should."""
        self._rows += rows

    def lack(self, reason: str) -> None:
        """Count a row that should have a score and has none."""
        self._rows += 1
        reason = UNREADABLE if _OF_ROW.match(reason) else reason[:_LONGEST]
        listed = reason in self._reasons or len(self._reasons) < _REASONS_KEPT
        self._reasons[reason if listed else _OTHER] += 1

    def report(self, unreadable: int = 0, rows: int = 0) -> Missing:
        """What was counted.

        Args:
            unreadable: Rows that could not be read; nobody knows which of them should have had a
                score, so their share is taken to be that of the others.
            rows: All rows.
        """
        if not self._rows:
            return Missing()
        scored = 1.0 - self._reasons.total() / self._rows
        read = 1.0 - unreadable / rows if rows else 1.0
        reasons = self._reasons + Counter({UNREADABLE: unreadable})
        return Missing(share=1.0 - scored * read, reasons=dict(reasons.most_common()))
