"""An apology for a delay is courtesy; an apology for having no answer declines."""

from __future__ import annotations

import pytest

from rag_monitor.language.claims import take_apart


@pytest.mark.parametrize(
    "answer",
    [
        "I'm sorry for the delay. It takes 3 days.",
        "Sorry for the inconvenience. Your order ships in 3 days and the fee is $5.",
        "I'm sorry to hear that. Call 12345 to block the card.",
        "We apologize for the wait. The fee is $5.",
        "抱歉让您久等了。运费为5元。",
        "非常抱歉给您带来不便。退款将在3天内到账。",
        "对不起，让您久等了。保修期为24个月。",
    ],
)
def test_an_apology_before_an_answer_declines_nothing(answer: str) -> None:
    parts = take_apart(answer)

    assert not parts.declines
    assert parts.refusals == ()
    assert len(parts.claims) >= 1
    assert not any("sorry" in claim.text.lower() or "抱歉" in claim.text for claim in parts.claims)


@pytest.mark.parametrize(
    "answer",
    [
        "I'm sorry, but I cannot answer that from the given passages.",
        "Sorry, the documents do not mention the price.",
        "抱歉，根据已知信息无法回答该问题。",
        "对不起，资料中没有提及。",
        "很抱歉，我不知道。",
    ],
)
def test_an_apology_for_having_no_answer_declines(answer: str) -> None:
    assert take_apart(answer).declines


@pytest.mark.parametrize(
    "answer",
    [
        "抱歉，金卡年费为500元，且不能减免。",
        "很抱歉，二套房贷款利率为9.9%。",
        "抱歉，公积金不能用于房屋装修。",
        "很抱歉，生鲜商品不支持七天无理由退货。",
        "不好意思，我们不支持货到付款。",
        "Sorry, the gold card fee is 500 yuan.",
        "I'm sorry, the gold card fee is 500 yuan.",
        "I am very sorry, but the offer ended in May.",
        "Sorry, refunds are not possible after 30 days.",
    ],
)
def test_a_polite_statement_is_a_claim(answer: str) -> None:
    parts = take_apart(answer)

    assert not parts.declines
    assert len(parts.claims) == 1


@pytest.mark.parametrize(
    "answer",
    [
        "抱歉。",
        "抱歉，我不能这么做。",
        "对不起，这个我帮不了您。",
        "不好意思，我不清楚。",
        "I'm sorry, I can't do that.",
        "I am sorry, but I am not able to help with this request.",
    ],
)
def test_an_apology_for_not_doing_it_declines(answer: str) -> None:
    assert take_apart(answer).declines
