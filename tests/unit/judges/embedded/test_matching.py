import pytest

from rag_monitor.judges.embedded.evidence import Evidence
from rag_monitor.judges.embedded.matching import Match, Matches
from rag_monitor.judges.embedded.pieces import Piece


def matched(claim: str, *passages: str, question: str = "") -> Match:
    return Matches([Piece(claim)], Evidence.build(passages, question)).of[0]


def test_the_sentence_that_covers_most_is_best() -> None:
    found = matched(
        "The ferry carries passengers.", "The ferry is red.", "Old. It carries passengers by ferry."
    )

    assert found.best == 2
    assert found.covered == pytest.approx(1)
    assert found.missing == 0


def test_of_equal_sentences_the_shorter_and_then_the_first_is_best() -> None:
    long, short = "Every ferry sails from the old wooden harbour.", "Every ferry sails."

    assert matched("The ferry sails.", long, short, short).best == 1


def test_words_stand_together_only_within_a_sentence() -> None:
    assert matched("Blue whales sing.", "They are blue. Whales sing.").pairs == pytest.approx(0.5)
    assert matched("Blue whales sing.", "Often blue whales sing.").pairs == 0
    assert matched("蓝色鲸鱼", "蓝色。鲸鱼").missing > 0
    assert matched("蓝色鲸鱼", "大海的蓝色鲸鱼").missing == 0


def test_an_empty_passage_holds_nothing_and_keeps_its_place() -> None:
    found = matched("The ferry sails.", "", "The ferry sails.", "")

    assert [gain > 0 for gain in found.gains] == [False, True, False]


def test_nothing_is_found_where_no_passage_is() -> None:
    found = matched("The ferry sails.")

    assert found.best is None
    assert found.missing == found.total > 0


def test_terms_of_the_question_weigh_little_and_belong_to_no_passage() -> None:
    asked = matched("The ferry sails.", "The ferry sails.", question="When does the ferry sail?")

    assert asked.own == 0
    assert 0 < asked.total < matched("The ferry sails.", "The ferry sails.").total


def test_coverage_does_not_hang_on_the_last_bit_of_a_sum() -> None:
    words = ["ferry", "harbour", "passenger", "engine", "captain", "window", "anchor", "bridge"]
    for size in range(2, len(words)):
        found = matched(" ".join(words), " ".join(words[:size]) + ".")
        assert found.covered == round(found.covered, 9) > 0
