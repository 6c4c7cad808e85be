"""Trace JSON to `Trace` and back: what our SDK writes, what is imported, what the API shows."""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

import orjson

from rag_monitor.domain.clean_text import clean_text, is_clean
from rag_monitor.domain.conversation import MOST_TURNS, EarlierTurn
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
from rag_monitor.i18n import Message, msgid
from rag_monitor.ingest.fields import FieldReader, at_fault, is_object
from rag_monitor.ingest.strict_json import parse, parse_text
from rag_monitor.ingest.trace_encoding import TIMINGS, encode_trace
from rag_monitor.ingest.values import clean_name

__all__ = ["decode_trace", "encode_trace", "parse_row", "parse_stored", "row_trace_id"]

_LABELS: Final = frozenset(
    {
        "expected", "reference", "key_points", "relevant_ids", "context_labels", "label_faithful",
        "label", "predicted",
    }
)  # fmt: skip
"""Fields that make an `Expected`."""
_STATUSES: Final = {status.value: status for status in TraceStatus}
_HIT_KINDS: Final = {kind.value: kind for kind in HitKind}
_NO_TIMINGS: Final = Timings()
_NO_USAGE: Final = Usage()
_NAMES_SHOWN: Final = 20
_NAME_SHOWN: Final = 40


def parse_row(body: bytes | str) -> Mapping[str, Any]:
    """One Trace JSON object.

    Raises:
        MalformedPayload: Not JSON, or not an object.
    """
    value = parse_text(body) if isinstance(body, str) else parse(body)
    if not isinstance(value, dict):
        raise MalformedPayload('a trace is a JSON object, e.g. {"question": …, "answer": …}')
    return value


def parse_stored(content: bytes | str) -> Mapping[str, Any]:
    """One Trace JSON object out of stored evidence, in a fraction of the time.

    Strictness is for the door: of a key that comes twice the last one counts here, and what the
    quick parser refuses is read as `parse_row` reads it.

    Raises:
        MalformedPayload: Not JSON, or not an object.
    """
    try:
        value = orjson.loads(content)
    except orjson.JSONDecodeError:
        return parse_row(content)
    return value if isinstance(value, dict) else parse_row(content)


def decode_trace(
    row: Mapping[str, Any],
    *,
    project: str = DEFAULT_PROJECT,
    trace_id: str | None = None,
    received_at: datetime | None = None,
    app: str | None = None,
    release: str | None = None,
    environment: str | None = None,
) -> Trace:
    """A `Trace` from Trace JSON. Fields it does not know are ignored (see `known_names`).

    Args:
        row: The object.
        project: The tenant.
        trace_id: The id when something outside the object says so (OTLP); else it is the object's.
        received_at: Stands in for a missing `started_at`.
        app: Stands in for a missing `app`.
        release: Stands in for a missing `release`.
        environment: Stands in for a missing `environment`.

    Raises:
        MalformedPayload: A field has the wrong type, or neither question nor answer is there. The
            message names the field.
    """
    if not is_object(row):
        raise MalformedPayload("a trace is a JSON object with `question` and `answer`")
    reader = FieldReader(row)
    documents = _Documents()
    name = clean_name(reader.text("app") or app or "") or "unknown"
    question, answer = reader.text("question"), reader.text("answer")
    if trace_id is None and "question" not in row and "answer" not in row:
        raise MalformedPayload(
            "a trace needs a `question` and an `answer` (null where they are withheld); this one "
            "has {names}",
            names=_names_of(row),
        )
    retrievals = _retrievals(reader, documents)
    return Trace(
        trace_id=trace_id or row_trace_id(row, project, name),
        project=project,
        app=name,
        environment=_or(reader.text("environment"), environment),
        release=_or(reader.text("release"), release),
        session_id=reader.text("session_id"),
        user_id=reader.text("user_id"),
        tags=reader.texts("tags") or (),
        question=question,
        answer=answer,
        status=_status(reader),
        error=reader.text("error"),
        retrievals=retrievals,
        contexts=_contexts(reader, documents),
        context_block=reader.text("context_block"),
        history=_history(reader),
        timings=_timings(reader),
        hits=_hits(reader, retrievals),
        expected=_expected(reader),
        model=reader.text("model"),
        usage=_usage(reader),
        streamed=reader.flag("streamed"),
        revision=reader.whole("revision", 1) or 1,
        truncated=bool(reader.flag("truncated")),
        started_at=_moment(reader) or received_at or datetime.now(UTC),
        convention=reader.text("convention") or "rag_monitor",
        attributes=_attributes(reader),
    )


def _or(text: str | None, stand_in: str | None) -> str | None:
    """The text; where it is missing or empty, what stands in for it, if anything does."""
    return stand_in if not text and stand_in is not None else text


