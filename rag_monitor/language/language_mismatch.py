"""Whether statements are in another language than what they are compared with.

Words and numbers cannot bear out a Chinese statement from English passages, nor the other way
round: what they would say of it is about languages, not about support.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from rag_monitor.language.script import count_han
from rag_monitor.language.stems import GRAMMAR, STOP_WORDS

_WORD: Final = re.compile(r"[a-z]+(?:'[a-z]+)?")
_TRACE: Final = 20
"""Of so many words one in another language is a name or a quotation."""
_TITLES: Final = 10
"""Function words in titles are rarer than one to so many Han characters."""
_NAME: Final = 2
"""Words that may be a name, which is written alike in both languages."""
_FAMILIAR: Final = 0.5
"""Share of a statement's words known to the passages with which it can be compared."""


def languages_differ(statements: Iterable[str], others: Iterable[str]) -> bool:
    """Whether every statement is in Chinese and nothing else is, or in English and nothing else is.

    A name or a number alone is in no language. One statement that is in the language of
    `others` makes all of them comparable: an answer with a foreign sentence is an answer.

    Args:
        statements: Folded text of each.
        others: Folded text of what they are compared with.
    """
    texts, references = list(statements), [text for text in others if text]
    if not references:
        return False
    if any(map(count_han, texts)):
        if any(map(_holds_chinese, references)):
            return False
        return all(_chinese(statement) or _in_no_language(statement) for statement in texts)
    if any(map(_holds_english, references)):
        return False
    words = frozenset().union(*map(_words, references))
    prose = [statement for statement in texts if not _in_no_language(statement)]
    return bool(prose) and not any(_familiar(statement, words) for statement in prose)


def _in_no_language(folded: str) -> bool:
    """Whether it is a name, a number or a list of them: prose cannot do without function words."""
    words = _WORD.findall(folded)
    return not count_han(folded) and (len(words) <= _NAME or STOP_WORDS.isdisjoint(words))


def _chinese(folded: str) -> bool:
    """Whether most words of a statement are Han characters."""
    han = count_han(folded)
    return han > 0 and han >= len(_WORD.findall(folded))


def _holds_chinese(folded: str) -> bool:
    han = count_han(folded)
    return han > 0 and han * _TRACE >= len(_WORD.findall(folded))


def _holds_english(folded: str) -> bool:
    """Whether there is English prose, not just names."""
    han = count_han(folded)
    if not han:
        return True
    grammar = [word for word in _WORD.findall(folded) if word in STOP_WORDS]
    return len(grammar) * _TITLES >= han


def _words(folded: str) -> frozenset[str]:
    return frozenset(_WORD.findall(folded)) - GRAMMAR


def _familiar(statement: str, words: frozenset[str]) -> bool:
    own = _words(statement)
    return len(own & words) >= _FAMILIAR * len(own)
