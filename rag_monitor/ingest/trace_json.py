"""Trace JSON to `Trace` and back: what our SDK writes, what is imported, what the API shows."""

from __future__ import annotations

import json
import math
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from rag_monitor.domain.hit import Hit, HitKind
from rag_monitor.domain.trace import (
    DEFAULT_PROJECT,
    Expected,
    Retrieval,
    RetrievedDocument,
    Timings,
    Trace,
    TraceStatus,
    Usage,
    derive_trace_id,
)
from rag_monitor.errors import MalformedPayload

FIELDS: Final = frozenset(
    {
        "id", "trace_id", "app", "question", "contexts", "context_block", "answer", "query",
        "reference", "key_points", "relevant_ids", "timings", "hits", "expected",
        "knowledge_base", "model", "release", "session_id", "user_id", "tags", "started_at",
        "label_faithful", "context_labels", "label", "predicted", "retrievals", "status", "error",
        "environment", "streamed", "usage", "truncated", "meta", "attributes", "convention",
    }
)  # fmt: skip
"""Everything Trace JSON knows; `meta` is accepted and left alone."""

_TIMINGS: Final = (
    "first_byte_ms", "generation_ms", "end_to_end_ms", "retrieval_ms", "first_token_ms",
)  # fmt: skip


@dataclass(slots=True)
class _Reader:
    """Reads fields of one object, naming the one that is wrong."""

    values: Mapping[str, Any]
    where: str = ""

    def fail(self, name: str, wanted: str) -> MalformedPayload:
        shown = type(self.values.get(name)).__name__
        return MalformedPayload(f"`{self.where}{name}` must be {wanted}, not {shown}")

    def text(self, name: str) -> str | None:
        value = self.values.get(name)
        if value is None or isinstance(value, str):
            return value
        if isinstance(value, int | float) and not isinstance(value, bool):
            return str(value)
        raise self.fail(name, "a string")

    def number(self, name: str) -> float | None:
        value = self.values.get(name)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self.fail(name, "a number")
        try:
            number = float(value)
        except OverflowError:
            raise self.fail(name, "a number that fits 64 bits") from None
        return number if math.isfinite(number) else None

    def whole(self, name: str) -> int | None:
        number = self.number(name)
        return None if number is None else int(number)

    def flag(self, name: str) -> bool | None:
        value = self.values.get(name)
        if value is None or isinstance(value, bool):
            return value
        if value in (0, 1):
            return bool(value)
        raise self.fail(name, "true or false")

    def mapping(self, name: str) -> Mapping[str, Any] | None:
        value = self.values.get(name)
        if value is None or isinstance(value, Mapping):
            return value
        raise self.fail(name, "an object")

    def items(self, name: str) -> Sequence[Any] | None:
        value = self.values.get(name)
        if value is None or isinstance(value, list):
            return value
        raise self.fail(name, "a list")

    def texts(self, name: str) -> tuple[str, ...] | None:
        """A list of strings; one string counts as a list of one."""
        value = self.values.get(name)
        if value is None:
            return None
        if isinstance(value, str):
            return (value,)
        if isinstance(value, list) and all(isinstance(item, str) for item in value):
            return tuple(value)
        raise self.fail(name, "a list of strings")


def parse_row(body: bytes | str) -> Mapping[str, Any]:
    """One Trace JSON object.

    Raises:
        MalformedPayload: Not JSON, or not an object.
    """
    try:
        value = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise MalformedPayload(f"not valid JSON: {error}") from None
    if not isinstance(value, dict):
        raise MalformedPayload('a trace is a JSON object, e.g. {"question": …, "answer": …}')
    return value


def decode_trace(
    row: Mapping[str, Any],
    *,
    project: str = DEFAULT_PROJECT,
    trace_id: str | None = None,
    received_at: datetime | None = None,
    app: str | None = None,
) -> Trace:
    """A `Trace` from Trace JSON. Fields it does not know are ignored (see `unknown_fields`).

    Args:
        row: The object.
        project: The tenant.
        trace_id: The id when something outside the object says so (OTLP); else it is the object's.
        received_at: Stands in for a missing `started_at`.
        app: Stands in for a missing `app`.

    Raises:
        MalformedPayload: A field has the wrong type, or neither question nor answer is there. The
            message names the field.
    """
    reader = _Reader(row)
    name = reader.text("app") or app or "unknown"
    question, answer = reader.text("question"), reader.text("answer")
    if question is None and answer is None and reader.text("error") is None and trace_id is None:
        raise MalformedPayload("a trace needs a `question` or an `answer`")
    retrievals = _retrievals(reader)
    return Trace(
        trace_id=trace_id or row_trace_id(row, project, name),
        project=project,
        app=name,
        environment=reader.text("environment"),
        release=reader.text("release"),
        session_id=reader.text("session_id"),
        user_id=reader.text("user_id"),
        tags=reader.texts("tags") or (),
        question=question,
        answer=answer,
        status=_status(reader),
        error=reader.text("error"),
        retrievals=retrievals,
        contexts=_contexts(reader),
        context_block=reader.text("context_block"),
        timings=_timings(reader),
        hits=_hits(reader),
        expected=_expected(reader),
        model=reader.text("model"),
        usage=_usage(reader),
        streamed=reader.flag("streamed"),
        truncated=bool(reader.flag("truncated")),
        started_at=_moment(reader) or received_at or datetime.now(UTC),
        convention=reader.text("convention") or "rag_monitor",
        attributes=dict(reader.mapping("attributes") or {}),
    )


