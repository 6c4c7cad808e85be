"""The features of an answer to a question that depends on the turns before it.

Those of `grade.py`, in the light of what was said: what the earlier turns told brings nothing, and
how much more than one new word an answer brings makes it no better, for a follow-up is often
answered by a single number, or by yes.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import fsum
from typing import Final

from rag_monitor.judges.embedded.answer_type import AnswerType
from rag_monitor.judges.embedded.grade import (
    ENOUGH,
    UNKNOWN,
    AnswerStatement,
    belonging,
    own_terms,
    term_weights,
    words,
)
from rag_monitor.judges.embedded.in_context import Context
from rag_monitor.judges.embedded.segments import Segment
from rag_monitor.language.replies import is_bare_reply, strip_opening

_NEW: Final = 1.0
"""Weight of one rare word: an answer that says so much of its own has said something new."""
_UNRELATED: Final = 0.25
"""As much as counts of an answer that takes up no word of the conversation, and does not tell the
kind of thing asked for."""


def answer_features_in_context(
    question: Segment, statements: Sequence[AnswerStatement], manner: float, context: Context
) -> list[float]:
    """As `grade.answer_features`; brings and own are full where what is asked for is told anew."""
    expected = context.answer_type(question)
    stated = [expected.stated_by(one.segment) for one in statements]
    subject = words(question) | words(context.continued)
    places = belonging(subject, statements, stated)
    terms = frozenset().union(*[statements[place].segment.terms for place in places])
    weights = context.weights(term_weights(question.terms), term_weights)
    total = fsum(weights.values()) or 1.0
    focus = fsum([weights[term] for term in weights.keys() & terms]) / total
    answered = (
        any(stated) if expected.measured else _replies(question, statements, expected, context)
    )
    new = fsum(term_weights(own_terms(terms, question.terms | context.given)).values())
    spoken_of = subject | words(context.conversation)
    related = any(stated) or any(not spoken_of.isdisjoint(words(one.segment)) for one in statements)
    brought = _NEW if answered else min(_NEW if related else _UNRELATED, new)
    again = fsum(term_weights(terms & (context.given - weights.keys())).values())
    # What is said again beside something new is no fault: it says what the new thing is of.
    own = brought / (brought + again * (1 - brought / _NEW)) if brought else 0.0
    tells = own * any(stated)
    sizes = [max(1, len(one.segment.tokens)) for one in statements]
    return [
        focus,
        brought / (brought + ENOUGH),
        own,
        tells if expected.measured else UNKNOWN * own,
        tells if expected.worded else UNKNOWN * own,
        sum(sizes[place] for place in places) / sum(sizes),
        1 - manner,
    ]


def _replies(
    question: Segment,
    statements: Sequence[AnswerStatement],
    expected: AnswerType,
    context: Context,
) -> bool:
    """Whether the answer says yes or no to just this question."""
    if not expected.whether:
        return False
    own_words = (question.terms - context.given) or question.terms
    for one in statements:
        folded = one.segment.folded
        if is_bare_reply(folded):
            return True
        if strip_opening(folded) != folded and not own_words.isdisjoint(one.segment.terms):
            return True
    return False
