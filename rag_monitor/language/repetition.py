"""Whether a question asks again for what an earlier one of the same conversation asked for.

A rephrasing keeps the words that carry the content and changes those around them; a new question
about the same thing replaces one of them ("… in Leeds?", "… in York?"). So the similarity is how
much of the content of the shorter question the other holds, with how much the two share in all. Two
questions that differ in a number, a code, a negation or the kind of thing asked for (a time, a
price, a place, a reason, a person) are never the same.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from rag_monitor.language.normalise import fold

REPEATED: Final = 0.85
"""From this similarity on a question repeats another; see docs/metrics.md for how it was chosen."""
_LONGEST: Final = 1_000
"""Characters of a question that are compared."""
_WORD: Final = re.compile(r"[a-z]+(?:'[a-z]+)?|\d+(?:[.,:/-]\d+)*|[\u3400-\u9fff]+")
_CODE: Final = re.compile(r"[a-z]*\d[a-z\d.,:/-]*|(?<!')\b[b-hj-z]\b")
_FILLER: Final = frozenset((
    "a", "an", "the", "is", "are", "am", "was", "were", "be", "been", "being", "do", "does",
    "did", "can", "could", "may", "might", "will", "would", "shall", "should", "must", "have",
    "has", "had", "i", "i'm", "i'd", "i've", "me", "my", "mine", "we", "us", "our", "you",
    "your", "yours", "it", "its", "this", "that", "these", "those", "there", "here", "what",
    "what's", "which", "who", "whom", "whose", "how", "when", "where", "why", "and", "or",
    "but", "so", "of", "to", "in", "on", "at", "for", "from", "by", "with", "about", "as",
    "into", "please", "tell", "know", "say", "said", "give", "show", "explain", "help", "just",
    "again", "really", "actually", "exactly", "still", "mean", "meant", "ask", "asked",
    "asking", "want", "wanted", "need", "like", "question", "answer", "thanks", "thank", "hi",
    "hello", "hey", "ok", "okay", "if", "then", "than", "let", "any", "some", "get", "got",
    "much", "many", "long", "no", "yes", "day", "days", "required", "require", "apply",
    "period", "time", "times", "number", "year", "yearly", "wrong", "one", "more", "once",
    "sorry",
))  # fmt: skip
_SYNONYMS: Final = {
    "cost": "price", "fee": "price", "charge": "price", "expensive": "price", "pay": "price",
    "cancel": "end", "terminate": "end", "stop": "end", "purchase": "buy", "order": "buy",
    "return": "refund", "guarantee": "warranty", "guaranteed": "warranty", "shipping": "ship",
    "delivery": "ship", "deliver": "ship", "modify": "change", "update": "change",
    "alter": "change", "reset": "change", "forgot": "change", "duration": "last", "valid": "last",
}  # fmt: skip
_HAN_FILLER: Final = re.compile(
    "请问一下|请问|麻烦你?|帮我|告诉我|我想知道|想知道|我想问|我是问|我问的是|我的意思是|我是说|想问|"
    "再问一遍|再说一遍|再问|到底|究竟|具体|一般|大概|能不能|可不可以|可以|能否|是否|是不是|有没有|"
    "什么时候|什么|怎么样|怎么办|怎么|怎样|如何|为什么|哪里|哪儿|哪些|哪个|哪|多少|多长时间|多长|"
    "多久|几天|几点|几个|需要|应该|准备|要|操作|流程|步骤|方法|申请|办理|办|去|最多|时间|时长|期限|期|"
    "你们|你|您|我们|我|想|这个|那个|这|那|一个|的|了|吗|呢|吧|啊|呀|是|在|会|能|有|就|还|都|和|与|及|"
    "把|被|给|成|到|不对|错了|谢谢|你好|您好"
)
_HAN_SYNONYMS: Final = (
    ("费用", "价格"), ("收费", "价格"), ("价钱", "价格"), ("花钱", "价格"), ("钱", "价格"),
    ("手续费", "价格"), ("退钱", "退款"), ("退货", "退款"), ("质保", "保修"), ("保质", "保修"),
    ("购买", "买"), ("取消", "解除"), ("终止", "解除"), ("更改", "修改"), ("更换", "修改"),
    ("重置", "修改"), ("忘记", "修改"), ("忘了", "修改"), ("年费", "年价格"),
)  # fmt: skip
_KINDS: Final = {
    "duration": re.compile(
        r"\b(?:how long|how many (?:minutes|hours|days|weeks|months|years)|length|duration|period"
        r"|(?:minutes|hours|days|weeks|months|years) (?:does|do|will)|how soon|how fast)\b"
        r"|多久|多长时间|几天|多少天|几个月|多少时间|几年|时长|期限|时限|保修期"
    ),
    "price": re.compile(
        r"\b(?:how expensive|price|costs?|fees?|charges?|how much (?:is|are|do i pay|money))\b"
        r"|多少钱|价格|费用|收费|价钱|手续费|运费|年费|几块|花多少"
    ),
    "moment": re.compile(
        r"\b(?:what time|opening (?:times?|hours)|what date|which day|since when|until when)\b"
        r"|\bwhen\b|几点|什么时候|何时|哪天|日期|开门时间|营业时间"
    ),
    "place": re.compile(r"\bwhere\b|\baddress\b|哪里|哪儿|地址|在哪|去哪|何处"),
    "reason": re.compile(r"\bwhy\b|\breasons?\b|\bhow come\b|为什么|为何|原因|为啥"),
    "person": re.compile(r"\bwho\b|\bwhom\b|谁|哪位"),
}
"""Kinds of things that are asked for, where a question says so."""
_NEGATION: Final = re.compile(
    r"\b(?:not|without|never|cannot|\w+n't)\b|不(?!对|是)|没(?!有没)|无法|未"
)


def repeats(question: str, earlier: str) -> bool:
    """Whether `question` asks for the same as `earlier`, in the same words or in others.

    >>> repeats("What's the length of the warranty?", "How long is the warranty length?")
    True
    >>> repeats("And for students?", "What does the card cost?")
    False
    """
    return similarity(question, earlier) >= REPEATED


def repeated_turns(questions: Sequence[str | None]) -> tuple[int | None, ...]:
    """Of each question, in order, the 0-based place of the earlier one it repeats; None: of none.

    Of several the nearest. A question that was withheld repeats none.
    """
    prepared = [None if question is None else _Content(question) for question in questions]
    places: list[int | None] = []
    for place, content in enumerate(prepared):
        before = (
            earlier
            for earlier in range(place - 1, -1, -1)
            if content is not None
            and (other := prepared[earlier]) is not None
            and content.similarity(other) >= REPEATED
        )
        places.append(next(before, None))
    return tuple(places)


def similarity(one: str, other: str) -> float:
    """How much of what two questions ask for is the same, 0 to 1."""
    return _Content(one).similarity(_Content(other))


class _Content:
    """What a question asks for, as features."""

    def __init__(self, question: str) -> None:
        folded = fold(question[:_LONGEST])
        self.whole = "".join(_WORD.findall(folded))
        self.codes = frozenset(_CODE.findall(folded))
        self.negated = bool(_NEGATION.search(folded))
        self.kinds = {kind for kind, words in _KINDS.items() if words.search(folded)}
        self.features = frozenset(_features(folded))

    def similarity(self, other: _Content) -> float:
        if self.whole and self.whole == other.whole:
            return 1.0
        if self.codes != other.codes or self.negated != other.negated:
            return 0.0
        if self.kinds and other.kinds and not self.kinds & other.kinds:
            return 0.0
        if not self.features or not other.features:
            return 0.0
        shared = len(self.features & other.features)
        sizes = len(self.features), len(other.features)
        return (shared / min(sizes) + 2 * shared / sum(sizes)) / 2


def _features(folded: str) -> list[str]:
    features: list[str] = []
    for word in _WORD.findall(folded):
        if word[0] >= "\u3400":
            for part in _han_parts(word):
                features += part
        elif word not in _FILLER:
            stem = _stem(word)
            features.append(_SYNONYMS.get(word, _SYNONYMS.get(stem, stem)))
    return features


def _han_parts(word: str) -> list[str]:
    for said, same in _HAN_SYNONYMS:
        word = word.replace(said, same)
    return [part for part in _HAN_FILLER.split(word) if part]


def _stem(word: str) -> str:
    for ending in ("'s", "ing", "ies", "ed", "es", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)] + ("y" if ending == "ies" else "")
    return word.removesuffix("e") if len(word) > 3 else word
