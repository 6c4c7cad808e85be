"""Words that make a statement claim more, or less, than the rest of it says.

"All", "only" and 从未 need more than one example to be borne out; "may" and 有的 need less; a
cause, a time or a count is one more thing to be borne out.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Final

from rag_monitor.language.alternatives import quick
from rag_monitor.language.tokens import tokenise

_ENGLISH: Final = r"\b(?:all|every|only|always|never|must|completely|exclusively|entire|any)\b"
_ENGLISH_ABSOLUTE: Final = re.compile(_ENGLISH)
_ABSOLUTE: Final = quick(
    _ENGLISH
    + r"|所有|全部|都|只|仅|从来|从不|从未|任何|一定|最|必须|完全|每|唯一|总是|绝|一直|永远|肯定"
    r"|首次|第一|毫无|根本|彻底|没有人|无人"
)
_ABSOLUTE_TOKENS: Final = frozenset(
    tokenise("all every only always never must completely exclusively entire any")
)
_HAN_HEDGE: Final = re.compile(
    r"可能|也许|或许|大概|有时|有的|有些|一些|某些|有人|有个|不止|不只|至少|可以|存在|往往|通常|不一定|"
    r"未必|曾|参与|涉及|提到|相关|有关|关于|不少|之一"
)
_HAN_CAUSE: Final = re.compile(r"因为|所以|由于|因此|为了|导致|原因|因")
_HAN_TIME: Final = re.compile(
    r"昨天|今天|明天|去年|今年|明年|刚刚|刚才|已经|正在|马上|以前|以后|现在|经常|仍然|上午|下午|晚上|早上|"
    r"星期|周末|小时候|多年|很久|第二|第三|春|夏|秋|冬"
)
_HAN_COUNT: Final = re.compile(
    r"[一二三四五六七八九十两几百千万]+(?:个|位|名|次|天|年|月|种|人|元|块|岁|件|家|条|本|辆|只|层)"
)


def absolutes(folded: str, tokens: Collection[str] | None = None) -> frozenset[str]:
    """Words of folded text that leave no exception (all, only, never, 所有, 只, 一定).

    Args:
        folded: The text.
        tokens: Those of English text when they are known already; only saves time.
    """
    if tokens is not None and "'" not in folded and _ABSOLUTE_TOKENS.isdisjoint(tokens):
        return frozenset()
    pattern = _ENGLISH_ABSOLUTE if folded.isascii() else _ABSOLUTE
    return frozenset(pattern.findall(folded))


def hedges(folded: str) -> frozenset[str]:
    """Chinese words of folded text that claim little: possibility, some, at least."""
    return frozenset(_HAN_HEDGE.findall(folded))


def causes(folded: str) -> frozenset[str]:
    """Chinese words of folded text that give a cause or purpose."""
    return frozenset(_HAN_CAUSE.findall(folded))


def times(folded: str) -> frozenset[str]:
    """Chinese words of folded text that say when or how long."""
    return frozenset(_HAN_TIME.findall(folded))


def counts(folded: str) -> frozenset[str]:
    """Chinese counted things of folded text: 三个, 两次."""
    return frozenset(_HAN_COUNT.findall(folded))
