"""Spans of which other tools made something wrong, each as a small request with its right values.

Files of the same names that lie beside the checkout are read too.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from rag_monitor.domain.trace import Trace
from rag_monitor.ingest.derive import derive
from rag_monitor.ingest.envelope import decode_traces
from rag_monitor.ingest.options import IngestOptions

FOLDER = Path(__file__).resolve().parents[2] / "fixtures" / "otlp" / "cases"
NAMES = sorted(path.stem for path in FOLDER.glob("*.json"))
RECEIVED = datetime(2026, 11, 26, tzinfo=UTC)


def _told(trace: Trace) -> dict[str, Any]:
    """The trace in the words of the files."""
    contexts = trace.contexts
    return {
        "question": trace.question,
        "answer": trace.answer,
        "contexts": None if contexts is None else [[d.id, d.content, d.score] for d in contexts],
        "fb": trace.timings.first_byte_ms,
        "e2e": trace.timings.end_to_end_ms,
        "gen": trace.timings.generation_ms,
        "tok": [trace.usage.input_tokens, trace.usage.output_tokens],
    }


def _check(path: Path) -> None:
    case = json.loads(path.read_text())
    body = json.dumps(case["otlp"]).encode()
    decoded = decode_traces(body, json=True, options=IngestOptions())
    assert decoded.rejected == 0
    (blob,) = decoded.blobs
    trace = derive("default", [(blob.format, blob.payload)], RECEIVED)
    assert trace is not None
    told = _told(trace)
    assert {name: told[name] for name in case["right"]} == case["right"]


@pytest.mark.parametrize("name", NAMES)
def test_the_case_gives_its_right_values(name: str) -> None:
    _check(FOLDER / f"{name}.json")


@pytest.mark.parametrize("name", NAMES)
def test_the_case_beside_the_checkout_gives_its_right_values(name: str, shared_data: Path) -> None:
    path = shared_data.parent / "cases" / "capture" / f"{name}.json"
    if not path.is_file():
        pytest.skip("the cases are not beside the labelled data")
    _check(path)


def test_every_case_beside_the_checkout_has_one_of_its_name_here(shared_data: Path) -> None:
    folder = shared_data.parent / "cases" / "capture"
    if not folder.is_dir():
        pytest.skip("the cases are not beside the labelled data")
    assert {path.stem for path in folder.glob("o*.json")} <= set(NAMES)
