"""Flat contradictions that change no number: a judge that only counts words passes them."""

import pytest

from rag_monitor.domain.judgement import Aspect
from rag_monitor.judges.embedded.pieces import Piece
from tests.unit.judges.embedded.cases import judged

ASPECTS = frozenset({Aspect.SUPPORT, Aspect.ANSWER_SUPPORTED})
CONTRARY = [
    (
        "Refunds are allowed within the first week.",
        "Refunds are not allowed within the first week.",
    ),
    ("Refunds are not allowed on sale items.", "Refunds are allowed on sale items."),
    ("Pets are permitted in the lobby.", "Pets are prohibited in the lobby."),
    ("Smoking is forbidden in the building.", "Smoking is allowed in the building."),
    ("You can bring your own lunch.", "You can't bring your own lunch."),
    ("The policy covers water damage.", "The policy excludes water damage."),
    ("No deposit is required for members.", "A deposit is required for members."),
    ("A deposit is required for members.", "No deposit is required for members."),
    ("Employees may work remotely.", "Employees may not work remotely."),
    ("The service is available on weekends.", "The service is unavailable on weekends."),
    ("The drug is safe for children.", "The drug is unsafe for children."),
    ("Returns are accepted without a receipt.", "Returns are refused without a receipt."),
    ("The museum never closes on Mondays.", "The museum closes on Mondays."),
    ("Customers must register first.", "Customers don't have to register first."),
    ("本店所有商品支持七天内退货，允许退款。", "本店不允许退款。"),
    ("本店商品一经售出不予退款。", "本店商品可以退款。"),
    ("会员可以携带宠物入内。", "会员不得携带宠物入内。"),
    ("会员禁止携带宠物入内。", "会员可以携带宠物入内。"),
    ("该药物对儿童是安全的。", "该药物对儿童不安全。"),
    ("保险涵盖水损。", "保险不涵盖水损。"),
    ("申请人无需缴纳押金。", "申请人需要缴纳押金。"),
    ("申请人需要缴纳押金。", "申请人无需缴纳押金。"),
    ("退款不被允许。", "退款被允许。"),
    ("目前该地区没有地铁。", "目前该地区有地铁。"),
    ("該產品支持無線充電。", "該產品不支持無線充電。"),
    ("委员会未批准该计划。", "委员会批准了该计划。"),
]
AGREEING = [
    (
        "Pets are not allowed indoors, but pets are allowed in the garden.",
        "Pets are allowed in the garden.",
    ),
    ("The system is not sufficiently advanced.", "The system is not advanced."),
    ("Refunds are not allowed. Under the new rule, refunds are allowed.", "Refunds are allowed."),
    ("The office, not the shop, opens on Monday.", "The office opens on Monday."),
    ("该景区不收门票，停车场收门票。", "停车场收门票。"),
    ("他打得不错，但整体实力弱了一些。", "他打得不错。"),
    ("周末不营业。本店工作日营业。", "本店工作日营业。"),
]  # fmt: skip


def filler(sentence: str) -> str:
    return "The office keeps a garden." if sentence.isascii() else "该单位设有一个小花园。"


@pytest.mark.parametrize(("passage", "answer"), CONTRARY)
def test_the_contrary_of_a_passage_is_unsupported_and_flagged(passage: str, answer: str) -> None:
    judgement = judged("", (f"{filler(passage)} {passage}",), answer, aspects=ASPECTS)

    [claim] = judgement.of(Aspect.SUPPORT)
    [whole] = judgement.of(Aspect.ANSWER_SUPPORTED)
    assert claim.probability < 0.5
    assert whole.probability < judgement.threshold


@pytest.mark.parametrize(("passage", "answer"), AGREEING)
def test_a_denial_beside_the_point_is_no_contradiction(passage: str, answer: str) -> None:
    [claim] = judged("", (passage,), answer, aspects=ASPECTS).of(Aspect.SUPPORT)

    assert claim.reason not in ("contradiction", "negation", "opposite")
    assert claim.probability >= 0.5


def test_a_denial_ends_with_its_clause() -> None:
    assert Piece("早已不在，木耳备受青睐。").denied.heads == frozenset()
    assert Piece("No. Martin published five volumes.").denied.heads == frozenset()
    assert Piece("It is not covered by the plan.").denied.heads == {"cover"}
