"""METEOR (Banerjee and Lavie 2005), computed by nltk on our own tokens.

Stages: exact words, then stems (English), then synonyms when WordNet is installed. Which stages ran
is part of the result, because it changes the number.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from rag_monitor.metrics.text.overlap import reference_tokens
from rag_monitor.metrics.text.tokens import WORDS, Tokenizer


@dataclass(frozen=True, slots=True)
class Meteor:
    """A METEOR score and the stages that made it."""

    value: float
    """0 to 1, against the best reference."""
    stages: tuple[str, ...]
    """`exact`, `stem`, and `synonym` when WordNet is installed."""


def meteor(
    text: str,
    references: Sequence[str],
    *,
    tokenizer: Tokenizer = WORDS,
    alpha: float = 0.9,
    beta: float = 3.0,
    gamma: float = 0.5,
) -> Meteor:
    """METEOR of `text` against its best reference.

    Args:
        text: What was generated.
        references: What it should say.
        tokenizer: How both sides are cut.
        alpha: Weight of recall in the harmonic mean.
        beta: Exponent of the fragmentation penalty.
        gamma: Largest fragmentation penalty.

    A text without tokens scores 0.

    Raises:
        NotApplicable: No reference, or no tokens in any reference.
    """
    from nltk.translate.meteor_score import single_meteor_score

    targets = reference_tokens(references, tokenizer)
    candidate = tokenizer(text)
    wordnet, stages = _synonyms()
    if not candidate:
        return Meteor(0.0, stages)
    value = max(
        single_meteor_score(
            target,
            candidate,
            preprocess=str,
            stemmer=_stemmer(),
            wordnet=wordnet,
            alpha=alpha,
            beta=beta,
            gamma=gamma,
        )
        for target in targets
    )
    return Meteor(min(1.0, float(value)), stages)


def meteor_stages() -> tuple[str, ...]:
    """The stages that run on this machine; a report names them because they change the number."""
    return _synonyms()[1]


class _Stemmer:
    """Porter's stemmer; Chinese tokens come back as they are."""

    def __init__(self) -> None:
        from nltk.stem.porter import PorterStemmer

        self._porter = PorterStemmer()

    def stem(self, token: str) -> str:
        return str(self._porter.stem(token)) if token.isascii() else token


class _NoSynonyms:
    """Stands in for WordNet where it is not installed: no word has a synonym."""

    def synsets(self, _word: str) -> list[Any]:
        return []


@lru_cache(maxsize=1)
def _synonyms() -> tuple[Any, tuple[str, ...]]:
    from nltk.corpus import wordnet

    try:
        wordnet.synsets("test")
    except LookupError:
        return _NoSynonyms(), ("exact", "stem")
    return wordnet, ("exact", "stem", "synonym")


@lru_cache(maxsize=1)
def _stemmer() -> _Stemmer:
    return _Stemmer()
