"""Scores in Langfuse's exports become log events with the result of an evaluation."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rag_monitor.cli.export_files import read_export
from rag_monitor.cli.remote import Remote
from rag_monitor.cli.replay import OTLP_JSON, BadRow, Outcome, Pace, Replay
from rag_monitor.ingest.evaluations import EvaluationRecord
from rag_monitor.ingest.logs import DecodedLogs, logs_from_json
from rag_monitor.outbound.connection import Reply
from tests.unit.cli.monitors import Request, answer, transport
from tests.unit.cli.test_foreign_exports import LANGFUSE, TRACE_ID

SPAN = "b7ad6b7169203333"
SCORE: dict[str, Any] = {
    "id": "5b1c6f0e-0000-4000-8000-000000000001",
    "traceId": TRACE_ID,
    "observationId": None,
    "name": "helpfulness",
    "dataType": "NUMERIC",
    "value": 0.5,
    "source": "EVAL",
    "comment": "只回答了一半",
    "timestamp": "2026-04-30T10:05:00.000Z",
}


def _rows(path: Path, *rows: object) -> list[tuple[int, dict[str, Any]] | BadRow]:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return list(read_export(path, "langfuse", None))


def _scores(path: Path, *rows: object) -> list[EvaluationRecord]:
    found: list[EvaluationRecord] = []
    for item in _rows(path, *rows):
        assert not isinstance(item, BadRow), item
        decoded: DecodedLogs = logs_from_json(item[1], 100)
        assert decoded.rejected == 0, decoded.message
        found += decoded.evaluations
    return found


def test_a_lone_score_is_a_score_and_no_span(tmp_path: Path) -> None:
    """It was read as an observation: a trace that nobody had asked."""
    (item,) = _rows(tmp_path / "scores.jsonl", SCORE)
    assert not isinstance(item, BadRow)
    assert item[1]["resourceSpans"] == []

    (score,) = _scores(tmp_path / "scores.jsonl", SCORE)
    assert (score.trace_id, score.span_id, score.source) == (TRACE_ID, None, "langfuse / EVAL")
    assert (score.name, score.value, score.label) == ("helpfulness", 0.5, None)
    assert score.explanation == "只回答了一半"
    assert score.at is not None
    assert score.at.isoformat() == "2026-04-30T10:05:00+00:00"


@pytest.mark.parametrize(
    ("fields", "value", "label", "explanation"),
    [
        ({"dataType": "BOOLEAN", "value": 1, "stringValue": "True"}, 1.0, "True", None),
        ({"dataType": "BOOLEAN", "value": False}, 0.0, "False", None),
        ({"dataType": "CATEGORICAL", "value": None, "stringValue": "good"}, None, "good", None),
        ({"dataType": "CATEGORICAL", "value": 2, "stringValue": "good"}, 2.0, "good", None),
        ({"dataType": "CATEGORICAL", "value": "good"}, None, "good", None),
        ({"dataType": "TEXT", "value": "too long"}, None, None, "too long"),
        (
            {"dataType": "TEXT", "stringValue": "long", "comment": "x"},
            None,
            None,
            "long\nx",
        ),
        ({"dataType": "NUMERIC", "value": 0}, 0.0, None, None),
    ],
)
def test_every_kind_of_score_keeps_what_it_says(
    tmp_path: Path,
    fields: dict[str, object],
    value: float | None,
    label: str | None,
    explanation: str | None,
) -> None:
    row = SCORE | {"comment": None, "value": None} | fields
    (score,) = _scores(tmp_path / "scores.jsonl", row)
    assert (score.value, score.label, score.explanation) == (value, label, explanation)


def test_scores_of_a_trace_come_with_it(tmp_path: Path) -> None:
    scores = [
        SCORE | {"traceId": None},
        SCORE | {"source": "ANNOTATION", "observationId": SPAN, "value": 1},
    ]
    found = _scores(tmp_path / "traces.jsonl", LANGFUSE | {"scores": scores})
    assert [(s.trace_id, s.span_id, s.source, s.value) for s in found] == [
        (TRACE_ID, None, "langfuse / EVAL", 0.5),
        (TRACE_ID, SPAN, "langfuse / ANNOTATION", 1.0),
    ]


def test_scores_of_a_trace_with_an_id_of_its_own_find_it(tmp_path: Path) -> None:
    row = LANGFUSE | {"id": "8f14e45f-ceea-467f-ab0b-7cd8b3a2c1de"}
    scored = row | {"scores": [SCORE | {"traceId": row["id"]}]}
    (item,) = _rows(tmp_path / "t.jsonl", scored)
    assert not isinstance(item, BadRow)
    (score,) = _scores(tmp_path / "t.jsonl", scored)
    span = item[1]["resourceSpans"][0]["scopeSpans"][0]["spans"][0]
    assert score.trace_id == span["traceId"]


@pytest.mark.parametrize("scores", [["id-1", "id-2"], None, {"tone": [1]}, "x"])
def test_lists_of_ids_are_no_scores(tmp_path: Path, scores: object) -> None:
    assert _scores(tmp_path / "traces.jsonl", LANGFUSE | {"scores": scores}) == []


@pytest.mark.parametrize("named", [{"sessionId": "s-1"}, {"session_id": "s-1"}])
def test_a_score_of_a_session_is_about_the_whole_session(
    tmp_path: Path, named: dict[str, str]
) -> None:
    row = {key: value for key, value in SCORE.items() if key != "traceId"} | named
    (score,) = _scores(tmp_path / "scores.jsonl", row | {"observationId": SPAN})
    assert (score.session_id, score.trace_id, score.span_id) == ("s-1", "", None)
    assert (score.source, score.name, score.value) == ("langfuse / EVAL", "helpfulness", 0.5)


def test_a_score_of_a_trace_that_is_of_a_session_is_about_the_trace(tmp_path: Path) -> None:
    (score,) = _scores(tmp_path / "scores.jsonl", SCORE | {"sessionId": "s-1"})
    assert (score.session_id, score.trace_id) == (None, TRACE_ID)


def test_a_score_of_a_run_is_named_by_its_line(tmp_path: Path) -> None:
    run = SCORE | {"traceId": None, "datasetRunId": "r-1"}
    (bad,) = _rows(tmp_path / "scores.jsonl", run)
    assert isinstance(bad, BadRow)
    assert (bad.line, "without `traceId` and `sessionId`" in bad.reason) == (1, True)


def _replayed(rows: list[Any], answers: dict[str, dict[str, Any]]) -> tuple[list[str], Outcome]:
    paths: list[str] = []

    def handler(request: Request) -> Reply:
        paths.append(request.path)
        return answer(200, answers.get(request.path, {}))

    monitor = Remote("http://monitor", transport=transport(handler))
    return paths, Replay(monitor, Pace(), wire=OTLP_JSON).run(rows)


def test_traces_go_to_traces_and_scores_to_logs(tmp_path: Path) -> None:
    rows = _rows(tmp_path / "t.jsonl", LANGFUSE | {"scores": [SCORE, SCORE]}, SCORE)
    paths, outcome = _replayed(rows, {})
    assert paths == ["/v1/traces", "/v1/logs"]
    assert (outcome.accepted, outcome.scores, outcome.rejected) == (2, 3, 0)


def test_nothing_is_sent_where_there_is_nothing_to_send(tmp_path: Path) -> None:
    assert _replayed(_rows(tmp_path / "a.jsonl", LANGFUSE), {})[0] == ["/v1/traces"]
    assert _replayed(_rows(tmp_path / "b.jsonl", SCORE), {})[0] == ["/v1/logs"]


def test_scores_that_are_refused_are_counted_with_the_reason(tmp_path: Path) -> None:
    said = {"partialSuccess": {"rejectedLogRecords": "1", "errorMessage": "no value"}}
    _, outcome = _replayed(_rows(tmp_path / "b.jsonl", SCORE, SCORE), {"/v1/logs": said})
    assert (outcome.accepted, outcome.scores, outcome.rejected) == (1, 1, 1)
    assert outcome.problems == ["line 1 and after: no value"]
