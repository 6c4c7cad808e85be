from array import array

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_monitor.judges.embedded import matching, plain_matching
from rag_monitor.judges.embedded.evidence_index import EvidenceIndex
from rag_monitor.judges.embedded.lexicon import WEIGHTS
from rag_monitor.judges.embedded.matching import Match, Matches
from rag_monitor.judges.embedded.segments import IndexedPassage, Segment
from rag_monitor.language.sentences import sentence_texts
from rag_monitor.language.stems import GRAMMAR
from rag_monitor.language.vocabulary import vocabulary


def matched(claim: str, *passages: str, question: str = "") -> Match:
    return Matches([Segment(claim)], EvidenceIndex.build(passages, question)).of[0]


def test_the_sentence_that_covers_most_is_best() -> None:
    found = matched(
        "The ferry carries passengers.", "The ferry is red.", "Old. It carries passengers by ferry."
    )

    assert found.best == 2
    assert found.covered == pytest.approx(1)
    assert not found.unseen


def test_of_equal_sentences_the_shorter_and_then_the_first_is_best() -> None:
    long, short = "Every ferry sails from the old wooden harbour.", "Every ferry sails."

    assert matched("The ferry sails.", long, short, short).best == 1


def test_han_characters_are_a_pair_only_within_a_sentence() -> None:
    assert matched("蓝色鲸鱼", "蓝色。鲸鱼").unseen == {"色鲸"}
    assert not matched("蓝色鲸鱼", "大海的蓝色鲸鱼").unseen


def test_an_empty_passage_holds_nothing_and_keeps_its_place() -> None:
    found = matched("The ferry sails.", "", "The ferry sails.", "")

    assert [gain > 0 for gain in found.gains] == [False, True, False]


def test_nothing_is_found_where_no_passage_is() -> None:
    found = matched("The ferry sails.")

    assert found.best is None
    assert found.unseen == Segment("The ferry sails.").terms
    assert found.total > 0


def test_terms_of_the_question_weigh_little_and_belong_to_no_passage() -> None:
    asked = matched("The ferry sails.", "The ferry sails.", question="When does the ferry sail?")

    assert asked.own == 0
    assert 0 < asked.total < matched("The ferry sails.", "The ferry sails.").total


def test_coverage_does_not_hang_on_the_last_bit_of_a_sum() -> None:
    words = ["ferry", "harbour", "passenger", "engine", "captain", "window", "anchor", "bridge"]
    for size in range(2, len(words)):
        found = matched(" ".join(words), " ".join(words[:size]) + ".")
        assert found.covered == round(found.covered, 9) > 0


def test_a_passage_is_read_once_and_again_by_another_vocabulary() -> None:
    passage, words = IndexedPassage("The red ferry sails. It is old."), vocabulary()
    coded = passage.coded(words)

    assert passage.coded(words) is coded
    assert coded.lengths == [4, 3]
    assert passage.coded(vocabulary()).generation != words.generation


WORDS = (
    "the a of red blue ferry ferries sails whale 12 1,234 is not old 渡 轮 渡轮载客 的 红色 . 。 ;"
)
TEXT = st.lists(st.sampled_from([*WORDS.split(), "\n"]), max_size=25).map(" ".join)
TEXTS = st.lists(TEXT, max_size=4)


@pytest.mark.skipif(matching.compare is plain_matching.compare, reason="nothing is compiled")
@given(
    claims=st.lists(TEXT, min_size=1, max_size=4), passages=st.lists(TEXT, max_size=4), asked=TEXT
)
def test_what_is_compiled_finds_what_numpy_finds(
    claims: list[str], passages: list[str], asked: str
) -> None:
    words = vocabulary()
    segments = [Segment(claim) for claim in claims]
    given_terms = Segment(asked).terms
    known = [words.sentences(sentence_texts(text)) for text in passages]
    said = [words.numbers(segment.folded) for segment in segments]
    asking = (said, known, words, len(GRAMMAR), WEIGHTS)

    found = [
        compare(*asking, given_terms, matching._SCORING)
        for compare in (matching.compare, plain_matching.compare)
    ]
    held = [by_term(terms, rows, len(passages)) for terms, rows, *_ in found]
    assert held[0] == held[1]
    for compiled, plain in zip(found[0][2], found[1][2], strict=True):
        assert compiled[0] == plain[0]
        assert compiled[1:4] == pytest.approx(plain[1:4])
        assert compiled[4] == pytest.approx(plain[4])
        assert compiled[5] == plain[5]