def row_trace_id(row: Mapping[str, Any], project: str, app: str) -> str:
    """The trace id of an imported object; the same object has the same id, also without an `id`."""
    for name in ("trace_id", "id"):
        given = row.get(name)
        if given is None or given == "":
            continue
        if isinstance(given, bool) or not isinstance(given, str | int):
            raise FieldReader(row).fail(name, "a string")
        return derive_trace_id(project, app, str(given))
    content = json.dumps(row, sort_keys=True, ensure_ascii=True, default=str)
    return derive_trace_id(project, app, uuid.uuid5(uuid.NAMESPACE_OID, content).urn)


def _names_of(row: Mapping[str, Any]) -> str:
    """What a row calls its fields, for whoever has to map them: short, on one line."""
    names = [f"`{clean_name(str(name), _NAME_SHOWN)}`" for name in row]
    shown = ", ".join(names[:_NAMES_SHOWN]) or Message("no field")
    more = len(names) - _NAMES_SHOWN
    return Message("{names} and {more} more", names=shown, more=more) if more > 0 else shown


def _attributes(reader: FieldReader) -> dict[str, Any]:
    attributes = dict(reader.mapping("attributes") or {})
    extra = reader.values.get("metadata")
    if extra is not None:
        attributes.setdefault("metadata", extra)
    return attributes


def _status(reader: FieldReader) -> TraceStatus:
    text = reader.text("status")
    if text is None:
        return TraceStatus.ERROR if reader.text("error") else TraceStatus.OK
    status = _STATUSES.get(text)
    if status is None:
        raise reader.fail("status", "one of {names}", names=", ".join(TraceStatus))
    return status


class _Documents:
    """Reads the passages of one row, each once: what reached the model was mostly retrieved."""

    def __init__(self) -> None:
        self._read: dict[tuple[int, int, str | None], RetrievedDocument] = {}

    def all(
        self, items: Sequence[Any], where: str, knowledge_base: str | None
    ) -> tuple[RetrievedDocument, ...]:
        """The documents of a list, ranked in its order where they do not say otherwise."""
        read, documents = self._read, []
        for rank, item in enumerate(items, start=1):
            own = is_object(item) and "knowledge_base" in item
            # The row holds the items, so that none of them gets another's identity.
            key = (id(item), rank, None if own else knowledge_base)
            document = read.get(key)
            if document is None:
                document = read[key] = _document(item, rank, where, knowledge_base)
            documents.append(document)
        return tuple(documents)


def _contexts(reader: FieldReader, documents: _Documents) -> tuple[RetrievedDocument, ...] | None:
    items = reader.items("contexts")
    if items is None:
        return None
    return documents.all(items, "contexts", reader.text("knowledge_base"))


def _history(reader: FieldReader) -> tuple[EarlierTurn, ...]:
    turns = []
    for place, item in enumerate(reader.items("history") or ()):
        if not is_object(item):
            raise at_fault(f"history[{place}]", "an object with `question` and `answer`")
        fields = FieldReader(item, f"history[{place}].")
        question, answer = fields.text("question"), fields.text("answer")
        if question is None:
            raise fields.fail("question", "a string")
        turns.append(EarlierTurn(question=question, answer=answer or ""))
    return tuple(turns[-MOST_TURNS:])  # cut once they are redacted


def _document(item: Any, rank: int, where: str, knowledge_base: str | None) -> RetrievedDocument:
    if isinstance(item, str):
        return RetrievedDocument(content=clean_text(item), rank=rank, knowledge_base=knowledge_base)
    if not is_object(item):
        raise at_fault(f"{where}[{rank - 1}]", "a string or an object with `content`")
    base = item.get("knowledge_base", knowledge_base)
    id_, content, score = item.get("id"), item.get("content"), item.get("score")
    if (
        _is_text(id_)
        and _is_text(content)
        and _is_text(base)
        and (score is None or (type(score) is float and -1e308 < score < 1e308))
        and "rank" not in item
        and "metadata" not in item
    ):  # as nearly all are: there is nothing to convert and nothing to complain of
        return RetrievedDocument(
            id=id_, content=content, score=score, rank=rank, knowledge_base=base
        )
    reader = FieldReader(item, f"{where}[{rank - 1}].")
    return RetrievedDocument(
        id=reader.text("id"),
        content=reader.text("content"),
        score=reader.number("score"),
        rank=reader.whole("rank", 1) or rank,
        knowledge_base=reader.text("knowledge_base")
        if "knowledge_base" in item
        else knowledge_base,
        metadata=dict(reader.mapping("metadata") or {}),
    )


def _is_text(value: object) -> bool:
    """Whether it is a text that stays as it is, or none at all."""
    return value is None or (type(value) is str and is_clean(value))


def _retrievals(reader: FieldReader, documents: _Documents) -> tuple[Retrieval, ...]:
    items = reader.items("retrievals")
    # Read before they are needed: of the wrong type they are refused, used or not.
    query, base = reader.text("query"), reader.text("knowledge_base")
    if items is not None:
        return tuple(_retrieval(item, place, documents) for place, item in enumerate(items))
    contexts = _contexts(reader, documents)
    if contexts is None:
        return ()
    return (
        Retrieval(
            query=query,
            documents=contexts,
            knowledge_base=base,
            latency_ms=_timings(reader).retrieval_ms,
        ),
    )


