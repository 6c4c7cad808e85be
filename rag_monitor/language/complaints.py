"""Whether what a user writes complains about the answer before it, in English and Chinese.

Expressions, not sentiment: somebody may be angry about a product in a good question.
"""

from __future__ import annotations

import re
from typing import Final

from rag_monitor.language.normalise import fold

_LONGEST: Final = 2_000
"""Characters that are looked at: complaints are short."""
_ENGLISH: Final = re.compile(
    r"\b(?:that|this|it|you|your answer|the answer|which)(?:'s| is| was|'re| are| were)"
    r" (?:still |just |simply |completely |totally |obviously |clearly |plain |all )*"
    r"(?:wrong|incorrect|not right|not correct|not true|false|useless|nonsense|rubbish|no help"
    r"|not helpful|unhelpful|not what i (?:asked|meant|want\w*)|mistaken"
    r"|making (?:this|that|it) up)\b"
    r"|\b(?:that|this|it|you|your answer|the answer)"
    r" (?:isn't|wasn't|aren't|doesn't|does not|didn't|did not)"
    r" (?:right|correct|true|helpful|what i (?:asked|meant|want\w*)|help(?: me)?(?= at all|[.!]|$)"
    r"|answer (?:my|the) question|(?:even )?(?:read|understand) (?:me|my|what i))"
    r"|\bnot what i (?:asked|meant|wanted)\b"
    r"|\byou (?:still )?(?:did not|didn't|haven't|have not|don't|do not|never) (?:even )?"
    r"(?:answer\w*|understand|understood|listen\w*|get it|read)\b"
    r"|\bi (?:already|just) (?:told|asked|said|wrote)\b|\bas i (?:already )?(?:said|asked)\b"
    r"|\b(?:wrong|bad|terrible|useless) (?:answer|bot|chatbot|reply|assistant)\b"
    r"|^(?:no[,.! ]+)?(?:that's |still )?(?:wrong|incorrect|useless|nonsense)[.!?]*$"
    r"|\bstill (?:wrong|not (?:right|correct|answered|what i))\b"
    r"|\b(?:stupid|dumb|useless|idiotic) (?:bot|chatbot|machine|ai|assistant|thing)\b"
    r"|\b(?:talk|speak) to (?:a|an) (?:real )?(?:human|person)\b.*\b(?:useless|wrong|enough)\b"
    r"|\byou(?:'re| are) (?:no help|not helping|wasting my time|not listening)\b"
)
_CHINESE: Final = re.compile(
    r"(?:你|您|这|那|上面|刚才|刚刚|回答|答案|说的?|还是|完全|根本)[^，。！？,.!?]{0,6}"
    r"(?:不对(?![称等应外口])|错了|错的|不正确|不准确?|有误|胡说|瞎编|瞎说|乱说|乱编|没用|没帮助|不靠谱)"
    r"|答非所问|文不对题|牛头不对马嘴|驴唇不对马嘴|胡说八道|一派胡言|胡编乱造"
    r"|(?:不是|不是在)我(?:想|要|所)?(?:问|说|要)的|我(?:问|说|要)的(?:根本|压根)?(?:就)?不是(?:这|那)"
    r"|(?:你|您)(?:根本|压根|还是|又|都|完全)?(?:就)?(?:没有?|未)(?:听懂|看懂|理解|明白|回答|答|解决)"
    r"|(?:你|您)(?:根本|压根|还是|完全)?(?:就)?(?:听不懂|看不懂|不理解|不明白|不懂)"
    r"|(?:我)(?:刚才|刚刚|已经|不是|都)(?:已经)?(?:问|说|讲)(?:过|了)"
    r"|^(?:不对|错了|不是这个|不是这样的?|还是不对|还是不行|没用|什么鬼|什么玩意儿?|废话|垃圾)"
    r"(?:[吧啊呀的了]|机器人|客服|回答)*[，,。！!~\s]*(?:$|(?<=[，,。！!\s]))"
    r"|(?:太|真|什么)(?:差劲?|烂|垃圾|没用|离谱)(?:了|的)?(?:客服|机器人|助手|回答|答案)?[。！!]*$"
    r"|(?:垃圾|智障|人工智障|弱智|没用的?|破)(?:客服|机器人|助手|系统|ai)"
    r"|(?:回答|答案)(?:太|真|很|完全)?(?:没用|没帮助|敷衍|离谱|错误)|浪费(?:我的?)?时间"
    r"|没有?(?:回答|解决)(?:到)?我的?(?:问题|疑问)"
)


def complains(text: str) -> bool:
    """Whether a user's text says that the answer before it was bad.

    >>> complains("No, that's wrong. How long is the warranty?"), complains("你没听懂我的问题")
    (True, True)
    >>> complains("What do I do if the amount on my bill is wrong?"), complains("密码不对怎么办？")
    (False, False)
    """
    folded = fold(text[:_LONGEST]).strip()
    return bool(_ENGLISH.search(folded) or _CHINESE.search(folded))
