"""What kind of sentence an answer's sentence is: claim, refusal, lead-in, courtesy, question.

Refusals and courtesies are not claims; everything that asserts something is, whatever it says
about itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

_REFUSAL: Final = re.compile(
    r"\b(?:unable to|cannot|can't|could ?n[o']t|can not|not able to|am not able to)\s+"
    r"(?:\w+\s+){0,3}?(?:answer|provide|find|determine|help|assist|give|tell|locate|respond|"
    r"comply)\b"
    r"|\b(?:do(?:es)? not|don't|doesn't|did not|didn't) (?:have (?:enough|any|sufficient|"
    r"access|the)|know\b"
    r"|(?:\w+\s+){0,2}?(?:provide|contain|include|mention|specify|say|state|give|discuss|"
    r"address|answer)\b)"
    r"|\b(?:no|insufficient|not enough) (?:relevant |specific |such |"
    r"further )?(?:information|data|answer|details?|context|evidence)\b"
    r"|\b(?:is|are|was|were) (?:not|n't) (?:\w+ly )?(?:mentioned|provided|specified|"
    r"available|stated|given|included|discussed|addressed|clear|enough)\b"
    r"|\bi(?:'m| am) (?:sorry|afraid)\b|\bi (?:do not|don't) (?:know|have)\b|"
    r"\bi have no (?:information|idea|knowledge)\b|\bunanswerable\b"
    r"|(?:无法|不能|没法|难以|未能)(?:[^，。,]{0,12})(?:回答|确定|得知|判断|提供|给出|找到|"
    r"得出|查到|作答|解答|获知)"
    r"|(?:没有|未|并未|不)(?:[^，。,]{0,6})(?:提及|提到|说明|给出|提供|包含|找到|涉及|查到|检索到)"
    r"|(?:没有|缺乏|缺少|暂无|无)(?:[^，。,]{0,6})(?:相关|足够|"
    r"具体)(?:[^，。,]{0,4})(?:信息|资料|内容|数据|答案|依据)"
    r"|(?:文档|资料|材料|文章|段落|知识库|原文|上下文|内容|信息)(?:里面?|中|内)?(?:也|都|并|暂时?|还)?"
    r"(?:没有?|未)(?:写|讲|记载|收录|覆盖|涵盖)"
    r"|超出了?[^，。,]{0,10}范围|不支持(?:回答|解答)|(?:查询?|搜索?|找|检索)不到"
    r"|(?:答|回答|解答|帮)不(?:了|上|出)|无能为力|爱莫能助"
    r"|不知道|不清楚|不太清楚|不确定|信息不足|资料不足|抱歉|对不起|无可奉告|无从(?:得知|知晓|判断)"
)
_REFUSAL_HINTS: Final = (
    "not", "n't", "unable", "no ", "insufficient", "sorry", "afraid", "unanswerable",
    *"无不没未缺难暂抱对超爱",
)  # fmt: skip
"""Every refusal holds one of these."""
_ENGLISH_REFUSAL_HINTS: Final = (
    "answer", "provide", "find", "determine", "help", "assist", "give", "tell", "locate",
    "respond", "comply", "have", "know", "contain", "include", "mention", "specif", "say", "state",
    "discuss", "address", "information", "data", "detail", "context", "evidence", "available",
    "clear", "enough", "sorry", "afraid",
)  # fmt: skip
"""And one in ASCII letters also one of these; most sentences with a "not" do not."""
_DECLINES: Final = re.compile(
    r"\b(?:unable to|cannot|can't|can not|could not|not able to) (?:answer|help|assist|determine)\b"
    r"|\bunanswerable\b|\bsorry\b|无法(?:回答|确定|得知|判断|作答|解答|提供)|不能回答|"
    r"不知道|不(?:太)?清楚|抱歉|对不起"
    r"|信息不足|资料不足|无可奉告|无从|(?:答|回答|解答|帮)不(?:了|上|出)|无能为力|爱莫能助"
)
_SOURCE_TALK: Final = re.compile(
    r"\b(?:passages?|contexts?|documents?|texts?|information|articles?|sources?|excerpts?|"
    r"question|knowledge base)\b"
    r"|\bi\b|已知|上下文|文档|资料|材料|信息|文章|段落|知识库|原文|新闻|问题|我|相关的?内容"
)
_GREETING: Final = re.compile(
    r"^(?:hi|hello|hey|dear \w+|sure(?: thing)?|certainly|of course|absolutely|great question"
    r"|good question|thank(?:s| you)|you're welcome|best regards|have a (?:nice|great) \w+)\b"
    r"|^(?:您好|你好|好的|当然(?:可以)?|没问题|很高兴|感谢(?:您|你)?的?(?:提问|咨询)?|谢谢|"
    r"不客气|祝(?:您|你)|欢迎)"
)
_OFFER: Final = re.compile(
    r"^(?:i )?hopes? (?:this|that) helps|^(?:please )?(?:let me know|feel free)\b"
    r"|^if you have (?:any|more|further) \w* ?questions?\b|^is there anything else"
    r"|^(?:i'm |i am )?(?:happy|glad) to help|^希望(?:以上|这|对您|对你)"
    r"|^如(?:果|有)?(?:您|你)?(?:还有|有)?(?:其他|其它|任何|更多)?(?:的)?(?:问题|疑问)|"
    r"^(?:欢迎|请)(?:继续|随时)"
)
_GREETING_REST: Final = 24
_LEAD_IN: Final = re.compile(r"[:：]\s*$")
_HEDGE: Final = re.compile(
    r"\b(?:may|might|could|possibly|perhaps|probably|likely|appears?|seems?|generally|"
    r"typically|usually|often|it is possible)\b"
    r"|可能|也许|或许|大概|似乎|一般来说|通常|大约"
)
_SOURCE_PHRASE: Final = re.compile(
    r"\(?(?:\b(?:according to|based on|from|as (?:mentioned|stated|described) in|in|see|per|"
    r"refer(?:enced|ring)? (?:in|to)|source:?)\s+)?"
    r"(?:the )?(?:(?:given|provided|above|following|retrieved) )?(?:passages?|contexts?|"
    r"documents?|sources?) ?(?:#? ?\d+)?(?:(?:, ?| and | & |"
    r", and )(?:passage )?\d+)*\)?[,:]?"
    r"|\[\d+(?:, ?\d+)*\]|【\d+】|\[\^\d+\]"
    r"|(?:根据|基于|依据|参考|按照)(?:以上|上述|已知|所给|提供的|给定的|"
    r"相关)?(?:的)?(?:信息|资料|上下文|文档|内容|材料|段落\d*|文章|新闻)[，,:：]?"
)
_SOURCE_HINTS: Final = (
    "passage", "context", "document", "source", "[", "【", "根据", "基于", "依据", "参考", "按照",
)  # fmt: skip
_QUESTION: Final = re.compile(r"[?？][\"'”’)）\]」』]*$")


_APOLOGY: Final = re.compile(
    r"^(?:(?:i'm|i am|we're|we are) )?(?:very |so |really |truly )?sorry "
    r"(?:for|about|to hear|that (?:you|your))\b"
    r"|^(?:(?:i|we) )?apologi[sz]e for\b"
    r"|^(?:我们|我)?(?:非常|很|十分|真是?|深感)?(?:抱歉|对不起)[，,]?(?:让|给|为)(?:您|你|大家)?"
)
"""An apology for something that happened: courtesy, not an answer declined."""
_SORRY_FIRST: Final = re.compile(
    r"^(?:(?:i'm|i am|we're|we are) )?(?:very |so |really |truly |terribly )?(?:sorry|afraid)"
    r"(?:[,;:.!]| -)\s*(?:but |however,? )?(?=\w)"
    r"|^(?:我们|我)?(?:非常|很|十分|真是?|深感|实在)?(?:抱歉|对不起|不好意思)[，,。!！～~\s]+(?=\w)"
)
"""A polite beginning; what follows may decline, or say what is the case ("sorry, the fee is 5")."""
_NOT_FROM_ME: Final = re.compile(
    r"^(?:but )?i (?:can't|cannot|can not|won't|will not|don't|do not|am unable|am not)\b"
    r"|^(?:这个?|这件事)?我(?!们)[^，。,]{0,6}[不没无未]"
)
"""What follows an apology and declines in the first person."""


_CONDITION: Final = re.compile(
    r"\b(?:if|when|whenever|unless|once|in case|where) [^,.;:!?]*(?:,|(?=[.;!?]|$))"
    r"|(?:如果|假如|假设|倘若|要是|若是|若|一旦|如(?=[无不未没您你]|客户|用户))"
    r"[^，,。；;！？!?]*(?:[，,]|(?=[。；;！？!?]|$))"
)
"""A condition: what somebody may lack ("if you cannot provide proof of income, …")."""
_PEOPLE: Final = (
    r"he|she|who|anyone|someone|people|users?|customers?|clients?|applicants?|borrowers?|members?"
    r"|tenants?|patients?|students?|employees?|employers?|buyers?|sellers?|guests?"
)
_HAN_PEOPLE: Final = (
    r"客户|用户|申请人|借款人|担保人|投保人|被保险人|持卡人|顾客|乘客|旅客|患者|病人|学生|家长"
    r"|员工|住户|买家|卖家|商家|当事人|对方|他|她"
)
_LACK: Final = (
    r"(?:cannot|can't|can not|could ?n[o']t|(?:is|are) (?:unable|not able)|do(?:es)? ?n[o']t)"
)
_HAN_LACK: Final = r"(?:无法|不能|没法|难以|不(?:太)?(?:清楚|知道|确定))"
_OF_OTHERS: Final = re.compile(
    rf"\b(?:you|{_PEOPLE}) (?:\w+ly )?{_LACK}\b[^,.;:!?]*"
    rf"|\b(?:{_PEOPLE}) (?:did not|didn't|ha(?:s|ve) no)\b[^,.;:!?]*"
    rf"|(?:您|你|{_HAN_PEOPLE})们?(?:确实|暂时?|仍然?|还|也|都|因故|可能|将)?{_HAN_LACK}"
    r"[^，,。；;！？!?]*"
    rf"|(?:{_HAN_PEOPLE})们?(?:逾期|仍然?|还|也|都)?(?:没有|并未|未)[^，,。；;！？!?]*"
)
"""What others than the answerer cannot do, have not done or do not know.

