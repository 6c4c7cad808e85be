"""OTLP trace requests, in either encoding, cut into one blob of evidence per trace.

No attribute is understood yet. Bodies are read in two steps: an envelope whose spans are still
bytes, then each span alone. One broken span is rejected; its neighbours live. Raw bytes are kept,
not written anew.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.message import DecodeError
from opentelemetry.proto.common.v1.common_pb2 import InstrumentationScope as ScopeMessage
from opentelemetry.proto.resource.v1.resource_pb2 import Resource as ResourceMessage
from opentelemetry.proto.trace.v1.trace_pb2 import Span as SpanMessage

from rag_monitor import semconv
from rag_monitor.domain.ports import BlobFormat, SpanBlob
from rag_monitor.errors import MalformedPayload, PayloadTooLarge
from rag_monitor.ingest.evaluations import PLURAL, Annotations, read_annotations, source_of
from rag_monitor.ingest.options import IngestOptions
from rag_monitor.ingest.otlp_json import traces_from_json
from rag_monitor.ingest.spans import read_attributes
from rag_monitor.ingest.strict_json import parse
from rag_monitor.ingest.values import members, whole
from rag_monitor.protobuf import length_delimited, length_prefix

_REMOTE_PARENT: Final = 0x200
_DROPPED: Final = semconv.DROPPED.encode()
_SCORES: Final = semconv.EVALUATION_SCOPE.encode()
_OWN: Final = semconv.SELF_SCOPE.encode()
_REASON: Final = re.compile(
    r"queue_full|exit|encode_failed|invalid_feedback|rejected|too_large|http_[1-5]\d\d"
)
_MAX_LOST: Final = 10**9
_ZERO_TRACE: Final = bytes(16)
_ZERO_SPAN: Final = bytes(8)


def _envelope_class() -> Any:
    """`ExportTraceServiceRequest` with `bytes` where it has messages that need not be read yet."""
    kinds = descriptor_pb2.FieldDescriptorProto
    file = descriptor_pb2.FileDescriptorProto(
        name="rag_monitor/envelope.proto", package="rag_monitor", syntax="proto3"
    )

    def message(name: str, *fields: tuple[str, int, int, int, str]) -> None:
        kind = file.message_type.add(name=name)
        for field_name, number, label, type_, type_name in fields:
            kind.field.add(
                name=field_name,
                number=number,
                label=label,
                type=type_,
                type_name=type_name or None,
            )

    one, many = kinds.LABEL_OPTIONAL, kinds.LABEL_REPEATED
    raw, nested, text = kinds.TYPE_BYTES, kinds.TYPE_MESSAGE, kinds.TYPE_STRING
    message(
        "Scope",
        ("scope", 1, one, raw, ""),
        ("spans", 2, many, raw, ""),
        ("schema_url", 3, one, text, ""),
    )
    message(
        "Resource",
        ("resource", 1, one, raw, ""),
        ("scope_spans", 2, many, nested, ".rag_monitor.Scope"),
        ("schema_url", 3, one, text, ""),
    )
    message("Envelope", ("resource_spans", 1, many, nested, ".rag_monitor.Resource"))
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("rag_monitor.Envelope"))


_Envelope: Final = _envelope_class()


@dataclass(slots=True)
class Decoded:
    """What a request held.

    >>> decoded = Decoded(spans=3)
    >>> decoded.reject("a span without an id"); decoded.reject("a span without an id")
    >>> decoded.rejected, decoded.message
    (2, '2 x a span without an id')
    """

    blobs: list[SpanBlob] = field(default_factory=list)
    spans: int = 0
    own: int = 0
    """Spans about a monitor's own work."""
    rejected: int = 0
    reasons: dict[str, int] = field(default_factory=dict)
    lost: dict[str, int] = field(default_factory=dict)
    """What our SDK says it dropped since its last export, by reason."""
    scores: Annotations = field(default_factory=Annotations)
    """What spans say of spans."""

    def reject(self, reason: str) -> None:
        """Count one span that cannot be kept."""
        self.rejected += 1
        self.reasons[reason] = self.reasons.get(reason, 0) + 1

    @property
    def message(self) -> str:
        """Why spans were rejected and scores on them left out; empty when none was."""
        reasons = {**self.reasons, **self.scores.unread}
        return "; ".join(f"{count} x {reason}" for reason, count in reasons.items())


@dataclass(slots=True)
class _Group:
    """The spans of one trace."""

    parts: list[bytes] = field(default_factory=list)
    spans: int = 0
    complete: bool = False
    has_root: bool = False


def split_request(body: bytes, max_spans: int) -> Decoded:
    """An `ExportTraceServiceRequest` as blobs, one per trace.

    Raises:
        MalformedPayload: The body is not such a message.
        PayloadTooLarge: It holds more than `max_spans` spans.
    """
    try:
        envelope = _Envelope.FromString(body)
    except DecodeError as error:
        raise MalformedPayload(
            "the body is not an OTLP trace request: {reason}", reason=error
        ) from None
    total = sum(len(s.spans) for r in envelope.resource_spans for s in r.scope_spans)
    if total > max_spans:
        raise PayloadTooLarge(
            "{count} spans in one request; send at most {most}", count=total, most=max_spans
        )
    decoded = Decoded(spans=total)
    groups: dict[bytes, _Group] = {}
    for resource in envelope.resource_spans:
        _check(ResourceMessage, resource.resource, "resource")
        if _DROPPED in resource.resource:
            _note_lost(resource.resource, decoded)
        for scope in resource.scope_spans:
            _check(ScopeMessage, scope.scope, "scope")
            if _SCORES in scope.scope:
                continue  # our own scores, come back through a collector: no part of the question
            if _OWN in scope.scope:
                decoded.own += len(scope.spans)
            for trace_id, part in _of_scope(resource, scope, groups, decoded):
                groups[trace_id].parts.append(part)
    if len(decoded.scores.records) > max_spans:
        raise PayloadTooLarge(
            "{count} scores on the spans of one request; send at most {most}",
            count=len(decoded.scores.records),
            most=max_spans,
        )
    decoded.blobs = [
        SpanBlob(
            trace_id=trace_id.hex(),
            format=BlobFormat.OTLP,
            payload=b"".join(group.parts),
            spans=group.spans,
            complete=group.complete,
            has_root=group.has_root,
        )
        for trace_id, group in groups.items()
    ]
    return decoded


