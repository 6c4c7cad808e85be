"""Numbers that say how far the passages bear a claim out: what the weights are learnt on."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from math import log1p
from typing import Final

from rag_monitor.judges.embedded.arithmetic import OPERATION_WORDS
from rag_monitor.judges.embedded.checks import Findings, check
from rag_monitor.judges.embedded.evidence import Evidence, Piece, lcs_length
from rag_monitor.language import answers
from rag_monitor.language.sentences import Span
from rag_monitor.language.tokens import is_content, is_han

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
_TELLING: Final = 0.5
_GIVEN: Final = 0.3
"""What a term of the question weighs when a claim repeats it: little, it was given."""


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
    """Share of the claim's weight that its best sentences hold, 0 to 1."""
    passage_gain: dict[int, float]
    """Passage to the share of the claim's own weight found in it."""
    verbatim: bool
    own: dict[str, float]
    """Weight of each term that the question did not give; derived numbers left out."""


def look_up(span: Span, evidence: Evidence, answer: Piece) -> ClaimEvidence:
    """Compare one claim with the passages."""
    piece = Piece(span.text)
    piece.folded = answers.strip_source_phrases(piece.folded)
    weights, total, own = _weights(piece, evidence)
    best, covered = _best_sentences(weights, total, evidence)
    findings = check(piece, evidence, best, answer)
    credited = _credited(piece, findings)
    gains = _passage_gains(own, evidence, credited)
    if not findings.numbers_derived:
        findings.substituted = _substituted(weights, piece, evidence, best)
    features = [
        *_coverage(weights, total, evidence, covered, gains, credited),
        *_sequence(piece, evidence, best),
        *_novelty(piece, weights, evidence, credited),
        *_findings(findings),
        _characters(piece, evidence),
    ]
    return ClaimEvidence(
        span,
        piece,
        features,
        findings,
        _rests_on(best, gains),
        covered,
        gains,
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


def _weights(piece: Piece, evidence: Evidence) -> tuple[dict[str, float], float, dict[str, float]]:
    """Weight of each term of a claim; terms of the question count little."""
    background = evidence.weights
    asked = evidence.question.terms
    weights: dict[str, float] = {}
    own: dict[str, float] = {}
    for term in piece.terms:
        weight = background.get(term, 1.0)
        if term in asked:
            weights[term] = weight * _GIVEN
        else:
            weights[term] = own[term] = weight
    return weights, sum(weights.values()), own


def _best_sentences(
    weights: dict[str, float], total: float, evidence: Evidence
) -> tuple[list[Piece], float]:
    """The sentence that covers most, and one more of the same passage that adds to it."""
    if not total or not evidence.sentences:
        return [], 0.0
    scores: dict[int, float] = {}
    for term, weight in weights.items():
        for number in evidence.postings.get(term, ()):
            scores[number] = scores.get(number, 0.0) + weight
    if not scores:
        return [], 0.0
    first = max(scores, key=lambda n: (scores[n] - 0.002 * len(evidence.sentences[n].tokens), -n))
    best = [evidence.sentences[first]]
    return best, min(1.0, scores[first] / total)


def _passage_gains(
    own: dict[str, float], evidence: Evidence, credited: frozenset[str]
) -> dict[int, float]:
    total = sum(weight for term, weight in own.items() if term not in credited)
    if not total:
        return {}
    return {
        passage.index: sum(w for t, w in own.items() if t in passage.terms and t not in credited)
        / total
        for passage in evidence.passages
    }


def _rests_on(best: Sequence[Piece], gains: dict[int, float]) -> int | None:
    if not best:
        return None
    first = best[0].passage
    strongest = max(gains, key=lambda index: gains[index], default=first)
    return strongest if gains.get(strongest, 0.0) > gains.get(first, 0.0) + 0.25 else first


def _coverage(
    weights: dict[str, float],
    total: float,
    evidence: Evidence,
    covered: float,
    gains: dict[int, float],
    credited: frozenset[str],
) -> list[float]:
    if not total:
        return [0.0, 0.0, 0.0, 0.0]
    seen, asked = evidence.terms | credited, evidence.question.terms
    anywhere = sum(w for term, w in weights.items() if term in seen or term in asked)
    passages = sum(w for term, w in weights.items() if term in seen)
    strongest = max(gains.values(), default=1.0)
    spelled = sum(w for t, w in weights.items() if t in credited and t not in evidence.terms)
    return [
        1 - anywhere / total,
        1 - passages / total,
        1 - min(1.0, covered + spelled / total),
        1 - strongest,
    ]


def _sequence(piece: Piece, evidence: Evidence, best: Sequence[Piece]) -> list[float]:
    tokens = piece.tokens
    content = [token for token in tokens if is_content(token)]
    pairs = list(itertools.pairwise(content))
    triples = list(zip(tokens, tokens[1:], tokens[2:], strict=False))
    unseen_pairs = sum(pair not in evidence.bigrams for pair in pairs) / max(1, len(pairs))
    unseen_triples = sum(t not in evidence.trigrams for t in triples) / max(1, len(triples))
    order = lcs_length(tokens, best[0].tokens) / len(tokens) if best and tokens else 0.0
    return [unseen_pairs, unseen_triples, 1 - order]


def _substituted(
    weights: dict[str, float], piece: Piece, evidence: Evidence, best: Sequence[Piece]
) -> int:
    """Whether a claim repeats a sentence but for telling words that stand nowhere else."""
    own = piece.tokens
    if not best or len(own) < _SHORTEST:
        return 0
    seen, asked = evidence.terms, evidence.question.terms
    novel = sum(
        weights.get(token, 0.0) >= _TELLING and token not in seen and token not in asked
        for token in own
        if not token[0].isdigit()
    )
    if not novel:
        return 0
    other = best[0].tokens
    return int(lcs_length(own, other) >= _SAME_WORDING * max(len(own), len(other)))


def _novelty(
    piece: Piece, weights: dict[str, float], evidence: Evidence, credited: frozenset[str]
) -> list[float]:
    seen, asked = evidence.terms, evidence.question.terms
    novel = 0.0
    run = longest = 0.0
    for token in piece.tokens:
        weight = weights.get(token)
        if weight is None:
            continue
        if token in seen or token in asked or token in credited:
            run = 0.0
        else:
            novel += weight
            run += weight
            longest = max(longest, run)
    return [log1p(novel), log1p(longest)]


def _findings(findings: Findings) -> list[float]:
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
    han = [token for token in piece.tokens if is_han(token) and is_content(token)]
    if not han:
        return 0.0
    return sum(token not in evidence.terms for token in han) / len(han)


def _verbatim(piece: Piece, evidence: Evidence) -> bool:
    text = piece.folded.strip().strip(" .。!！;；,，\"'")
    return len(text) > 1 and text in evidence.joined


def look_up_all(spans: Sequence[Span], evidence: Evidence, answer: str) -> list[ClaimEvidence]:
    """Every claim of an answer looked up, in order."""
    whole = Piece(answer)
    return [look_up(span, evidence, whole) for span in spans]