def _retrieval(item: Any, place: int, documents: _Documents) -> Retrieval:
    where = f"retrievals[{place}]"
    if not is_object(item):
        raise at_fault(where, "an object")
    reader = FieldReader(item, f"{where}.")
    base = reader.text("knowledge_base")
    return Retrieval(
        query=reader.text("query"),
        documents=documents.all(reader.items("documents") or [], f"{where}.documents", base),
        knowledge_base=base,
        latency_ms=reader.number("latency_ms", 0),
        reranked=bool(reader.flag("reranked")),
        error=reader.text("error"),
    )


def _timings(reader: FieldReader) -> Timings:
    given = reader.mapping("timings")
    if not given:
        return _NO_TIMINGS
    values = FieldReader(given, "timings.")
    return Timings(**{name: values.number(name, 0) for name in TIMINGS if name in given})


def _usage(reader: FieldReader) -> Usage:
    given = reader.mapping("usage")
    if not given:
        return _NO_USAGE
    values = FieldReader(given, "usage.")
    return Usage(
        input_tokens=values.whole("input_tokens"), output_tokens=values.whole("output_tokens")
    )


def _hits(reader: FieldReader, retrievals: Sequence[Retrieval]) -> tuple[Hit, ...]:
    """The hits; where none are given, one per search of a named knowledge base."""
    given = reader.items("hits")
    if given is not None:
        return tuple(_hit(item, place) for place, item in enumerate(given))
    return tuple(
        Hit(
            kind=HitKind.KNOWLEDGE_BASE,
            name=item.knowledge_base,
            ok=item.error is None,
            items=len(item.documents),
            latency_ms=item.latency_ms,
        )
        for item in retrievals
        if item.knowledge_base and not item.reranked
    )


def _hit(item: Any, place: int) -> Hit:
    where = f"hits[{place}]"
    if not is_object(item):
        raise at_fault(where, "an object with `kind` and `name`")
    reader = FieldReader(item, f"{where}.")
    name, kind = reader.text("name"), reader.text("kind")
    hit_kind = _HIT_KINDS.get(kind or "")
    if hit_kind is None:
        raise reader.fail("kind", "one of {names}", names=", ".join(HitKind))
    if not name:
        raise reader.fail("name", "a name")
    ok = reader.flag("ok")
    return Hit(
        kind=hit_kind,
        name=name,
        ok=True if ok is None else ok,
        items=reader.whole("items"),
        latency_ms=reader.number("latency_ms", 0),
    )


def _expected(reader: FieldReader) -> Expected | None:
    if _LABELS.isdisjoint(reader.values):
        return None
    routes = FieldReader(reader.mapping("expected") or {}, "expected.")
    labels = reader.items("context_labels")
    faithful = reader.flag("label_faithful")
    expected = Expected(
        plugin=routes.texts("plugin"),
        knowledge_base=routes.texts("knowledge_base"),
        workflow=routes.texts("workflow"),
        references=_references(reader),
        key_points=reader.texts("key_points"),
        relevant_ids=_relevant(reader),
        context_labels=None if labels is None else tuple(_binary(label) for label in labels),
        faithful=faithful,
        label=reader.label("label"),
        predicted=reader.label("predicted"),
    )
    return None if expected == Expected() and reader.values.get("expected") is None else expected


def _references(reader: FieldReader) -> tuple[str, ...] | None:
    """Reference answers; an empty text, as of a table's empty cell, is none."""
    given = reader.texts("reference")
    return tuple(text for text in given if text.strip()) or None if given else given


def _binary(label: Any) -> int:
    if not isinstance(label, bool | int | float) or label not in (0, 1):
        raise at_fault("context_labels", "a list of 0 and 1")
    return int(label)


def _relevant(reader: FieldReader) -> Mapping[str, float] | None:
    value = reader.values.get("relevant_ids")
    if value is None:
        return None
    if isinstance(value, list | tuple) and all(isinstance(item, str | int) for item in value):
        return {clean_text(str(item)): 1.0 for item in value}
    if isinstance(value, Mapping):
        grades = FieldReader(value, "relevant_ids.")
        return {clean_text(str(key)): grades.number(key) or 0.0 for key in value}
    raise reader.fail("relevant_ids", "a list of ids or an object of id and grade")


def _moment(reader: FieldReader) -> datetime | None:
    value = reader.values.get("started_at")
    if value is None:
        return None
    expected = msgid("an ISO 8601 time, e.g. 2026-01-05T12:00:00Z")
    try:
        if isinstance(value, str):
            moment = datetime.fromisoformat(value)
        elif isinstance(value, int | float) and not isinstance(value, bool):
            moment = datetime.fromtimestamp(value, UTC)
        else:
            raise reader.fail("started_at", expected)
        moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError, OSError):
        raise reader.fail("started_at", expected) from None
    return moment
