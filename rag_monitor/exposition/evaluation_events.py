"""Scores out: `gen_ai.evaluation.result` log events to any OTLP/HTTP endpoint.

Phoenix, Langfuse, a Collector: whoever takes OTLP logs sees our scores on the traces they have.
Names and shape are those of the OpenTelemetry semantic conventions for generative AI. No text of a
trace is sent: an event holds numbers, labels and names only.
"""

from __future__ import annotations

import gzip
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Final

from google.protobuf.message import DecodeError
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import (
    ExportLogsServiceRequest,
    ExportLogsServiceResponse,
)
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, InstrumentationScope, KeyValue
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord, ResourceLogs, ScopeLogs, SeverityNumber
from opentelemetry.proto.resource.v1.resource_pb2 import Resource

from rag_monitor import semconv
from rag_monitor.domain.score import Score, ScoreStatus
from rag_monitor.domain.stored import PlacedScore
from rag_monitor.errors import ConfigurationError, OutboundRefused
from rag_monitor.metrics.rag import BAD_BELOW, is_bad
from rag_monitor.outbound.guard import OutboundPolicy, Resolver, check_url
from rag_monitor.outbound.http import OutboundFailed, request

PATH: Final = "/v1/logs"
SCOPE: Final = "rag-monitor"
JUDGE: Final = "rag_monitor.judge"
PROJECT: Final = "rag_monitor.project"
_LATER: Final = frozenset({401, 403, 404, 408, 429, 500, 502, 503, 504})
"""Answers that another try, or an operator, may turn into a yes."""
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportOptions:
    """Where scores are passed on to. Times in seconds."""

    endpoint: str | None = None
    """Base URL of an OTLP/HTTP receiver (`/v1/logs` is appended), or a URL ending in `/v1/logs`;
    None: scores stay here."""
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
        return base if base.endswith(PATH) else base + PATH

    @property
    def policy(self) -> OutboundPolicy:
        """Where requests may go."""
        return OutboundPolicy(allow_private=self.allow_private, allow_hosts=tuple(self.allow_hosts))


class Taken(StrEnum):
    """What a receiver made of a request."""

    YES = "yes"
    LATER = "later"
    """Nothing was taken; the same events may be sent again."""
    NEVER = "never"
    """The receiver cannot read it; again would be no better."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """The answer to one request."""

    taken: Taken
    rejected: int = 0
    """Events the receiver left out of a request it took."""
    reason: str = ""


def encode(scores: Sequence[PlacedScore], now: datetime) -> ExportLogsServiceRequest:
    """One log event per score, with the app as `service.name`.

    The event carries the trace's id; which span of it was judged is not known any more, so the span
    id stays empty.

    Args:
        scores: Any order; grouped by project and app.
        now: When the events are sent, aware.
    """
    groups: dict[tuple[str, str], list[PlacedScore]] = defaultdict(list)
    for placed in scores:
        groups[placed.project, placed.app].append(placed)
    return ExportLogsServiceRequest(
        resource_logs=[
            ResourceLogs(
                resource=Resource(
                    attributes=[_text(semconv.SERVICE_NAME, app), _text(PROJECT, project)]
                ),
                scope_logs=[
                    ScopeLogs(
                        scope=InstrumentationScope(name=SCOPE),
                        log_records=[_event(placed, now) for placed in members],
                    )
                ],
            )
            for (project, app), members in groups.items()
        ]
    )


def send(
    scores: Sequence[PlacedScore],
    options: ExportOptions,
    now: datetime,
    *,
    resolver: Resolver | None = None,
) -> Receipt:
    """Send the scores in one request. Blocks for at most `options.timeout_s`.

    Raises:
        OutboundRefused: The endpoint leads where it may not.
    """
    body = gzip.compress(encode(scores, now).SerializeToString(), compresslevel=3)
    try:
        reply = request(
            "POST",
            options.url,
            body=body,
            headers={
                **options.headers,
                "Content-Type": "application/x-protobuf",
                "Content-Encoding": "gzip",
            },
            policy=options.policy,
            deadline_s=options.timeout_s,
            resolver=resolver,
        )
    except OutboundFailed as error:
        return Receipt(taken=Taken.LATER, reason=str(error))
    if 200 <= reply.status < 300:
        return _partial(reply.body)
    # A redirect is not followed: to OTLP it means that nothing was taken.
    later = reply.status in _LATER or 300 <= reply.status < 400
    reason = f"it answers {reply.status}"
    return Receipt(taken=Taken.LATER if later else Taken.NEVER, reason=reason)


def _partial(body: bytes) -> Receipt:
    try:
        partial = ExportLogsServiceResponse.FromString(body).partial_success
    except DecodeError:
        return Receipt(taken=Taken.YES)
    return Receipt(
        taken=Taken.YES,
        rejected=max(0, partial.rejected_log_records),
        reason=partial.error_message[:200],
    )


def _event(placed: PlacedScore, now: datetime) -> LogRecord:
    score = placed.score
    return LogRecord(
        time_unix_nano=_nanoseconds(score.created_at or now),
        observed_time_unix_nano=_nanoseconds(now),
        severity_number=SeverityNumber.SEVERITY_NUMBER_INFO,
        event_name=semconv.GEN_AI_EVALUATION_EVENT,
        trace_id=bytes.fromhex(placed.trace_id),
        attributes=_attributes(score),
    )


def _attributes(score: Score) -> list[KeyValue]:
    attributes = [_text(semconv.GEN_AI_EVALUATION_NAME, score.metric)]
    if score.judge is not None:
        attributes.append(_text(JUDGE, str(score.judge)))
    if score.status is ScoreStatus.SCORED and score.value is not None:
        number = AnyValue(double_value=float(score.value))
        attributes.append(KeyValue(key=semconv.GEN_AI_EVALUATION_VALUE, value=number))
    if score.status is ScoreStatus.FAILED:
        attributes.append(_text(semconv.ERROR_TYPE, score.reason or "failed"))
    elif label := _label(score):
        attributes.append(_text(semconv.GEN_AI_EVALUATION_LABEL, label))
    return attributes


def _label(score: Score) -> str | None:
    if score.status is not ScoreStatus.SCORED:
        return score.status.value
    if score.flagged is None and score.metric not in BAD_BELOW:
        return None
    return "fail" if is_bad(score) else "pass"


def _text(key: str, value: str) -> KeyValue:
    storable = value.encode("utf-8", "replace").decode("utf-8")
    return KeyValue(key=key, value=AnyValue(string_value=storable))


def _nanoseconds(moment: datetime) -> int:
    return (moment - _EPOCH) // timedelta(microseconds=1) * 1000
