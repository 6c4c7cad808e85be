"""Trace JSON over HTTP."""

from __future__ import annotations

import json

import pytest

from rag_monitor.domain.ports import BlobFormat
from rag_monitor.errors import MalformedPayload, StoreUnavailable
from rag_monitor.ingest.derive import derive
from rag_monitor.ingest.options import IngestOptions
from rag_monitor.ingest.receiver import Receiver
from rag_monitor.telemetry import REGISTRY
from rag_monitor.testing import EPOCH, ManualClock
from tests.unit.ingest.evidence import Sink


@pytest.fixture
def sink() -> Sink:
    return Sink()


@pytest.fixture
def receiver(sink: Sink, clock: ManualClock) -> Receiver:
    return Receiver(sink, IngestOptions(max_bytes=2**20), clock)


async def test_json_rows_are_taken_as_object_list_or_lines(receiver: Receiver, sink: Sink) -> None:
    row = {"id": "1", "question": "q", "answer": "a", "colour": 1}
    other = {"id": "2", "question": "q", "answer": "a"}
    one = await receiver.receive_json(json.dumps(row).encode(), "p")
    listed = await receiver.receive_json(json.dumps([row, other]).encode(), "p")
    lines = await receiver.receive_json(f"{json.dumps(row)}\n\n{json.dumps(other)}\n".encode(), "p")
    assert (one.accepted, one.unknown_fields) == (1, ("colour",))
    assert listed.trace_ids == lines.trace_ids
    assert (len(listed.trace_ids), listed.errors) == (2, ())
    assert [len(batch.blobs) for batch in sink.batches] == [1, 2, 2]
    blob = sink.batches[0].blobs[0]
    assert (blob.format, blob.complete, blob.trace_id) == (
        BlobFormat.TRACE_JSON,
        True,
        one.trace_ids[0],
    )
    trace = derive("p", [(blob.format, blob.payload)], EPOCH)
    assert trace is not None
    assert (trace.trace_id, trace.question) == (blob.trace_id, "q")


async def test_a_bad_row_is_reported_and_its_neighbours_are_stored(
    receiver: Receiver, sink: Sink
) -> None:
    good = json.dumps({"id": "1", "question": "q", "answer": "a"})
    bad = json.dumps({"id": "2", "question": 7.5, "answer": ["a"]})
    reply = await receiver.receive_json(f"{good}\n{bad}\n{{oops\n[1]\n{good}".encode(), "p")
    assert reply.accepted == 2
    assert [(error.row, error.id) for error in reply.errors] == [(1, "2"), (2, None), (3, None)]
    assert "`answer`" in reply.errors[0].message
    assert [error.field for error in reply.errors] == ["answer", "", ""]
    assert "not valid JSON" in reply.errors[1].message
    assert len(sink.batches[0].blobs) == 2


@pytest.mark.parametrize(
    ("row", "field"),
    [
        ({"timings": {"end_to_end_ms": -1}}, "timings.end_to_end_ms"),
        ({"contexts": ["a", 5]}, "contexts[1]"),
        ({"hits": [{"kind": "plugin"}]}, "hits[0].name"),
        ({"retrievals": [[]]}, "retrievals[0]"),
        ({"context_labels": [2]}, "context_labels"),
        ({"usage": {"input_tokens": 2**63}}, "usage.input_tokens"),
    ],
)
async def test_a_refused_row_names_the_field_at_fault(
    receiver: Receiver, row: dict[str, object], field: str
) -> None:
    body = json.dumps({"question": "q", "answer": "a", **row}).encode()
    reply = await receiver.receive_json(body, "p")
    assert [error.field for error in reply.errors] == [field]
    assert reply.errors[0].message.startswith(f"`{field}` must be ")


@pytest.mark.parametrize("body", [b"", b"nope", b"[]", b'{"question": NaN}', b"\xff", b"{\n}x\n"])
async def test_a_body_without_a_row_of_json_is_malformed(receiver: Receiver, body: bytes) -> None:
    with pytest.raises(MalformedPayload):
        await receiver.receive_json(body, "p")


async def test_rows_wait_for_their_commit(receiver: Receiver, sink: Sink) -> None:
    sink.failure = StoreUnavailable()
    before = refused_by_the_store()
    with pytest.raises(StoreUnavailable):
        await receiver.receive_json(b'{"question": "q", "answer": "a"}', "p")
    assert refused_by_the_store() == before + 1


def refused_by_the_store() -> float:
    labels = {"stage": "ingest", "reason": "store_unavailable"}
    return REGISTRY.get_sample_value("rag_monitor_dropped_total", labels) or 0.0
