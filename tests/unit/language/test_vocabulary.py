import re
import threading
from collections.abc import Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_monitor.language import vocabulary
from rag_monitor.language.normalise import fold
from rag_monitor.language.stems import REDUCED
from rag_monitor.language.vocabulary import BREAK, PlainVocabulary, Words

Make = Callable[..., Words]
CLASSES: list[Make] = [PlainVocabulary]
if vocabulary.Vocabulary is not PlainVocabulary:
    CLASSES.append(vocabulary.Vocabulary)
both = pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__module__)


def made(kind: Make, first: Sequence[str] = (BREAK,)) -> Words:
    return kind(REDUCED.__getitem__, list(first), 1)


def unpacked(numbers: bytes) -> list[int]:
    return memoryview(numbers).cast("i").tolist()


TEXTS = [
    "",
    "the red ferry's 1,234.50 passengers, p.m. \0 don't (well-known) 3.5. été \0",
    "渡轮载客四百二十人。\0 2021年3月的 ferry 只有é1,234 位\0",
    "\U00020000字\ud800漢ａ٣ \0",
    "無空格的長句子" * 20 + "ferry's",
    "word," * 30,
    "o'don't n't 's x'' 1,23 1,2345 1.2.3 12,345,67 Élan naïve éa aé 5th x5",
    "long" * 40 + " " + "long" * 40,
]


@both
@pytest.mark.parametrize("text", TEXTS)
def test_text_is_read_into_the_numbers_of_its_words(kind: Make, text: str) -> None:
    words = made(kind)

    for _ in range(2):
        tokens = words.tokens(text)
        numbers = unpacked(words.numbers(text))
        assert [words.words[number] for number in numbers] == tokens
        assert numbers == [words.number(token) for token in tokens]
        assert all(words.words[words.index[token]] == token for token in tokens)


WORD = re.compile(
    r"[\u3400-\u9fff]|[a-z]+(?:'[a-z]+)?|\d+(?:,\d{3})*(?:\.\d+)?|[^\W\d_\u3400-\u9fff]+|\0"
)
"""What a word is."""
ODD = st.text(
    st.sampled_from("abcnst'’.,:-_ \n\0019٣½²éΣßİ漢字一年Aa%$()\ud800\U0001f600"), max_size=60
)


@both
@given(text=ODD | st.text(max_size=60))
def test_words_are_what_the_pattern_of_words_finds(kind: Make, text: str) -> None:
    for written in (text, fold(text)):
        assert made(kind).tokens(written) == [REDUCED[word] for word in WORD.findall(written)]


@both
@given(text=ODD | st.text(st.sampled_from("渡轮的了 载a\0.1"), max_size=60))
def test_terms_are_words_with_a_meaning_and_pairs_of_han_characters(kind: Make, text: str) -> None:
    grammar = {"a", "的", "了"}
    tokens = [REDUCED[word] for word in WORD.findall(text)]
    han = [re.fullmatch(r"[\u3400-\u9fff]", token) is not None for token in tokens]
    pairs = {
        tokens[place - 1] + tokens[place]
        for place in range(1, len(tokens))
        if han[place - 1] and han[place] and not {tokens[place - 1], tokens[place]} <= grammar
    }

    words = made(kind, [BREAK, *sorted(grammar)])
    for _ in range(2):
        assert words.terms(text) == (set(tokens) - grammar) | pairs


@both
def test_more_pairs_than_are_kept_are_told_apart(kind: Make) -> None:
    words = made(kind)
    text = "".join(map(chr, range(0x4E00, 0x4F00)))

    for step in range(1, 256):
        met = "".join(text[place * step % 256] for place in range(256))
        pairs = {met[place : place + 2] for place in range(255)}
        assert {term for term in words.terms(met) if len(term) == 2} == pairs


@both
def test_several_texts_are_read_one_after_the_other(kind: Make) -> None:
    words = made(kind)

    numbers, lengths = words.sentences(["a red boat", "", "渡轮 sails"])
    assert lengths == [3, 0, 3]
    assert [words.words[number] for number in unpacked(numbers)] == [
        "a", "red", "boat", "渡", "轮", "sail",
    ]  # fmt: skip


@both
def test_the_words_of_numbers_are_told_each_once(kind: Make) -> None:
    words = made(kind)

    assert words.distinct(words.numbers("渡轮 a red boat, red 轮")) == set("渡轮a") | {
        "red",
        "boat",
    }
    assert words.distinct(b"") == frozenset()


@both
def test_texts_that_hold_certain_words_are_told(kind: Make) -> None:
    words, wanted = made(kind), frozenset({"boat", "whale"})

    for texts, found in (
        (["a red boat", "a red ship", "", "whales and boats", "the last"], [0, 3]),
        (["a red ship"], []),
        ([], []),
    ):
        assert words.holders(wanted, *words.sentences(texts)) == found


@both
def test_a_word_that_was_never_met_has_no_number(kind: Make) -> None:
    words = made(kind, [BREAK, "the"])

    assert "whale" not in words.index
    assert words.index["the"] == 1
    assert words.number("whale") == words.index["whale"] == 2


@both
def test_many_words_are_kept_apart(kind: Make) -> None:
    words = made(kind)
    text = " ".join(map(spelled, range(30_000)))

    first = words.numbers(text)
    assert unpacked(first) == list(range(1, 30_001))
    assert words.numbers(text) == first
    assert words.size >= 30_000


@both
def test_long_words_count_for_several(kind: Make) -> None:
    words = made(kind)
    words.numbers("x" * 16_000)

    assert words.size >= 1_000


@both
def test_threads_never_give_one_number_to_two_words(kind: Make) -> None:
    words, start = made(kind), threading.Barrier(4)

    def read(own: int) -> None:
        start.wait()
        words.numbers(" ".join(map(spelled, range(own, 4000, 3))))

    threads = [threading.Thread(target=read, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(set(words.words)) == len(words.words)
    assert words.words[unpacked(words.numbers(spelled(7)))[0]] == spelled(7)


@both
def test_an_error_while_a_word_is_reduced_reaches_the_caller(kind: Make) -> None:
    def refuse(word: str) -> str:
        raise LookupError(word)

    with pytest.raises(LookupError, match="ferry"):
        kind(refuse, [BREAK], 1).numbers("ferry")


def test_a_new_generation_begins_when_too_many_words_were_met(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    old = vocabulary.present()
    monkeypatch.setattr(vocabulary, "_present", old)
    monkeypatch.setattr(vocabulary, "_LARGEST", 0)

    assert vocabulary.present() is not old
    assert vocabulary.present().generation != old.generation


def spelled(number: int) -> str:
    """A word for a number that no stem shortens."""
    return "x" + "".join(chr(ord("a") + int(digit)) for digit in str(number)) + "q"
