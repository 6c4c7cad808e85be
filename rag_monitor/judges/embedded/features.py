"""Numbers that say how far the passages bear a claim out: what the weights are learnt on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import log1p
from typing import Final

from rag_monitor.judges.embedded.arithmetic import OPERATION_WORDS
from rag_monitor.judges.embedded.checks import Findings, check
from rag_monitor.judges.embedded.evidence import Evidence, lcs_length
from rag_monitor.judges.embedded.pieces import Piece
from rag_monitor.language import answers
from rag_monitor.language.sentences import Span
from rag_monitor.language.tokens import GRAMMAR, is_han

CLAIM_FEATURES: Final = (
    "uncovered",
    "uncovered_by_passages",
    "uncovered_by_sentence",
    "uncovered_by_passage",
    "bigrams_unseen",
    "trigrams_unseen",
    "order_lost",
    "novel_weight",
    "novel_run",
    "numbers_missing",
    "numbers_elsewhere",
    "units_changed",
    "dates_missing",
    "dates_elsewhere",
    "names_missing",
    "names_opening_missing",
    "quotes_missing",
    "negation",
    "opposites",
    "characters_unseen",
)
"""Names of the claim features, in the order of the vector. All grow with doubt."""

_SHORTEST: Final = 5
_SAME_WORDING: Final = 0.75
"""Share of both sentences that must be the same, in order, for the rest to be a substitution."""
_LONGEST_SWAP: Final = 4
"""Han characters of a name or word that stands in the place of another."""
_TELLING: Final = 0.5
_GIVEN: Final = 0.3
"""What a term of the question weighs when a claim repeats it: little, it was given."""
_LENGTH_COSTS: Final = 0.002
"""What each token of a sentence costs it, so that of two equally good the shorter is chosen."""
_NEVER_LONGER: Final = 2.0
"""A sentence that covers so much less is not chosen for being short (a thousand tokens)."""
_CLEARLY_MORE: Final = 0.25


@dataclass(slots=True)
class ClaimEvidence:
    """One claim looked up in the passages."""

    span: Span
    piece: Piece
    features: list[float]
    findings: Findings
    passage: int | None
    """Index of the passage it rests on; None when nothing matches."""
    covered: float
    """Share of the claim's weight that its best sentence holds, 0 to 1."""
    verbatim: bool
    own: dict[str, float]
    """Weight of each term that the question did not give; derived numbers left out."""


@dataclass(slots=True, eq=False)
class _Claim:
    """A claim while it is looked up."""

    span: Span
    piece: Piece
    pairs: list[tuple[str, str]]
    triples: list[tuple[str, str, str]]


@dataclass(slots=True, eq=False)
class _Found:
    """What the passages hold of all claims of an answer, gathered in one go."""

    postings: Mapping[str, Sequence[int]]
    pairs: set[tuple[str, str]]
    triples: set[tuple[str, str, str]]


def look_up_all(spans: Sequence[Span], evidence: Evidence, answer: str) -> list[ClaimEvidence]:
    """Every claim of an answer compared with the passages, in order."""
    whole = Piece(answer)
    claims = [_claim(span) for span in spans]
    wanted: frozenset[str] = frozenset().union(*[claim.piece.terms for claim in claims])
    found = _Found(
        evidence.postings(wanted),
        evidence.seen_pairs({pair for claim in claims for pair in claim.pairs}),
        evidence.seen_triples({triple for claim in claims for triple in claim.triples}),
    )
    return [_look_up(claim, evidence, found, whole) for claim in claims]


def _claim(span: Span) -> _Claim:
    piece = Piece(span.text)
    piece.folded = answers.strip_source_phrases(piece.folded)
    tokens = piece.tokens
    return _Claim(
        span,
        piece,
        list(pairwise(piece.content)),
        list(zip(tokens, tokens[1:], tokens[2:], strict=False)),
    )


