"""A question that depends on the turns before it: what these add to it.

Its own words count in full. Those of the question that it continues count less, for it may replace
some of them: in "And for students?" the students of "What do adults pay?". Whatever the earlier
turns said is known: an answer that says it again brings nothing, and no number of theirs is the one
asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from rag_monitor.domain.conversation import EarlierTurn
from rag_monitor.domain.judgement import JudgeRequest
from rag_monitor.judges.embedded.answer_type import AnswerType, answer_type
from rag_monitor.judges.embedded.segments import Segment
from rag_monitor.language.follow_ups import depends_on_history
from rag_monitor.language.picks import picked

Weigh = Callable[[frozenset[str]], Mapping[str, float]]
"""How much each of some terms tells."""

CONTINUED: Final = 0.5
"""What a word of the question that is continued counts, beside one of the question itself."""


@dataclass(frozen=True, eq=False)
class Context:
    """What the turns before a question add to it."""

    continued: Segment
    """The question that it continues: as the application wrote it for its retriever, else the last
    one, with those that this one itself depends on."""
    conversation: Segment
    """All that was said before."""
    meant: frozenset[str] = frozenset()
    """Terms of what the question means by its place in the answer before it: the second one."""

    @classmethod
    def of(cls, request: JudgeRequest) -> Context | None:
        """What is known of the turns before a request's question; None: it stands alone."""
        if not request.history:
            return None
        conversation = "\n".join(f"{turn.question}\n{turn.answer}" for turn in request.history)
        return cls(
            Segment(request.query or _continued(request.history)),
            Segment(conversation),
            _meant(request.question, request.history[-1].answer),
        )

    @property
    def given(self) -> frozenset[str]:
        """Terms that the earlier turns gave. Nobody has told the user what a retriever was sent."""
        return self.conversation.terms

    def weights(self, own: Mapping[str, float], weigh: Weigh) -> dict[str, float]:
        """How much each term tells, of the question itself and of what it depends on.

        Args:
            own: Of the question itself.
            weigh: Weighs other terms.
        """
        continued = weigh(self.continued.terms)
        weights = {term: CONTINUED * weight for term, weight in continued.items()}
        weights.update(weigh(self.meant))
        weights.update(own)
        return weights

    def answer_type(self, question: Segment) -> AnswerType:
        """What is asked for: what the question says, else what the one it continues asked for."""
        own = answer_type(question.text)
        asking = question if own.measured or own.worded else self.continued
        return answer_type(asking.text, f"{question.text}\n{self.conversation.text}")


def _meant(question: str, answer: str) -> frozenset[str]:
    pick = picked(question, answer)
    if pick is None:
        return frozenset()
    chosen, others = pick
    return Segment(chosen).terms.difference(*[Segment(other).terms for other in others])


def _continued(history: Sequence[EarlierTurn]) -> str:
    questions: list[str] = []
    for turn in reversed(history):
        questions.append(turn.question)
        if not depends_on_history(turn.question):
            break
    return "\n".join(reversed(questions))
