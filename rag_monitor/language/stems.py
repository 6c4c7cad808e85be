"""Words as they are matched: English ones lightly stemmed; which of them only carry grammar."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from rag_monitor.language.memo_dict import MemoDict

_STOP_WORDS_TEXT: Final = """
a about above after again all also although am an and another any are as at be because been
before being below between both but by can cannot could did do does doing done down during
each either else etc even ever every few for from further get gets given had has have having
he her here hers herself him himself his how however i if in indeed into is it its itself
just kind let like ll may me might more most much must my myself neither nor not now of off
on once one only onto or other our ours out over own per quite rather re s said same shall
she should since so some such t than that the their theirs them themselves then there
therefore these they this those though through thus to too toward under until up upon us use
used using ve very via was we well were what when where whether which while who whom whose
why will with within without would yet you your yours yourself yes no include includes
including based provided passage passages according context text mentioned following answer
question information
"""
STOP_WORDS: Final = frozenset(_STOP_WORDS_TEXT.split())
"""Function words and the words answers use to talk about their sources."""

STOP_CHARS: Final = frozenset(
    "的了是在和与及也都就而且或但之其此该这那些个为于被把将对从到由向以所等着过很更最又还并已会可能有"
    "我你他她它们吗呢吧啊呀么哪什怎多少几如何请问上下中里"
)
"""Han characters that carry grammar rather than meaning."""

GRAMMAR: Final = STOP_WORDS | STOP_CHARS | frozenset("abcdefghijklmnopqrstuvwxyz")
"""Tokens without a meaning of their own."""


_IRREGULAR: Final = {
    "men": "man", "women": "woman", "children": "child", "people": "person", "feet": "foot",
    "teeth": "tooth", "mice": "mouse", "lives": "life", "leaves": "leaf", "made": "make",
    "went": "go", "gone": "go", "took": "take", "taken": "take", "gave": "give", "given": "give",
    "found": "find", "began": "begin", "begun": "begin", "wrote": "write", "written": "write",
    "won": "win", "ran": "run", "kept": "keep", "held": "hold", "led": "lead", "grew": "grow",
    "grown": "grow", "known": "know", "knew": "know", "said": "say", "saw": "see", "seen": "see",
    "became": "become", "built": "build", "sent": "send", "paid": "pay", "left": "leave",
    "bought": "buy", "sold": "sell", "taught": "teach", "thought": "think", "brought": "bring",
    "rose": "rise", "risen": "rise", "fell": "fall", "fallen": "fall", "chose": "choose",
    "chosen": "choose", "spoke": "speak", "spoken": "speak", "drove": "drive", "met": "meet",
    "died": "die", "dying": "die", "better": "good", "best": "good", "worse": "bad",
    "worst": "bad",
}  # fmt: skip

_SUFFIXES: Final = (
    ("ization", "iz"), ("isation", "iz"), ("ational", "at"), ("iveness", "iv"), ("fulness", "ful"),
    ("ousness", "ous"), ("yments", "i"), ("yment", "i"), ("ments", ""), ("ment", ""),
    ("ingly", ""), ("edly", ""), ("ations", "at"), ("ation", "at"), ("ities", ""), ("ity", ""),
    ("ness", ""), ("ions", ""), ("ion", ""), ("yings", "i"), ("ying", "i"), ("ings", ""),
    ("ing", ""), ("ically", "ic"), ("ally", "al"), ("ies", "i"), ("ied", "i"), ("ers", ""),
    ("er", ""), ("ors", ""), ("ly", ""), ("yed", "i"), ("ed", ""), ("ize", "iz"), ("ise", "iz"),
    ("es", ""), ("ys", "i"), ("s", ""), ("e", ""), ("y", "i"),
)  # fmt: skip
_LY_TEXT: Final = """
ally anomaly apply assembly belly bully comply family imply monopoly multiply rally reply supply
tally
"""
_NO_ADVERBS: Final = frozenset(_LY_TEXT.split())
"""Words whose -ly belongs to the root: family and families, apply and applied."""
_CONTRACTED: Final = re.compile(r"(?:n't|'(?:ll|re|ve|d|m))$")
_CONTRACTED_ROOTS: Final = {"can't": "can", "won't": "will", "shan't": "shall", "ain't": "be"}
_SUFFIXES_BY_END: Final = {
    end: tuple(pair for pair in _SUFFIXES if pair[0][-1] == end)
    for end in {suffix[-1] for suffix, _ in _SUFFIXES}
}
"""The same by their last letter: most words need not be compared with most of them."""


@lru_cache(maxsize=16384)
def stem(word: str) -> str:
    """A light stem of a lower-case English word: enough to join inflections, not to be pretty."""
    return _stem(word)


def _stem(word: str) -> str:
    word = word.removesuffix("'s")
    if word in _IRREGULAR:
        word = _IRREGULAR[word]
    if len(word) <= 3 or not word.isascii():
        return word
    if word.endswith("ss"):
        return word
    if word in _NO_ADVERBS:
        return f"{word[:-1]}i"
    for suffix, replacement in _SUFFIXES_BY_END.get(word[-1], ()):
        if word.endswith(suffix) and len(word) - len(suffix) >= 3:
            root = word[: len(word) - len(suffix)] + replacement
            if len(root) > 3 and root[-1] == root[-2] and root[-1] not in "aeiols":
                root = root[:-1]
            return root
    return word


def _reduce(token: str) -> str:
    first = token[0]
    if "'" in token:
        # A contraction is two words of grammar; what it denies is read from the text itself.
        token = _CONTRACTED_ROOTS.get(token) or _CONTRACTED.sub("", token) or token
    if token in STOP_WORDS:
        return token
    if first.isdigit():
        return token.replace(",", "")
    return _stem(token) if first.isascii() else token


REDUCED: Final = MemoDict(_reduce, largest=100_000, longest=48)
"""Word as written to word as matched."""
