"""What a sentence leaves out of what it says: daily except Mondays, 生鲜商品除外."""

from __future__ import annotations

import re
from typing import Final

from rag_monitor.language.tokens import is_content, tokenise

_ENGLISH: Final = re.compile(r"\bexcept(?:ing)?(?: for| on)? ([a-z ]{3,30})")
_HAN: Final = re.compile(r"([\u3400-\u9fff]{2,8})除外")


def excepted(folded: str) -> frozenset[str]:
    """The first content word (Chinese: the first two characters) of each exception."""
    if "except" not in folded and "除外" not in folded:
        return frozenset()
    words = (next(filter(is_content, tokenise(found)), "") for found in _ENGLISH.findall(folded))
    return frozenset(filter(None, words)) | {found[:2] for found in _HAN.findall(folded)}


def before_exception(folded: str) -> str:
    """What is said of everything else; of a Chinese sentence, whose exception may open it, all."""
    place = folded.find(" except")
    return folded[:place] if place > 0 else folded
