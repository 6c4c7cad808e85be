"""Tokens for matching: English words lightly stemmed, single Han characters, digit groups.

Works on text that `normalise` has folded. Needs no segmenter and no model.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import chain
from operator import add
from typing import Final

from rag_monitor.language.remembered import Remembered

BREAK: Final = "\0"
"""A token of its own, which marks where a sentence ends."""
_NO_HAN_TEXT: Final = (
    r"[a-z][a-z]*(?:'[a-z]+)?|\d\d*(?:,\d{3})*(?:\.\d+)?|[^\W\d_\u3400-\u9fff]+|\0"
)
_TOKEN: Final = re.compile(rf"[\u3400-\u9fff]|{_NO_HAN_TEXT}")
"""Each way of going on but the last begins with a plain set, which the search tells apart fast."""
_RUN: Final = re.compile(rf"[\u3400-\u9fff]+|{_NO_HAN_TEXT}")
"""`_TOKEN`, but neighbouring Han characters in one go."""
_NO_HAN: Final = re.compile(_NO_HAN_TEXT)
_HAN_RUN: Final = re.compile(r"[\u3400-\u9fff]{2,}")
_SPACED: Final = 12
"""Characters between spaces, on average, up to which words recur and are worth remembering."""

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


def stretches(folded: str) -> list[str] | None:
    """Folded text cut at its spaces, which no token holds; None where Han characters run on.

    What stands between spaces recurs, and can be looked up as a whole.
    """
    found = folded.split()
    return found if len(folded) <= _SPACED * len(found) else None


def tokenise(folded: str) -> list[str]:
    """All tokens of folded text, in order, function words included, words stemmed."""
    spaced = stretches(folded)
    if spaced is not None:
        return list(chain.from_iterable(map(_STRETCHES.__getitem__, spaced)))
    found: list[str] = []
    for run in _RUN.findall(folded):
        if "\u3400" <= run[0] <= "\u9fff":
            found += run
        else:
            found.append(_REDUCED[run])
    return found


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


_REDUCED: Final = Remembered(_reduce, largest=100_000)
"""Token as written to token as matched."""


def stretch_tokens(stretch: str) -> tuple[str, ...]:
    """The tokens of folded text without spaces."""
    word = stretch.strip(_AROUND)
    if word.isalpha() and word.islower() and word.isascii():
        return (_REDUCED[word],)
    return tuple(map(_REDUCED.__getitem__, _TOKEN.findall(stretch)))


_AROUND: Final = ".,;:!?()[]\"'"
"""What stands around most words that are more than their letters."""


def tokens_between_han(folded: str) -> Iterator[tuple[int, str]]:
    """Each token of folded text that is no Han character, and where it begins."""
    for match in _NO_HAN.finditer(folded):
        yield match.start(), _REDUCED[match.group()]


_STRETCHES: Final = Remembered(stretch_tokens, largest=60_000, longest=32)
"""Text without spaces to its tokens."""


GRAMMAR: Final = STOP_WORDS | STOP_CHARS | frozenset("abcdefghijklmnopqrstuvwxyz")
"""Tokens without a meaning of their own."""


def is_content(token: str) -> bool:
    """Whether a token carries meaning of its own."""
    return token not in GRAMMAR


def is_han(token: str) -> bool:
    """Whether a token is one Han character."""
    return len(token) == 1 and "\u3400" <= token <= "\u9fff"


def term_set(tokens: Sequence[str], *, han: bool) -> frozenset[str]:
    """Content tokens and, with `han`, every pair of neighbouring Han characters.

    Pairs of pure grammar are left out.
    """
    found = frozenset(tokens).difference(GRAMMAR)
    if not han:
        return found
    runs = _HAN_RUN.findall("".join(tokens))
    pairs = chain.from_iterable([map(add, run, run[1:]) for run in runs])
    return found.union(pairs).difference(_GRAMMAR_PAIRS)


_GRAMMAR_PAIRS: Final = frozenset(a + b for a in STOP_CHARS for b in STOP_CHARS)
