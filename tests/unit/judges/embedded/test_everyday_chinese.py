"""How Chinese service answers say things: polite, by the clock, at a discount, in other units."""

from __future__ import annotations

import pytest

from rag_monitor.domain.judgement import Aspect
from tests.unit.judges.embedded.cases import judged, passes

OPEN = "营业时间为周一至周五9:00-17:00。"
SALE = "原价200元，会员享八折。"
HOURS = "We are open Monday to Friday from 9 to 5."


@pytest.mark.parametrize(
    ("passage", "answer"),
    [
        ("首付比例为15%。", "首付比例为百分之十五。"),
        ("首付比例为20%。", "首付比例为两成。"),
        ("最高额度为300000元。", "最高额度为30万元。"),
        ("整机保修两年，电池保修一年。", "整机保修24个月。"),
        ("公积金不得用于房屋装修。", "公积金不能用于装修。"),
        ("公积金不得用于房屋装修。", "抱歉，公积金不能用于房屋装修。"),
        (OPEN, "下午五点。"),
        (OPEN, "周三9:00-17:00营业。"),
        (SALE, "会员价为160元（200元打八折）。"),
        (HOURS, "We are open on Wednesday from 9 to 5."),
        ("昨天公司发布了年度报告。", "公司昨天发布了年度报告。"),
        ("支持支付宝和微信支付两种方式。", "支持微信支付和支付宝两种方式。"),
    ],
)
def test_the_same_in_other_words_passes(passage: str, answer: str) -> None:
    assert passes(judged("是什么规定？", (passage,), answer))


@pytest.mark.parametrize(
    ("passage", "answer"),
    [
        ("金卡年费为200元，刷满6次免次年年费。", "抱歉，金卡年费为500元，且不能减免。"),
        ("申请人年龄须在18周岁以上。", "申请人年龄须在18周岁以下。"),
        (OPEN, "营业时间为周一至周日9:00-17:00。"),
        (OPEN, "下午六点。"),
        (SALE, "会员价为180元（200元打八折）。"),
        (SALE, "会员价为40元（200元打八折）。"),
        (HOURS, "We are open Monday to Sunday from 9 to 5."),
        ("整机保修两年，电池保修一年。", "整机保修36个月。"),
        ("甲公司收购了乙公司。", "乙公司收购了甲公司。"),
        ("满100元减20元。", "满20元减100元。"),
        ("支持支付宝，不支持微信支付。", "支持微信支付，不支持支付宝。"),
        ("首套房利率为3.3%，二套房利率为4.1%。", "首套房利率为4.1%，二套房利率为3.3%。"),
        ("Acme bought Globex in 2021.", "Globex bought Acme in 2021."),
    ],
)
def test_another_fact_in_the_same_words_does_not(passage: str, answer: str) -> None:
    assert not passes(judged("是什么规定？", (passage,), answer))


@pytest.mark.parametrize(
    ("question", "passage", "answer"),
    [
        ("北京到上海高铁多久？", "苹果每斤8元。", "苹果每斤8元。"),
        ("信用卡丢了怎么办？", "存款按活期计息。", "存款按活期计息。"),
        ("How do I reset my password?", "Our office opens from 9 to 5.", "From 9 to 5."),
    ],
)
def test_a_short_answer_from_a_passage_on_something_else_answers_nothing(
    question: str, passage: str, answer: str
) -> None:
    [grade] = judged(question, (passage,), answer).of(Aspect.GRADE)

    assert grade.probability <= 0.5


@pytest.mark.parametrize(
    ("question", "passage", "answer"),
    [
        ("金卡年费是多少？", "金卡年费为200元，刷满6次免次年年费。", "200元。"),
        ("When does the office open?", "The office opens from 9 to 5 on weekdays.", "From 9 to 5."),
    ],
)
def test_a_short_answer_from_a_passage_on_the_subject_need_not_repeat_the_question(
    question: str, passage: str, answer: str
) -> None:
    [grade] = judged(question, (passage,), answer).of(Aspect.GRADE)

    assert grade.probability >= 0.8
