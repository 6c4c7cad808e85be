"""What kind of sentence an answer's sentence is: claim, lead-in, courtesy, question.

Courtesies are not claims; everything that asserts something is, whatever it says about itself.
What declines is told by `refusals`.
"""

from __future__ import annotations

import re
from typing import Final

from rag_monitor.language.refusals import APOLOGY
from rag_monitor.language.sentence_kinds import sentence_kind

COURTESY_FROM: Final = 0.8
"""Probability from which a sentence is one: of a hundred statements that taught nothing, one is
taken for it (`benchmarks/embedded_judge/train_sentence_kinds.py`)."""
_APOLOGY_REST: Final = 24
"""Characters in which an apology says what for; what is longer states something besides."""
_LEAD_IN: Final = re.compile(r"[:：]\s*$")
_HEDGE: Final = re.compile(
    r"\b(?:may|might|could|possibly|perhaps|probably|likely|appears?|seems?|generally|"
    r"typically|usually|often|it is possible)\b"
    r"|可能|也许|或许|大概|似乎|一般来说|通常|大约"
)
_QUESTION: Final = re.compile(r"[?？][\"'”’)）\]」』]*$")


def is_courtesy(folded: str) -> bool:
    """Whether a folded sentence greets, thanks, offers help or announces, and states nothing."""
    apology = APOLOGY.match(folded)
    if apology is not None:
        return len(folded) - apology.end() <= _APOLOGY_REST and not any(map(str.isdigit, folded))
    return sentence_kind(folded).courtesy > COURTESY_FROM


_REFERRAL: Final = re.compile(
    r"\b(?:please|you (?:can|could|may|might|should|would)(?: \w+)*?|(?:to|best|try)) "
    r"(?:contact|ask|asking|call|phone|email|write to|reach out|consult|get in touch|turn to"
    r"|(?:speak|talk) (?:to|with)|check with)\b"
    r"|\b(?:can|could|will|would|should|may|might|ought to) (?:\w+ )?(?:be able to )?"
    r"(?:tell|help|answer|assist|advise|inform) (?:you|with|this|that)\b"
    r"|(?:联系|咨询|询问|请教|致电|来电|拨打|(?<!疑)问(?:一下|问))|(?:转|找|问)(?:一下)?(?:人工|客服|同事)"
    r"|(?:能|会|可以)(?:告诉|帮助|帮|答复|解答)(?:您|你)"
)


def is_referral(folded: str) -> bool:
    """Whether a folded sentence says who may know, and states no value.

    Beside a refusal that is no answer; alone it may be the one that was asked for.
    """
    return _REFERRAL.search(folded) is not None and not any(c.isdigit() for c in folded)


_ABOUT_SOURCES: Final = re.compile(
    r"(?:overall, |in summary, |yes, |so, )?(?:the |these |all )?"
    r"(?:given |provided |above |retrieved )?"
    r"(?:passages?|documents?|contexts?|sources?)(?: ?#?\d+(?:(?:, | and | & )\d+)*)? "
    r"(?:also )?(?:provides?|contains?|includes?|offers?|gives?|ha(?:s|ve)) "
    r"(?:\w+ ){0,4}(?:information|details|guidance|answers?|context|overview)\b"
    r"(?: (?:to|for|about|on|regarding|needed|required)\b[^,.;]*)?[.!]?"
    r"|(?:以上|上述|所给|提供的|给定的)?(?:段落|资料|文档|材料|上下文)\s?\d*(?:中|里)?(?:已经?)?(?:提供|包含|给出|含有)了?"
    r"[^，。；]{0,12}(?:信息|内容|说明|答案|依据)[。！]?"
)


def is_about_sources(folded: str) -> bool:
    """Whether a sentence only says that the passages hold an answer."""
    return _ABOUT_SOURCES.fullmatch(folded) is not None


_HEADING: Final = re.compile(r"\*\*[^*.!?。！？]{1,60}\*\*:?")
_ROW: Final = re.compile(r"\|[^|\n]*\|.*\|")


def is_heading(text: str) -> bool:
    """Whether a sentence is a heading in bold, without a verdict on anything."""
    return _HEADING.fullmatch(text) is not None


def is_row(text: str) -> bool:
    """Whether a sentence is a row of a table in Markdown."""
    return _ROW.fullmatch(text) is not None


def is_question(text: str) -> bool:
    """Whether a sentence asks."""
    return ("?" in text or "？" in text) and _QUESTION.search(text.rstrip()) is not None


def is_lead_in(text: str) -> bool:
    """Whether a sentence only announces what follows ("Here are the steps:")."""
    return (":" in text or "：" in text) and _LEAD_IN.search(text) is not None


def is_hedged(folded: str) -> bool:
    """Whether a folded sentence says "may", "likely", 可能 …."""
    return _HEDGE.search(folded) is not None
