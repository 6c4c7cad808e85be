"""Exact match and token F1, as question-answering benchmarks use them, in both languages."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from rag_monitor.errors import NotApplicable
from rag_monitor.metrics.text.tokens import WORDS, Tokenizer


@dataclass(frozen=True, slots=True)
class PrecisionRecallF1:
    """Precision, recall and their harmonic mean, each 0 to 1."""

    precision: float
    recall: float
    f1: float


def f1_of(precision: float, recall: float) -> PrecisionRecallF1:
    """Both with their harmonic mean; 0 when both are 0."""
    total = precision + recall
    return PrecisionRecallF1(precision, recall, 2 * precision * recall / total if total else 0.0)


def exact_match(text: str, references: Sequence[str]) -> float:
    """1 if `text` equals a reference after NFKC, case folding and outer punctuation, else 0.

    Raises:
        NotApplicable: There is no reference.
    """
    require_references(references)
    return float(any(_fold(text) == _fold(reference) for reference in references))


def token_f1(
    text: str, references: Sequence[str], tokenizer: Tokenizer = WORDS
) -> PrecisionRecallF1:
    """Overlap of token multisets with the best reference (Rajpurkar et al. 2016, SQuAD).

    Raises:
        NotApplicable: There is no reference.
    """
    require_references(references)
    candidate = tokenizer(text)
    return max(
        (_overlap(candidate, tokenizer(reference)) for reference in references), key=lambda s: s.f1
    )


def _overlap(candidate: Sequence[str], reference: Sequence[str]) -> PrecisionRecallF1:
    if not candidate and not reference:
        return PrecisionRecallF1(1.0, 1.0, 1.0)
    if not candidate or not reference:
        return PrecisionRecallF1(0.0, 0.0, 0.0)
    left, right = Counter(candidate), Counter(reference)
    common = sum(min(left[token], right[token]) for token in left.keys() & right.keys())
    return f1_of(common / len(candidate), common / len(reference))


def _fold(text: str) -> str:
    folded = " ".join(unicodedata.normalize("NFKC", text).casefold().split())
    start, end = 0, len(folded)
    while start < end and _is_outer(folded[start]):
        start += 1
    while end > start and _is_outer(folded[end - 1]):
        end -= 1
    return folded[start:end] or folded


def _is_outer(character: str) -> bool:
    return character.isspace() or unicodedata.category(character)[0] == "P"


def reference_tokens(
    references: Sequence[str], tokenizer: Tokenizer
) -> tuple[tuple[str, ...], ...]:
    """The tokens of each reference that has any.

    Raises:
        NotApplicable: There is no reference, or no tokens in any.
    """
    require_references(references)
    tokenized = tuple(tokens for tokens in map(tokenizer, references) if tokens)
    if not tokenized:
        raise NotApplicable("no tokens in the reference")
    return tokenized


def require_references(references: Sequence[str]) -> None:
    """Raise `NotApplicable` unless there is at least one reference."""
    if not references:
        raise NotApplicable("no reference")
