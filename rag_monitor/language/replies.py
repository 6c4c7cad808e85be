"""A bare yes or no, and what else an answer opens with before it states anything."""

from __future__ import annotations

import re
from typing import Final

from rag_monitor.language.refusals import strip_apology

_ENGLISH: Final = (
    r"(?:yes|yeah|yep|no|nope|sure(?: thing)?|absolutely|correct|right|exactly|indeed|certainly"
    r"|definitely|of course|not (?:really|quite|necessarily)|i'm afraid (?:so|not)"
    r"|(?:that's|that is|you're|you are) (?:right|correct)"
    r"|(?:please )?(?:do not|don't) worry|please (?:do not|don't)|good (?:news|question)"
    r"|(?:it|that) (?:depends|varies|does|doesn't|can|can't|is|isn't|will|won't)"
    r"|(?:that's an )?easy one|afraid (?:so|not)"
    r"|(?:sadly|unfortunately|luckily)(?:,? (?:yes|no|not))?"
    r"|no (?:luck(?: there)?|worries|problem|rush)|not to worry|you bet|happy to help|that depends"
    r"|on the (?:bright|plus) side|hope (?:that|this) helps|as you wish|let me explain"
    r"|possibly|maybe|perhaps|(?:in )?short answer|only (?:partly|partially|in part)"
    r"|(?:yes|no),? (?:you|they|we|it) (?:can|can't|cannot|do|don't|does|doesn't|will|won't"
    r"|should|shouldn't|need to|must|may|are|aren't|is|isn't))"
)
_HAN: Final = (
    r"(?:是|对|没错|不是|不对|(?:当然|完全)?(?:可以|能|能够|行|会|要|需要|用|有)|不可以|不能|不行|不会|不用|不要|不需要|没有"
    r"|当然|别[着担]?[急心]|您好|你好|亲|好|嗯|不一定|恐怕不行|(?:这(?:个)?)?(?:得|要)?看(?:具体)?情况(?:而定)?"
    r"|有?可能(?:会)?|不(?:完)?全是|不(?:太)?行|不(?:完)?全对|部分可以|只能部分|有|没|不算|算"
    r"|够|不够|来得及|来不及"
    r"|[拿领退用办改查进]?(?:得|不)(?:到|了|动|着))(?:的|哦|呢|啊|呀|哈|啦|噢|了)*"
)
_REPLY: Final = rf"(?:{_ENGLISH}|{_HAN})"
_BARE: Final = re.compile(rf"{_REPLY}(?:[,，;；:!！]? ?{_REPLY})*[.。!！~～,，;；:：?？]*")
_LONGEST: Final = 40
_OPENING: Final = re.compile(rf"(?:{_REPLY}(?: ?[,，;；:：!！。.]|\s-)\s*)+(?=\w)")


def is_bare_reply(folded: str) -> bool:
    """Whether a folded sentence only says yes, no or the like: what of, the others tell."""
    return len(folded) <= _LONGEST and _BARE.fullmatch(folded) is not None


_NO: Final = re.compile(
    r"no\b|nope|not\b|i'm afraid not|afraid not|(?:it|that) (?:\w+n't)|[^,，]*n't\b|[不没否]"
)
_YES: Final = re.compile(
    r"yes|yeah|yep|sure|absolutely|correct|right|exactly|indeed|certainly|definitely|of course"
    r"|i'm afraid so|afraid so|(?:it|that) (?:does|can|is|will)\b"
    r"|是(?!不)|对|没错|没问题|当然|好|嗯"
    r"|[可能行会要需用有算够得拿领退办改查进][^不]*$"
)


def says_no(folded: str) -> bool | None:
    """Whether a bare reply says no; None when it says neither yes nor no."""
    if _YES.match(folded):
        return False
    return True if _NO.match(folded) else None


def strip_opening(folded: str) -> str:
    """A folded sentence without apology, greeting, and the yes or no before its statement."""
    folded = strip_apology(folded)
    opening = _OPENING.match(folded)
    return folded if opening is None else folded[opening.end() :]
