"""Requests in, blobs to the sink, and the answer each kind of sender expects.

The order of work is: admission, size, decompression under a cap, envelope, blobs, commit, answer.
An answer of 200 means that what it accepts is durable.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import datetime
from functools import partial
from typing import Final, TypeVar

from rag_monitor import telemetry
from rag_monitor.domain.clock import Clock, SystemClock
from rag_monitor.domain.feedback import Feedback, RatingSink
from rag_monitor.domain.ports import IngestBatch, SpanBlob, TraceSink
from rag_monitor.domain.rating import Rating
from rag_monitor.domain.score import ReportedScore, ReportedScoreSink, ReportedSessionScore
from rag_monitor.errors import (
    IngestError,
    MalformedPayload,
    QueueFull,
    StoreDamaged,
    StoreError,
    StoreUnavailable,
    UnsupportedMediaType,
)
from rag_monitor.ingest.envelope import Decoded, decode_traces
from rag_monitor.ingest.evaluations import EvaluationRecord
from rag_monitor.ingest.inflate import inflate
from rag_monitor.ingest.logs import DecodedLogs, logs_from_json, logs_from_protobuf
from rag_monitor.ingest.options import IngestOptions
from rag_monitor.ingest.replies import (
    JSON,
    PROTOBUF,
    JsonReply,
    OtlpReply,
    encoding_of,
    refusal,
    refusal_reason,
    success,
)
from rag_monitor.ingest.rows import decode_rows
from rag_monitor.ingest.strict_json import parse
from rag_monitor.ingest.user_feedback import rating_in
from rag_monitor.self_tracing import INGEST, SelfTracing

_log: Final = logging.getLogger(__name__)

_KEPT: Final = "kept are evaluation results, and messages of model calls that name their span"
_KEEPING: Final = 2
"""Requests with scores of other tools that are stored at once."""
_KEPT_WITHIN_S: Final = 5.0
"""How long a request waits for its scores. Sent again, they change nothing."""

T = TypeVar("T")


class Receiver:
    """Takes requests in.

    Args:
        sink: Where blobs become durable.
        options: Limits.
        clock: Tells when a request arrived.
        reported: Where scores of other tools go; None: they are only counted.
        ratings: Where those go that are ratings by users; None: they are scores like others.
        own: Takes note of some requests; None: nobody does.
    """

    def __init__(
        self,
        sink: TraceSink,
        options: IngestOptions | None = None,
        clock: Clock | None = None,
        reported: ReportedScoreSink | None = None,
        own: SelfTracing | None = None,
        ratings: RatingSink | None = None,
    ) -> None:
        self._sink = sink
        self._options = options or IngestOptions()
        self._clock = clock or SystemClock()
        self._reported = reported
        self._ratings = ratings
        self._own = own
        self._in_flight = 0
        # Of its own: nothing else in the process can use these threads up.
        self._decoding = ThreadPoolExecutor(self._options.decode_workers, "ingest-decode")
        self._keeping = ThreadPoolExecutor(_KEEPING, "ingest-scores")

    async def receive_traces(
        self,
        body: bytes,
        content_type: str,
        content_encoding: str | None,
        project: str,
        *,
        bulk: bool = False,
    ) -> OtlpReply:
        """An OTLP trace request in either encoding. Never raises, whatever was sent.

        `bulk`: the sender says that it is history.
        """
        encoding = encoding_of(content_type)
        began = self._own.begin() if self._own is not None else 0
        decoded = None
        try:
            with self._admitted(len(body)):
                decoded = await self._off_loop(
                    body, content_encoding, self._traces, encoding, content_encoding, body
                )
                if decoded.blobs:
                    await self._write(project, decoded.blobs, bulk)
                await self._keep(project, decoded.scores.records)
        except Exception as error:  # noqa: BLE001 - counted and logged by _refuse; never a 500
            self._note(began, len(body), decoded, error)
            return self._refuse(error, encoding)
        self._note(began, len(body), decoded, None)
        word = "json" if encoding == JSON else "protobuf"
        telemetry.INGESTED_SPANS.labels(encoding=word).inc(decoded.spans - decoded.rejected)
        if decoded.rejected:
            telemetry.dropped("ingest", "invalid_span", decoded.rejected)
        if unread := sum(decoded.scores.unread.values()):
            telemetry.dropped("ingest", "unread_score", unread)
        for reason, count in decoded.lost.items():
            telemetry.dropped("sdk", reason, count)
        return success(encoding or JSON, rejected=decoded.rejected, message=decoded.message)

    async def receive_logs(
        self, body: bytes, content_type: str, content_encoding: str | None, project: str
    ) -> OtlpReply:
        """An OTLP log request. Never raises, whatever was sent."""
        encoding = encoding_of(content_type)
        try:
            with self._admitted(len(body)):
                decoded = await self._off_loop(
                    body, content_encoding, self._logs, encoding, content_encoding, body
                )
                if decoded.blobs:
                    await self._write(project, decoded.blobs, bulk=False)
                await self._keep(project, decoded.evaluations)
        except Exception as error:  # noqa: BLE001 - counted and logged by _refuse; never a 500
            return self._refuse(error, encoding)
        kept = len(decoded.evaluations) if self._reported is not None else 0
        lost = decoded.records - kept - decoded.own - decoded.messages
        message = decoded.message
        if lost:
            telemetry.dropped("ingest", "log_record", lost)
        if lost > decoded.rejected:
            unread = f"log records not kept: {lost - decoded.rejected} ({_KEPT})"
            message = "; ".join(filter(None, (message, unread)))
        return success(
            encoding or JSON,
            rejected=decoded.rejected,
            message=message,
            noun="rejectedLogRecords",
        )

    async def receive_json(self, body: bytes, project: str, *, bulk: bool = False) -> JsonReply:
        """One Trace JSON object, a list of them, or JSON lines.

        A bad row is reported in `JsonReply.errors` and does not spoil its neighbours. `bulk`: the
        sender says that they are history.

        Raises:
            MalformedPayload: The body as a whole is not JSON.
            PayloadTooLarge: The body, its rows or its keys exceed the limits.
            QueueFull: Too much is waiting to be written.
            StoreUnavailable: The database does not answer.
        """
        now = self._clock.now()
        try:
            with self._admitted(len(body)):
                rows = await self._off_loop(
                    body,
                    None,
                    lambda: decode_rows(
                        body, project=project, received_at=now, options=self._options
                    ),
                )
                if rows.blobs:
                    await self._write(project, rows.blobs, bulk)
                await self._keep(project, rows.reported)
        except (IngestError, StoreError) as error:
            telemetry.dropped("ingest", refusal_reason(error))
            raise
        if rows.errors:
            telemetry.dropped("ingest", "invalid_row", len(rows.errors))
        return JsonReply(
            accepted=len(rows.blobs),
            trace_ids=tuple(blob.trace_id for blob in rows.blobs),
            unknown_fields=rows.unknown_fields,
            errors=rows.errors,
        )

    @contextmanager
    def _admitted(self, size: int) -> Iterator[None]:
        """Hold `size` bytes of the budget for what is decoded or waits for its commit."""
        if self._in_flight and self._in_flight + size > self._options.max_in_flight_bytes:
            raise QueueFull("too many bytes are waiting to be stored; try again")
        self._in_flight += size
        try:
            yield
        finally:
            self._in_flight -= size

    async def _off_loop(
        self, body: bytes, content_encoding: str | None, work: Callable[..., T], *args: object
    ) -> T:
        """Do `work`; in a thread when the body is large, so that the event loop stays free."""
        options = self._options
        small = options.inline_compressed_bytes if content_encoding else options.inline_bytes
        if len(body) <= small:
            return work(*args)
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._decoding, partial(work, *args))

    async def _write(self, project: str, blobs: Sequence[SpanBlob], bulk: bool = False) -> None:
        now = self._clock.now()
        await self._sink.write(
            IngestBatch(project=project, received_at=now, blobs=tuple(blobs), bulk=bulk)
        )

    async def _keep(self, project: str, records: Sequence[EvaluationRecord]) -> None:
        """Store scores of other tools; a request that is sent again brings the same ones."""
        if self._reported is not None and records:
            loop = asyncio.get_running_loop()
            keeping = loop.run_in_executor(
                self._keeping, self._keep_both, self._reported, project, records
            )
            try:
                await asyncio.wait_for(keeping, _KEPT_WITHIN_S)
            except TimeoutError:
                raise StoreUnavailable(
                    "scores were not stored within {seconds:g} s; try again", seconds=_KEPT_WITHIN_S
                ) from None

    def _keep_both(
        self, reported: ReportedScoreSink, project: str, records: Sequence[EvaluationRecord]
    ) -> None:
        """Those that are ratings by users as ratings, the others as they are."""
        now = self._clock.now()
        scores: list[ReportedScore] = []
        of_sessions: list[ReportedSessionScore] = []
        ratings: list[Feedback] = []
        for record in records:
            if record.session_id is not None:  # also what users say: no answer is rated by it
                of_sessions.append(_of_session(project, record, record.session_id, now))
                continue
            rating = rating_in(record) if self._ratings is not None else None
            if rating is None:
                scores.append(_reported(project, record, now))
            else:
                ratings.append(_rated(project, record, rating, now))
        if scores:
            reported.add(scores)
        if of_sessions:
            reported.add_of_sessions(of_sessions)
        if ratings and self._ratings is not None:
            self._ratings.add_new(ratings)

    def _traces(self, encoding: str | None, content_encoding: str | None, body: bytes) -> Decoded:
        content = self._content(encoding, content_encoding, body)
        return decode_traces(content, json=encoding == JSON, options=self._options)

    def _logs(self, encoding: str | None, content_encoding: str | None, body: bytes) -> DecodedLogs:
        content = self._content(encoding, content_encoding, body)
        options = self._options
        if encoding == PROTOBUF:
            return logs_from_protobuf(content, options.max_spans)
        value = parse(content or b"{}", max_keys=options.max_keys, max_depth=options.max_depth)
        return logs_from_json(value, options.max_spans)

    def _content(self, encoding: str | None, content_encoding: str | None, body: bytes) -> bytes:
        if encoding is None:
            raise UnsupportedMediaType(
                "the content type is not one this endpoint reads; send {protobuf} or {json}",
                protobuf=PROTOBUF,
                json=JSON,
            )
        return inflate(body, content_encoding, self._options.max_bytes)

    def _note(
        self, began: int, size: int, decoded: Decoded | None, error: Exception | None
    ) -> None:
        """Note the request, unless all it holds is such notes, or nobody knows what it holds.

        Either could be what the note of a request before has brought.
        """
        if self._own is None or decoded is None or decoded.own >= decoded.spans:
            return
        if self._own.draws_ingest():
            self._own.record(INGEST, began, {"bytes": size, "spans": decoded.spans}, error)

    def _refuse(self, error: Exception, encoding: str | None) -> OtlpReply:
        if not isinstance(error, (IngestError, StoreDamaged, StoreUnavailable)):
            _log.error("an OTLP request failed in a way it should not", exc_info=error)
        telemetry.dropped("ingest", refusal_reason(error))
        options = self._options
        store = not isinstance(error, (QueueFull, MalformedPayload))
        wait = options.retry_after_store_s if store else options.retry_after_s
        return refusal(error, encoding, wait)


def _reported(project: str, record: EvaluationRecord, now: datetime) -> ReportedScore:
    """A record as it is stored. A time to come would keep every later score out."""
    return ReportedScore(
        project=project,
        trace_id=record.trace_id,
        source=record.source,
        name=record.name,
        span_id=record.span_id or "",
        value=record.value,
        label=record.label,
        explanation=record.explanation,
        error=record.error,
        reported_at=min(record.at or now, now),
        received_at=now,
    )


def _of_session(
    project: str, record: EvaluationRecord, session_id: str, now: datetime
) -> ReportedSessionScore:
    return ReportedSessionScore(
        project=project,
        session_id=session_id,
        source=record.source,
        name=record.name,
        value=record.value,
        label=record.label,
        explanation=record.explanation,
        error=record.error,
        reported_at=min(record.at or now, now),
        received_at=now,
    )


def _rated(project: str, record: EvaluationRecord, rating: Rating, now: datetime) -> Feedback:
    """A rating as it is stored. A source stands for one user of the trace: its newest counts."""
    return Feedback(
        project=project,
        trace_id=record.trace_id,
        value=rating.value,
        kind=rating.kind,
        raw_value=rating.raw_value,
        scale=rating.scale,
        comment=record.explanation,
        author=record.source or None,
        created_at=min(record.at or now, now),
    )
