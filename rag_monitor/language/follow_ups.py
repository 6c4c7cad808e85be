"""Whether a question can only be understood with what was said before, in English and Chinese.

Such a question points back (it, the second one, 它, 前者), goes on from something (And for …?,
那…呢？, too, 也), or leaves out what it is about (Why?, Without brakes?, 多少钱？, 怎么取消？).
A word that points back counts only where nothing in the question itself stands before it that it
may mean: in "If my parcel is lost, how do I report it?" it is the parcel.
"""

from __future__ import annotations

import re
from typing import Final

from rag_monitor.language.normalise import fold
from rag_monitor.language.script import has_han
from rag_monitor.language.stems import STOP_WORDS

LONGEST: Final = 200
"""Characters of a question that may depend on others; a longer one says what it is about."""

_POLITE: Final = re.compile(
    r"^(?:(?:ok|okay|thanks|thank you|great|good|i see|alright|please|yes|no|hm+|sorry)\b[\s,.!]*)+"
)
_ASKS: Final = frozenset((
    "what", "which", "who", "whom", "whose", "how", "when", "where", "why",
))  # fmt: skip
_DEGREES: Final = frozenset(("many", "long", "often", "far", "old", "big", "soon", "late", "early"))
"""What stands after `how`."""
_AUXILIARIES: Final = frozenset((
    "is", "are", "am", "was", "were", "do", "does", "did", "can", "could", "may", "might", "must",
    "will", "would", "shall", "should", "has", "have", "had",
))  # fmt: skip
_SUBJECTS: Final = frozenset(("i", "we", "you", "one", "people"))
_GOES_ON: Final = re.compile(
    r"^(?:and|but|or|what about|how about|also|otherwise|same for)\b|\b(?:too|as well|either|then"
    r"|instead|otherwise|else|again)\W*$|\b(?:what|who|where|how|anything|something|anyone) else\b"
)
_PICKS: Final = re.compile(
    r"\b(?:first|second|third|fourth|last|other|next|former|latter|this|that|which|cheaper|cheapest"
    r"|bigger|smaller|larger|\w+er) ones?\b|\bthe (?:former|latter|others?)\b(?!\s+\w)"
    r"|\bones?\W*$|\bof (?:them|these|those)\b"
)
_CLAUSE: Final = re.compile(
    r"[,.;:!?]|\b(?:if|when|after|before|because|since|while|once|until|and|but|or|who|which)\b"
)
_POINTS: Final = re.compile(
    r"\b(?:they|them|he|him|she|it(?! (?:\w+ ){1,3}?(?:to|that|if|when)\b"
    r"(?<! have to)(?<! need to)(?<! has to)(?<! apply to)(?<! belong to)(?<! connect to))"
    r"|this(?! (?:year|week|month|morning|afternoon|evening|summer|winter|spring|autumn|weekend"
    r"|app|site|website|page|chat|service)\b)"
    r"|these|those(?! (?:who|with|that)\b))\b"
    r"|(?:^|\b(?:is|was|does|do|did|will|would|can|could|about|after|before|for|of|with|in|to|on|like"
    r"|than|from|why|how|at|by|all|has|had|should|must)) that\b|\bthat\W*$"
    r"|(?<!is )(?<!are )(?<!was )(?<!were )(?<!be )\bthere\b(?! (?:is|are|was|were|be|a|an|any)\b)"
)
_OWNS: Final = re.compile(r"\b(?:its|their|theirs|his|her|hers)\b")
_WORD: Final = re.compile(r"[a-z]+(?:'[a-z]+)?|\d+(?:[.,:]\d+)*")

