import threading

import pytest

from rag_monitor.judges.embedded import codes
from rag_monitor.judges.embedded.codes import CONTENT, PLAIN, Codes
from rag_monitor.judges.embedded.evidence import Evidence
from rag_monitor.judges.embedded.matching import Matches
from rag_monitor.judges.embedded.pieces import Passage, Piece
from rag_monitor.language.tokens import tokenise


def test_a_passage_is_read_once_and_again_by_other_numbers() -> None:
    passage, numbers = Passage("The red ferry sails. It is old."), Codes()
    coded = passage.coded(numbers)

    assert passage.coded(numbers) is coded
    assert coded.lengths.tolist() == [4, 3]
    assert len(coded.words) == 7
    assert passage.coded(Codes()).generation != numbers.generation


def test_words_become_their_place_among_those_asked_for() -> None:
    numbers = Codes()
    words = numbers.read("the boat is red: boat.")

    found = numbers.translated(words, ["the"], ["boat", "whale"], 10)
    assert found.tolist() == [10, 11, PLAIN, CONTENT, 11]
    assert numbers.translated(words, [], ["red"], 10).tolist() == [PLAIN, 0, PLAIN, 10, 0]


def test_a_new_generation_begins_when_too_many_words_were_met(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    passages, claim = ["The blue whale sings."], [Piece("Whales are blue.")]
    evidence = Evidence.build(passages, "")
    before = Matches(claim, evidence).of
    old = codes.present()
    monkeypatch.setattr(codes, "_LARGEST", 0)
    try:
        assert codes.present() is not old
        assert Matches(claim, evidence).of[0].missing == before[0].missing
    finally:
        monkeypatch.undo()


def test_threads_never_give_one_number_to_two_words() -> None:
    numbers, start = Codes(), threading.Barrier(4)

    def read(own: int) -> None:
        start.wait()
        numbers.read(" ".join(map(_spelled, range(own, 4000, 3))))

    threads = [threading.Thread(target=read, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(set(numbers.values())) == len(numbers)
    assert numbers.words(numbers.read(_spelled(7))) == {_spelled(7)}


def _spelled(number: int) -> str:
    """A word for a number that no stem shortens."""
    return "x" + "".join(chr(ord("a") + int(digit)) for digit in str(number)) + "q"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "the red ferry's 1,234.50 passengers, p.m. \0 don't (well-known) 3.5. été \0",
        "渡轮载客四百二十人。\0 2021年3月的 ferry 只有é1,234 位\0",
        "\U00020000字\ud800漢ａ٣ \0",
        "無空格的長句子" * 20 + "ferry's",
        "word," * 30,
    ],
)
def test_text_is_read_into_the_numbers_of_its_tokens(text: str) -> None:
    numbers, tokens = Codes(), tokenise(text)

    for _ in range(2):
        read = numbers.read(text)
        assert read.tolist() == [numbers[token] for token in tokens]
        assert numbers.words(read) == set(tokens)


def test_numbers_tell_which_are_of_certain_words() -> None:
    numbers, wanted = Codes(), frozenset({"boat", "whale"})

    for text, found in (("a red boat", [0, 0, 1]), ("a red ship sails", [0] * 4), ("", [])):
        assert numbers.among(numbers.read(text), wanted).tolist() == found
