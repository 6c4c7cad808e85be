"""Real frameworks export to the ingest: exactly one trace for a request, with what was said in it.

The payloads are those beside the fixtures, or fresh ones: `make test-frameworks` runs the scenarios
with the newest releases and names their folder in RAG_MONITOR_TEST_FRAMEWORKS.
"""

from __future__ import annotations

import gzip
import json
import os
import random
import subprocess
import sys
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from rag_monitor.domain.trace import Trace, TraceStatus
from rag_monitor.ingest.derive import derive
from rag_monitor.ingest.receiver import Receiver
from tests.frameworks.expectations import EXPECTED, Expected
from tests.frameworks.model_server import WAIT_S
from tests.frameworks.run import FIXTURES, where_it_stands
from tests.frameworks.scenarios.texts import MODEL, PASSAGES, SEARCH_QUERY, SERVICE
from tests.unit.ingest.evidence import Sink

RECEIVED = datetime(2026, 12, 1, tzinfo=UTC)
FOLDER = Path(os.environ.get("RAG_MONITOR_TEST_FRAMEWORKS") or FIXTURES)
CALL_MS = 3 * WAIT_S * 1000
"""A call of the fake model takes at least so long."""
SLACK = 0.9

CASES = [pytest.param(name, case) for name, cases in EXPECTED.items() for case in cases]


@cache
def captured(name: str) -> dict[str, Any]:
    file = FOLDER / f"{name}.json.gz"
    if not file.exists():
        return {"cases": {}, "skipped": f"{name} was not run"}
    content: dict[str, Any] = json.loads(gzip.decompress(file.read_bytes()))
    return content


def payload(name: str, case: str) -> dict[str, Any]:
    found = captured(name)
    skipped = found.get("skipped", {})
    if isinstance(skipped, str) or case in skipped:
        pytest.skip(skipped if isinstance(skipped, str) else skipped[case])
    sent: dict[str, Any] = found["cases"][case]
    return sent


async def traces_of(*requests: dict[str, Any]) -> list[Trace]:
    """What becomes of the requests when they are sent to the ingest."""
    sink = Sink()
    receiver = Receiver(sink)
    for request in requests:
        body = json.dumps(request).encode()
        receive = receiver.receive_logs if "resourceLogs" in request else receiver.receive_traces
        reply = await receive(body, "application/json", None, "default")
        assert reply.status == 200
        assert json.loads(reply.body).get("partialSuccess", {}).keys() <= {"errorMessage"}
    blobs: dict[str, list[Any]] = {}
    for blob in (blob for batch in sink.batches for blob in batch.blobs):
        blobs.setdefault(blob.trace_id, []).append((blob.format, blob.payload))
    found = (derive("default", blobs[trace_id], RECEIVED) for trace_id in sorted(blobs))
    return [trace for trace in found if trace is not None]


def split(sent: dict[str, Any]) -> list[dict[str, Any]]:
    """Spans and log records in requests of their own, as exporters send them."""
    return [
        {signal: sent[signal]} for signal in ("resourceSpans", "resourceLogs") if signal in sent
    ]


def lone_spans(sent: dict[str, Any]) -> list[dict[str, Any]]:
    """One request for each span."""
    return [
        {"resourceSpans": [{**resource, "scopeSpans": [{**scope, "spans": [span]}]}]}
        for resource in sent["resourceSpans"]
        for scope in resource["scopeSpans"]
        for span in scope["spans"]
    ]


@pytest.mark.parametrize(("name", "case"), CASES)
async def test_a_request_is_one_trace_with_its_texts_hits_tokens_and_times(
    name: str, case: str
) -> None:
    expected = EXPECTED[name][case]
    (trace,) = await traces_of(*split(payload(name, case)))
    assert (trace.app, trace.status, trace.error) == (SERVICE, TraceStatus.OK, None)
    assert trace.question == expected.question
    assert (trace.answer and trace.answer.strip()) == expected.answer
    _check_passages(trace, expected)
    _check_steps(trace, expected)
    _check_times(trace, expected)


def _check_passages(trace: Trace, expected: Expected) -> None:
    if not expected.passages:
        assert trace.contexts is None
        return
    assert trace.contexts is not None
    assert [(d.id, d.content, d.score) for d in trace.contexts] == list(PASSAGES)
    assert [d.rank for d in trace.contexts] == [1, 2, 3]


def _check_steps(trace: Trace, expected: Expected) -> None:
    assert tuple(f"{hit.kind.value} {hit.name}" for hit in trace.hits) == expected.hits
    for hit in trace.hits:
        assert hit.ok
        assert hit.latency_ms is not None
        if expected.passages and ("search_faq" in hit.name or hit.kind.value == "knowledge_base"):
            assert hit.items == len(PASSAGES)
    if expected.passages:
        for tool in trace.attributes.get("tools", [])[:1]:  # type: ignore[index]
            assert tool["arguments"] == {"query": SEARCH_QUERY}
    assert trace.model is not None
    assert trace.model.removeprefix("openai/") == MODEL
    tokens = (trace.usage.input_tokens, trace.usage.output_tokens)
    assert tokens == (expected.tokens or (None, None))


def _check_times(trace: Trace, expected: Expected) -> None:
    assert trace.streamed is expected.streamed
    times = trace.timings
    if not expected.whole:
        assert (times.end_to_end_ms, times.first_byte_ms) == (None, None)
        return
    assert times.end_to_end_ms is not None
    assert times.end_to_end_ms >= SLACK * CALL_MS * expected.calls
    assert times.generation_ms is not None
    assert SLACK * CALL_MS <= times.generation_ms <= times.end_to_end_ms
    assert (times.first_byte_ms is not None) is expected.first_byte
    if times.first_byte_ms is not None:
        # Where it streamed, other pieces of the answer came after the first.
        left = times.end_to_end_ms - times.first_byte_ms
        assert left >= (SLACK * CALL_MS / 3 if expected.streamed else 0)
        assert times.first_byte_ms >= SLACK * CALL_MS * (expected.calls - 1)


@pytest.mark.parametrize(("name", "case"), CASES)
async def test_the_order_in_which_spans_arrive_changes_nothing(name: str, case: str) -> None:
    sent = payload(name, case)
    spans, *logs = split(sent)
    shuffled = lone_spans(spans)
    random.Random(7).shuffle(shuffled)
    assert await traces_of(*logs, *shuffled) == await traces_of(spans, *logs)


@pytest.mark.parametrize("name", EXPECTED)
def test_every_case_of_a_framework_was_captured_and_is_expected(name: str) -> None:
    found = captured(name)
    if isinstance(found.get("skipped"), str) and FOLDER != FIXTURES:
        pytest.skip(found["skipped"])
    assert found["cases"].keys() == EXPECTED[name].keys(), found.get("skipped")


def test_a_case_that_does_not_finish_says_where_it_stood() -> None:
    code = "import threading, time\nthreading.Thread(target=time.sleep, args=(60,)).start()\n"
    code += "def waits():\n    print(flush=True); time.sleep(60)\nwaits()"
    command = [sys.executable, "-X", "faulthandler", "-c", code]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True) as running:
        assert running.stdout is not None
        running.stdout.readline()
        assert where_it_stands(running) == "in waits, <string>:4"
