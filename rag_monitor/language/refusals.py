"""Sentences that decline to answer, or say that the sources are silent."""

from __future__ import annotations

import re
from typing import Final

from rag_monitor.language.apologies import APOLOGY, SORRY_FIRST
from rag_monitor.language.hints import holds_any

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
    "not", "n't", "unable", "no ", "insufficient", "sorry", "afraid", "unanswerable", "outside",
    "beyond", "out of", "unknown", "n/a", "lack", "empty", "decline", "zero", "none",
    *"无不没未缺难暂抱对超爱",
)  # fmt: skip
"""Every refusal holds one of these."""
_ENGLISH_REFUSAL_HINTS: Final = (
    "answer", "provide", "find", "determine", "help", "assist", "give", "tell", "locate",
    "respond", "comply", "have", "know", "contain", "include", "mention", "specif", "say", "state",
    "discuss", "address", "information", "data", "detail", "context", "evidence", "available",
    "clear", "enough", "sorry", "afraid", "document", "passage", "source", "result", "record",
    "match", "found", "return", "access", "unable", "my ", "scope", "question", "query", "request",
    "unknown", "n/a", "i ", "text", "knowledge",
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


_SOURCES: Final = (
    r"(?:documents?|documentation|docs|sources?|contexts?|passages?|texts?|knowledge ?bases?"
    r"|materials?|databases?|records|files|results|index|articles?|excerpts?|snippets?)"
)
_TOLD: Final = (
    r"(?:mentions?|information|info|references?|entry|entries|details?|data|records?|answers?"
    r"|indication|discussion|explanation|guidance|passages?|documents?|articles?|results?"
    r"|match(?:es)?|hits?|sections?|content|sources?)"
)
_ITS_SOURCES: Final = (
    rf"(?:(?:the|my|our|your|these|this|any of the) )?(?:[\w-]+ ){{0,2}}?{_SOURCES}\b"
)
_WITHHELD: Final = (
    r"(?:access|see|view|retrieve|answer|look|verify|confirm|discuss|share|disclose|speak|comment"
    r"|offer|advise|give|provide|say|tell|find|help|assist|browse|open|predict|locate|determine"
    r"|comply|respond|guess|speculate|make out|work out|do (?:that|this))\b"
)
_SILENT: Final = re.compile(
    rf"\bnothing (?:\w+ ){{0,3}}?(?:in|from|within) {_ITS_SOURCES}"
    rf"|\bno (?:\w+ ){{0,3}}?{_TOLD}\b[^.!?;]{{0,60}}?\b(?:in|from|within|among|across) "
    rf"{_ITS_SOURCES}(?=\s*(?:[.!,;]|$|that\b|about\b|on\b|regarding\b|for\b|to\b|match))"
    rf"|^(?:there (?:is|are|was|were) )?no (?:\w+ ){{0,3}}?{_TOLD}"
    r"(?: (?:were|was|are|is|could be|can be|ha(?:s|ve) been))?(?: \w+ly)?"
    r" (?:found|available|returned|retrieved|located|matched|match(?:es)?|exists?"
    r"|on (?:file|record))"
    rf"\b(?=\s*(?:[.!,;]|$|(?:for|on|about|regarding|matching|that)\b|to answer"
    rf"|(?:in|from) {_ITS_SOURCES}))"
    r"|\b(?:search|query|lookup|retrieval)\b[^.!?;]{0,40}?"
    r"\b(?:returned|yielded|produced|found|matched|gave|came (?:up|back)|turned up) (?:with )?"
    r"(?:no\b|nothing|empty|zero|0 )(?![^.!?]*\bbecause\b)"
    r"|\b(?:search|query|question|request) did(?: not|n't) (?:match|return|yield|bring)"
    rf"|\b{_ITS_SOURCES} (?:[\w']+ ){{0,4}}?(?:ha[sd]|have|contain(?:s|ed)?|holds?|includes?"
    rf"|offers?|says?|lists?|provides?|gives?|carr(?:y|ies)) (?:no (?:\w+ ){{0,2}}?{_TOLD}"
    r"|nothing (?:on|about|that|regarding|of|relevant|to))"
    r"|^(?:it is |it's |that is |that's |this is )?not (?:\w+ly )?(?:specified|mentioned|stated"
    r"|documented|answerable|addressed|discussed|known)(?: (?:in|by|within|anywhere) [^.]{0,40})?"
    r"[.!]?$"
    rf"|^(?:it is |it's |that is |that's )?not (?:\w+ly )?\w* ?in {_ITS_SOURCES}[.!]?$"
    r"|^(?:unknown|no (?:idea|clue|answer|comment|information|data|results?|match(?:es)?)|n/?a"
    r"|none found)[.! ]*$"
)
"""The sources hold nothing, in English; each of these is enough."""
_NOT_MINE: Final = re.compile(
    r"\bi(?:'m| am) (?:\w+ly )?(?:unable|not (?:able|allowed|permitted|authori[sz]ed|qualified"
    r"|equipped|trained|designed|programmed|in a position|at liberty|aware|familiar))\b"
    rf"|\bi (?:\w+ly )?(?:can't|cannot|can not|won't|will not|couldn't|could not|may not|must not"
    rf"|am not going to) (?:\w+ ){{0,2}}?{_WITHHELD}"
    r"|\bi (?:\w+ly )?(?:lack|have no|see no|found no|find no|have nothing|found nothing"
    r"|came up empty|(?:have to|must) decline)\b"
    r"|\b(?:this|that|your|the|such) (?:question|query|request|topic|subject|inquiry)s?\b"
    r"[^.!?;]{0,40}?(?:\b(?:can(?:not|'t| not)|could ?n[o']t) be (?:\w+ly )?"
    r"(?:answered|determined|addressed)"
    r"|\bis(?:n't| not) (?:\w+ly )?(?:something (?:i|we)|answerable|one i|within (?:my|our|the)"
    r"|in my|part of my))"
    r"|\b(?:outside|beyond|not within|not part of|out of scope,? for)"
    r" (?:of )?(?:my\b|what i\b|what we\b"
    r"|(?:the )?scope of (?:my|this|the (?:documents?|knowledge|provided|available|material)|what)"
    r"|(?:the|our) (?:knowledge|expertise))"
)
"""The answerer cannot or may not, in English."""
_HAN_LATELY: Final = r"(?:暂时?|目前|现在?|当前|也|均|都|并|还|尚|似乎|好像|确实|恐怕|真的?|实在)*"
_HAN_SOURCES: Final = (
    r"(?:文档|资料|材料|知识库|数据库|资料库|文献|手册|原文|上下文|文本|段落|文章|网页|语料库?"
    r"|(?:检索|搜索|查询)结果|参考内容)(?:中|里面?|内|当中|上)?"
)
_HAN_THINGS: Final = (
    r"(?:信息|内容|资料|数据|答案|结果|记录|文档|文件|条目|文章|说明|介绍|订单|知识|依据|规定|解答)"
)
_HAN_FOUND: Final = r"(?:找|查|搜|检索|搜索|查询|匹配)"
_HAN_END: Final = r"(?=[，,。.!！~～；;]|$)"
_HAN_SAYING: Final = r"(?:回答|解答|答复|作答|告知|透露|评论|答(?![应谢]))"
_HAN_SILENT: Final = re.compile(
    rf"{_HAN_SOURCES}{_HAN_LATELY}(?:没有?|未|并未)"
    r"(?:说|讲|提(?![示供交醒])|写|记载|交代|涉及|覆盖|涵盖|收录)"
    rf"|{_HAN_SOURCES}{_HAN_LATELY}(?:没有?|未|无|并无|不含|不存在)(?:能)?(?:{_HAN_FOUND}到|有)?"
    r"(?:任何|关于|有关|与|和|跟|您|你|该|此|这|相关|对应|匹配|符合|可用)"
    rf"|(?:没有?|未|并未)(?:能)?{_HAN_FOUND}到(?:任何|关于|相关|有关|匹配|符合|与|和|跟|您|你|该|此|这"
    rf"|对应|可用|合适)[^，,。]{{0,14}}{_HAN_THINGS}{_HAN_END}"
    rf"|查无(?:此|该|相关|结果|记录|数据|资料)"
    rf"|暂(?:时)?(?:无|没有)[^，,。]{{0,10}}{_HAN_THINGS}{_HAN_END}"
    rf"|(?:^|[，,])无(?:任何|相关|对应|匹配|符合|可用)[^，,。]{{0,6}}{_HAN_THINGS}{_HAN_END}"
)
"""The sources hold nothing, in Chinese; each of these is enough."""
_HAN_UNABLE: Final = (
    r"(?:无法|没办法|没有办法|没法|不能|无权|没有权限|不便|不方便|难以|未能|没能|无从)"
    r"(?:直接|准确|实时|继续|再|为您|帮您|给您|向您|替您|就此|对此)*"
)
_HAN_NOT_MINE: Final = re.compile(
    rf"我(?!们)(?:这边|这里)?{_HAN_LATELY}{_HAN_UNABLE}"
    r"(?:访问|获取|查看|查询|查到|查找|提供|给出|处理|判断|确认|预测|评价|讨论|协助|完成|满足|找到"
    rf"|检索|搜到|联网|看到|了解|掌握|执行|帮|{_HAN_SAYING})"
    rf"|我们?{_HAN_LATELY}{_HAN_UNABLE}{_HAN_SAYING}"
    rf"|^(?:这边|系统|本?助手|小助手|本?机器人|智能客服|本系统)?{_HAN_LATELY}{_HAN_UNABLE}"
    rf"(?:查询|查到|获取|检索|确认|判断|识别|理解|{_HAN_SAYING})[^，,。的]{{0,8}}{_HAN_END}"
    rf"|^{_HAN_LATELY}{_HAN_UNABLE}(?:提供|给出|查询|获取|查到|检索到?)[^，,。]{{0,12}}"
    rf"{_HAN_THINGS}{_HAN_END}"
    r"|(?:这|该|此|您的?|你的?|上述|以上)(?:一?个|类|些|方面的?|条|项)?(?:问题|提问|请求|咨询|疑问)"
    rf"[^，,。]{{0,10}}?(?:{_HAN_UNABLE}[^，,。]{{0,14}}?(?:{_HAN_SAYING}|答案|得知|查到)"
    r"|不在[^，,。]{0,12}(?:知识|能力|业务|服务|回答|解答|支持|职责)[^，,。]{0,4}范围"
    r"|暂?不支持|没有(?:答案|相关)|我(?:不会|不懂|不了解))"
    r"|(?:暂?不支持|无法(?:识别|理解|受理))(?:该|此|这|您|你)[^，,。]{0,6}(?:问题|提问|请求|咨询)"
    rf"|我(?!们){_HAN_LATELY}(?:不了解|不掌握|没有)(?:该|此|这|您|你|相关|具体)"
)
"""The answerer cannot or may not, in Chinese."""


def _outright(folded: str) -> bool:
    """Whether a sentence declines in so many words, about whatever it is."""
    if folded.isascii():
        return _SILENT.search(folded) is not None or _NOT_MINE.search(folded) is not None
    return _HAN_SILENT.search(folded) is not None or _HAN_NOT_MINE.search(folded) is not None


def is_refusal(folded: str) -> bool:
    """Whether a folded sentence declines to answer or says that the sources are silent.

    Conditions, and what customers cannot or did not do, are no refusals: rules are made of them.
    """
    if not holds_any(folded, _REFUSAL_HINTS):
        return False
    if folded.isascii() and not holds_any(folded, _ENGLISH_REFUSAL_HINTS):
        return False
    folded = APOLOGY.sub("", folded.lstrip())
    polite = SORRY_FIRST.match(folded)
    if polite is not None:
        folded = folded[polite.end() :]
        if _NOT_FROM_ME.match(folded) is not None:
            return True
    folded = _OF_OTHERS.sub(" ", _CONDITION.sub(" ", folded)).strip()
    if _outright(folded):
        return True
    if _REFUSAL.search(folded) is None:
        return False
    if _SOURCE_TALK.search(folded) is not None:
        return True
    return _DECLINES.search(folded) is not None
