"""Who cannot, and under which condition: what declines to answer and what states a rule."""

from __future__ import annotations

import pytest

from rag_monitor.language.answers import is_refusal
from rag_monitor.language.claims import take_apart
from rag_monitor.language.normalise import fold


@pytest.mark.parametrize(
    "rule",
    [
        "如果您无法提供收入证明，可以用资产证明代替。",
        "若客户无法提供担保，利率上浮10%。",
        "申请人不能提供身份证的，可凭护照办理。",
        "客户没有提供相关资料的，银行不予受理。",
        "如无法确定金额，请联系客服。",
        "若您不清楚信息，请致电客服。",
        "如果资料不足，审核时间会延长。",
        "您不能提供虚假信息。",
        "If you cannot provide the documents, you can submit a sworn statement.",
        "If the customer is unable to provide information about income, assets are asked for.",
        "Users who do not provide the documents within 30 days lose the claim.",
        "Call the bank when you cannot find the document.",
    ],
)
def test_a_rule_about_what_customers_lack_is_a_claim(rule: str) -> None:
    assert not is_refusal(fold(rule))
    parts = take_apart(rule)
    assert not parts.declines
    assert len(parts.claims) >= 1


@pytest.mark.parametrize(
    "answer",
    [
        "如果文档没有说明，我无法回答。",
        "如无特殊说明，资料中没有提到利率。",
        "您提的问题资料中没有提到。",
        "你没有提供相关资料，我不清楚。",
        "您没有提供足够的信息。",
        "If the passages do not mention it, I cannot answer.",
        "The context does not say if customers can cancel.",
        "They do not mention the price in the passages.",
        "You did not provide enough information to answer.",
        "The documents do not say whether you can apply if you cannot provide proof.",
    ],
)
def test_a_condition_or_a_customer_beside_a_refusal_does_not_hide_it(answer: str) -> None:
    assert is_refusal(fold(answer))
    assert take_apart(answer).declines


@pytest.mark.parametrize(
    "answer",
    [
        "未检索到相关内容，请联系人工客服。",
        "该问题超出知识库范围，请咨询人工客服。",
        "没有相关内容。",
        "根据现有资料暂时查不到，建议您拨打客服热线95588咨询。",
        "这个问题超出了我的能力范围哦～",
        "文档里没有写这一点。",
        "知识库未收录该问题。",
        "暂不支持回答此类问题。",
        "我还在学习中，暂时回答不了这个问题。",
        "这个问题我答不上来。",
    ],
)
def test_what_chinese_assistants_say_when_they_have_no_answer_declines(answer: str) -> None:
    assert take_apart(answer).declines


@pytest.mark.parametrize(
    "answer",
    [
        "报销金额超出规定范围的，需要部门经理审批。",
        "这张优惠券在海外门店找不到可用的商品。",
        "合同没有包含保密内容。",
        "作者没有写过第二本小说。",
        "该型号不支持无线充电。",
        "临时身份证办不了这项业务。",
    ],
)
def test_what_does_not_exist_or_is_not_offered_is_a_claim(answer: str) -> None:
    assert not take_apart(answer).declines
