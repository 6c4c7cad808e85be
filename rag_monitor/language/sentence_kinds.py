"""Whether a sentence declines, is a courtesy, or states something: a learnt recogniser.

Multinomial logistic regression over hashed word n-grams (characters in Chinese), as
scikit-learn's `FeatureUnion` of `HashingVectorizer`s would give them. It was taught by sentences
written for it in both languages and by statements of labelled answers, see
`benchmarks/embedded_judge/train_sentence_kinds.py`, which also measures it.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from functools import cache, lru_cache
from importlib import resources
from itertools import islice
from math import exp, sqrt
from typing import Final, NamedTuple
from zlib import crc32

BUCKETS: Final = 1 << 16
"""Of n-grams; two that share one share a weight."""
MAX_TOKENS: Final = 60
"""Of a sentence that are read: what is longer than a courtesy or a refusal states something."""
FILE: Final = "sentence_kinds.bin"
SCALE: Final = 1 / 8
"""Of the whole numbers that weights are stored as."""
_TOKEN: Final = re.compile(r"[\u3400-\u9fff]|[a-z]+(?:'[a-z]+)?|\d+|[^\w\s]")
_HAN: Final = re.compile(r"[\u3400-\u9fff]")
_START, _END, _GAP, _NUMBER = "^", "$", "_", "0"


class SentenceKind(NamedTuple):
    """Probabilities of what a sentence is; they add up to one."""

    claim: float
    refusal: float
    courtesy: float


KINDS: Final = SentenceKind._fields


def features(folded: str) -> set[int]:
    """The buckets of a folded sentence's n-grams: of 1 to 3 words, and of pairs with a gap.

    Of 1 to 4 characters where there are Han ones. All numbers are one word.
    """
    read = (token[0] for token in islice(_TOKEN.finditer(folded), MAX_TOKENS))
    tokens = [_START, *(_NUMBER if token.isdigit() else token for token in read), _END]
    grams = _grams(tokens, words=_HAN.search(folded) is None)
    return {crc32(gram.encode(errors="replace")) % BUCKETS for gram in grams}


def _grams(tokens: list[str], *, words: bool) -> Iterator[str]:
    yield from tokens
    for size in (2, 3) if words else (2, 3, 4):
        for start in range(len(tokens) - size + 1):
            yield " ".join(tokens[start : start + size])
    if words:
        for first, second in zip(tokens, tokens[2:], strict=False):
            yield f"{first} {_GAP} {second}"


@lru_cache(maxsize=4096)
def sentence_kind(folded: str) -> SentenceKind:
    """What a folded sentence is likely to be.

    >>> sentence_kind("i looked everywhere, yet there is no answer to that.").refusal > 0.5
    True
    >>> sentence_kind("always a pleasure to be of service!").courtesy > 0.5
    True
    >>> sentence_kind("the warranty does not cover water damage.").claim > 0.5
    True
    """
    biases, weights = _model()
    found = features(folded)
    norm = SCALE / sqrt(len(found))
    logits = [
        bias * SCALE + norm * sum(map(row.__getitem__, found))
        for bias, row in zip(biases, weights, strict=True)
    ]
    highest = max(logits)
    odds = [exp(logit - highest) for logit in logits]
    total = sum(odds)
    return SentenceKind(*(one / total for one in odds))


def packed() -> bytes:
    """The file of the model: 16-bit numbers, low byte first; biases, then weights by kind."""
    return (resources.files(__package__) / FILE).read_bytes()


@cache
def _model() -> tuple[tuple[int, ...], list[tuple[int, ...]]]:
    """The bias of each kind, and its weight of each bucket."""
    kinds = len(KINDS)
    numbers = struct.unpack(f"<{kinds * (BUCKETS + 1)}h", packed())
    rows = [numbers[kinds + BUCKETS * k : kinds + BUCKETS * (k + 1)] for k in range(kinds)]
    return numbers[:kinds], rows
