import pytest

from rag_monitor.domain.judgement import JudgeRequest
from rag_monitor.judges.embedded.judge import ASPECTS, EmbeddedJudge
from rag_monitor.judges.embedded.options import EmbeddedOptions
from rag_monitor.judges.embedded.segments import IndexedPassage, PassageCache

TEXT = "The ferry carries 420 passengers. It was built on 5 March 2021 in Norway."


def test_a_recurring_passage_is_cut_once() -> None:
    cache = PassageCache(1_000)

    assert cache.get(TEXT) is cache.get(TEXT)


def test_the_cache_forgets_the_passage_not_asked_for_longest() -> None:
    cache = PassageCache(2 * len(TEXT))
    first, second = cache.get(TEXT), cache.get(TEXT.upper())
    cache.get(TEXT)
    cache.get(TEXT.lower())

    assert cache.get(TEXT) is first
    assert cache.get(TEXT.upper()) is not second


def test_a_han_character_counts_as_a_word() -> None:
    text = "渡轮载客四百二十人。"
    cache = PassageCache(4 * len(text))

    assert cache.get(text) is not cache.get(text)


def test_a_cache_of_nothing_keeps_nothing() -> None:
    cache = PassageCache(0)

    assert cache.get(TEXT) is not cache.get(TEXT)


def test_numbers_and_dates_know_their_sentence() -> None:
    passage = IndexedPassage(TEXT)

    assert [(q.value, p.text) for q, p in passage.quantities] == [
        (420.0, "The ferry carries 420 passengers.")
    ]
    [(date, segment)] = passage.dates
    assert (date.year, date.month, date.day) == (2021, 3, 5)
    assert segment is passage.sentences[1]


def test_a_number_does_not_reach_into_the_next_sentence() -> None:
    passage = IndexedPassage("He ran 5\nkilometers are long.")

    assert [q.unit for q, _ in passage.quantities] == [""]


def test_the_same_passage_twice_is_two_passages() -> None:
    judge = EmbeddedJudge()
    request = JudgeRequest(
        question="What does the ferry carry?",
        answer="The ferry carries 420 passengers.",
        contexts=(TEXT, "", TEXT),
        aspects=ASPECTS,
    )

    first, again = judge.judge_one(request), judge.judge_one(request)

    assert first.verdicts == again.verdicts
    assert {v.evidence for v in first.verdicts if v.aspect.value == "relevance"} == {0, 1, 2}


@pytest.mark.parametrize(
    "text",
    ["1," * 9_000, "9" * 9_000, "一" * 9_000, "may 1 " * 2_000, "（1）" * 99, "\0", "a b " * 99],
)  # fmt: skip
def test_noise_of_any_length_is_judged(text: str) -> None:
    judge = EmbeddedJudge()

    judgement = judge.judge_one(
        JudgeRequest(question=text, answer=text, contexts=(text, TEXT), aspects=ASPECTS)
    )

    assert all(0 <= verdict.probability <= 1 for verdict in judgement.verdicts)


def test_han_text_is_cut_earlier_than_latin_text() -> None:
    judge = EmbeddedJudge(EmbeddedOptions(max_answer_chars=300))

    def coverage(answer: str) -> float:
        request = JudgeRequest(question="", answer=answer, contexts=(), aspects=ASPECTS)
        return judge.judge_one(request).coverage

    assert coverage("a" * 300) == 1
    assert coverage("汉" * 300) == pytest.approx(1 / 3, abs=0.01)


def test_statements_beyond_the_limit_are_not_judged_and_counted_as_unseen() -> None:
    judge = EmbeddedJudge(EmbeddedOptions(max_statements=2))
    request = JudgeRequest(
        question="", answer="The ferry sails. It is old. It is red.", contexts=(), aspects=ASPECTS
    )

    judgement = judge.judge_one(request)

    assert len([v for v in judgement.verdicts if v.aspect.value == "support"]) == 2
    assert judgement.coverage < 1
