"""Numbers that say how far the passages bear a claim out: what the weights are learnt on."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from rag_monitor.judges.embedded.cached_property import cached_property_unlocked
from rag_monitor.judges.embedded.evidence_index import EvidenceIndex
from rag_monitor.judges.embedded.facts import Facts, look_up_facts
from rag_monitor.judges.embedded.lexicon import weight
from rag_monitor.judges.embedded.matching import Match, Matches, common_words
from rag_monitor.judges.embedded.number_derivation import NumberDerivation
from rag_monitor.judges.embedded.segments import Segment
from rag_monitor.judges.embedded.yes_no_answers import agrees
from rag_monitor.language.citations import strip_source_phrases
from rag_monitor.language.replies import strip_opening
from rag_monitor.language.sentences import Span
from rag_monitor.language.tokens import term_set

CLAIM_FEATURES: Final = ("uncovered", "facts_missing", "names_missing", "twin")
"""Names of the claim features, in the order of the vector. All grow with doubt.

`uncovered`: share of its weight that its best sentence lacks. `facts_missing`: 1 when a number or a
date is not what the passages say. `names_missing`: names that stand nowhere, three at most. `twin`:
1 when it repeats its best sentence but for a fact or a denial."""

_EDGES: Final = " \t\n.。!！;；,，\"'"
"""Around a statement these tell nothing."""
_CUT_WORDS: Final = 4
"""Unknown words of a stretch of the passages: it may be cut within words or run over sentences."""
_TWIN: Final = 0.35
"""Share of the words of a claim that its best sentence may lack, in order, where it repeats the
sentence but for a detail."""
_LONGER: Final = 3
"""How many times as long the sentence may be."""
_CLEARLY_MORE: Final = 0.25
"""Share of a claim by which another passage must hold more than that of the best sentence."""


_HALF: Final = 0.5
"""Share of a claim that its best sentence holds, above which exact facts prove it."""


@dataclass(eq=False)
class ClaimEvidence:
    """One claim looked up in the passages."""

    span: Span
    segment: Segment
    features: list[float]
    facts: Facts
    passage: int | None
    """Index of the passage it rests on; None when nothing matches."""
    covered: float
    """Share of the claim's weight that its best sentence holds, 0 to 1."""
    proven: float
    """How far words and facts prove it, 0 to 1: above 0 where it states numbers or dates, its best
    sentence states all of them, in whatever form, and more than half of its words. 1 where one of
    the numbers follows by an operation that it names, which an encoder cannot check."""
    verbatim: bool
    agrees: bool | None
    """Of a bare yes or no: whether the passages say so too."""
    given: frozenset[str]
    """Terms that the question gave: they are not its own."""

    @cached_property_unlocked
    def own(self) -> dict[str, float]:
        """Weight of each of its own terms."""
        return {term: weight(term) for term in self.segment.terms - self.given}


def look_up_all(spans: Sequence[Span], evidence: EvidenceIndex) -> list[ClaimEvidence]:
    """Every claim of an answer compared with the passages, in order."""
    derivation = NumberDerivation(evidence)
    claims = [_claim(span) for span in spans]
    matches = Matches(claims, evidence)
    return [
        _look_up(span, claim, evidence, match, derivation)
        for span, claim, match in zip(spans, claims, matches.of, strict=True)
    ]


def _claim(span: Span) -> Segment:
    segment = Segment(span.text)
    segment.folded = strip_source_phrases(strip_opening(segment.folded))
    return segment


def _look_up(
    span: Span,
    segment: Segment,
    evidence: EvidenceIndex,
    match: Match,
    derivation: NumberDerivation,
) -> ClaimEvidence:
    best = None if match.best is None else evidence.sentences[match.best]
    unknown = match.unseen - evidence.question.terms
    whole = best is not None and _is_whole(segment, best)
    verbatim = whole or (len(unknown) <= _CUT_WORDS and _verbatim(segment, evidence))
    facts = (
        Facts()
        if verbatim
        else look_up_facts(segment, evidence, unknown, best, match.covered, derivation)
    )
    spelled = 0.0 if facts.numbers or facts.dates else _spelled(segment, match.unseen, evidence)
    covered = min(1.0, match.covered + spelled / match.total) if match.total else match.covered
    twin = facts.differs and best is not None and _repeats(segment, best)
    features = [
        1 - covered if match.total else 0.0,
        float(facts.wrong),
        float(facts.names),
        float(twin),
    ]
    return ClaimEvidence(
        span,
        segment,
        features,
        facts,
        None if match.best is None else _rests_on(evidence.owners[match.best], match),
        covered,
        _proven(facts, covered) if not twin else 0.0,
        verbatim,
        agrees(Segment(span.text), evidence),
        evidence.question.terms,
    )


def _proven(facts: Facts, covered: float) -> float:
    if not facts.proven or covered <= _HALF:
        return 0.0
    return 1.0 if facts.derived else 2 * covered - 1


def _repeats(segment: Segment, best: Segment) -> bool:
    """Whether most words of a statement stand in its best sentence, in this order."""
    size = len(segment.tokens)
    if len(best.tokens) > _LONGER * size:
        return False
    return common_words(segment, best) >= (1 - _TWIN) * size


def _spelled(segment: Segment, unseen: frozenset[str], evidence: EvidenceIndex) -> float:
    """Weight of terms of numbers and dates that the passages hold in another form."""
    places = [(q.start, q.end) for q in segment.quantities] + [
        (d.start, d.end) for d in segment.dates
    ]
    if not places:
        return 0.0
    terms = frozenset().union(*[term_set(segment.folded[start:end]) for start, end in places])
    return sum(evidence.weights[term] for term in sorted(terms & unseen & segment.terms))


def _is_whole(segment: Segment, best: Segment) -> bool:
    """Whether a claim is its best sentence, to the letter."""
    text = segment.folded.strip(_EDGES)
    return len(text) > 1 and text == best.folded.strip(_EDGES)


def _rests_on(first: int, match: Match) -> int:
    """The passage of the best sentence, unless another holds clearly more of the claim."""
    # Rounded, for the same words in another passage must not win by the last bit of a sum.
    gains = [round(gain / match.own, 9) for gain in match.gains] if match.own > 0 else []
    if not gains or max(gains) <= gains[first] + _CLEARLY_MORE:
        return first
    return gains.index(max(gains))


def _verbatim(segment: Segment, evidence: EvidenceIndex) -> bool:
    text = segment.folded.strip(_EDGES)
    if len(text) < 2:
        return False
    joined = evidence.joined
    place = joined.find(text)
    while place >= 0 and _within_number(joined, place, place + len(text)):
        place = joined.find(text, place + 1)
    return place >= 0


def _within_number(text: str, start: int, end: int) -> bool:
    """Whether a stretch begins or ends inside a number: 70 of 170, 2.3 of 12.3, 500 of 1,500."""
    return _GOES_ON.match(text, start) is not None or (
        text[end - 1].isdigit() and _MORE_DIGITS.match(text, end) is not None
    )


_GOES_ON: Final = re.compile(r"(?:(?<=\d)|(?<=\d\.))\d|(?<=\d,)\d{3}(?!\d)")
_MORE_DIGITS: Final = re.compile(r"\.?\d|,\d{3}(?!\d)")
"""A comma before other than three digits parts two numbers; folding makes 截至2020，30人 one."""
