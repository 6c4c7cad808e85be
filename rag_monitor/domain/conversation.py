"""What was said before a question in its conversation, as far as a judge is shown it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

MOST_TURNS: Final = 3
"""Earlier turns that a judge is shown, the newest ones."""
LONGEST_QUESTION: Final = 500
"""Characters of the question of an earlier turn."""
LONGEST_ANSWER: Final = 1_000
"""The same of its answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EarlierTurn:
    """A question that was asked before, and the answer to it."""

    question: str
    answer: str = ""
    """Empty: there was none, or it was withheld."""
    trace_id: str | None = None
    """Of the trace that this turn is; None: only the trace that continues it tells of it."""


def last_turns(turns: Iterable[EarlierTurn]) -> tuple[EarlierTurn, ...]:
    """The newest of some turns, in order, each cut to what a judge is shown.

    >>> turns = [EarlierTurn(question=f"{n}?", answer="x" * 5000) for n in range(9)]
    >>> [(turn.question, len(turn.answer)) for turn in last_turns(turns)]
    [('6?', 1000), ('7?', 1000), ('8?', 1000)]
    """
    with_question = [turn for turn in turns if turn.question.strip()]
    return tuple(
        EarlierTurn(
            question=turn.question[:LONGEST_QUESTION],
            answer=turn.answer[:LONGEST_ANSWER],
            trace_id=turn.trace_id,
        )
        for turn in with_question[-MOST_TURNS:]
    )
