"""Names in Chinese and English text: capitalised, quoted and titled spans."""

from __future__ import annotations

import re
from typing import Final

from rag_monitor.language.memo_dict import MemoDict

_WORD: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9'’&-]*")
_TITLED: Final = re.compile(
    r"《([^《》]{1,60})》|「([^「」]{2,30})」|“([^“”]{2,60})”|\"([^\"]{2,60})\""
)
_OPENING: Final = tuple('《「“"')
_COMMON_TEXT: Final = """
a an the this that these those it its he she they we you i his her their our your my there
here in on at by for from to of with as if when while after before since during under over
into and or but so yet nor not no yes also additionally furthermore moreover however
therefore thus hence overall finally first second third next then lastly firstly secondly
please note some many most several each all both other another such one two three passage
passages passages' based according to what which who how why where is are was were be can
could may might should would will do does did using use step steps answer question example
make ensure once unable sure because although though instead alternatively similarly
remember generally usually typically january february march april may june july august
september october november december monday tuesday wednesday thursday friday saturday sunday
mon tue tues wed thu thur thurs fri sat sun jan feb mar apr jun jul aug sep sept oct nov dec
let keep add remove place click select open tap press go start dr mr mrs ms prof
"""
_COMMON: Final = frozenset(_COMMON_TEXT.split())


def capitalised_words(text: str) -> list[tuple[str, bool]]:
    """Capitalised words of unfolded text that look like names, lower-cased.

    The flag tells whether the word opens the text, where a capital means little.
    """
    words = _WORD.findall(text)
    names = [(_NAMES[w], i == 0) for i, w in enumerate(words) if "A" <= w[0] <= "Z"]
    return [name for name in names if name[0]]


def _name(word: str) -> str:
    lowered = word.lower().replace("’", "'").removesuffix("'s")
    common = all(part in _COMMON for part in lowered.split("-"))  # Mon-Fri
    return lowered if not common and len(lowered) > 1 else ""


_NAMES: Final = MemoDict(_name, largest=30_000, longest=32)
"""A capitalised word as a name, empty when it is none."""


def quoted(text: str) -> list[str]:
    """Quoted and titled spans (《》, “”, 「」) of unfolded text, in order."""
    if not any(map(text.__contains__, _OPENING)):
        return []
    return [next(group for group in match.groups() if group) for match in _TITLED.finditer(text)]
