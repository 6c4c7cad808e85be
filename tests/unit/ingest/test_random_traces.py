"""Two thousand random traces: none with a model call or an answer vanishes, none says nonsense."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime

import pytest

from rag_monitor.domain.trace import Trace
from rag_monitor.ingest.derive import derive
from rag_monitor.ingest.envelope import decode_traces
from rag_monitor.ingest.options import IngestOptions
from rag_monitor.telemetry import REGISTRY
from tests.generators.otlp_traces import bodies, make

RECEIVED = datetime(2026, 1, 6, tzinfo=UTC)
TRACES, AT_ONCE = 2_000, 100


def _dropped() -> Counter[str]:
    """How often each reason was counted when traces were derived."""
    found: Counter[str] = Counter()
    for family in REGISTRY.collect():
        for sample in family.samples:
            if sample.name == "rag_monitor_dropped_total" and sample.labels["stage"] == "derive":
                found[sample.labels["reason"]] += int(sample.value)
    return found


def _derived(first: int) -> list[Trace | None]:
    """The traces of the seeds from `first` on, sent in one request."""
    body = bodies([make(seed) for seed in range(first, first + AT_ONCE)])
    decoded = decode_traces(body, json=True, options=IngestOptions())
    assert decoded.rejected == 0
    return [derive("p", [(b.format, b.payload)], RECEIVED) for b in decoded.blobs]


@pytest.mark.parametrize("first", range(0, TRACES, AT_ONCE))
def test_random_traces_say_what_is_right_and_drops_are_counted(first: int) -> None:
    wanted = [make(seed) for seed in range(first, first + AT_ONCE)]
    before = _dropped()
    found = _derived(first)
    assert len(found) == AT_ONCE
    wrong = []
    for seed, (want, got) in enumerate(zip(wanted, found, strict=True), start=first):
        if (got is None) is not (want.dropped is not None):
            wrong.append((seed, "kept" if got else "vanished", want.dropped))
        elif got is not None:
            texts = None if got.contexts is None else [d.content for d in got.contexts]
            first, whole = got.timings.first_byte_ms, got.timings.end_to_end_ms
            told = (got.question, got.answer, texts)
            right = (want.question, want.answer, want.passages)
            if told != right:
                wrong.append((seed, told, right))
            if first is not None and (whole is None or first > whole):
                wrong.append((seed, "the first byte comes after the last", (first, whole)))
            if want.first_byte_ms is not None and first != pytest.approx(want.first_byte_ms):
                wrong.append((seed, f"first byte {first}", want.first_byte_ms))
    assert wrong == []
    assert _dropped() - before == Counter(w.dropped for w in wanted if w.dropped is not None)
