"""A person's mark on a trace, on one metric of it, or on one statement."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Feedback:
    """What a person said. The newest mark of a person on the same thing counts."""

    project: str
    trace_id: str
    value: float
    """0 (bad) to 1 (good)."""
    metric: str | None = None
    statement: int | None = None
    """0-based index of the statement, when it is about one."""
    comment: str | None = None
    author: str | None = None
    created_at: datetime
