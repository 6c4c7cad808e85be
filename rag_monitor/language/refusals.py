"""Sentences that decline to answer, or say that the sources are silent; apologies that do not."""

from __future__ import annotations

import re
from typing import Final

from rag_monitor.language.alternatives import Alternatives
from rag_monitor.language.hints import Hints
from rag_monitor.language.refusal_patterns import HAN_NOT_MINE, HAN_SILENT, NOT_MINE, SILENT
from rag_monitor.language.sentence_kinds import sentence_kind

REFUSAL_FROM: Final = 0.9
"""Probability from which a sentence declines: of two hundred statements that taught nothing, one is
taken for it (`benchmarks/embedded_judge/train_sentence_kinds.py`)."""

APOLOGY: Final = re.compile(
    r"^(?:(?:i'm|i am|we're|we are) )?(?:very |so |really |truly )?sorry "
    r"(?:for|about|to hear|that (?:you|your))\b"
    r"|^(?:(?:i|we) )?apologi[sz]e for\b"
    r"|^(?:我们|我)?(?:非常|很|十分|真是?|深感)?(?:抱歉|对不起)[，,]?(?:让|给|为|造成|带来)(?:您|你|大家)?"
)
"""An apology for something that happened: courtesy, not an answer declined."""
SORRY_FIRST: Final = re.compile(
    r"^(?:(?:i'm|i am|we're|we are) )?(?:very |so |really |truly |terribly )?(?:sorry|afraid)"
    r"(?:[,;:.!]| -)\s*(?:but |however,? )?(?=\w)"
    r"|^(?:i'm|i am|we're|we are) (?:afraid|sorry)(?: that)? (?=(?:the|your|it|there|this|that) )"
    r"|^(?:我们|我)?(?:非常|很|十分|真是?|深感|实在)?(?:抱歉|对不起|不好意思)[，,。!！～~\s]+(?=\w)"
)
"""A polite beginning; what follows may decline, or say what is the case ("sorry, the fee is 5")."""


def strip_apology(folded: str) -> str:
    """A folded sentence without a polite beginning ("sorry, …", 抱歉，…), which states nothing."""
    polite = SORRY_FIRST.match(folded)
    return folded if polite is None else folded[polite.end() :]


_REFUSAL: Final = Alternatives(
    r"\b(?:unable to|cannot|can't|could ?n[o']t|can not|not able to"
    r"|isn't able to|aren't able to|wasn't able to|weren't able to)\s+"
    r"(?:\w+\s+){0,3}?(?:answer|provide|find|determine|help|assist|give|tell|locate|respond|"
    r"comply)\b"
    r"|\b(?:do(?:es)? not|don't|doesn't|did not|didn't) (?:have (?:enough|any|sufficient|"
    r"access|the)|know\b"
    r"|(?:\w+\s+){0,2}?(?:provide|contain|include|mention|specify|say|state|give|discuss|"
    r"address|answer|reveal|tell|indicate|cover|settle|clarify|describe)\b)"
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
    r"|我们?(?:这里|这边|手头)?(?:也|都|暂时?)?(?:没有|暂无)(?:任何)?(?:资料|信息|数据|记录)"
    r"|超出了?[^，。,]{0,10}范围|不支持(?:回答|解答)|(?:查询?|搜索?|找|检索)不到"
    r"|(?:答|回答|解答|帮)不(?:了|上|出)|无能为力|爱莫能助"
    r"|不知道|(?<![尚仍])不(?:太)?清楚|不确定|信息不足|资料不足|抱歉|对不起|无可奉告|无从(?:得知|知晓|判断)"
)
_HAN_REFUSAL_HINT: Final = re.compile("[无不没未缺难暂抱对超爱]")
_REFUSAL_HINTS: Final = Hints((
    "not", "n't", "unable", "no ", "insufficient", "sorry", "afraid", "unanswerable", "outside",
    "beyond", "out of", "unknown", "n/a", "lack", "empty", "decline", "zero", "none", "short",
    "blank", "beats me", "guess", "prevent", "prohibit", "unclear", "unavailable", "silent",
))  # fmt: skip
"""Every refusal holds one of these or of the Han ones."""
_ENGLISH_REFUSAL_HINTS: Final = Hints((
    "answer", "provide", "find", "determine", "help", "assist", "give", "tell", "locate",
    "respond", "comply", "have", "know", "contain", "include", "mention", "specif", "say", "state",
    "discuss", "address", "information", "data", "detail", "context", "evidence", "available",
    "clear", "enough", "sorry", "afraid", "document", "passage", "source", "result", "record",
    "match", "found", "return", "access", "unable", " my ", "scope", "question", "query", "request",
    "unknown", "n/a", " i ", " i'm", "text", "doc", "manual", "page", "hits",
    "possible", " me ", " us ", "bot ", "reveal", "indicate", "cover", "settle", "describe",
    "something", "response",
))  # fmt: skip
"""And one in ASCII letters also one of these; most sentences with a "not" do not."""
_DECLINES: Final = Alternatives(
    r"\b(?:unable to|cannot|can't|can not|could not|not able to) (?:answer|help|assist|determine)\b"
    r"|\bunanswerable\b|\bsorry\b|无法(?:回答|确定|得知|判断|作答|解答|提供)|不能回答|"
    r"不知道|(?<![尚仍])不(?:太)?清楚|抱歉|对不起"
    r"|信息不足|资料不足|无可奉告|无从|(?:答|回答|解答|帮)不(?:了|上|出)|无能为力|爱莫能助"
)
_SOURCE_TALK: Final = Alternatives(
    r"\b(?:passages?|contexts?|documents?|texts?|information|articles?|sources?|excerpts?|"
    r"question|knowledge base)\b"
    r"|\bi\b|已知|上下文|文档|资料|材料|信息|文章|段落|知识库|原文|新闻|问题|我|相关的?内容"
)
_NOT_FROM_ME: Final = re.compile(
    r"^(?:but )?i (?:can't|cannot|can not|won't|will not|don't|do not|am unable|am not)\b"
    r"|^(?:这个?|这件事)?我(?!们)[^，。,]{0,6}[不没无未]"
)
"""What follows an apology and declines in the first person."""