That *you* gave no information is not among it: some models say so when they decline.
"""


def is_refusal(folded: str) -> bool:
    """Whether a folded sentence declines to answer or says that the sources are silent.

    Conditions, and what customers cannot or did not do, are no refusals: rules are made of them.
    """
    if not _holds(folded, _REFUSAL_HINTS):
        return False
    if folded.isascii() and not _holds(folded, _ENGLISH_REFUSAL_HINTS):
        return False
    folded = _APOLOGY.sub("", folded.lstrip())
    polite = _SORRY_FIRST.match(folded)
    if polite is not None:
        folded = folded[polite.end() :]
        if _NOT_FROM_ME.match(folded) is not None:
            return True
    if _REFUSAL.search(folded) is None:
        return False
    folded = _OF_OTHERS.sub(" ", _CONDITION.sub(" ", folded))
    if _REFUSAL.search(folded) is None:
        return False
    if _SOURCE_TALK.search(folded) is not None:
        return True
    return _DECLINES.search(folded) is not None


def _holds(folded: str, hints: Iterable[str]) -> bool:
    """Whether any of `hints` stands in a text; a loop, for it is asked of every sentence."""
    for hint in hints:  # noqa: SIM110 - a generator takes twice as long
        if hint in folded:
            return True
    return False


def is_courtesy(folded: str) -> bool:
    """Whether a folded sentence greets, thanks or offers help, and says nothing else."""
    greeting = _GREETING.match(folded) or _APOLOGY.match(folded)
    if greeting is not None:
        rest = folded[greeting.end() :]
        limit = _GREETING_REST if folded.isascii() else _GREETING_REST // 3
        return len(rest) <= limit and not any(c.isdigit() for c in rest)
    return _OFFER.match(folded) is not None


def is_question(text: str) -> bool:
    """Whether a sentence asks."""
    return ("?" in text or "？" in text) and _QUESTION.search(text.rstrip()) is not None


def is_lead_in(text: str) -> bool:
    """Whether a sentence only announces what follows ("Here are the steps:")."""
    return (":" in text or "：" in text) and _LEAD_IN.search(text) is not None


def is_hedged(folded: str) -> bool:
    """Whether a folded sentence says "may", "likely", 可能 …."""
    return _HEDGE.search(folded) is not None


def is_citation(folded: str) -> bool:
    """Whether a folded sentence only names its source: "(Passage 2)", "[3]"."""
    stripped = strip_source_phrases(folded)
    return stripped is not folded and not any(c.isalnum() for c in stripped)


def strip_apology(folded: str) -> str:
    """A folded sentence without a polite beginning ("sorry, …", 抱歉，…), which states nothing."""
    polite = _SORRY_FIRST.match(folded)
    return folded if polite is None else folded[polite.end() :]


def strip_source_phrases(folded: str) -> str:
    """A folded sentence without citations and "according to passage 2"."""
    if not _holds(folded, _SOURCE_HINTS):
        return folded
    return _SOURCE_PHRASE.sub(" ", folded)
