"""Words that make a statement claim more need more to bear them out, and weaker ones less."""

import pytest

from rag_monitor.domain.judgement import Aspect
from tests.unit.judges.embedded.cases import judged

ASPECTS = frozenset({Aspect.SUPPORT, Aspect.ANSWER_SUPPORTED})


def support(passage: str, answer: str) -> float:
    [verdict] = judged("", (passage,), answer, aspects=ASPECTS).of(Aspect.SUPPORT)
    return verdict.probability


@pytest.mark.parametrize(
    ("passage", "plain", "stronger"),
    [
        ("一些居民参加了植树活动。", "居民参加植树活动", "所有居民参加植树活动"),
        ("公司提高了员工工资。", "公司提高工资", "公司从来不提高工资"),
        ("小王到图书馆借书。", "小王到图书馆", "小王昨天到图书馆"),
        ("小王到图书馆借书。", "小王到图书馆", "因为下雨小王到图书馆"),
        ("会员带朋友入场。", "会员带朋友", "会员带三个朋友"),
        ("Some rooms have a balcony.", "Rooms have a balcony.", "All rooms have a balcony."),
    ],
)
def test_a_stronger_statement_is_less_supported(passage: str, plain: str, stronger: str) -> None:
    assert support(passage, stronger) < support(passage, plain)


def test_a_hedged_statement_is_better_supported_than_a_bold_one() -> None:
    passage = "专家认为该药物对部分患者有效果。"

    assert support(passage, "该药物可能治疗患者") > support(passage, "该药物必须治疗患者")


def test_words_the_passage_holds_claim_no_more_than_it() -> None:
    passage = "所有居民昨天都参加了三次植树活动。"

    assert support(passage, passage) >= 0.9


@pytest.mark.parametrize(
    ("passage", "answer"),
    [
        ("The base rate for home loans is 4.25 percent.", "Tea is ready at four."),
        ("The base rate for home loans is 4.25 percent.", "The gym has a green door."),
    ],
)
def test_a_short_answer_that_rests_on_nothing_is_clearly_flagged(passage: str, answer: str) -> None:
    judgement = judged("", (passage,), answer, aspects=ASPECTS)

    [whole] = judgement.of(Aspect.ANSWER_SUPPORTED)
    assert whole.probability < judgement.threshold / 2
