"""Small facts of service answers: models, ordinals, currencies, tables, exceptions, denials."""

from __future__ import annotations

import pytest

from rag_monitor.domain.judgement import Aspect
from tests.unit.judges.embedded.cases import judged, passes

LAPTOP = "The X200 laptop weighs 1.3 kg and has a 14-inch display."
RELEASE = "Version 2.10.3 requires Python 3.9 or newer."
RENT = "A late fee of 5% applies to rent paid after the 5th of the month."
FARE = "Tickets cost £15 for adults and £7.50 for children aged 5-15."
DEPOSIT = "Deposits are non-refundable. Enrolment is open to unlimited participants."
COLLECTION = "Trash is collected every weekday except Wednesday."
GUIDANCE = "The company expects full-year revenue between $16.0 billion and $16.5 billion."
PLANS = (
    "| Plan | Price per month | Storage |\n|---|---|---|\n"
    "| Basic | $9 | 10 GB |\n| Team | $29 | 100 GB |\n| Business | $99 | 500 GB |"
)
DOGS = "Q: Do dogs need a certificate? A: No, not on domestic flights. Q: Is there food? A: Yes."
HOTEL = "问：酒店可以带宠物吗？答：不可以。问：酒店有停车场吗？答：有，免费停车。"
COUPON = "优惠券满200减30，特价商品除外。"
TARIFFS = (
    "| 套餐 | 月费 | 流量 |\n|---|---|---|\n"
    "| 基础版 | 39元 | 10GB |\n| 畅享版 | 79元 | 30GB |\n| 尊享版 | 129元 | 60GB |"
)
ARTICLES = "第十二条 乙方逾期付款的，应当支付违约金。第十三条 逾期超过30日的，甲方有权解除合同。"
REDIS = "Redis 服务器默认监听 TCP 6379 端口。"
SIGNED = "Scans are valid for all contracts except leases, which must be signed by hand."
DRUG = "对青霉素过敏者禁用。成人一次1粒。"


@pytest.mark.parametrize(
    ("passage", "answer"),
    [
        (LAPTOP, "The X200 weighs 1300 g."),
        (LAPTOP, "The X200 weighs 1.3 kg and has a 14-inch display."),
        (RELEASE, "Version 2.10.3 requires Python 3.9 or later."),
        (RENT, "A late fee of 5% applies to rent paid after the fifth of the month."),
        (FARE, "Adults pay £15, and children aged 5 to 15 pay £7.50."),
        (DEPOSIT, "Deposits can't be refunded."),
        (COLLECTION, "Trash isn't collected on Wednesdays."),
        (COLLECTION, "Trash is collected on weekdays, except on Wednesday."),
        (GUIDANCE, "Full-year revenue is expected to be $16.0-16.5 billion."),
        (PLANS, "The Team plan costs $29 per month."),
        (DOGS, "Dogs need no certificate on domestic flights."),
        ("Support is open Monday to Friday, 9 a.m. to 6 p.m.", "Support is open Mon-Fri, 9am-6pm."),
        ("Store below 25 °C.", "Store below 77 °F."),
        ("The rule applies to all families.", "It applies to every family."),
        ("Give no more than one spoonful of pellets.", "Give one spoonful of pellets at most."),
        (SIGNED, "A lease has to be signed by hand."),
        (HOTEL, "酒店不可以带宠物。"),
        (HOTEL, "酒店有停车场。"),
        ("问：可以退货吗？答：不用担心，7天内都可以。", "可以退货。"),
        (COUPON, "特价商品除外，其他商品满200减30。"),
        (TARIFFS, "畅享版月费79元，流量30GB。"),
        (ARTICLES, "根据第十三条，逾期超过30日的，甲方有权解除合同。"),
        (REDIS, "Redis 默认监听 6379 端口。"),
    ],
)
def test_the_fact_in_other_words_passes(passage: str, answer: str) -> None:
    assert passes(judged("", (passage,), answer))


@pytest.mark.parametrize(
    ("passage", "answer"),
    [
        (LAPTOP, "The X300 weighs 1.3 kg and has a 14-inch display."),
        (RELEASE, "Version 2.1.3 requires Python 3.9 or newer."),
        (RENT, "A late fee of 5% applies to rent paid after the 15th of the month."),
        (FARE, "Tickets cost $15 for adults."),
        (DEPOSIT, "Deposits are refundable."),
        (COLLECTION, "Trash is collected on Wednesday."),
        (PLANS, "The Team plan costs $99 per month."),
        (DOGS, "Dogs need a certificate."),
        ("Headcount declined by 1,200 to 18,400.", "Headcount grew by 1,200 to 18,400."),
        ("Error 1045 means that access was denied.", "Error 1050 means that access was denied."),
        (HOTEL, "酒店可以带宠物。"),
        (COUPON, "特价商品也可以用优惠券，满200减30。"),
        (TARIFFS, "畅享版月费129元。"),
        (ARTICLES, "根据第十五条，逾期超过30日的，甲方有权解除合同。"),
        (REDIS, "Redis 默认监听 6380 端口。"),
    ],
)
def test_another_fact_in_the_same_words_does_not(passage: str, answer: str) -> None:
    assert not passes(judged("", (passage,), answer))


@pytest.mark.parametrize(
    ("passage", "answer"),
    [
        (DRUG, "对青霉素过敏的人不能用。"),
        (DEPOSIT, "There is no limit on participants."),
        (COUPON, "特价商品不能使用优惠券。"),
    ],
)
def test_a_denial_in_other_words_is_no_contradiction(passage: str, answer: str) -> None:
    [whole] = judged("", (passage,), answer).of(Aspect.ANSWER_SUPPORTED)

    assert whole.reason not in {"contradiction", "opposite", "reversed"}
