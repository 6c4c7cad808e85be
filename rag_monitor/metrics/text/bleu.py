"""BLEU (Papineni et al. 2002), computed by sacrebleu on our own tokens.

N-gram counts are clipped to the maximum over the references, and the brevity penalty uses the
reference closest in length.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any, Literal

from rag_monitor.errors import NotApplicable
from rag_monitor.metrics.text.overlap import require_references
from rag_monitor.metrics.text.tokens import WORDS, Tokenizer

Smoothing = Literal["none", "floor", "add-k", "exp"]
"""Chen and Cherry 2014: none, method 1 (floor), method 2 (add-k), method 3 (exp)."""

MAX_ORDER = 4


def bleu(
    text: str,
    references: Sequence[str],
    order: int = MAX_ORDER,
    *,
    smoothing: Smoothing = "exp",
    tokenizer: Tokenizer = WORDS,
) -> float:
    """Sentence BLEU, 0 to 1.

    Orders longer than the text are left out of the geometric mean (sacrebleu's effective order),
    so that a short correct answer is not punished for having no 4-grams.

    Raises:
        NotApplicable: No reference, or nothing but punctuation on either side.
    """
    require_references(references)
    hypothesis = tokenizer(text)
    targets = [tokens for tokens in (tokenizer(r) for r in references) if tokens]
    if not hypothesis or not targets:
        raise NotApplicable("no tokens")
    metric = _metric(order, smoothing, effective_order=True)
    result = metric.sentence_score(" ".join(hypothesis), [" ".join(t) for t in targets])
    return min(1.0, float(result.score) / 100)


def corpus_bleu(
    pairs: Iterable[tuple[str, Sequence[str]]],
    order: int = MAX_ORDER,
    *,
    smoothing: Smoothing = "exp",
    tokenizer: Tokenizer = WORDS,
) -> float:
    """Corpus BLEU over (text, references): counts are pooled before the precisions are taken.

    Raises:
        NotApplicable: There are no pairs, or a pair has no reference.
    """
    texts: list[str] = []
    targets: list[list[str]] = []
    for text, references in pairs:
        require_references(references)
        texts.append(" ".join(tokenizer(text)))
        targets.append([" ".join(tokenizer(reference)) for reference in references])
    if not texts:
        raise NotApplicable("no rows")
    most = max(len(row) for row in targets)
    # sacrebleu wants one list per reference position; None marks a missing one.
    streams = [[row[i] if i < len(row) else None for row in targets] for i in range(most)]
    result = _metric(order, smoothing, effective_order=False).corpus_score(texts, streams)
    return min(1.0, float(result.score) / 100)


@lru_cache(maxsize=32)
def _metric(order: int, smoothing: Smoothing, *, effective_order: bool) -> Any:
    from sacrebleu.metrics.bleu import BLEU

    if not 1 <= order <= MAX_ORDER:
        raise ValueError(f"BLEU-{order}: the order is between 1 and {MAX_ORDER}")
    return BLEU(
        tokenize="none",
        force=True,  # our tokens are joined by blanks on purpose
        smooth_method=smoothing,
        max_ngram_order=order,
        effective_order=effective_order,
    )