def row_trace_id(row: Mapping[str, Any], project: str, app: str) -> str:
    """The trace id of an imported object; the same object has the same id, also without an `id`."""
    given = row.get("trace_id") or row.get("id")
    if given is not None:
        return derive_trace_id(project, app, str(given))
    content = json.dumps(row, sort_keys=True, ensure_ascii=True, default=str)
    return derive_trace_id(project, app, uuid.uuid5(uuid.NAMESPACE_OID, content).urn)


def unknown_fields(row: Mapping[str, Any]) -> set[str]:
    """Fields Trace JSON does not know."""
    return {str(name) for name in row} - FIELDS


def _status(reader: _Reader) -> TraceStatus:
    text = reader.text("status")
    if text is None:
        return TraceStatus.ERROR if reader.text("error") else TraceStatus.OK
    try:
        return TraceStatus(text)
    except ValueError:
        raise reader.fail("status", f"one of {', '.join(TraceStatus)}") from None


def _contexts(reader: _Reader) -> tuple[RetrievedDocument, ...] | None:
    items = reader.items("contexts")
    return None if items is None else _documents(items, "contexts", reader.text("knowledge_base"))


def _documents(
    items: Sequence[Any], where: str, knowledge_base: str | None
) -> tuple[RetrievedDocument, ...]:
    return tuple(
        _document(item, rank, f"{where}[{rank - 1}]", knowledge_base)
        for rank, item in enumerate(items, start=1)
    )


def _document(item: Any, rank: int, where: str, knowledge_base: str | None) -> RetrievedDocument:
    if isinstance(item, str):
        return RetrievedDocument(content=item, rank=rank, knowledge_base=knowledge_base)
    if not isinstance(item, Mapping):
        raise MalformedPayload(f"`{where}` must be a string or an object with `content`")
    reader = _Reader(item, f"{where}.")
    return RetrievedDocument(
        id=reader.text("id"),
        content=reader.text("content"),
        score=reader.number("score"),
        rank=rank,
        knowledge_base=reader.text("knowledge_base") or knowledge_base,
        metadata=dict(reader.mapping("metadata") or {}),
    )


def _retrievals(reader: _Reader) -> tuple[Retrieval, ...]:
    items = reader.items("retrievals")
    if items is not None:
        return tuple(_retrieval(item, place) for place, item in enumerate(items))
    documents = _contexts(reader)
    if documents is None:
        return ()
    return (
        Retrieval(
            query=reader.text("query"),
            documents=documents,
            knowledge_base=reader.text("knowledge_base"),
            latency_ms=_timings(reader).retrieval_ms,
        ),
    )


def _retrieval(item: Any, place: int) -> Retrieval:
    where = f"retrievals[{place}]"
    if not isinstance(item, Mapping):
        raise MalformedPayload(f"`{where}` must be an object")
    reader = _Reader(item, f"{where}.")
    base = reader.text("knowledge_base")
    return Retrieval(
        query=reader.text("query"),
        documents=_documents(reader.items("documents") or [], f"{where}.documents", base),
        knowledge_base=base,
        latency_ms=reader.number("latency_ms"),
        reranked=bool(reader.flag("reranked")),
        error=reader.text("error"),
    )


def _timings(reader: _Reader) -> Timings:
    values = _Reader(reader.mapping("timings") or {}, "timings.")
    return Timings(**{name: _not_negative(values, name) for name in _TIMINGS})


def _not_negative(reader: _Reader, name: str) -> float | None:
    value = reader.number(name)
    if value is not None and value < 0:
        raise MalformedPayload(f"`{reader.where}{name}` = {value:g}: a time is not negative")
    return value


def _usage(reader: _Reader) -> Usage:
    values = _Reader(reader.mapping("usage") or {}, "usage.")
    return Usage(
        input_tokens=values.whole("input_tokens"), output_tokens=values.whole("output_tokens")
    )


def _hits(reader: _Reader) -> tuple[Hit, ...]:
    return tuple(_hit(item, place) for place, item in enumerate(reader.items("hits") or ()))


def _hit(item: Any, place: int) -> Hit:
    where = f"hits[{place}]"
    if not isinstance(item, Mapping):
        raise MalformedPayload(f"`{where}` must be an object with `kind` and `name`")
    reader = _Reader(item, f"{where}.")
    name, kind = reader.text("name"), reader.text("kind")
    try:
        known = HitKind(kind or "")
    except ValueError:
        raise reader.fail("kind", f"one of {', '.join(HitKind)}") from None
    if not name:
        raise reader.fail("name", "a name")
    ok = reader.flag("ok")
    return Hit(
        kind=known,
        name=name,
        ok=True if ok is None else ok,
        items=reader.whole("items"),
        latency_ms=reader.number("latency_ms"),
    )


