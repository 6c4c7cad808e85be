"""Words that stand for each other."""

import pytest

from rag_monitor.language.stems import stem
from rag_monitor.language.synonyms import han_words, others


@pytest.mark.parametrize(
    ("word", "other"), [("reimbursed", "refund"), ("waived", "fre"), ("不要钱", "免费")]
)
def test_a_word_has_other_names(word: str, other: str) -> None:
    name = stem(word) if word.isascii() else word

    assert other in others(name)


def test_an_unknown_word_has_none() -> None:
    assert others("zyzzyva") == frozenset()


def test_the_longest_word_is_taken_and_words_do_not_overlap() -> None:
    assert [word for word, _ in han_words("第一次办理不要钱")] == ["第一次", "办理", "不要钱"]


@pytest.mark.parametrize(
    "pair", [("增加", "减少"), ("最多", "最少"), ("之前", "之后"), ("increas", "decreas")]
)
def test_opposites_are_no_synonyms(pair: tuple[str, str]) -> None:
    assert pair[1] not in others(pair[0])
