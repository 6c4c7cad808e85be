"""What the pages say about how this installation is set up. Nothing in it is secret."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from rag_monitor.domain.stored import RetentionPolicy
from rag_monitor.sampling.policy import SamplingOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """The configuration of the stages behind the pages, for reading only."""

    judge: str = "embedded"
    """The configured judge."""
    sampling: SamplingOptions = field(default_factory=SamplingOptions)
    retention: RetentionPolicy = field(default_factory=RetentionPolicy)
    channels: Mapping[str, str] = field(default_factory=dict)
    """Kind of every notification channel, by its name."""
