"""Who cannot, and under which condition: what declines to answer and what states a rule."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rag_monitor.language.claims import take_apart
from rag_monitor.language.normalise import fold
from rag_monitor.language.refusals import is_refusal


@pytest.mark.parametrize(
    "rule",
    [
        "如果您无法提供收入证明，可以用资产证明代替。",
        "若客户无法提供担保，利率上浮10%。",
        "申请人不能提供身份证的，可凭护照办理。",
        "客户没有提供相关资料的，银行不予受理。",
        "如无法确定金额，请联系客服。",
        "若您不清楚账户余额，请致电客服查询。",
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


@pytest.mark.parametrize(
    "answer",
    [
        "抱歉，暂时无法查询。",
        "抱歉，暂无相关信息。",
        "目前没有找到与您问题相关的资料。",
        "这个问题我没办法回答。",
        "您的问题超出了我的知识范围。",
        "知识库里没有这方面的内容。",
        "很遗憾，我查不到相关记录。",
        "文档中没有提到这一点，建议联系客服。",
        "不好意思，我帮不了您。",
        "我不太清楚，请咨询人工客服。",
        "暂不支持该问题，请换个问法。",
        "系统中未查询到您的订单。",
        "根据现有资料无法判断。",
        "我无法访问实时信息。",
        "资料里没说。",
        "这个我不知道。",
        "对不起，我没有权限回答该问题。",
        "以上内容均未涉及该问题。",
        "该问题无法从给定材料中得到答案。",
        "没有检索到相关文档。",
        "抱歉，我是AI助手，不能提供医疗建议。",
        "I'm afraid I don't have that information.",
        "Sorry, nothing in the documents covers this.",
        "That's outside my knowledge base.",
        "I couldn't find anything about it.",
        "No relevant documents were found.",
        "I am unable to access real-time data.",
        "The provided text doesn't say.",
        "Sorry, I can't help with that.",
        "Not specified in the context.",
        "There is no mention of it in the sources.",
        "I'd recommend contacting support, as I don't have details on this.",
        "Unfortunately, the knowledge base has no entry on this topic.",
        "I don't know.",
        "As an AI language model, I can't give legal advice.",
        "This question cannot be answered from the given material.",
        "The search returned no results.",
    ],
)
def test_there_are_many_ways_to_have_no_answer(answer: str) -> None:
    assert take_apart(answer).declines


@pytest.mark.parametrize(
    "answer",
    [
        "该订单暂时无法退款，请在七天后再试。",
        "系统未查询到异常，可以正常使用。",
        "会员卡暂不支持跨店使用。",
        "海外用户无法访问该网站。",
        "该药不能与酒同服。",
        "文件中没有提到的费用由乙方承担。",
        "未找到丢失物品的，可以在一周后报案。",
        "没有权限的用户看不到该页面。",
        "这款产品没有说明书。",
        "The order cannot be refunded after 30 days.",
        "Users without permission can't access this page.",
        "The search returned no results because the index was empty on Monday.",
        "You can't use the card abroad.",
        "The manual does not mention batteries because none are needed.",
        "No documents were found in the car after the accident.",
        "If nothing is found, the case is closed.",
    ],
)
def test_what_is_not_there_may_be_the_answer(answer: str) -> None:
    parts = take_apart(answer)
    assert not parts.declines
    assert parts.claims


@pytest.mark.parametrize(
    "asked",
    [
        "请提供更多信息，以便我帮您解答。",
        "您好，请问您想咨询哪个产品？",
        "Could you please provide more details?",
        "Please provide more details so I can help.",
        "请换个问法。",
    ],
)
def test_asking_back_claims_nothing(asked: str) -> None:
    parts = take_apart(asked)
    assert not parts.claims
    assert not parts.declines


def test_asking_for_papers_is_a_rule() -> None:
    assert len(take_apart("请提供身份证和户口本。").claims) == 1
    assert len(take_apart("Please provide a passport and a photo.").claims) == 1


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_most_refusals_are_told_from_answers_that_look_like_them(lang: str) -> None:
    """Cases written without a look at the patterns; they were then used to add some."""
    lines = (Path(__file__).parent / "refusal_cases.jsonl").read_text(encoding="utf-8").splitlines()
    cases = [case for case in map(json.loads, lines) if case["lang"] == lang]
    found: dict[bool, list[bool]] = {True: [], False: []}
    for case in cases:
        found[case["declines"]].append(take_apart(case["text"]).declines)

    assert len(found[True]) == len(found[False]) == 100
    assert sum(found[True]) >= 80
    assert sum(found[False]) <= 4


def test_llama_indexs_answer_without_passages_declines() -> None:
    assert take_apart("Empty Response").declines
    assert not take_apart("An empty response means that the server timed out.").declines


@pytest.mark.parametrize(
    "answer",
    [
        "I don't know. You may want to ask a colleague who handles this topic.",
        "Hm, I have nothing on that. Our help desk can certainly tell you more.",
        "I wasn't able to find an answer to your question. Could you rephrase it?",
        "这方面我没有资料，客服应该能告诉您更多。",
        "资料里没有提到这一点。建议您直接联系工作人员，他们可以告诉您更多详细的情况。",
    ],
)
def test_who_may_know_is_no_answer_beside_a_refusal(answer: str) -> None:
    assert take_apart(answer).declines


@pytest.mark.parametrize(
    "answer",
    [
        "Please contact the help desk.",
        "请联系客服办理。",
        "The handbook does not mention it. Call 555 0142 between 8 and 12 and ask for a permit.",
        "I don't know the fee. The office opens at nine and closes at noon on every working day.",
    ],
)
def test_who_to_ask_may_be_the_answer(answer: str) -> None:
    assert not take_apart(answer).declines


@pytest.mark.parametrize("courtesy", ["Congratulations!", "Oh no!", "恭喜！", "这个问题问得好。"])
def test_sympathy_and_praise_claim_nothing(courtesy: str) -> None:
    parts = take_apart(f"{courtesy} The fee is 5 euros.")

    assert [claim.text for claim in parts.claims] == ["The fee is 5 euros."]