def _look_up(claim: _Claim, evidence: Evidence, found: _Found, answer: Piece) -> ClaimEvidence:
    piece = claim.piece
    weights, own = _weights(piece, evidence)
    total = sum(weights.values())
    place, covered = _best_sentence(weights, total, evidence, found.postings)
    best = None if place is None else evidence.sentences[place]
    findings = check(piece, evidence, best, answer)
    credited = _credited(piece, findings)
    gains = _passage_gains(own, evidence, credited)
    novel = _novel(piece, weights, evidence, credited)
    if best is not None and not findings.numbers_derived:
        findings.substituted = _substituted(weights, piece, evidence, best)
    features = [
        *_coverage(piece.terms, weights, total, evidence, covered, gains, credited),
        *_sequence(claim, found, best),
        *novel,
        *_counts(findings),
        _characters(piece, evidence),
    ]
    return ClaimEvidence(
        claim.span,
        piece,
        features,
        findings,
        None if place is None else _rests_on(evidence.owners[place], gains),
        covered,
        _verbatim(piece, evidence),
        {t: w for t, w in own.items() if t not in credited or t in evidence.terms},
    )


def _credited(piece: Piece, findings: Findings) -> frozenset[str]:
    """Terms that count as covered though no passage spells them so.

    Numbers that were checked, and the words of the operation where one of them was derived.
    """
    if findings.numbers_missing or findings.units_changed or findings.dates_missing:
        return frozenset()
    credited = {term for term in piece.terms if term[0].isdigit()}
    if findings.numbers_derived:
        credited.update(term for term in piece.terms if OPERATION_WORDS.search(term))
    return frozenset(credited)


def _weights(piece: Piece, evidence: Evidence) -> tuple[dict[str, float], dict[str, float]]:
    """Weight of each term of a claim, and of those the question did not give.

    Terms of the question count little.
    """
    background = evidence.weights.get
    asked = evidence.question.terms
    weights = {term: background(term, 1.0) for term in piece.terms}
    given = piece.terms & asked
    if not given:
        return weights, weights
    own = {term: weight for term, weight in weights.items() if term not in given}
    for term in given:
        weights[term] *= _GIVEN
    return weights, own


def _best_sentence(
    weights: dict[str, float],
    total: float,
    evidence: Evidence,
    postings: Mapping[str, Sequence[int]],
) -> tuple[int | None, float]:
    """The number of the sentence that covers most, and which share of the claim it does."""
    scores: dict[int, float] = {}
    if total:
        for term, weight in weights.items():
            for number in postings.get(term, ()):
                scores[number] = scores.get(number, 0.0) + weight
    if not scores:
        return None, 0.0
    near = max(scores.values()) - _NEVER_LONGER
    sentences = evidence.sentences
    best = max(
        (number for number, score in scores.items() if score >= near),
        key=lambda n: (scores[n] - _LENGTH_COSTS * len(sentences[n].tokens), -n),
    )
    return best, min(1.0, scores[best] / total)


def _passage_gains(
    own: dict[str, float], evidence: Evidence, credited: frozenset[str]
) -> list[float]:
    """Share of a claim's own weight that each passage holds; empty when it has none."""
    counted = frozenset(own).difference(credited)
    total = sum([own[term] for term in counted])
    if not total:
        return []
    return [
        sum([own[term] for term in counted & passage.terms]) / total
        for passage in evidence.passages
    ]


def _rests_on(first: int, gains: Sequence[float]) -> int:
    """The passage of the best sentence, unless another holds clearly more of the claim."""
    if not gains:
        return first
    strongest = max(range(len(gains)), key=gains.__getitem__)
    return strongest if gains[strongest] > gains[first] + _CLEARLY_MORE else first