def _check(kind: type[ResourceMessage | ScopeMessage], raw: bytes, what: str) -> None:
    """Refuse a broken resource or scope now: every span below it would be unreadable later."""
    try:
        kind.FromString(raw)
    except DecodeError as error:
        raise MalformedPayload(
            "the {what} cannot be decoded: {reason}", what=what, reason=error
        ) from None


def _note_lost(raw: bytes, decoded: Decoded) -> None:
    """Read the SDK's own losses; reasons it cannot have are counted together."""
    for attribute in ResourceMessage.FromString(raw).attributes:
        if attribute.key != semconv.DROPPED:
            continue
        for reason, count in members(attribute.value.string_value).items():
            number = whole(count) or 0
            name = reason if _REASON.fullmatch(reason) else "other"
            decoded.lost[name] = decoded.lost.get(name, 0) + min(number, _MAX_LOST)


def _of_scope(
    resource: Any, scope: Any, groups: dict[bytes, _Group], decoded: Decoded
) -> Iterator[tuple[bytes, bytes]]:
    """Per trace the `resource_spans` field that holds its spans of this scope."""
    spans: dict[bytes, list[bytes]] = {}
    sender: str | None = None
    for raw in scope.spans:
        span = _read(raw, decoded)
        if span is None:
            continue
        group = groups.setdefault(span.trace_id, _Group())
        group.spans += 1
        if _note(span, group):
            sender = _sender(resource, scope) if sender is None else sender
            read_annotations(span, sender, decoded.scores)
        spans.setdefault(span.trace_id, []).append(raw)
    head = length_delimited(1, scope.scope) if scope.scope else b""
    tail = length_delimited(3, scope.schema_url.encode()) if scope.schema_url else b""
    source = length_delimited(1, resource.resource) if resource.resource else b""
    for trace_id, raws in spans.items():
        parts = [head]
        for raw in raws:
            parts += (length_prefix(2, len(raw)), raw)
        parts.append(tail)
        inner = sum(map(len, parts))
        before = source + length_prefix(2, inner)
        # One join: spans carry passages, and each level of nesting would copy them again.
        yield trace_id, b"".join((length_prefix(1, len(before) + inner), before, *parts))


def _sender(resource: Any, scope: Any) -> str:
    named = ScopeMessage.FromString(scope.scope).name
    return source_of(
        named, read_attributes(ResourceMessage.FromString(resource.resource).attributes)
    )


def _read(raw: bytes, decoded: Decoded) -> SpanMessage | None:
    try:
        span: SpanMessage = SpanMessage.FromString(raw)
    except DecodeError:
        decoded.reject("span cannot be decoded")
        return None
    if len(span.trace_id) != 16 or span.trace_id == _ZERO_TRACE:
        decoded.reject("trace id is not 16 bytes, or all zero")
        return None
    if len(span.span_id) != 8 or span.span_id == _ZERO_SPAN:
        decoded.reject("span id is not 8 bytes, or all zero")
        return None
    parent = span.parent_span_id
    if parent and len(parent) != 8:
        decoded.reject("parent span id is not 8 bytes")
        return None
    return span


def _note(span: SpanMessage, group: _Group) -> bool:
    """Note what a span says of its trace; whether it may hold scores."""
    root = not any(span.parent_span_id) or bool(span.flags & _REMOTE_PARENT)
    scored = any(event.name == semconv.GEN_AI_EVALUATION_EVENT for event in span.events)
    for attribute in span.attributes:
        key = attribute.key
        if key == semconv.COMPLETE and attribute.value.bool_value:
            group.complete = True
            root = True
        elif key == semconv.APP_ROOT and attribute.value.bool_value:
            root = True
        elif PLURAL in key:
            scored = True
    group.has_root = group.has_root or root
    return scored


def decode_traces(body: bytes, *, json: bool, options: IngestOptions) -> Decoded:
    """The blobs of a request, one per trace, and what had to be rejected.

    Args:
        body: Without its content encoding.
        json: OTLP/JSON; else protobuf.
        options: Limits.

    Raises:
        MalformedPayload: The body is not such a request.
        PayloadTooLarge: Too many spans or keys.
    """
    if not json:
        return split_request(body, options.max_spans)
    # An attribute value nests two JSON levels per level of its own; those are limited per span.
    value = parse(body or b"{}", max_keys=options.max_keys, max_depth=None)
    request, reasons = traces_from_json(value, options.max_spans)
    decoded = split_request(request.SerializeToString(), options.max_spans)
    decoded.spans += len(reasons)
    for reason in reasons:
        decoded.reject(reason)
    return decoded
