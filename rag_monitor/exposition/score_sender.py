"""Scores out, in the form their receiver takes. One request a call; whoever calls keeps count."""

from __future__ import annotations

import gzip
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final

from google.protobuf.message import DecodeError
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceResponse
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from rag_monitor.domain.stored import PlacedScore
from rag_monitor.exposition.annotations import Key, encode_phoenix, encode_spans
from rag_monitor.exposition.evaluation_events import encode
from rag_monitor.exposition.options import ExportOptions, Form
from rag_monitor.outbound.guard import Resolver
from rag_monitor.outbound.http import OutboundFailed, request

_LATER: Final = frozenset({401, 403, 404, 408, 429, 500, 502, 503, 504})
"""Answers that another try, or an operator, may turn into a yes."""


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


def send(
    scores: Sequence[PlacedScore],
    options: ExportOptions,
    now: datetime,
    *,
    roots: Mapping[Key, str] | None = None,
    resolver: Resolver | None = None,
) -> Receipt:
    """Send the scores in one request. Blocks for at most `options.timeout_s`.

    Args:
        scores: Any order.
        options: Where to, and in which form.
        now: When they are sent, aware.
        roots: Root spans of the traces, where known; only the form `spans` uses them.
        resolver: Looks up host names; None: the system's.

    Raises:
        OutboundRefused: The endpoint leads where it may not.
    """
    headers, body = _request(scores, options.form, roots or {}, now)
    if not body:
        return Receipt(taken=Taken.YES)
    try:
        reply = request(
            "POST",
            options.url,
            body=body,
            headers={**options.headers, **headers},
            policy=options.policy,
            deadline_s=options.timeout_s,
            resolver=resolver,
        )
    except OutboundFailed as error:
        return Receipt(taken=Taken.LATER, reason=str(error))
    if 200 <= reply.status < 300:
        return _partial(reply.body, options.form)
    # A redirect is not followed: to OTLP it means that nothing was taken.
    later = reply.status in _LATER or 300 <= reply.status < 400
    reason = f"it answers {reply.status}"
    return Receipt(taken=Taken.LATER if later else Taken.NEVER, reason=reason)


def _request(
    scores: Sequence[PlacedScore], form: Form, roots: Mapping[Key, str], now: datetime
) -> tuple[dict[str, str], bytes]:
    """Headers and content; empty when there is nothing to say."""
    if form == "phoenix":  # it answers 400 to compressed JSON
        return {"Content-Type": "application/json"}, encode_phoenix(scores)
    message = encode(scores, now) if form == "events" else encode_spans(scores, roots, now)
    body = message.SerializeToString()
    headers = {"Content-Type": "application/x-protobuf", "Content-Encoding": "gzip"}
    return headers, gzip.compress(body, compresslevel=3) if body else b""


def _partial(body: bytes, form: Form) -> Receipt:
    """What an OTLP receiver left out of what it took."""
    if form == "phoenix":
        return Receipt(taken=Taken.YES)
    try:
        if form == "events":
            logs = ExportLogsServiceResponse.FromString(body).partial_success
            rejected, message = logs.rejected_log_records, logs.error_message
        else:
            spans = ExportTraceServiceResponse.FromString(body).partial_success
            rejected, message = spans.rejected_spans, spans.error_message
    except DecodeError:
        return Receipt(taken=Taken.YES)
    return Receipt(taken=Taken.YES, rejected=max(0, rejected), reason=message[:200])
