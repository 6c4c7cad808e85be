"""A monitor that has stored every variant of the capture part, asked over HTTP only."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from tests.acceptance.running import Monitor
from tests.variants.wire import Variant, Wire, texts

SETTINGS = {
    "RAG_MONITOR_STORE_ROOT_DELAY_S": "1.5",
    "RAG_MONITOR_STORE_ROOTLESS_DELAY_S": "2",
}
SETTLE_S = 8.0
"""After the last root delay: what is not derived now is dropped."""
WITHIN_S = 90.0

TOLERANCE_MS = 0.1


def send(running: Monitor, variant: Variant) -> None:
    """Post the requests of a variant, spans first."""
    wire = Wire(variant)
    for path, body in (("/v1/traces", wire.traces()), ("/v1/logs", wire.logs())):
        if body is not None:
            reply = running.post(path, body)
            assert reply.status == 200, (variant.id, path, reply.body)


def trace_of(running: Monitor, trace_id: str) -> dict[str, Any] | None:
    """The stored trace; None where there is none."""
    reply = running.get(f"/api/v1/traces/{trace_id}")
    assert reply.status in (200, 404), reply.body
    return reply.json if reply.status == 200 else None


@dataclass(frozen=True)
class Stored:
    """What became of the variants that were sent together."""

    traces: dict[str, dict[str, Any]]
    """By trace id."""
    dropped: float
    """By how much the monitor's own count of what it dropped has grown."""


def gather(running: Monitor, items: Sequence[Variant]) -> Stored:
    """Send all, and wait until those are stored that will be."""
    before = _dropped(running)
    waiting = list(items)
    for variant in waiting:
        send(running, variant)
    found: dict[str, dict[str, Any]] = {}
    last = time.monotonic()
    deadline = last + WITHIN_S
    while waiting and time.monotonic() < min(deadline, last + SETTLE_S):
        for variant in tuple(waiting):
            if (trace := trace_of(running, variant.trace_id)) is not None:
                found[variant.trace_id] = trace
                waiting.remove(variant)
                last = time.monotonic()
        time.sleep(0.2)
    return Stored(traces=found, dropped=_dropped(running) - before)


def _dropped(running: Monitor) -> float:
    return sum(
        float(line.rsplit(" ", 1)[1])
        for line in running.get("/metrics").body.decode().splitlines()
        if line.startswith("rag_monitor_dropped_total{")
    )


def check(variant: Variant, trace: Mapping[str, Any] | None) -> None:
    """The stored trace is what is expected."""
    expected = dict(variant.expected)
    about = f"{variant.id}: {variant.why}"
    if expected.pop("absent", False):
        assert trace is None, (about, trace and (trace["question"], trace["answer"]))
        return
    optional = expected.pop("may_be_absent", False)
    if trace is None and optional:
        return
    assert trace is not None, f"{about}: no trace was stored"
    for key, wanted in expected.items():
        _CHECKS.get(key, _same)(about, key, trace, wanted)


def _same(about: str, key: str, trace: Mapping[str, Any], wanted: Any) -> None:
    got = trace[key]
    if isinstance(got, str) and isinstance(wanted, str):
        got = got.strip()
    assert got == wanted, (about, key, got, wanted)


def _contexts(about: str, _key: str, trace: Mapping[str, Any], wanted: Any) -> None:
    """Id, text and score of each passage; "*" stands for any value."""
    if wanted is None:
        assert trace["contexts"] is None, about
        return
    assert trace["contexts"] is not None, f"{about}: contexts are unknown"
    got = [[d["id"], d["content"], d["score"]] for d in trace["contexts"]]
    masked = [
        [w if w == "*" else g for g, w in zip(row, want, strict=True)]
        for row, want in zip(got, wanted, strict=False)
    ]
    assert masked + got[len(masked) :] == wanted, (about, got)


def _milliseconds(about: str, key: str, trace: Mapping[str, Any], wanted: float | None) -> None:
    approximate = None if wanted is None else pytest.approx(wanted, abs=TOLERANCE_MS)
    assert trace["timings"][key] == approximate, (about, key, trace["timings"])


def _first_byte_in_time(about: str, _key: str, trace: Mapping[str, Any], wanted: bool) -> None:
    """The first byte is never said to come after the end."""
    assert wanted
    first, end = trace["timings"]["first_byte_ms"], trace["timings"]["end_to_end_ms"]
    assert first is None or first <= end, (about, trace["timings"])


def _tokens(about: str, _key: str, trace: Mapping[str, Any], wanted: list[int | None]) -> None:
    usage = trace["usage"]
    assert [usage["input_tokens"], usage["output_tokens"]] == wanted, about


def _one_of(about: str, key: str, trace: Mapping[str, Any], wanted: list[Any]) -> None:
    got = trace[key.removesuffix("_in")]
    assert (got.strip() if isinstance(got, str) else got) in wanted, (about, got)


def _holds(about: str, key: str, trace: Mapping[str, Any], wanted: list[str]) -> None:
    got = trace[key.removesuffix("_holds")]
    assert got is not None, about
    assert all(part in got for part in wanted), (about, got)


def _never(about: str, _key: str, trace: Mapping[str, Any], wanted: list[str]) -> None:
    """These are nowhere in question and answer."""
    got = list(texts([trace["question"], trace["answer"]]))
    assert not [word for word in wanted for text in got if word in text], (about, got)


def _every_passage_has_text(about: str, _key: str, trace: Mapping[str, Any], wanted: bool) -> None:
    assert wanted
    assert trace["contexts"], about
    assert all(document["content"] for document in trace["contexts"]), (about, trace["contexts"])


def _hits(about: str, _key: str, trace: Mapping[str, Any], wanted: list[list[Any]]) -> None:
    kinds = {kind for kind, _ in wanted}  # an agent is a workflow hit besides
    got = [[hit["kind"], hit["name"]] for hit in trace["hits"] if hit["kind"] in kinds]
    assert got == wanted, (about, got)


_CHECKS = {
    "contexts": _contexts,
    "first_byte_ms": _milliseconds,
    "generation_ms": _milliseconds,
    "end_to_end_ms": _milliseconds,
    "retrieval_ms": _milliseconds,
    "first_token_ms": _milliseconds,
    "first_byte_in_time": _first_byte_in_time,
    "tokens": _tokens,
    "question_in": _one_of,
    "answer_in": _one_of,
    "question_holds": _holds,
    "answer_holds": _holds,
    "never": _never,
    "every_passage_has_text": _every_passage_has_text,
    "hits": _hits,
}
