"""The root span written by hand, read back by OpenTelemetry's own messages."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.proto.common.v1.common_pb2 import AnyValue
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

import rag_monitor as rm
from rag_monitor.domain.record import resolve_contexts
from rag_monitor.errors import MalformedPayload
from rag_monitor.sdk.wire import AttributeValue, write_span
from rag_monitor.testing import InMemoryExporter

IDS = st.integers(1, 2**64 - 1)
TEXT = st.text(max_size=400) | st.sampled_from(["x" * 115, "保" * 2000, ""])


@given(
    trace_id=st.integers(1, 2**128 - 1),
    span_id=IDS,
    name=TEXT,
    attributes=st.dictionaries(st.text(max_size=150), TEXT | st.booleans(), max_size=6),
    error=st.none() | TEXT,
    link=st.none() | st.tuples(IDS, IDS),
)
def test_what_is_written_by_hand_is_what_the_messages_read(
    trace_id: int,
    span_id: int,
    name: str,
    attributes: dict[str, str | bool],
    error: str | None,
    link: tuple[int, int] | None,
) -> None:
    raw = write_span(
        trace_id=trace_id, span_id=span_id, name=name, start_ns=1, end_ns=2**60,
        attributes=attributes, error=error, link=link,
    )  # fmt: skip

    span = Span.FromString(raw)
    assert int.from_bytes(span.trace_id, "big") == trace_id
    assert int.from_bytes(span.span_id, "big") == span_id
    assert (span.name, span.kind) == (name, Span.SPAN_KIND_INTERNAL)
    assert (span.start_time_unix_nano, span.end_time_unix_nano) == (1, 2**60)
    assert span.flags == 0x101
    assert span.parent_span_id == b""
    read = {a.key: getattr(a.value, a.value.WhichOneof("value")) for a in span.attributes}
    assert read == attributes
    if error is None:
        assert not span.HasField("status")
    else:
        assert span.status == Status(code=Status.STATUS_CODE_ERROR, message=error)
    linked = [(int.from_bytes(i.trace_id, "big"), i.span_id) for i in span.links]
    assert linked == ([] if link is None else [(link[0], link[1].to_bytes(8, "big"))])


@given(
    parent_id=IDS,
    attributes=st.dictionaries(
        st.text(max_size=20),
        TEXT
        | st.booleans()
        | st.integers(0, 2**63 - 1)
        | st.floats(allow_nan=False)
        | st.lists(TEXT, max_size=3),
        max_size=6,
    ),
    client=st.booleans(),
)
def test_a_child_span_names_its_parent_and_holds_numbers_and_lists(
    parent_id: int, attributes: dict[str, AttributeValue], client: bool
) -> None:
    raw = write_span(
        trace_id=1, span_id=2, name="chat", start_ns=1, end_ns=2, attributes=attributes,
        parent_id=parent_id, client=client,
    )  # fmt: skip

    span = Span.FromString(raw)
    assert int.from_bytes(span.parent_span_id, "big") == parent_id
    assert span.kind == (Span.SPAN_KIND_CLIENT if client else Span.SPAN_KIND_INTERNAL)
    assert {a.key: _python(a.value) for a in span.attributes} == attributes


def _python(value: AnyValue) -> object:
    kind = value.WhichOneof("value")
    if kind == "array_value":
        return [one.string_value for one in value.array_value.values]
    return getattr(value, kind)


def test_passages_are_on_the_wire_once(captured: InMemoryExporter) -> None:
    with rm.trace(), rm.retrieval() as found:
        found.documents = ["a passage that is on the wire once"]

    raw = captured.spans[0].SerializeToString()
    assert raw.count(b"a passage that is on the wire once") == 1
    assert captured.records[0]["contexts"] == [{"content": "a passage that is on the wire once"}]


def test_texts_with_quotes_and_controls_arrive_as_they_were(captured: InMemoryExporter) -> None:
    for text in ('say "no"\\ \n\r\t end', "bell \x07 and escape \x1b", "保修\n“24”个月", "\\u0041"):
        with rm.trace() as live, rm.retrieval() as found:
            live.set(question=text, answer=text)
            found.documents = [text]
        record = captured.records[-1]
        assert (record["question"], record["answer"]) == (text, text)
        assert record["contexts"] == [{"content": text}]


def test_several_retrievals_are_contexts_together() -> None:
    record = {
        "retrievals": [{"documents": ["a"]}, {"error": "x"}, {"documents": ["b", "c"]}],
        "contexts": {"retrievals": [0, 1, 2]},
    }
    assert resolve_contexts(record)["contexts"] == ["a", "b", "c"]
    assert resolve_contexts({"contexts": ["said"]}) == {"contexts": ["said"]}


@pytest.mark.parametrize("numbers", [[1], [-1], [True], ["0"], [0.0], None, 0, [[0]]])
def test_a_reference_to_nothing_is_malformed(numbers: object) -> None:
    record = {"retrievals": [{"documents": []}], "contexts": {"retrievals": numbers}}
    assert json.dumps(record)
    with pytest.raises(MalformedPayload, match="retrieval"):
        resolve_contexts(record)
