"""Which written premises and answers are learnt from, and which are looked at once.

The split is by hash, so that it needs no list and cannot drift: of `written_details` the hash is of
the premise's text, of the RAG answers of the passage set (`group_of` an id). A third is *once*: no
weight, threshold or choice may rest on it (`PROTOCOL.md`). Of the rest one in eight is
*validation*: no encoder learns from it, and its figures may be looked at as often as one likes.
"""

from __future__ import annotations

import hashlib
from typing import Final

THIRDS: Final = 3
VALIDATION: Final = 8
LATER: Final = ("en3-", "zh2-")
"""Passage sets that were written once the weights stood: all of them are *once*."""


def _number(group: str, salt: str) -> int:
    return int(hashlib.sha256(f"{salt}:{group}".encode()).hexdigest(), 16)


def is_once(group: str) -> bool:
    """Whether a premise or passage set is among those that are scored once a release."""
    return group.startswith(LATER) or _number(group, "once") % THIRDS == 0


def is_validation(group: str) -> bool:
    """Whether no encoder learns from a group although it is not *once*."""
    return not is_once(group) and _number(group, "validation") % VALIDATION == 0


def group_of(identifier: str) -> str:
    """The passage set of a RAG answer: its id before the last dash."""
    return identifier.rpartition("-")[0]
