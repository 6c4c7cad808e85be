"""Clauses of a sentence, each with a verb of its own where it can be told."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from rag_monitor.language.alternatives import quick

_CLAUSE: Final = quick(
    r"[。；！？，;!?\n\0]|[,.:](?!\d)|\b(?:but|while|whereas|although|though|because|since|so)\b"
    r"|,?\band\b(?=(?:\W+\w+){3})"
)
"""An "and" before a last word or two joins what is listed."""
_ELLIPSIS: Final = re.compile(
    r"\s*(?P<subject>\S.*?)\s(?P<verb>may|can|must|will|do|does|did|is|are|was|were|should)"
    r"(?:\s?not|n't)\s*"
)
"""The brewing unit may not: what it may not, the clause before says."""
_NOT: Final = ("not", "n't")
_MOST: Final = 24
"""Clauses of a sentence that are looked at; an enumeration may have hundreds."""


def split_clauses(folded: str) -> Iterator[str]:
    """The clauses of a folded sentence; one that leaves out its verb is given that of the last."""
    before = ""
    for text in _CLAUSE.split(folded)[:_MOST]:
        left_out = _ELLIPSIS.fullmatch(text) if text.rstrip().endswith(_NOT) else None
        if left_out is not None:
            _, found, rest = before.partition(f" {left_out['verb']} ")
            if found:
                text = f"{left_out['subject']} {left_out['verb']} not {rest}"
        if text.strip():
            before = text
            yield text