def by_term(terms: list[str], held: bytes, passages: int) -> dict[str, bytes]:
    return {term: held[row * passages : (row + 1) * passages] for row, term in enumerate(terms)}


@given(st.lists(st.integers(0, 9), max_size=150), st.lists(st.integers(0, 9), max_size=150))
def test_words_in_common_are_the_longest_common_subsequence(
    own: list[int], other: list[int]
) -> None:
    longest = [0] * (len(other) + 1)
    for word in own:
        before = 0
        for place, word_there in enumerate(other, start=1):
            here = longest[place]
            longest[place] = before + 1 if word == word_there else max(here, longest[place - 1])
            before = here

    packed = [array("i", numbers).tobytes() for numbers in (own, other)]
    assert plain_matching.lcs_length(*packed) == longest[-1]
    assert matching.lcs_length(*packed) == longest[-1]


@pytest.mark.skipif(matching.compare is plain_matching.compare, reason="nothing is compiled")
def test_numbers_of_another_vocabulary_are_words_that_nobody_holds() -> None:
    words = vocabulary()
    claim = Segment("The red ferry sails.")
    said, other = words.numbers(claim.folded), array("i", [1, 300_000, 2]).tobytes()

    _, _, (found,) = matching.compare(
        [said], [(other, [2, 1])], words, len(GRAMMAR), WEIGHTS, frozenset(),
        matching._SCORING,
    )  # fmt: skip
    assert found[0] is None
    assert found[5] == claim.terms


@pytest.mark.skipif(matching.compare is plain_matching.compare, reason="nothing is compiled")
def test_sentences_that_do_not_make_up_their_passage_are_refused() -> None:
    words = vocabulary()
    asking = (words, len(GRAMMAR), WEIGHTS, frozenset(), matching._SCORING)

    for lengths in ([1], [2, 1, 1]):
        with pytest.raises(ValueError, match="have other words"):
            matching.compare([], [(words.numbers("red blue old"), lengths)], *asking)


@pytest.mark.skipif(matching.compare is plain_matching.compare, reason="nothing is compiled")
def test_numbers_that_no_vocabulary_gives_are_refused() -> None:
    words = vocabulary()
    asking = (words, len(GRAMMAR), WEIGHTS, frozenset(), matching._SCORING)
    good, negative, beyond, most = (
        array("i", numbers).tobytes() for numbers in ([1, 2], [1, -5], [1, 10**7], [1, 2**31 - 1])
    )

    for claims, passages in (
        ([negative], []),
        ([beyond], []),
        ([good], [(negative, [2])]),
        ([good], [(good, [3, -1])]),
        ([good], [(most, [2])]),
    ):
        with pytest.raises(ValueError, match=r"negative|vocabulary"):
            matching.compare(claims, passages, *asking)
    for pair in ((good, negative), (negative, good), (good, most), (most, good)):
        with pytest.raises(ValueError, match=r"negative|vocabulary"):
            matching.lcs_length(*pair)


@pytest.mark.skipif(matching.compare is plain_matching.compare, reason="nothing is compiled")
def test_weights_are_of_the_vocabulary_and_the_table_at_hand() -> None:
    heavy, light = WEIGHTS, dict.fromkeys(["ferri", "sail", "old"], 0.25)
    for weights, total in ((heavy, None), (light, 0.5), (heavy, None)):
        for text, other in (("ferries sail", "old sails"), ("old sails", "ferries sail")):
            words = vocabulary()
            words.numbers(other)
            _, _, (found,) = matching.compare(
                [words.numbers(text)], [], words, len(GRAMMAR), weights, frozenset(),
                matching._SCORING,
            )  # fmt: skip
            terms = Segment(text).terms
            assert found[1] == pytest.approx(total or sum(WEIGHTS[term] for term in terms))
            assert found[5] == terms