_HAN_POLITE: Final = re.compile(
    r"^(?:好的?|谢谢|请问(?:一下)?|麻烦问一?下|想问一?下|我想知道|嗯|哦|明白了?|知道了|您好|你好|[\s，。,.!！、])+"
)
_HAN_GOES_ON: Final = re.compile(
    r"^(?:那(?![里儿边年天时])|还有(?!没有)|另外|然后|以及|但是?|可是|不过|而且|或者|除此之外|除了这)"
    r"|^[^，,。；;]{0,8}也(?!门|许)|一样[吗么嘛]|同样|(?:有|要|是|行)[吗么嘛]\W*$"
)
_HAN_ASKS: Final = re.compile(
    r"什么|怎么|怎样|咋|多少|多久|几|哪|谁|吗|嘛|为何|为啥|如何|是否|何|多[长大高远]|是不是|能不能|有没有|可不可以"
)
_HAN_POINTS: Final = re.compile(
    r"[它她]|(?<![其吉])他(?![人国])|[这那](?:个(?!月)|些|种|样|里|边|两|几(?!天)|款|张|份|条|家|项|类|笔|位|台|件|次|套|本|是|要|会|能|算)"
    r"|上述|前者|后者|其中|其他的?[呢吗]|别的|第[一二两三四五]种?个|另一[个种]|前[一两]个|后[一两]个|刚才|上面"
)
_HAN_HEADLESS: Final = re.compile(
    r"的(?:可以|能不能|能|行|要不要|要|需要|也|怎么|多少|有|呢|算|会)"
)
_HAN_CLAUSE: Final = re.compile(r"[，,。；;：:！!？?]")
_HAN_SHAPE: Final = re.compile(
    r"为什么|为啥|为何|什么时候|什么时间|什么地方|什么|怎么样|怎么办|怎么|怎样|咋|多少钱|多少|多长时间|多长|多久|"
    r"几点|几天|几次|几个|几年|几|哪里|哪儿|哪些|哪个|哪天|哪|谁|吗|呢|嘛|么|如何|是否|能否|可否|能不能|可不可以|"
    r"要不要|有没有|是不是|会不会|可以|需要|应该|必须|能|会|要|得|可|是|有|在|去|到|来|给|让|把|被|还|都|就|才|"
    r"再|先|我们|我|你们|你|您|一个|一次|一下|一|的|了|吧|啊|呀|大概|一般|大约|具体|最|钱|元|时候|时间"
)
_HAN_OPENS: Final = re.compile(
    r"^(?:为|什么(?!是)|怎|咋|多|几|哪|谁|如何|是否|能|可|要|会|需|得|必|应|有没有|是不是|在哪|去哪|到哪|从哪|何|大概|一般"
    r"|最)"
)
_MANY: Final = 6
"""Words with a meaning of their own from which on a question says itself what it is about."""
_VERB: Final = 2
"""Han characters of a word that may be all that such a question says of its own: a verb."""
_FRAGMENT: Final = 4
"""Words of a question without a verb."""


def depends_on_history(question: str) -> bool:
    """Whether a question leaves out what only the turns before it say.

    >>> depends_on_history("And for students?"), depends_on_history("那学生呢？")
    (True, True)
    >>> depends_on_history("How long does it take to get a visa?")
    False
    >>> depends_on_history("护照怎么办？")
    False
    """
    if len(question) > LONGEST or not question.strip():
        return False
    folded = fold(question).strip()
    return _han_depends(folded) if has_han(folded) else _depends(folded)


def _depends(folded: str) -> bool:
    folded = _POLITE.sub("", folded)
    words = _WORD.findall(folded)
    if not words:
        return False
    content = [word for word in words if _is_content(word)]
    if not content or _GOES_ON.search(folded):
        return True
    if len(content) >= _MANY:
        return False
    if _PICKS.search(folded) or _points(folded):
        return True
    return _is_fragment(words, content, folded) or _is_bare_verb(words, content)


def _is_content(word: str) -> bool:
    """Whether a word has a meaning of its own."""
    grammar = word in STOP_WORDS or word in _ASKS or word in _DEGREES
    return not grammar and "'" not in word


def _points(folded: str) -> bool:
    """Whether something points back to nothing in the question itself."""
    for match in _POINTS.finditer(folded):
        clauses = list(_CLAUSE.finditer(folded, 0, match.start()))
        before = folded[: clauses[-1].start()] if clauses else ""
        if not any(map(_is_content, _WORD.findall(before))):
            return True
    return any(
        not any(map(_is_content, _WORD.findall(folded[: match.start()])))
        for match in _OWNS.finditer(folded)
    )


def _is_fragment(words: list[str], content: list[str], folded: str) -> bool:
    """Whether nothing is said of anything: `Without brakes?`, `Students?`, `What dose?`."""
    if len(words) > _FRAGMENT or not folded.endswith("?"):
        return False
    if words[0] in _ASKS:
        rest = words[2:] if words[0] == "how" else words[1:]
        return rest == content and len(content) == 1
    return not _AUXILIARIES.intersection(words)


def _is_bare_verb(words: list[str], content: list[str]) -> bool:
    """Whether a person does something, and nothing says with what: `How do I apply?`."""
    if len(content) != 1 or not (words[0] in _ASKS or words[0] in _AUXILIARIES):
        return False
    place = words.index(content[0])
    return words[place - 1] in _SUBJECTS and place == len(words) - 1


def _han_depends(folded: str) -> bool:
    folded = _HAN_POLITE.sub("", folded)
    bare = folded.rstrip("?？。.!！~ ")
    if not bare:
        return False
    asks = _HAN_ASKS.search(bare) is not None
    if (bare.endswith("呢") and not asks) or _HAN_GOES_ON.search(bare):
        return True
    for match in _HAN_POINTS.finditer(bare):
        clauses = [clause.start() for clause in _HAN_CLAUSE.finditer(bare, 0, match.start())]
        if not clauses or not _HAN_SHAPE.sub("", bare[: clauses[-1]]):
            return True
    if _HAN_CLAUSE.search(bare) is None and _HAN_HEADLESS.search(bare) and asks:
        return True
    own = "".join(c for c in _HAN_SHAPE.sub("", bare) if c.isalnum())
    if not own:
        return True
    return len(own) <= _VERB and (_HAN_OPENS.match(bare) is not None or not asks)
