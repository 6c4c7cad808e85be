"""Where the words of an answer stand in the passages: all statements against all sentences at once.

How the words are compared is compiled where the package was built with a C compiler.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Final

from rag_monitor.judges.embedded import plain_matching
from rag_monitor.judges.embedded.cached_property import cached_property_unlocked
from rag_monitor.judges.embedded.evidence_index import EvidenceIndex
from rag_monitor.judges.embedded.segments import Segment
from rag_monitor.language.compiled import COMPILED, compiled_module
from rag_monitor.language.stems import GRAMMAR
from rag_monitor.language.vocabulary import present

_compiled = compiled_module("rag_monitor.judges.embedded._matching") if COMPILED else None
compare: Final[Callable[..., plain_matching.Compared]] = (
    _compiled.compare if _compiled is not None else plain_matching.compare
)
lcs_length: Final[Callable[[bytes, bytes], int]] = (
    _compiled.lcs_length if _compiled is not None else plain_matching.lcs_length
)

GIVEN: Final = 0.3
"""What a term of the question weighs when a claim repeats it: little, it was given."""
_SCORING: Final = plain_matching.Scoring(
    given=GIVEN,
    length_costs=0.002,
    never_longer=2.0,  # a thousand tokens
    alike=1e9,  # the order of a sum changes its last bit
)


@dataclass(slots=True, eq=False)
class Match:
    """What the passages hold of one statement."""

    best: int | None
    """Number of the sentence that covers most; None when none holds a word of it."""
    total: float
    """Weight of the statement's terms."""
    covered: float
    """Share of it that the best sentence holds."""
    own: float
    """Weight of the terms that the question did not give."""
    gains: list[float]
    """How much of that each passage holds."""
    unseen: frozenset[str]
    """Terms of it that stand in no passage."""


class Matches:
    """All statements of an answer looked up in the passages of a request."""

    def __init__(self, claims: Sequence[Segment], evidence: EvidenceIndex) -> None:
        vocabulary = present()
        coded = [passage.coded(vocabulary) for passage in evidence.passages]
        self._terms, self._held, matches = compare(
            [vocabulary.numbers(claim.folded) for claim in claims],
            [(passage.words, passage.lengths) for passage in coded],
            vocabulary,
            len(GRAMMAR),
            evidence.weights,
            evidence.question.terms,
            _SCORING,
        )
        self._passages = len(coded)
        self.of = [Match(*one) for one in matches]
        """What was found of each statement, in order."""

    @cached_property_unlocked
    def _rows(self) -> dict[str, int]:
        return dict(zip(self._terms, count(), strict=False))

    def held(self, term: str) -> bytes:
        """For each passage 1 where it holds a term of the statements, else 0."""
        start = self._rows[term] * self._passages
        return self._held[start : start + self._passages]


def common_words(claim: Segment, other: Segment) -> int:
    """How many words of a claim stand in another text in the order of the claim, at most."""
    vocabulary = present()
    return lcs_length(vocabulary.numbers(claim.folded), vocabulary.numbers(other.folded))
