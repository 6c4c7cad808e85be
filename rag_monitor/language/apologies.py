"""Apologies: courtesy before an answer, or before declining one."""

from __future__ import annotations

import re
from typing import Final

APOLOGY: Final = re.compile(
    r"^(?:(?:i'm|i am|we're|we are) )?(?:very |so |really |truly )?sorry "
    r"(?:for|about|to hear|that (?:you|your))\b"
    r"|^(?:(?:i|we) )?apologi[sz]e for\b"
    r"|^(?:我们|我)?(?:非常|很|十分|真是?|深感)?(?:抱歉|对不起)[，,]?(?:让|给|为|造成|带来)(?:您|你|大家)?"
)
"""An apology for something that happened: courtesy, not an answer declined."""
SORRY_FIRST: Final = re.compile(
    r"^(?:(?:i'm|i am|we're|we are) )?(?:very |so |really |truly |terribly )?(?:sorry|afraid)"
    r"(?:[,;:.!]| -)\s*(?:but |however,? )?(?=\w)"
    r"|^(?:i'm|i am|we're|we are) (?:afraid|sorry)(?: that)? (?=(?:the|your|it|there|this|that) )"
    r"|^(?:我们|我)?(?:非常|很|十分|真是?|深感|实在)?(?:抱歉|对不起|不好意思)[，,。!！～~\s]+(?=\w)"
)
"""A polite beginning; what follows may decline, or say what is the case ("sorry, the fee is 5")."""


def strip_apology(folded: str) -> str:
    """A folded sentence without a polite beginning ("sorry, …", 抱歉，…), which states nothing."""
    polite = SORRY_FIRST.match(folded)
    return folded if polite is None else folded[polite.end() :]
