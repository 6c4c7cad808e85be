"""A plugin, knowledge base or workflow that a trace called."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class HitKind(StrEnum):
    """What kind of thing was called."""

    PLUGIN = "plugin"
    KNOWLEDGE_BASE = "knowledge_base"
    WORKFLOW = "workflow"


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """One call of a plugin, knowledge base or workflow, in the order they happened."""

    kind: HitKind
    name: str
    ok: bool = True
    """False when the call raised or reported failure."""
    items: int | None = None
    """How many results came back; None when the thing called does not return a list."""
    latency_ms: float | None = None

    @property
    def counts(self) -> bool:
        """Whether this is a hit for the hit rate: it succeeded and was not empty."""
        return self.ok and self.items != 0
