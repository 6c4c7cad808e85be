"""The reference vectors that are arithmetic on verdicts, through judge replies and metrics."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("openai")

from benchmarks.stub_server import Answer, Body, StubServer, completion, schema_of
from rag_monitor.domain.judgement import Aspect, Statement
from rag_monitor.domain.score import Score, ScoreStatus
from rag_monitor.domain.trace import Expected
from rag_monitor.evaluation.request import build_request
from rag_monitor.judges.openai_compatible import create
from rag_monitor.metrics.rag import aspects_for, failed_scores, score_trace
from rag_monitor.testing import make_trace

METRICS = {
    "faithfulness", "answer_relevancy", "context_precision", "context_recall", "context_relevance",
    "context_utilization", "summary_score",
}  # fmt: skip
ASPECTS = {aspect.value for aspect in Aspect}
STATUS = {"n/a": ScoreStatus.NOT_APPLICABLE, "failed": ScoreStatus.FAILED}
NOT_EXPRESSIBLE = {
    "su-3": "the coefficient is fixed at 0.5",
    "su-4": "there is no switch for the length penalty",
    "rm-crec-3": "a coverage matrix: the judge gives one verdict per key point",
}


def vectors(folder: Path) -> list[dict[str, Any]]:
    content = json.loads((folder / "ragas_vectors.json").read_text(encoding="utf-8"))
    return [
        v for v in content["vectors"] if v["our_metric"] in METRICS and v["our_basis"] != "open"
    ]


class _Embedder:
    name = "given"

    def __init__(self, vectors: dict[str, list[float]]) -> None:
        self.vectors = vectors

    def embed(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        return [self.vectors[text] for text in texts]


def reply(vector: dict[str, Any], body: Body) -> Answer:
    """The server's reply with the vector's verdicts, right or broken as they are."""
    schema = schema_of(body)
    assert schema is not None
    names = schema["properties"]
    verdicts = vector["verdicts"]
    if "questions" in names:
        written = {"questions": verdicts["questions"], "nonce": names["nonce"]["enum"][0]}
        return Answer(payload=completion(json.dumps(written)))
    out: dict[str, Any] = {}
    for name, part in names.items():
        if name == "nonce":
            out[name] = part["enum"][0]
        elif name == "noncommittal":
            out[name] = float(all(verdicts["noncommittal"]))
        elif name == "summary_questions":
            rows = [int(v) if v in ("0", "1") else v for v in verdicts]
            out[name] = [{"question": f"q{i}", "answered": v} for i, v in enumerate(rows)]
        elif name in ASPECTS and part["type"] == "object":
            out[name] = {str(i): v for i, v in enumerate(verdicts, start=1)}
    return Answer(payload=completion(json.dumps(out)))


async def score(vector: dict[str, Any]) -> Score:
    inputs, metric = vector["inputs"], vector["our_metric"]
    answer = inputs.get("response", "a1. a2. a3. a4.")
    count = inputs.get("n_contexts", 3)
    contexts: tuple[str, ...] = tuple(f"passage {n}" for n in range(count))
    fields: dict[str, Any] = {}
    if metric == "context_recall":
        points = inputs.get("n_reference_statements", inputs.get("n_key_points"))
        fields["expected"] = Expected(key_points=tuple(f"point {n}" for n in range(points)))
    if metric == "summary_score":
        contexts, answer = ("x" * inputs["len_text"],), "y" * inputs["len_summary"]
    trace = make_trace("q?", answer, contexts, **fields)
    embedder = _Embedder(inputs.get("embeddings", {}))
    count = inputs.get("n_statements", 1)
    statements = tuple(Statement(text=f"s{n}", start=0, end=len(answer)) for n in range(count))
    request = replace(build_request(trace, aspects_for([metric])), statements=statements)

    async with StubServer(lambda _path, body: reply(vector, body)) as server:
        judge = create(
            {
                "base_url": server.url,
                "model": "m",
                "probe_every": 0,
                "questions": len((vector["verdicts"] or {}).get("questions", [1] * 3))
                if metric == "answer_relevancy"
                else 3,
            },
            embedder=embedder,
        )
        (outcome,) = await judge.judge_many([request])
        await judge.close()
    if isinstance(outcome, Exception):
        return failed_scores([metric], outcome, judge.identity)[0]
    return score_trace(trace, outcome, [metric])[0]


async def test_every_vector_that_can_be_put_to_the_judge_holds(reference_vectors: Path) -> None:
    wrong = []
    tried = 0
    for vector in vectors(reference_vectors):
        if vector["id"] in NOT_EXPRESSIBLE:
            continue
        tried += 1
        wanted = vector.get("our_expected", vector["expected"])
        found = await score(vector)
        if isinstance(wanted, dict):
            if found.status is not STATUS[wanted["status"]]:
                wrong.append((vector["id"], wanted, found.status, found.value, found.reason))
        elif found.value is None or abs(found.value - wanted) > 1e-9:
            wrong.append((vector["id"], wanted, found.status, found.value, found.reason))

    assert wrong == []
    assert tried >= 45
