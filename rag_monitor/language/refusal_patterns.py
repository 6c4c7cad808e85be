"""What declines in so many words: the sources are silent, or the answerer cannot or may not.

Written from what assistants say, in both languages; each alternative is enough by itself.
"""

from __future__ import annotations

from typing import Final

from rag_monitor.language.alternatives import Alternatives

_SOURCES: Final = (
    r"(?:documents?|documentation|docs|sources?|contexts?|passages?|texts?|knowledge ?bases?"
    r"|materials?|databases?|records|files|results|index|articles?|excerpts?|snippets?|manuals?"
    r"|pages|handbooks?|help cent(?:er|re))"
)
_CONTENT: Final = (
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
SILENT: Final = Alternatives(
    rf"\bnothing (?:\w+ ){{0,3}}?(?:in|from|within) {_ITS_SOURCES}"
    rf"|\bno (?:\w+ ){{0,3}}?{_CONTENT}\b[^.!?;]{{0,60}}?\b(?:in|from|within|among|across) "
    rf"{_ITS_SOURCES}(?=\s*(?:[.!,;]|$|that\b|about\b|on\b|regarding\b|for\b|to\b|match))"
    rf"|^(?:there (?:is|are|was|were) )?no (?:\w+ ){{0,3}}?{_CONTENT}"
    r"(?: (?:were|was|are|is|could be|can be|ha(?:s|ve) been))?(?: \w+ly)?"
    r" (?:found|available|returned|retrieved|located|matched|match(?:es)?|exists?"
    r"|on (?:file|record))"
    rf"\b(?=\s*(?:[.!,;]|$|(?:for|on|about|regarding|matching|that)\b|to answer"
    rf"|(?:in|from) {_ITS_SOURCES}))"
    r"|\b(?:search|query|lookup|retrieval)\b[^.!?;]{0,40}?"
    r"\b(?:returned|yielded|produced|found|matched|gave|came (?:up|back)|turned up) (?:with )?"
    r"(?:no\b|nothing|empty|zero|0 )(?![^.!?]*\bbecause\b)"
    r"|\b(?:system|search|query|question|request|lookup) did(?: not|n't)"
    r" (?:match|return|yield|bring|find)"
    rf"|\bnone of {_ITS_SOURCES} (?:\w+ ){{0,2}}?(?:mention|address|cover|say|contain|discuss|state"
    rf"|answer|describe|give|provide|touch|include|explain|speak)s?\b"
    rf"|\b(?:is|are|was|were)(?: not|n't) (?:\w+ly )?(?:covered|mentioned|discussed|described"
    rf"|stated|addressed|documented|found|listed) (?:anywhere )?(?:in|by) {_ITS_SOURCES}"
    r"|\bit(?:'s| is) (?:un|not )clear (?:from|in) |\bit(?:'s| is) not possible to (?:tell|say"
    r"|determine|know|establish|confirm)|^n/?a\b|\bno answer (?:is )?available\b|^(?:zero|0) hits\b"
    r"|\bno records? of\b[^.!?;]{0,50}\b(?:in|on) (?:our|the|my) (?:system|archives?|collection)\b"
    r"|^not enough (?:data|information|context|details?) (?:to|for)\b|\bno conclusion can be drawn"
    r"|\bcan(?:not|'t| not) be (?:derived|inferred|determined|answered|deduced|established) from\b"
    r"|\b(?:i|we) did(?:n't| not) (?:find|see|locate|come across) any(?:thing)?\b"
    r"|\bwe (?:are|were) (?:\w+ly )?unable to (?:locate|find|answer|identify)\b"
    r"|^information (?:is )?(?:un|not )available\b|\b(?:is|are) silent (?:on|about)\b"
    r"|\b(?:yielded|returned|produced|turned up) no"
    r" (?:entry|results?|match(?:es)?|records?|hits?)\b(?![^.!?]*\bbecause\b)"
    rf"|\b{_SOURCES} (?:\w+ ){{0,2}}?(?:makes? no mention|(?:do|does)(?: not|n't) (?:go into"
    r"|touch on|extend to|deal with|speak to|supply))"
    r"|\b(?:i|we) (?:\w+ly )?have no (?:\w+ )?(?:details|information|data|records?|knowledge)\b"
    r"|\bnothing in [^.!?;]{0,30}\b(?:tells?|says?|mentions?|covers?|states?|indicates?) (?:us|me"
    r"|what|how|whether|who|when|where|why|about|that|this|anything)"
    rf"|\b{_SOURCES} (?:[\w']+ ){{0,4}}?(?:ha[sd]|have|contain(?:s|ed)?|holds?|includes?"
    rf"|offers?|says?|lists?|provides?|gives?|carr(?:y|ies)) (?:no (?:\w+ ){{0,2}}?{_CONTENT}"
    r"|nothing (?:on|about|that|regarding|of|relevant|to))"
    r"|^(?:it is |it's |that is |that's |this is )?not (?:\w+ly )?(?:specified|mentioned|stated"
    r"|documented|answerable|addressed|discussed|known)(?: (?:in|by|within|anywhere) [^.]{0,40})?"
    r"[.!]?$"
    rf"|^(?:it is |it's |that is |that's )?not (?:\w+ly )?\w* ?in {_ITS_SOURCES}[.!]?$"
    r"|^(?:unknown|no (?:idea|clue|answer|comment|information|data|results?|match(?:es)?)|n/?a"
    r"|none found|empty response)[.! ]*$"
)
"""The sources hold nothing, in English; each of these is enough."""
NOT_MINE: Final = Alternatives(
    r"\bi(?:'m| am) (?:\w+ly )?(?:unable|not (?:able|allowed|permitted|authori[sz]ed|qualified"
    r"|equipped|trained|designed|programmed|in a position|at liberty|aware|familiar))\b"
    rf"|\bi (?:\w+ly )?(?:can't|cannot|can not|won't|will not|couldn't|could not|may not|must not"
    rf"|am not going to) (?:\w+ ){{0,2}}?{_WITHHELD}"
    r"|\bi (?:\w+ly )?(?:lack|have no|see no|found no|find no|have nothing|found nothing|(?:have to"
    r"|must) decline|(?:would|'d) rather not|prefer not to|(?:do not|don't) feel comfortable"
    r"|have been (?:told|instructed|asked) not to|(?:won't|will not) be able to"
    rf"|(?:don't|do not) have an? (?:\w+ )?(?:answer|response|record|way))\b"
    r"|\b(?:came up (?:empty|short)|drawing a blank|beats me|guess is as good as mine)\b"
    r"|(?:\bnot|n't) (?:something (?:i|we)|possible for me)\b"
    r"|\b(?:prevents?|prohibits?|bars?|keeps?) (?:me|us) from\b"
    r"|\b(?:do|does)(?: not|n't) (?:allow|permit) (?:me|us) to\b"
    rf"|\b(?:this )?(?:chat ?bot|assistant|bot) (?:cannot|can't|is unable to|is not able to"
    r"|does not|doesn't) (?:provide|answer|give|handle|offer|discuss|access|see|look up)"
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
_HAN_NOW: Final = r"暂时?|目前|现在?|当前|也|均|都|并|还|尚"
_HAN_QUITE: Final = r"似乎|好像|确实|恐怕|真的?|实在|压根|根本|完全|始终|就"
_HAN_LATELY: Final = rf"(?:{_HAN_NOW}|{_HAN_QUITE})*"
_HAN_SOURCES: Final = (
    r"(?:文档|资料|材料|知识库|数据库|资料库|文献|手册|原文|上下文|文本|段落|文章|网页|语料库?"
    r"|(?:检索|搜索|查询)结果|参考内容)(?:中|里面?|内|当中|上)?"
)
_HAN_THINGS: Final = (
    r"(?:信息|内容|资料|数据|答案|结果|记录|文档|文件|条目|文章|说明|介绍|订单|知识|依据|规定|解答|纪录|记述"
    r"|记载|描述|条款|解决方案)"
)
_HAN_FOUND: Final = r"(?:找|查|搜|检索|搜索|查询|匹配)"
_HAN_END: Final = r"(?=[，,。.!！~～；;]|$)"
_HAN_SAYING: Final = r"(?:回答|解答|答复|作答|告知|透露|披露|评论|答(?![应谢]))"
HAN_SILENT: Final = Alternatives(
    rf"{_HAN_SOURCES}{_HAN_LATELY}(?:没有?|未|并未)"
    r"(?:说|讲|提(?![示供交醒])|写|记载|交代|涉及|覆盖|涵盖|收录)"
    rf"|{_HAN_SOURCES}{_HAN_LATELY}(?:没有?|未|无|并无|不含|不存在)(?:能)?(?:{_HAN_FOUND}[到着]|有)?"
    r"(?:任何|关于|有关|与|和|跟|您|你|该|此|这|相关|对应|匹配|符合|可用)"
    rf"|(?:没有?|未|并未)(?:能)?{_HAN_FOUND}[到着](?:任何|关于|相关|有关|匹配|符合|与|和|跟|您|你|该|此|这"
    rf"|对应|可用|合适)[^，,。]{{0,14}}{_HAN_THINGS}{_HAN_END}"
    rf"|(?:找|查|搜|检索|查询|搜索)不[到着][^，,。]{{0,16}}{_HAN_THINGS}{_HAN_END}"
    rf"|(?:没有?|无)(?:与|和|跟|关于)[^，,。]{{1,16}}?的{_HAN_THINGS}{_HAN_END}"
    rf"|系统(?:里面?|中|内)?{_HAN_LATELY}没有(?:您|你|该|此|这)[^，,。]{{0,8}}{_HAN_THINGS}{_HAN_END}"
    rf"|^{_HAN_LATELY}(?:没有?|未)(?:能)?{_HAN_FOUND}[到着]{_HAN_END}"
    rf"|(?:仅凭|从|光凭)[^，,。]{{1,14}}[，,]?[^，,。]{{0,6}}(?:看不出|无法看出|判断不了)"
    rf"|未能在[^，,。]{{1,12}}{_HAN_FOUND}[到着]|(?:搜索|检索|查询)结果为空|没有(?:确切|准确|现成)?的?答案{_HAN_END}"
    rf"|(?:目录|系统|库|表)[中里]?无[^，,。]{{1,10}}{_HAN_THINGS}{_HAN_END}"
    rf"|查无(?:此|该|相关|结果|记录|数据|资料)"
    rf"|暂(?:时)?(?:无|没有)[^，,。]{{0,10}}{_HAN_THINGS}{_HAN_END}"
    rf"|(?:^|[，,])无(?:任何|相关|对应|匹配|符合|可用)[^，,。]{{0,6}}{_HAN_THINGS}{_HAN_END}"
)
"""The sources hold nothing, in Chinese; each of these is enough."""
_HAN_UNABLE: Final = (
    r"(?:无法|没办法|没有办法|没法|不能|无权|没有权限|不便|不方便|难以|未能|没能|无从)"
    r"(?:直接|准确|实时|继续|再|为您|帮您|给您|向您|替您|代您|就此|对此)*"
)
HAN_NOT_MINE: Final = Alternatives(
    rf"我(?!们)(?:这边|这里)?{_HAN_LATELY}{_HAN_UNABLE}"
    r"(?:访问|获取|查看|查询|查到|查找|提供|给出|处理|判断|确认|预测|评价|讨论|协助|完成|满足|找到"
    rf"|检索|搜到|联网|看到|了解|掌握|执行|帮|[作做]出|预测|{_HAN_SAYING})"
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
    rf"|我(?!们|[^，,。]{{0,6}}自己)[^，,。]{{0,12}}?{_HAN_LATELY}(?:不(?:太)?了解|不掌握){_HAN_END}"
    rf"|我(?!们)[^，,。]{{0,8}}(?:[看查帮答办做说给]|预测|回答|解答|查询|提供|处理|判断|确认)不了"
    r"|(?:恕不|我[^，,。]{0,4}不)(?:作答|回答|答复)|不作(?:评论|答复|回答)|不便发表|说不上来|我不会(?=[。！!]|$)"
    r"|不在我[^，,。]{0,10}范围|超出了?我|还没学会|我(?!们)[^，,。]{0,12}看不到"
    rf"|{_HAN_UNABLE}给[您你][^，,。]{{0,6}}(?:答复|回答|答案)|[您你](?:问|咨询|查询)的[^，,。]{{0,6}}不属于"
    r"|(?:不好说|说不准|拿不准|吃不准|不宜妄|不予(?:答复|回答))"
    rf"|(?:^|[，,])(?:所以|因此|故|也就)?我?{_HAN_UNABLE}告诉[您你]"
    rf"|^没有权限(?:查看|访问|回答|提供|透露|查询)[^，,。]{{0,14}}{_HAN_END}"
    rf"|(?:^|[，,])(?:本系统|本助手|本机器人){_HAN_LATELY}{_HAN_UNABLE}{_HAN_SAYING}"
    rf"|我(?!们){_HAN_LATELY}(?:不了解|不掌握|没有)(?:该|此|这|您|你|相关|具体)"
)
"""The answerer cannot or may not, in Chinese."""
