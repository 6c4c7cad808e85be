"""Options of exposition: where scores and the monitor's own spans are sent, and in which form."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Final, Literal

from rag_monitor.domain.ranges import above, at_least, between, check_ranges, not_negative
from rag_monitor.errors import ConfigurationError, OutboundRefused
from rag_monitor.i18n import msgid
from rag_monitor.outbound.guard import OutboundPolicy, check_url

Form = Literal["events", "spans", "phoenix"]
"""What a score becomes.

`events`: `gen_ai.evaluation.result` log events of OpenTelemetry. `spans`: OpenInference annotations
on a span of the judged trace, for tools that take traces but no logs (Jaeger, Langfuse, Tempo).
`phoenix`: trace annotations by Phoenix's own HTTP interface, shown beside its own.
"""
TRACES: Final = "/v1/traces"
PATHS: Final[Mapping[Form, str]] = {
    "events": "/v1/logs",
    "spans": TRACES,
    "phoenix": "/v1/trace_annotations",
}
_EXPORT: Final = msgid("batch, every_s and timeout_s must be positive, settle_s at least 0")
_OWN_TIMES: Final = msgid("`every_s` and `timeout_s` must be positive")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceiverOptions:
    """Whom something is sent to."""

    endpoint: str | None = None
    """Base URL of the receiver (the path is appended), or a URL ending in that path; None: nothing
    is sent."""
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Sent with every request, e.g. the receiver's key."""
    allow_private: bool = False
    """Private and loopback addresses may be reached."""
    allow_hosts: tuple[str, ...] = ()
    """Host names, addresses or networks that may be reached whatever they are."""

    @property
    def policy(self) -> OutboundPolicy:
        """Where requests may go."""
        return OutboundPolicy(allow_private=self.allow_private, allow_hosts=tuple(self.allow_hosts))

    def url_of(self, path: str) -> str:
        """Where requests for the path go."""
        base = (self.endpoint or "").rstrip("/")
        return base if base.endswith(path) else base + path

    def check_endpoint(self, table: str, url: str) -> None:
        """Refuse an address that requests will never go to.

        Raises:
            ConfigurationError: With the name of the table and the way to allow it.
        """
        if self.endpoint is None:
            return
        try:
            check_url(url, self.policy)
        except OutboundRefused as error:
            raise ConfigurationError(
                "[{table}] endpoint: {reason}; for a receiver of your own set `allow_hosts` or "
                "`allow_private` in [{table}]",
                table=table,
                reason=error,
            ) from None


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportOptions(ReceiverOptions):
    """Where scores are passed on to. Times in seconds."""

    form: Form = "events"
    """What a score becomes."""
    timeout_s: Annotated[float, above(0, _EXPORT)] = 10.0
    """Total time of one request."""
    every_s: Annotated[float, above(0, _EXPORT)] = 5.0
    """How often new scores are looked for."""
    settle_s: Annotated[float, not_negative(_EXPORT)] = 60.0
    """A score is sent this long after it was made. A commit that takes longer could be overtaken
    and missed."""
    batch: Annotated[int, at_least(1, _EXPORT)] = 500
    """Scores per request."""

    def __post_init__(self) -> None:
        check_ranges(self)
        self.check_endpoint("export", self.url)

    @property
    def url(self) -> str:
        """Where the scores go."""
        return self.url_of(PATHS[self.form])


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnTracesOptions(ReceiverOptions):
    """Where the monitor's own spans go: to whoever takes OTLP, this monitor itself included.

    Times in seconds. Without an endpoint nothing is noted.
    """

    api_key: str | None = field(default=None, repr=False)
    """Sent as `X-API-Key`. A key of a project of its own keeps own traces out of the others."""
    ingest_rate: Annotated[float, between(0, 1, "`{name}` is from 0 to 1")] = 0.01
    """Share of ingest requests that are noted; batches of judging and runs of the rules all are."""
    every_s: Annotated[float, above(0, _OWN_TIMES)] = 5.0
    """Between two requests."""
    timeout_s: Annotated[float, above(0, _OWN_TIMES)] = 5.0
    """Total time of one request."""

    def __post_init__(self) -> None:
        check_ranges(self)
        self.check_endpoint("own_traces", self.url)

    @property
    def url(self) -> str:
        """Where the spans go."""
        return self.url_of(TRACES)
