"""Numbers that say how far the passages bear a claim out: what the weights are learnt on."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from math import log1p
from operator import add, attrgetter
from typing import Final

from rag_monitor.judges.embedded.arithmetic import OPERATION_WORDS
from rag_monitor.judges.embedded.checks import Findings, check, check_reworded, comparable
from rag_monitor.judges.embedded.crossed import crossed
from rag_monitor.judges.embedded.evidence import Evidence
from rag_monitor.judges.embedded.lazily import lazily
from rag_monitor.judges.embedded.lexicon import weight
from rag_monitor.judges.embedded.matching import GIVEN, Match, Matches, common_words
from rag_monitor.judges.embedded.pieces import Piece
from rag_monitor.judges.embedded.reckoning import Reckoning
from rag_monitor.language import answers, synonyms
from rag_monitor.language.numbers import TIME, may_tell_time
from rag_monitor.language.places import holds_digit
from rag_monitor.language.replies import strip_opening
from rag_monitor.language.sentences import Span
from rag_monitor.language.stems import GRAMMAR, STOP_CHARS
from rag_monitor.language.tokens import is_han, term_set

FINDINGS: Final = (
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
)
"""Counts of the checks that are features."""
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
    *FINDINGS,
    "characters_unseen",
)
"""Names of the claim features, in the order of the vector. All grow with doubt."""

_SHORTEST: Final = 5
_SAME_WORDING: Final = 0.75
"""Share of both sentences that must be the same, in order, for the rest to be a substitution."""
_LONGEST_SWAP: Final = 4
"""Han characters of a name or word that stands in the place of another."""
_TELLING: Final = 0.5
_TELLING_HAN: Final = 0.65
"""Of a character alone: 再, 仅, 按 and the like weigh less."""
_CUT_WORDS: Final = 4
"""Unknown words of a stretch of the passages: it may be cut within words or run over sentences."""
_LINKING: Final = STOP_CHARS | frozenset("则即便属算称")
_NOTHING: Final = 1e-9
_EDGES: Final = " \t\n.。!！;；,，\"'"
"""Around a statement these tell nothing."""
_CLEARLY_MORE: Final = 0.25


@dataclass(eq=False)
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
    asked: bool
    """Whether the answer answers a question."""
    given: frozenset[str]
    """Terms that the question gave, and derived numbers: they are not its own."""

    @lazily
    def own(self) -> dict[str, float]:
        """Weight of each of its own terms."""
        return {term: weight(term) for term in self.piece.terms - self.given}


def look_up_all(spans: Sequence[Span], evidence: Evidence, answer: str) -> list[ClaimEvidence]:
    """Every claim of an answer compared with the passages, in order."""
    reckoning = Reckoning(Piece(answer), evidence)
    claims = [_claim(span) for span in spans]
    matches = Matches(claims, evidence)
    found = [
        _look_up(span, claim, evidence, matches, match, reckoning)
        for span, claim, match in zip(spans, claims, matches.of, strict=True)
    ]
    for number in _crossed(found, evidence, matches):
        # What is reckoned joins parts of several clauses.
        found[number].findings.reversed |= not found[number].findings.numbers_derived
    return found


def _crossed(claims: Sequence[ClaimEvidence], evidence: Evidence, matches: Matches) -> set[int]:
    """The claims that have parts in the place of others, by the sentences they rest on."""
    best = [match.best for match in matches.of]
    # What is said word for word has everything in its place.
    said = [[] if claim.verbatim else claim.piece.clauses for claim in claims]
    if sum(map(len, said)) < 2:
        return set()
    beside = [any(said[max(0, number - 1) : number + 2]) for number in range(len(said))]
    known = [
        [] if place is None or not needed else evidence.sentences[place].clauses
        for place, needed in zip(best, beside, strict=True)
    ]
    return crossed(said, known, evidence.weights)


def _claim(span: Span) -> Piece:
    piece = Piece(span.text)
    piece.folded = answers.strip_source_phrases(strip_opening(piece.folded))
    return piece


def _look_up(
    span: Span,
    piece: Piece,
    evidence: Evidence,
    matches: Matches,
    match: Match,
    reckoning: Reckoning,
) -> ClaimEvidence:
    best = None if match.best is None else evidence.sentences[match.best]
    whole = best is not None and _is_whole(piece, best)
    # What repeats a whole sentence differs from it in nothing that could be checked.
    unseen = match.unseen
    unknown = unseen - evidence.question.terms
    findings = Findings() if whole else check(piece, evidence, unknown, best, reckoning)
    verbatim = whole or (len(unknown) <= _CUT_WORDS and _verbatim(piece, evidence))
    if not verbatim:
        check_reworded(findings, piece, evidence, best, match.near)
    credited = _credited(piece, findings, evidence)
    if best is not None and unknown:
        credited |= _reworded(piece, unknown, best)
    if credited:
        _credit(match, credited, matches, evidence)
    total = match.own
    gains = [gain / total for gain in match.gains] if total else []
    common = _common(piece, best, whole=whole)
    if best is not None and not whole and not findings.numbers_derived:
        findings.substituted = _substituted(piece, unknown, unseen, evidence, best, common)
    features = [
        *_coverage(match, gains),
        match.pairs,
        match.triples,
        1 - common / len(piece.tokens) if piece.tokens else 1.0,
        *_novel(piece, unknown - credited, evidence),
        *_counts(findings),
        _characters(piece, unseen - credited),
    ]
    return ClaimEvidence(
        span,
        piece,
        features,
        findings,
        None if match.best is None else _rests_on(evidence.owners[match.best], gains),
        match.covered,
        verbatim,
        bool(evidence.question.tokens),
        evidence.question.terms | (credited & unseen),
    )


def _is_whole(piece: Piece, best: Piece) -> bool:
    """Whether a claim is its best sentence, to the letter."""
    text = piece.folded.strip(_EDGES)
    return len(text) > 1 and text == best.folded.strip(_EDGES)


def _common(piece: Piece, best: Piece | None, *, whole: bool) -> int:
    """How many words of a claim stand in its best sentence in their order."""
    if whole:
        return len(piece.tokens)
    return common_words(piece, best) if best is not None else 0


def _credited(piece: Piece, findings: Findings, evidence: Evidence) -> frozenset[str]:
    """Terms that count as covered though no passage spells them so.

    Numbers that were checked, in digits or in Han numerals (百分之十五 for 15%), words of a time of
    day (下午五点 for 17:00), and those of the operation where a number was derived.
    """
    if findings.numbers_missing or findings.units_changed or findings.dates_missing:
        return frozenset()
    credited: set[str] = set()
    if holds_digit(piece.folded):
        credited = {token for token in piece.token_set if token[0].isdigit()}
    numerals = piece.terms & _NUMERAL_TERMS
    # Else nothing but times of day may be spelled otherwise.
    for quantity in piece.quantities if numerals or may_tell_time(piece.folded) else ():
        stated = term_set(piece.folded[quantity.start : quantity.end])
        if quantity.kind != TIME:
            credited |= stated & numerals
        elif comparable(quantity, evidence):
            credited |= stated & piece.terms
    if findings.numbers_derived:
        credited.update(term for term in piece.terms if OPERATION_WORDS.search(term))
    return frozenset(credited)


def _reworded(piece: Piece, unknown: frozenset[str], best: Piece) -> frozenset[str]:
    """Terms that no passage holds, of words for which the best sentence has another word."""
    found = {term for term in unknown if not synonyms.others(term).isdisjoint(best.token_set)}
    if piece.folded.isascii():
        return frozenset(found)
    known = best.folded
    for word, others in synonyms.han_words(piece.folded):
        parts = unknown.intersection([word, *word, *map(add, word, word[1:])])
        if parts and any(map(known.__contains__, others)):
            found |= parts
    return frozenset(found)


def _credit(match: Match, credited: frozenset[str], matches: Matches, evidence: Evidence) -> None:
    """Count the credited terms as seen, and as no passage's own."""
    asked, background = evidence.question.terms, evidence.weights
    spelled = 0.0
    for term in credited:
        worth = background[term]
        given = term in asked
        if term in match.unseen:
            spelled += worth * GIVEN if given else worth
            match.given -= worth * GIVEN if given else 0.0
        if not given:
            match.own -= worth
            match.gains = [
                gain - worth * held
                for gain, held in zip(match.gains, matches.held(term), strict=True)
            ]
    match.missing -= spelled
    match.spelled = spelled
    if match.own < _NOTHING:
        match.own = 0.0


