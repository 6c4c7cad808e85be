"""What the bad release of the story breaks, and what must be noticed then."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from rag_monitor.i18n import msgid


class Break(StrEnum):
    """What a bad release breaks."""

    RETRIEVER = "retriever"
    """It returns passages of another topic."""
    GENERATOR = "generator"
    """It ignores the passages and makes claims up."""
    BOTH = "both"


WATCHED: Final[Mapping[Break, tuple[str, ...]]] = {
    # Precision asks which passages the answer used: it stays high where the answer repeats them.
    Break.RETRIEVER: ("context_sufficiency",),
    Break.GENERATOR: ("faithfulness",),
    Break.BOTH: ("faithfulness", "context_precision"),
}
"""Metrics whose drop must be noticed for the story to be true."""
BROKEN: Final[Mapping[Break, str]] = {
    Break.RETRIEVER: msgid("Release {release}: the retriever is broken …"),
    Break.GENERATOR: msgid("Release {release}: the answerer invents …"),
    Break.BOTH: msgid("Release {release}: the retriever is broken, the answerer invents …"),
}
"""How the story says it."""
