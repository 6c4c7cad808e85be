"""The question of the labelling page, what its answers mean, and when a trace needs another one."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

QUESTION: Final = "faithfulness"
"""The metric that a mark is stored under: "Is every statement supported by the passages?"."""
SUPPORTED: Final = 1.0
NOT_SUPPORTED: Final = 0.0
CANNOT_TELL: Final = 0.5
"""A mark of this value confirms and refutes nothing: no figure counts it."""
MOST_PER_TRACE: Final = 5
"""The most reviewers that may be asked about each trace."""


def tied(values: Collection[float]) -> bool:
    """Whether as many reviewers call the trace supported as not, and at least one each.

    >>> tied([1.0, 0.0]), tied([1.0, 0.0, 1.0]), tied([1.0, 0.5]), tied([])
    (True, False, False, False)
    """
    yes = sum(value > CANNOT_TELL for value in values)
    no = sum(value < CANNOT_TELL for value in values)
    return yes == no > 0


def marks_missing(values: Collection[float], marks_per_trace: int) -> int:
    """How many more reviewers are to be asked: until there are enough, and until most agree.

    >>> marks_missing([], 1), marks_missing([0.5], 1), marks_missing([1.0, 0.0], 2)
    (1, 0, 1)

    Args:
        values: The newest mark of each reviewer.
        marks_per_trace: Reviewers wanted per trace.
    """
    return max(marks_per_trace - len(values), int(tied(values)), 0)
