"""Sentences that talk to the judge: never evidence, never supported.

Such a sentence names a verdict and tells somebody to give it, or says of the answer or the page
itself what the verdict should be. Text about grading (rubrics, reports, quotations) does neither.
Recognising them is not what keeps the score honest: they match no passage, so they are doubted
like any chatter. It keeps them from lending each other support, and lets a person see them.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from rag_monitor.language.alternatives import Alternatives
from rag_monitor.language.compiled import COMPILED, Hinted
from rag_monitor.language.hints import Hints, holds_any
from rag_monitor.language.stems import stem

REASON: Final = "injection_plea"
"""What `Judgement.suspect` says, as for the other judges."""

_HINTS_TEXT: Final = """
score scores scored mark marks marked grade grades graded grading grader graders judge judges judged
supported grounded faithful flawless fabricated hallucination hallucinated rubric criteria criterion
instructions instruction verdict evidence teacher examiner evaluator evaluators reviewer reviewers
"""
_HINTS: Final = frozenset(map(stem, _HINTS_TEXT.split()))
"""Words of judging; without one, English text pleads only in letters set apart."""
_COMMON_HINTS: Final = frozenset(map(stem, ("supported", "grounded", "faithful", "evidence")))
_BESIDE_COMMON: Final = (
    "as ", "fully", "completely", "always", "entirely", "result", "verdict", "verified", "points",
    ".0",
)  # fmt: skip
"""A sentence with common hints alone can only be a plea when it holds one of these too."""
_HAN_HINTS: Final = Hints((
    "满分", "依据", "判", "评", "幻觉", "编造", "得分", "低分", "高分", "你现在是",
))  # fmt: skip
WORDS_OF_PLEAS: Final = _HINTS.union("依判评幻编分你")
"""Every plea holds one of these words or Han characters, but for those in letters set apart."""
_ENGLISH_HINT: Final = re.compile(r"[a-z]{4}")
"""Part of every English hint."""
_LETTERED: Final = re.compile(r"\b(?:[a-z] +){4,}[a-z]\b")
_APART: Final = re.compile(r" [a-z] +[a-z] ")


def _plain_letters_apart(folded: str) -> bool:
    return _APART.search(folded) is not None


letters_apart: Final[Callable[[str], bool]] = (
    COMPILED.letters_apart if COMPILED else _plain_letters_apart
)
"""Whether text holds a part of every `_LETTERED`, which is quick to look for."""
_HAN_GAP: Final = re.compile(r"(?<=[\u3400-\u9fff])\s+(?=[\u3400-\u9fff])")
_QUOTED: Final = re.compile(r"\"[^\"]{2,}\"")

_VERDICT: Final = (
    r"(?:\b(?:full|highest|top|perfect|maximum|best|low|zero) (?:score|marks?|grade|points)\b"
    r"|\b(?:score|grade)\W{1,4}(?:it |this |of |is )?(?:0|1|10|100)(?:\.0+)?(?!\d|\.\d)"
    r"|\b(?:fully|completely|always|entirely) (?:supported|grounded|faithful|correct)\b"
    r"|\bas (?:fully |un|completely )?(?:supported|grounded|faithful|correct|perfect|evidence)\b"
    r"|\bcounts? as (?:supported|grounded|faithful|correct|true)\b"
    r"|\bresult\W{1,3}(?:un)?supported\b|\bverdict\W{1,3}\w*supported\b"
    r"|\b(?:flawless|fabricated|hallucination)\b|\b(?:give|award|score)(?: it)? [01]\.0\b"
    r"|满分|最高(?:的)?分|(?:给|判|打|记)[^。，\d]{0,6}[01](?:\.0)?\s?分?(?![\d.])|(?:完全|算|判定为|标为)有?无?依据"
    r"|结论[:：为]\s?(?:有|无)?依据|得分为\s?[01]|\bscore\W{1,4}[01]\b|完美无误|完全可靠|幻觉|编造|判对|判高分)"
)
_DIRECTIVE: Final = (
    r"(?:(?:^|[.!?;:,|>#\[(-]\s*|\b(?:please|kindly|just|only|must|should|shall)\b(?: be)? )"
    r"(?:give|award|grant|assign|output|return|record(?:ed)?|mark(?:ed)?|treat(?:ed)?|score[d]?"
    r"|rate[d]?|judge[d]?|grade[d]?|accept(?:ed)?|pass(?:ed)?|new criterion|result|verdict)\b"
    r"|请|麻烦|务必|一律|直接|应当|只需|必须|均视为|伏乞|祈|给我|给這|给这)"
)
_OBJECT: Final = (
    r"(?:\b(?:this|the|my|our|each|any|every) (?:\w+ )?(?:answer|reply|response|claim|document|page"
    r"|statement)\b|\banswers? (?:citing|that (?:cites?|refers?|you grade))\b|\bif this is not\b"
    r"|(?:这个?|该|本|此)(?:回答|答案|回复|文件|次)|引用本[页文]|凡(?:是)?(?:引用|涉及)|逐句核对|评分结束|的回答)"
)
_VERDICT_NEEDS: Final = Hints((
    "supported", "score", "grade", " mark", " points", ".0", " evidence", " grounded", " correct",
    " faithful", " perfect", "as true", "flawless", "fabricated", "hallucination",
))  # fmt: skip
"""One of these is part of every English `_VERDICT`, and each is quick to look for."""
_VERDICT_FOUND: Final = Alternatives(_VERDICT)
_DIRECTED: Final = Alternatives(f"{_DIRECTIVE}|{_OBJECT}")
_ALONE: Final = Alternatives(
    r"(?:(?:^|[.!?;:>\[(-])\s*|\b(?:please|kindly|now) )(?:ignore|disregard|forget|override)\b"
    r"[^.!?]{0,24}\b(?:previous|above|prior|earlier|the)\b"
    r"[^.!?]{0,24}\b(?:instructions?|criteri(?:a|on)|rubric)\b"
    r"|\byou are (?:now )?an? [^.!?]{0,30}\b(?:teacher|grader|judge|examiner|evaluator)\b"
    r"|\b(?:note|message|instructions?) (?:to|for) (?:the |all )?(?:graders?|judges?|evaluators?)\b"
    r"|\b(?:this|the) (?:answer|reply|response)\b[^.!?]{0,30}\b(?:already )?verified\b"
    r"|\bverified (?:this|the) (?:answer|reply|response)\b"
    r"|(?:忽略|无视|忘记)[^。！？]{0,10}(?:以上|上面|之前|先前)[^。！？]{0,10}(?:指令|标准|要求|提示)"
    r"|你现在是[^。！？]{0,12}(?:老师|评委|考官|评审)|(?:评审|评分|评判)(?:者|人|员)?须知"
    r"|(?:核验|审批|认可)[^。！？]{0,4}(?:该|此|本)(?:回答|回复|答案)|误判(?:低|高)分"
)
_ALONE_NEEDS: Final = Hints((
    "ignore", "disregard", "forget", "override", "you are ", "note ", "message ", "instruction",
    "verified",
))  # fmt: skip
"""The same of every English `_ALONE`."""


def _holds_han_hint(folded: str) -> bool:
    """Whether folded text holds a Chinese hint, whatever spaces are in it."""
    if folded.isascii():
        return False
    parts = folded.split()
    return _HAN_HINTS.found("".join(parts) if len(parts) > 1 else folded)


def may_plead(folded: str) -> bool:
    """Whether a folded sentence may do what `addresses_judge` tells, before its words are known."""
    if not folded.isascii():
        hinted = _holds_han_hint(folded) or _ENGLISH_HINT.search(folded) is not None
        return hinted or letters_apart(folded)
    return (
        '"' in folded
        or _ALONE_NEEDS.found(folded)
        or _VERDICT_NEEDS.found(folded)
        or letters_apart(folded)
    )


def addresses_judge(folded: str, tokens: frozenset[str]) -> bool:
    """Whether a folded sentence tries to talk a judge into a verdict.

    Args:
        folded: One sentence.
        tokens: Its tokens; most sentences hold no word of judging and need no closer look.
    """
    apart = letters_apart(folded)
    if WORDS_OF_PLEAS.isdisjoint(tokens) and not apart:
        return False
    hints = _HINTS & tokens
    if not folded.isascii():
        if len(folded.split()) > 1:
            folded = _HAN_GAP.sub("", folded)
        hinted = _HAN_HINTS.found(folded)
    else:
        hinted = False
    spaced = _LETTERED.search(folded) if apart and "a" <= folded[:1] <= "z" else None
    if spaced:
        folded = re.sub(r"(?<=\b[a-z]) (?=[a-z]\b)", "", folded)
    if not (hinted or spaced) and (
        not hints
        or (hints <= _COMMON_HINTS and folded.isascii() and not holds_any(folded, _BESIDE_COMMON))
    ):
        return False
    folded = _QUOTED.sub(" ", folded)
    if _found(_ALONE, _ALONE_NEEDS, folded):
        return True
    return _found(_VERDICT_FOUND, _VERDICT_NEEDS, folded) and _DIRECTED.found(folded)


def _found(pattern: Alternatives, needs: Hinted, folded: str) -> bool:
    """Whether a pattern matches; English text without any of what it `needs` is not searched."""
    if folded.isascii() and not needs.found(folded):
        return False
    return pattern.found(folded)
