"""Does the answer answer the question? A grade from what it takes up and what it adds."""

from __future__ import annotations

import re
from collections.abc import Callable
from math import fsum
from typing import Final

from rag_monitor.judges.embedded.evidence import Evidence
from rag_monitor.judges.embedded.pieces import Piece
from rag_monitor.language.answers import is_hedged
from rag_monitor.language.claims import AnswerParts
from rag_monitor.language.tokens import is_content, is_han

_NUMBER_ASKED: Final = re.compile(
    r"\bhow (?:many|much|long|old|far|tall|big|fast|often|large|high|deep)\b|\bwhat (?:year|"
    r"percentage|rate|price|cost|age|number|amount)\b"
    r"|多少|几(?!乎)|多大|多长|多久|多高|多远|比例|价格|费用|利率|金额"
)
_TIME_ASKED: Final = re.compile(
    r"\bwhen\b|\bwhat (?:year|date|day|month|time)\b|什么时候|何时|哪年|哪一年|哪天|几月|"
    r"几号|时间|日期"
)
_WHO_ASKED: Final = re.compile(r"\bwho(?:se|m)?\b|谁|哪位|何人|什么人")
_WEEKDAY: Final = re.compile(
    r"\b(?:mon|tues|wednes|thurs|fri|satur|sun)day|\b(?:yesterday|today|tomorrow|noon|"
    r"midnight|century|spring|summer|autumn|winter|morning|evening|never|always)\b|"
    r"周[一二三四五六日]|星期|今天|明天|昨天|世纪|春|夏|秋|冬"
)
_YES_NO: Final = re.compile(
    r"^(?:is|are|was|were|do|does|did|can|could|will|would|should|has|have|had|may)\b|"
    r"吗[?？]?$|是否|能否|可否|能不能|是不是|会不会"
)
_EVASIVE: Final = re.compile(
    r"\bit depends\b|\bhard to say\b|\bnot sure\b|\buncertain\b|\bvaries\b|"
    r"\bmay or may not\b|\bconsult\b|看情况|视情况|不好说|说不准|不确定|因人而异|建议(?:您|"
    r"你)?咨询"
)
_SHORT: Final = 12
"""Answers of at most so many tokens need not repeat the question."""
_MATCHES: Final = 0.45
"""Share of the question's weight an answer takes up when it is on the subject."""


def grade(
    evidence: Evidence, answer: str, parts: AnswerParts, borne_out: Callable[[], float]
) -> float:
    """How well the answer answers the question, 0 to 1.

    Refusals grade 0. Otherwise: the share of the question's focus that is taken up, times whether
    the asked kind of thing (number, time, name) is there, less padding that is neither on the
    question nor in the passages.

    Args:
        evidence: The passages and the question.
        answer: The whole answer.
        parts: The answer taken apart.
        borne_out: Mean support of its claims by passages that are on the question's subject, asked
            for a short answer: such a one need not echo the question.
    """
    if parts.declines or not (parts.claims or parts.refusals):
        return 0.0
    piece = Piece(answer)
    focus = _focus(evidence, piece)
    if len(piece.tokens) <= _SHORT:
        focus = max(focus, borne_out())
    value = min(1.0, focus / _MATCHES) * _kind_present(evidence.question, piece)
    return value * (1 - 0.5 * _padding(evidence, parts)) * (0.7 if parts.refusals else 1.0)


def rests_on_passages(answer: str) -> bool:
    """Whether an answer is so short that only the passages tell whether it answers anything."""
    return len(Piece(answer).tokens) <= _SHORT


def noncommittal(answer: str, parts: AnswerParts) -> float:
    """Probability that the answer declines or stays evasive."""
    if parts.declines:
        return 0.97
    if not parts.claims:
        return 0.9
    folded = Piece(answer).folded
    if _EVASIVE.search(folded) and len(parts.claims) <= 2:
        return 0.7
    hedged = sum(is_hedged(Piece(claim.text).folded) for claim in parts.claims)
    share = (len(parts.refusals) + 0.3 * hedged) / (len(parts.claims) + len(parts.refusals))
    return min(0.45, 0.03 + 0.6 * share)


def _focus(evidence: Evidence, answer: Piece) -> float:
    """Share of the question's weight that the answer takes up."""
    background = evidence.weights
    weights = {t: background[t] for t in evidence.question.terms}
    total = fsum(weights.values())
    return fsum([w for t, w in weights.items() if t in answer.terms]) / total if total else 1.0


def _kind_present(question: Piece, answer: Piece) -> float:
    asked = question.folded
    if _TIME_ASKED.search(asked):
        found = bool(answer.dates or answer.quantities or _WEEKDAY.search(answer.folded))
        return 1.0 if found else 0.6
    if _NUMBER_ASKED.search(asked):
        return 1.0 if answer.quantities or answer.dates else 0.6
    if _WHO_ASKED.search(asked):
        named = any(c.isupper() for c in answer.text) or any(map(is_han, answer.tokens))
        return 1.0 if named else 0.7
    return 1.0


def _padding(evidence: Evidence, parts: AnswerParts) -> float:
    """Share of claims that touch neither the question nor, to a quarter, the passages."""
    if len(parts.claims) < 2:
        return 0.0
    idle = 0
    for claim in parts.claims:
        content = {token for token in Piece(claim.text).tokens if is_content(token)}
        on_question = content & evidence.question.terms
        known = len(content & evidence.terms) / max(1, len(content))
        idle += not on_question and known < 0.25
    return idle / len(parts.claims)