def _rests_on(first: int, gains: Sequence[float]) -> int:
    """The passage of the best sentence, unless another holds clearly more of the claim."""
    if not gains or max(gains) <= gains[first] + _CLEARLY_MORE:
        return first
    # Rounded, for the same words in another passage must not win by the last bit of a sum.
    rounded = [round(gain, 9) for gain in gains]
    strongest = rounded.index(max(rounded))
    return strongest if gains[strongest] > gains[first] + _CLEARLY_MORE else first


def _coverage(match: Match, gains: Sequence[float]) -> list[float]:
    total = match.total
    if not total:
        return [0.0, 0.0, 0.0, 0.0]
    # Rounded, for what lies at a limit must not be judged by the last bit of a sum.
    return [
        round(max(0.0, match.missing - match.given) / total, 9) if match.missing else 0.0,
        round(max(0.0, match.missing) / total, 9) if match.missing else 0.0,
        round(1 - min(1.0, match.covered + match.spelled / total), 9),
        round(1 - max(gains, default=1.0), 9),
    ]


def _substituted(
    piece: Piece,
    unknown: frozenset[str],
    unseen: frozenset[str],
    evidence: Evidence,
    best: Piece,
    common: int,
) -> int:
    """Whether a claim repeats a sentence but for telling words that stand nowhere else.

    `common` words of it stand there in their order.
    """
    own = piece.tokens
    if len(own) < _SHORTEST:
        return 0
    if _swapped(own, best.tokens, unseen, evidence):
        return 1
    background = evidence.weights
    novel = any(
        background[term] >= (_TELLING_HAN if is_han(term) else _TELLING) and not term[0].isdigit()
        for term in unknown & piece.token_set
    )
    if not novel:
        return 0
    return int(common >= _SAME_WORDING * max(len(own), len(best.tokens)))