def _expected(reader: _Reader) -> Expected | None:
    routes = _Reader(reader.mapping("expected") or {}, "expected.")
    labels = reader.items("context_labels")
    faithful = reader.flag("label_faithful")
    expected = Expected(
        plugin=routes.texts("plugin"),
        knowledge_base=routes.texts("knowledge_base"),
        workflow=routes.texts("workflow"),
        references=reader.texts("reference"),
        key_points=reader.texts("key_points"),
        relevant_ids=_relevant(reader),
        context_labels=None if labels is None else tuple(int(bool(label)) for label in labels),
        faithful=faithful,
        label=reader.text("label"),
        predicted=reader.text("predicted"),
    )
    return None if expected == Expected() else expected


def _relevant(reader: _Reader) -> Mapping[str, float] | None:
    value = reader.values.get("relevant_ids")
    if value is None:
        return None
    if isinstance(value, list):
        return {str(item): 1.0 for item in value}
    if isinstance(value, Mapping) and all(
        isinstance(grade, int | float) for grade in value.values()
    ):
        return {str(key): float(grade) for key, grade in value.items()}
    raise reader.fail("relevant_ids", "a list of ids or an object of id and grade")


def _moment(reader: _Reader) -> datetime | None:
    value = reader.values.get("started_at")
    if value is None:
        return None
    try:
        if isinstance(value, str):
            moment = datetime.fromisoformat(value)
        elif isinstance(value, int | float) and not isinstance(value, bool):
            moment = datetime.fromtimestamp(value, UTC)
        else:
            raise reader.fail("started_at", "an ISO 8601 time")
    except (ValueError, OverflowError, OSError):
        raise reader.fail("started_at", "an ISO 8601 time, e.g. 2026-01-05T12:00:00Z") from None
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


def encode_trace(trace: Trace) -> dict[str, Any]:
    """Trace JSON of a trace; `decode_trace` of it gives the trace back."""
    expected = trace.expected or Expected()
    row: dict[str, Any] = {
        "trace_id": trace.trace_id,
        "app": trace.app,
        "environment": trace.environment,
        "release": trace.release,
        "session_id": trace.session_id,
        "user_id": trace.user_id,
        "tags": list(trace.tags) or None,
        "question": trace.question,
        "answer": trace.answer,
        "status": trace.status.value,
        "error": trace.error,
        "retrievals": [_encode_retrieval(item) for item in trace.retrievals],
        "contexts": None
        if trace.contexts is None
        else [_encode_document(d) for d in trace.contexts],
        "context_block": trace.context_block,
        "timings": _present({name: getattr(trace.timings, name) for name in _TIMINGS}) or None,
        "hits": [_encode_hit(hit) for hit in trace.hits] or None,
        "expected": _present({kind.value: _listed(expected.names(kind)) for kind in HitKind})
        or None,
        "reference": _listed(expected.references),
        "key_points": _listed(expected.key_points),
        "relevant_ids": None if expected.relevant_ids is None else dict(expected.relevant_ids),
        "context_labels": _listed(expected.context_labels),
        "label_faithful": None if expected.faithful is None else int(expected.faithful),
        "label": expected.label,
        "predicted": expected.predicted,
        "model": trace.model,
        "usage": _present(
            {
                "input_tokens": trace.usage.input_tokens,
                "output_tokens": trace.usage.output_tokens,
            }
        )
        or None,
        "streamed": trace.streamed,
        "truncated": trace.truncated or None,
        "started_at": trace.started_at.isoformat(),
        "convention": None if trace.convention == "rag_monitor" else trace.convention,
        "attributes": dict(trace.attributes) or None,
    }
    return _present(row)


def _encode_retrieval(item: Retrieval) -> dict[str, Any]:
    return _present(
        {
            "query": item.query,
            "knowledge_base": item.knowledge_base,
            "documents": [_encode_document(document) for document in item.documents],
            "latency_ms": item.latency_ms,
            "reranked": item.reranked or None,
            "error": item.error,
        }
    )


def _encode_document(document: RetrievedDocument) -> dict[str, Any]:
    return _present(
        {
            "id": document.id,
            "content": document.content,
            "score": document.score,
            "knowledge_base": document.knowledge_base,
            "metadata": dict(document.metadata) or None,
        }
    )


def _encode_hit(hit: Hit) -> dict[str, Any]:
    return _present(
        {
            "kind": hit.kind.value,
            "name": hit.name,
            "ok": hit.ok,
            "items": hit.items,
            "latency_ms": hit.latency_ms,
        }
    )


def _listed(values: Sequence[Any] | None) -> list[Any] | None:
    return None if values is None else list(values)


def _present(values: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}