_CONDITION: Final = re.compile(
    r"\b(?:if|when|whenever|unless|once|in case|where) [^,.;:!?]*(?:,|(?=[.;!?]|$))"
    r"|(?:如果|假如|假设|倘若|要是|若是|若|一旦|如(?=[无不未没您你]|客户|用户))"
    r"[^，,。；;！？!?]*(?:[，,]|(?=[。；;！？!?]|$))"
    r"|[^，,。；;！？!?]{2,24}(?:的话|时候?)[，,]"
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
    rf"|{_HAN_LACK}[^，,。；;！？!?]{{0,12}}的(?:{_HAN_PEOPLE}|同事|同学|朋友|人)"
    rf"|(?:{_HAN_PEOPLE})们?(?:逾期|仍然?|还|也|都)?(?:没有|并未|未)[^，,。；;！？!?]*"
)
"""What others than the answerer cannot do, have not done or do not know.

That *you* gave no information is not among it: some models say so when they decline.
"""


_QUOTED: Final = re.compile(r'"[^"]{1,30}"')
"""What a message or somebody says is not said by the answerer."""


def _outright(folded: str) -> bool:
    """Whether a sentence declines in so many words, about whatever it is."""
    if folded.isascii():
        return SILENT.found(folded) or NOT_MINE.found(folded)
    return HAN_SILENT.found(folded) or HAN_NOT_MINE.found(folded)


def is_refusal(folded: str) -> bool:
    """Whether a folded sentence declines to answer or says that the sources are silent.

    In words that are known to decline, or in words like those that do.
    """
    if _declines(folded):
        return True
    rest = _OF_OTHERS.sub(" ", _CONDITION.sub(" ", folded)).strip()
    return bool(rest) and sentence_kind(rest).refusal > REFUSAL_FROM


def _declines(folded: str) -> bool:
    """Whether it does so in words that are known.

    Conditions, and what customers cannot or did not do, are no refusals: rules are made of them.
    """
    if folded.isascii():
        if not (_REFUSAL_HINTS.found(folded) and _ENGLISH_REFUSAL_HINTS.found(f" {folded}")):
            return False
    elif not (_HAN_REFUSAL_HINT.search(folded) or _REFUSAL_HINTS.found(folded)):
        return False
    folded = APOLOGY.sub("", folded.lstrip())
    polite = SORRY_FIRST.match(folded)
    if polite is not None:
        folded = folded[polite.end() :]
        if _NOT_FROM_ME.match(folded) is not None:
            return True
    if not (_outright(folded) or _REFUSAL.found(folded) or _CONDITION.match(folded)):
        return False
    folded = _OF_OTHERS.sub(" ", _CONDITION.sub(" ", _QUOTED.sub(" ", folded))).strip()
    if _outright(folded):
        return True
    if not _REFUSAL.found(folded):
        return False
    return _SOURCE_TALK.found(folded) or _DECLINES.found(folded)