def _swapped(
    own: Sequence[str], other: Sequence[str], unseen: frozenset[str], evidence: Evidence
) -> bool:
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
    if head + tail < _SHORTEST - 1 or not all(map(is_han, said)) or _LINKING.issuperset(said):
        return False
    return "".join(said) not in evidence.joined and all(
        a + b in unseen or {a, b} <= GRAMMAR for a, b in pairwise(said)
    )


def _novel(piece: Piece, unseen: frozenset[str], evidence: Evidence) -> list[float]:
    """Weight of the words that stand nowhere, all together and the longest run of them."""
    if not unseen:
        return [0.0, 0.0]
    background = evidence.weights
    novel = run = longest = 0.0
    for token in piece.content:
        if token in unseen:
            weight = background[token]
            novel += weight
            run += weight
            longest = max(longest, run)
        else:
            run = 0.0
    return [log1p(novel), log1p(longest)]


def _counts(findings: Findings) -> list[float]:
    counts = _COUNTED(findings)
    return [float(min(2, count)) for count in counts] if any(counts) else _NO_COUNTS


_NUMERALS: Final = "零〇一二三四五六七八九十百千万亿两半点分之成折"
_NUMERAL_TERMS: Final = frozenset([*_NUMERALS, *map("".join, product(_NUMERALS, repeat=2))])
"""Terms that are part of a number in Han numerals."""
_COUNTED: Final = attrgetter(*FINDINGS)
_NO_COUNTS: Final = [0.0] * len(FINDINGS)


def _characters(piece: Piece, unseen: frozenset[str]) -> float:
    """Share of Han characters that occur in no passage, as runs of one."""
    lost = {term for term in unseen if is_han(term)}
    if not lost:
        return 0.0
    han = [token for token in piece.content if is_han(token)]
    return sum([token in lost for token in han]) / len(han)


def _verbatim(piece: Piece, evidence: Evidence) -> bool:
    text = piece.folded.strip(_EDGES)
    if len(text) < 2:
        return False
    known = evidence.joined
    place = known.find(text)
    while place >= 0 and _within_number(known, place, place + len(text)):
        place = known.find(text, place + 1)
    return place >= 0


def _within_number(text: str, start: int, end: int) -> bool:
    """Whether a stretch begins or ends inside a number: 70 of 170, 2.3 of 12.3, 500 of 1,500."""
    return _GOES_ON.match(text, start) is not None or (
        text[end - 1].isdigit() and _MORE_DIGITS.match(text, end) is not None
    )


_GOES_ON: Final = re.compile(r"(?:(?<=\d)|(?<=\d\.))\d|(?<=\d,)\d{3}(?!\d)")
_MORE_DIGITS: Final = re.compile(r"\.?\d|,\d{3}(?!\d)")
"""A comma before other than three digits parts two numbers; folding makes 截至2020，30人 one."""
