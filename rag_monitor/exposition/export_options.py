"""Where scores are passed on to, and in which form."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from rag_monitor.errors import ConfigurationError, OutboundRefused
from rag_monitor.outbound.guard import OutboundPolicy, check_url

Form = Literal["events", "spans", "phoenix"]
"""What a score becomes.

`events`: `gen_ai.evaluation.result` log events of OpenTelemetry. `spans`: OpenInference annotations
on a span of the judged trace, for tools that take traces but no logs (Jaeger, Langfuse, Tempo).
`phoenix`: trace annotations by Phoenix's own HTTP interface, shown beside its own.
"""
PATHS: Final[Mapping[Form, str]] = {
    "events": "/v1/logs",
    "spans": "/v1/traces",
    "phoenix": "/v1/trace_annotations",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportOptions:
    """Where scores are passed on to. Times in seconds."""

    endpoint: str | None = None
    """Base URL of the receiver (the path of the form is appended), or a URL ending in that path;
    None: scores stay here."""
    form: Form = "events"
    """What a score becomes."""
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Sent with every request, e.g. the receiver's key."""
    allow_private: bool = False
    """Private and loopback addresses may be reached."""
    allow_hosts: tuple[str, ...] = ()
    """Host names, addresses or networks that may be reached whatever they are."""
    timeout_s: float = 10.0
    """Total time of one request."""
    every_s: float = 5.0
    """How often new scores are looked for."""
    settle_s: float = 60.0
    """A score is sent this long after it was made. A commit that takes longer could be overtaken
    and missed."""
    batch: int = 500
    """Scores per request."""

    def __post_init__(self) -> None:
        if self.batch < 1 or self.every_s <= 0 or self.timeout_s <= 0 or self.settle_s < 0:
            raise ValueError("batch, every_s and timeout_s must be positive, settle_s at least 0")
        if self.endpoint is not None:
            try:
                check_url(self.url, self.policy)
            except OutboundRefused as error:
                raise ConfigurationError(
                    f"[export] endpoint: {error}; for a receiver of your own set "
                    "`allow_hosts` or `allow_private` in [export]"
                ) from None

    @property
    def url(self) -> str:
        """Where the events go."""
        base = (self.endpoint or "").rstrip("/")
        path = PATHS[self.form]
        return base if base.endswith(path) else base + path

    @property
    def policy(self) -> OutboundPolicy:
        """Where requests may go."""
        return OutboundPolicy(allow_private=self.allow_private, allow_hosts=tuple(self.allow_hosts))
