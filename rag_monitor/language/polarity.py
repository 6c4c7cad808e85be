"""What Chinese and English text denies."""

from __future__ import annotations

import re
from typing import Final

from rag_monitor.language.alternatives import quick
from rag_monitor.language.stems import stem
from rag_monitor.language.tokens import is_content, is_han, tokenise

_NEGATION: Final = quick(
    r"\b(?:not|never|no longer|cannot|nobody|nothing|none|neither|nor|without|no|hardly|rarely)\b"
    r"|n't\b|\bnon-(?=[a-z])|\b(?:unable|unlikely|fails? to|failed to|refus\w+ to|lacks?"
    r"|denied|denies)\b"
    r"|不(?!仅|但|断|过|少|同|久|止|只|论|管|妨|禁|得不|可避免|良|错|绝|知不觉|约而同|言而喻)|没有|(?<![淹沉出埋吞覆湮])没(?!有|错|准|事|关系|问题|什么|落|收(?!到)|入)|未(?!来|必|婚|成年)|"
    r"并非|无(?!论|线|锡|数|人机|限)|勿|(?<![分特个级差区性类告辨识])别(?=[^的人墅名急慌怕忘])(?!着急|担心)|莫(?=[^斯])|绝非|从未|尚未|禁止|"
    r"拒绝|否认|取消|禁(?=[用服食](?:[。，；：！？;:!?,.]|$))"
)
_DOUBLE: Final = quick(
    r"不得不|不可不|无不|不是不|not only|not just|not necessarily|no doubt"
    r"|\b(?:no|not)(?= (?:more|less|fewer|later|earlier|longer|higher|lower|older|younger|larger"
    r"|smaller|sooner|greater|further|better|worse) than\b)"
    r"|(?:[不未没](?:得|能|可|可以|应|会|要|允许|准)?(?:再)?|没有)(?=低于|高于|少于|多于|超过|超出|小于|大于|晚于|早于|迟于)"
)

_NEGATIVE_TEXT: Final = """
not never cannot nobody nothing none neither nor without no hardly rarely unable unlikely
fail fails failed lack lacks denied denies
"""
_NEGATIVE: Final = frozenset(map(stem, _NEGATIVE_TEXT.split()))


_HAN_NEGATIVE: Final = re.compile("[不没未非无勿别莫绝尚禁拒否取]")


def may_negate(folded: str, tokens: frozenset[str]) -> bool:
    """Whether folded text with these tokens can hold a negation; a quick look before a long one."""
    return (
        (not folded.isascii() and _HAN_NEGATIVE.search(folded) is not None)
        or not _NEGATIVE.isdisjoint(tokens)
        or "n't" in folded
        or "non-" in folded
        or "refus" in folded
    )


_MODAL: Final = frozenset("能会得应须需要可是有被再太很必仅只许予在到了过曾")
_REACH: Final = 14
_CLAUSE_ENDS: Final = re.compile(r"[，。；：！？;:!?]|[,.](?!\d)")
"""A negation reaches no further."""


_NEEDS: Final = re.compile(
    r"\bwithout\b[^.;:!?]*(?:\b(?:no|not|never|cannot|nobody|nothing)\b|n't\b)"
    r"|(?:\b(?:no|not|never|cannot|nobody|nothing)\b|n't\b)[^.,;:!?]*\bwithout\b"
)
"""Two denials that say what something needs: not valid without a photo."""


def denies(folded: str) -> bool:
    """Whether a word with a meaning follows a negation of folded text in its clause."""
    plain = _DOUBLE.sub(lambda negation: " " * len(negation.group()), folded)
    if "without" in plain and _NEEDS.search(plain):
        return False
    return any(
        _says_something(
            tokenise(
                _CLAUSE_ENDS.split(plain[match.end() : match.end() + _REACH * 3], maxsplit=1)[0]
            )
        )
        for match in _NEGATION.finditer(plain)
    )


def _says_something(tokens: list[str]) -> bool:
    """Whether one of the first tokens is a word with a meaning of its own, or a Han character."""
    return any(
        token not in _MODAL if is_han(token) else is_content(token) and not token[0].isdigit()
        for token in tokens[:_REACH]
    )