def _coverage(
    terms: frozenset[str],
    weights: dict[str, float],
    total: float,
    evidence: Evidence,
    covered: float,
    gains: Sequence[float],
    credited: frozenset[str],
) -> list[float]:
    if not total:
        return [0.0, 0.0, 0.0, 0.0]
    unseen = terms - evidence.terms
    spelled = sum([weights[term] for term in unseen & credited])
    missing = sum([weights[term] for term in unseen]) - spelled
    given = sum([weights[term] for term in (unseen & evidence.question.terms) - credited])
    return [
        max(0.0, missing - given) / total,
        max(0.0, missing) / total,
        1 - min(1.0, covered + spelled / total),
        1 - max(gains, default=1.0),
    ]


def _sequence(claim: _Claim, found: _Found, best: Piece | None) -> list[float]:
    tokens = claim.piece.tokens
    seen_pairs = sum([pair in found.pairs for pair in claim.pairs])
    seen_triples = sum([triple in found.triples for triple in claim.triples])
    order = lcs_length(tokens, best.tokens) / len(tokens) if best and tokens else 0.0
    return [
        1 - seen_pairs / len(claim.pairs) if claim.pairs else 0.0,
        1 - seen_triples / len(claim.triples) if claim.triples else 0.0,
        1 - order,
    ]


def _substituted(weights: dict[str, float], piece: Piece, evidence: Evidence, best: Piece) -> int:
    """Whether a claim repeats a sentence but for telling words that stand nowhere else."""
    own = piece.tokens
    if len(own) < _SHORTEST:
        return 0
    if _swapped(own, best.tokens, evidence):
        return 1
    novel = any(
        weights.get(token, 0.0) >= _TELLING and not token[0].isdigit()
        for token in piece.token_set - evidence.known
    )
    if not novel:
        return 0
    other = best.tokens
    return int(lcs_length(own, other) >= _SAME_WORDING * max(len(own), len(other)))


def _swapped(own: Sequence[str], other: Sequence[str], evidence: Evidence) -> bool:
    """Whether two Han sentences are the same but for one short stretch that stands nowhere else."""
    shorter = min(len(own), len(other))
    head = 0
    while head < shorter and own[head] == other[head]:
        head += 1
    tail = 0
    while tail < shorter - head and own[-1 - tail] == other[-1 - tail]:
        tail += 1
    said = own[head : len(own) - tail]
    known = len(other) - head - tail
    if not (2 <= len(said) <= _LONGEST_SWAP and 2 <= known <= _LONGEST_SWAP):
        return False
    if head + tail < _SHORTEST - 1 or not all(map(is_han, said)):
        return False
    return "".join(said) not in evidence.joined and all(
        a + b not in evidence.terms for a, b in pairwise(said)
    )


def _novel(
    piece: Piece, weights: dict[str, float], evidence: Evidence, credited: frozenset[str]
) -> list[float]:
    """Weight of the words that stand nowhere, all together and the longest run of them."""
    unseen = piece.terms - evidence.known - credited
    if not unseen:
        return [0.0, 0.0]
    novel = run = longest = 0.0
    for token in piece.tokens:
        if token in unseen:
            novel += weights[token]
            run += weights[token]
            longest = max(longest, run)
        elif token in weights:
            run = 0.0
    return [log1p(novel), log1p(longest)]


def _counts(findings: Findings) -> list[float]:
    return [
        float(min(2, count))
        for count in (
            findings.numbers_missing,
            findings.numbers_elsewhere,
            findings.units_changed,
            findings.dates_missing,
            findings.dates_elsewhere,
            findings.names_missing,
            findings.names_opening_missing,
            findings.quotes_missing,
            findings.negation,
            findings.opposites,
        )
    ]


def _characters(piece: Piece, evidence: Evidence) -> float:
    """Share of Han characters that occur in no passage, as runs of one."""
    if piece.folded.isascii():
        return 0.0
    han = [token for token in piece.tokens if is_han(token) and token not in GRAMMAR]
    if not han:
        return 0.0
    return sum([token not in evidence.terms for token in han]) / len(han)


def _verbatim(piece: Piece, evidence: Evidence) -> bool:
    text = piece.folded.strip().strip(" .。!！;；,，\"'")
    return len(text) > 1 and text in evidence.joined
