"""Names of topics from the words of their questions: class-based TF-IDF, as BERTopic defines it.

Grootendorst, "BERTopic" (2022): the weight of word w in class c is tf(w, c) * log(1 + A / f(w)),
with A the mean number of words of a class and f(w) the frequency of w in all classes. Chinese is
cut into words by jieba.
"""

from __future__ import annotations

import logging
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cache
from math import log
from typing import Any, Final

from rag_monitor.language.normalise import fold
from rag_monitor.language.stems import GRAMMAR, REDUCED

WORDS_IN_NAME: Final = 3
HOLDERS: Final = 3
"""Questions that must hold a word before it may stand in a name: no name tells what one asked."""
_READ: Final = 400
_KEPT: Final = 40
_RUN: Final = re.compile(r"[\u3400-\u9fff]+|[a-z][a-z0-9'-]+")
_ASKING_TEXT: Final = """
please want need know tell help possible hello thanks thank urgent quick hi ok
不能 可以 怎么 什么 哪里 多少 多久 怎样 怎么办 能否 是否 请问 谢谢 你好 麻烦 一下 有没有 为什么
没有 需要 还有 时候 现在 如何 我们 你们 公司 几天 几号
"""
_ASKING: Final = frozenset(_ASKING_TEXT.split())
"""Words by which people ask, whatever about."""


def words_of(questions: Iterable[str]) -> dict[str, int]:
    """How many of the questions hold each word that at least `HOLDERS` of them do.

    The most frequent 40; inflected forms count for the commonest of them.
    """
    forms: dict[str, Counter[str]] = {}
    for question in questions:
        for key, word in {_key(word): word for word in _cut(question)}.items():
            forms.setdefault(key, Counter())[word] += 1
    counts = {
        counted.most_common(1)[0][0]: counted.total()
        for counted in forms.values()
        if counted.total() >= HOLDERS
    }
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:_KEPT])


def name_topics(words: Mapping[int, Mapping[str, int]]) -> dict[int, str]:
    """A name for each topic; empty where its questions share no word.

    Args:
        words: Of every topic by id, as `words_of` counts them.

    >>> name_topics({1: {"refund": 9, "card": 3}, 2: {"parcel": 8, "card": 3}, 3: {}})
    {1: 'refund · card', 2: 'parcel · card', 3: ''}
    """
    totals: Counter[str] = Counter()
    for counts in words.values():
        totals.update(counts)
    mean = totals.total() / max(1, len(words))
    names: dict[int, str] = {}
    for topic, counts in words.items():
        weights = {word: n * log(1 + mean / totals[word]) for word, n in counts.items()}
        best = sorted(weights, key=lambda word: (-weights[word], word))
        names[topic] = " · ".join(best[:WORDS_IN_NAME])
    return names


def _key(word: str) -> str:
    return REDUCED[word] if word.isascii() else word


def _cut(question: str) -> set[str]:
    words: set[str] = set()
    for run in _RUN.findall(fold(question[:_READ])):
        pieces = [run] if run[0].isascii() else _segmenter().cut(run)
        words.update(word for word in pieces if _tells(word))
    return words


def _tells(word: str) -> bool:
    if len(word) < 2 or word in _ASKING or word in GRAMMAR:
        return False
    return word.isascii() or not all(character in GRAMMAR for character in word)


@cache
def _segmenter() -> Any:
    """A jieba tokenizer; half a second and some 70 MB the first time."""
    import jieba

    jieba.setLogLevel(logging.ERROR)
    return jieba.Tokenizer()
