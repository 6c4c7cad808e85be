"""Exports of Langfuse and Phoenix become traces with question, passages, answer and times."""

from __future__ import annotations

import gzip
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from rag_monitor.cli.export_files import read_export
from rag_monitor.cli.replay import BadRow
from rag_monitor.domain.ports import BlobFormat
from rag_monitor.domain.trace import Trace
from rag_monitor.ingest.derive import derive
from rag_monitor.ingest.otlp_json import traces_from_json

NOW = datetime(2026, 5, 1, tzinfo=UTC)
TRACE_ID = "0af7651916cd43dd8448eb211c80319c"
EXPORTS = Path(__file__).resolve().parents[2] / "fixtures" / "exports"
QUESTION = "退货要多少天内申请?"
ANSWER = "签收后30天内可以申请退货。"

LANGFUSE: dict[str, Any] = {
    "id": TRACE_ID,
    "timestamp": "2026-04-30T10:00:00.000Z",
    "name": "客服",
    "input": {"question": QUESTION},
    "output": {"answer": ANSWER},
    "sessionId": "s-1",
    "userId": "u-7",
    "release": "v3",
    "tags": ["web"],
    "environment": "production",
    "observations": [
        {
            "id": "b7ad6b7169203331",
            "type": "SPAN",
            "name": "answer",
            "startTime": "2026-04-30T10:00:00.000Z",
            "endTime": "2026-04-30T10:00:02.000Z",
            "input": {"question": QUESTION},
            "output": {"answer": ANSWER},
            "level": "DEFAULT",
        },
        {
            "id": "b7ad6b7169203332",
            "parentObservationId": "b7ad6b7169203331",
            "type": "RETRIEVER",
            "name": "search",
            "startTime": "2026-04-30T10:00:00.100Z",
            "endTime": "2026-04-30T10:00:00.400Z",
            "input": QUESTION,
            "output": [
                {
                    "id": "d1",
                    "page_content": "签收后30天内可退货。",
                    "metadata": {},
                    "type": "Document",
                },
                {
                    "id": "d2",
                    "page_content": "运费由买家承担。",
                    "metadata": {},
                    "type": "Document",
                },
            ],
        },
        {
            "id": "b7ad6b7169203333",
            "parentObservationId": "b7ad6b7169203331",
            "type": "GENERATION",
            "name": "llm",
            "model": "qwen-max",
            "startTime": "2026-04-30T10:00:00.500Z",
            "endTime": "2026-04-30T10:00:02.000Z",
            "completionStartTime": "2026-04-30T10:00:00.900Z",
            "input": [{"role": "user", "content": QUESTION}],
            "output": {"role": "assistant", "content": ANSWER},
            "usageDetails": {"input": 49, "output": 12},
        },
    ],
}


def _phoenix(number: int, kind: str, parent: str | None, **attributes: Any) -> dict[str, Any]:
    """A row of the spans data frame."""
    return {
        "name": kind.lower(),
        "span_kind": kind,
        "parent_id": parent,
        "start_time": f"2026-04-30T10:00:0{number}.000000+00:00",
        "end_time": "2026-04-30T10:00:05.000000+00:00",
        "status_code": "OK",
        "status_message": "",
        "events": [],
        "context.span_id": f"b7ad6b716920333{number}",
        "context.trace_id": TRACE_ID,
        **{f"attributes.{key}": value for key, value in attributes.items()},
    }


PHOENIX = [
    _phoenix(
        1,
        "CHAIN",
        None,
        **{
            "input.value": QUESTION,
            "output.value": ANSWER,
            "session.id": "s-1",
            "metadata": {"tier": "gold"},
            "llm.model_name": None,
        },
    ),
    _phoenix(
        2,
        "RETRIEVER",
        "b7ad6b7169203331",
        **{
            "input.value": QUESTION,
            "retrieval.documents": [
                {
                    "document.id": "d1",
                    "document.content": "签收后30天内可退货。",
                    "document.score": 0.9,
                },
                {"document": {"id": "d2", "content": "运费由买家承担。", "metadata": {"page": 2}}},
            ],
        },
    ),
    _phoenix(
        3,
        "LLM",
        "b7ad6b7169203331",
        **{
            "llm.model_name": "qwen-max",
            "llm.token_count.prompt": 49.0,
            "llm.token_count.completion": 12,
            "llm.output_messages": [{"message.role": "assistant", "message.content": ANSWER}],
        },
    ),
]


def _requests(path: Path, form: str, app: str | None = None) -> list[dict[str, Any]]:
    rows = list(read_export(path, form, app))
    assert not [row for row in rows if isinstance(row, BadRow)]
    return [row[1] for row in rows if not isinstance(row, BadRow)]


def _trace(requests: list[dict[str, Any]]) -> Trace:
    blobs = []
    for request in requests:
        data, problems = traces_from_json(request, 1000)
        assert problems == []
        blobs.append((BlobFormat.OTLP, data.SerializeToString()))
    trace = derive("default", blobs, NOW)
    assert trace is not None
    return trace


def _lines(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), "utf-8")
    return path


def test_a_langfuse_trace_keeps_what_it_says(tmp_path: Path) -> None:
    trace = _trace(_requests(_lines(tmp_path / "traces.jsonl", [LANGFUSE]), "langfuse"))

    assert (trace.trace_id, trace.app, trace.release) == (TRACE_ID, "客服", "v3")
    assert (trace.question, trace.answer) == (QUESTION, ANSWER)
    assert [document.id for document in trace.contexts or ()] == ["d1", "d2"]
    assert (trace.session_id, trace.user_id, trace.tags) == ("s-1", "u-7", ("web",))
    assert trace.environment == "production"
    assert trace.timings.end_to_end_ms == pytest.approx(2000)
    assert trace.timings.first_byte_ms == pytest.approx(900)
    assert (trace.model, trace.usage.input_tokens) == ("qwen-max", 49)


def test_langfuse_observations_line_by_line_give_the_same_trace(tmp_path: Path) -> None:
    snake = {
        "startTime": "start_time",
        "endTime": "end_time",
        "parentObservationId": "parent_observation_id",
    }
    rows = [
        {snake.get(key, key): value for key, value in one.items()} | {"trace_id": TRACE_ID}
        for one in LANGFUSE["observations"]
    ]
    trace = _trace(_requests(_lines(tmp_path / "o.jsonl", rows), "langfuse", app="shop"))

    assert (trace.app, trace.question, trace.answer) == ("shop", QUESTION, ANSWER)
    assert [document.id for document in trace.contexts or ()] == ["d1", "d2"]


def test_rows_of_langfuses_newer_interface_say_who_asked_on_their_root(tmp_path: Path) -> None:
    whole = {key: LANGFUSE[key] for key in ("sessionId", "userId", "release", "tags")}
    rows = [
        one | whole | {"traceId": TRACE_ID, "traceName": "客服", "projectId": "p"}
        for one in LANGFUSE["observations"]
    ]
    rows[0] |= {"isRootObservation": True, "parentObservationId": None}
    trace = _trace(_requests(_lines(tmp_path / "o.jsonl", rows), "langfuse"))

    assert (trace.app, trace.question, trace.answer) == ("客服", QUESTION, ANSWER)
    assert (trace.session_id, trace.user_id, trace.tags) == ("s-1", "u-7", ("web",))
    assert trace.release == "v3"
    assert trace.timings.first_byte_ms == pytest.approx(900)


def test_a_langfuse_trace_without_one_root_gets_one(tmp_path: Path) -> None:
    parts = [dict(one) for one in LANGFUSE["observations"][1:]]
    row = LANGFUSE | {"observations": parts}
    trace = _trace(_requests(_lines(tmp_path / "traces.jsonl", [row]), "langfuse"))

    assert (trace.question, trace.answer, trace.user_id) == (QUESTION, ANSWER, "u-7")
    assert len(trace.contexts or ()) == 2
    assert trace.timings.end_to_end_ms == pytest.approx(2000)


def test_a_langfuse_uuid_becomes_the_same_trace_every_time(tmp_path: Path) -> None:
    row = LANGFUSE | {"id": "8f14e45f-ceea-467f-ab0b-7cd8b3a2c1de"}
    path = _lines(tmp_path / "traces.jsonl", [row])
    first, second = (_trace(_requests(path, "langfuse")) for _ in range(2))

    assert first.trace_id == second.trace_id
    assert len(first.trace_id) == 32


def test_a_failed_langfuse_observation_is_a_failed_trace(tmp_path: Path) -> None:
    failed = LANGFUSE["observations"][0] | {"level": "ERROR", "statusMessage": "model is down"}
    trace = _trace(
        _requests(_lines(tmp_path / "t.jsonl", [LANGFUSE | {"observations": [failed]}]), "langfuse")
    )
    assert trace.status.value == "error"
    assert "model is down" in (trace.error or "")


def test_phoenix_spans_give_one_trace(tmp_path: Path) -> None:
    trace = _trace(_requests(_lines(tmp_path / "spans.jsonl", PHOENIX), "phoenix", app="shop"))

    assert (trace.trace_id, trace.app) == (TRACE_ID, "shop")
    assert (trace.question, trace.answer, trace.session_id) == (QUESTION, ANSWER, "s-1")
    documents = trace.contexts or ()
    assert [(d.id, d.score) for d in documents] == [("d1", 0.9), ("d2", None)]
    assert trace.model == "qwen-max"
    assert trace.timings.end_to_end_ms == pytest.approx(4000)


def test_phoenix_parquet_reads_like_jsonl(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    rows = [
        row
        | {
            "start_time": datetime.fromisoformat(row["start_time"]),
            "end_time": datetime.fromisoformat(row["end_time"]),
            "attributes.retrieval.documents": [
                {"document.id": "d1", "document.content": "签收后30天内可退货。"}
            ]
            if row["span_kind"] == "RETRIEVER"
            else None,
            "attributes.metadata": None,
        }
        for row in PHOENIX
    ]
    columns = sorted({key for row in rows for key in row} - {"events"})
    table = pyarrow.table({name: [row.get(name) for row in rows] for name in columns})
    parquet.write_table(table, tmp_path / "spans.parquet")
    trace = _trace(_requests(tmp_path / "spans.parquet", "phoenix"))

    assert (trace.question, trace.answer) == (QUESTION, ANSWER)
    assert [document.id for document in trace.contexts or ()] == ["d1"]
    assert trace.timings.end_to_end_ms == pytest.approx(4000)


def test_spans_of_phoenixs_rest_api_are_understood(tmp_path: Path) -> None:
    row = {
        "name": "chain",
        "context": {"trace_id": TRACE_ID, "span_id": "b7ad6b7169203331"},
        "span_kind": "CHAIN",
        "start_time": 1777543200000,
        "end_time": 1777543201500,
        "attributes": {"input.value": QUESTION, "output.value": ANSWER},
    }
    path = tmp_path / "page.json"
    path.write_text(json.dumps({"data": [row]}, indent=2))
    trace = _trace(_requests(path, "phoenix"))

    assert trace.question == QUESTION
    assert trace.timings.end_to_end_ms == pytest.approx(1500)


@pytest.mark.parametrize("name", ["phoenix_20_rest.json", "phoenix_20_frame.jsonl"])
def test_what_phoenix_wrote_itself_is_read_whole(name: str) -> None:
    trace = _trace(_requests(EXPORTS / name, "phoenix"))

    assert trace.question == "机场接送可以提前多久预订？"
    assert trace.answer == "机场接送最晚需提前 6 小时预订。"
    documents = trace.contexts or ()
    assert [d.id for d in documents] == ["transfer-1", "transfer-2"]
    assert [d.score for d in documents] == pytest.approx([0.92, 0.41])
    assert (trace.model, trace.usage.input_tokens, trace.usage.output_tokens) == (
        "fake-chat-2",
        61,
        14,
    )
    assert trace.timings.end_to_end_ms == pytest.approx(33.758, abs=1)
    assert [(hit.kind.value, hit.ok, hit.items) for hit in trace.hits] == [
        ("workflow", True, None),
        ("knowledge_base", True, 2),
    ]


def test_a_gzipped_list_is_read_too(tmp_path: Path) -> None:
    path = tmp_path / "traces.json.gz"
    path.write_bytes(gzip.compress(json.dumps([LANGFUSE], indent=1).encode()))
    assert _trace(_requests(path, "langfuse")).question == QUESTION


@pytest.mark.parametrize("form", ["langfuse", "phoenix"])
@pytest.mark.parametrize(
    "line",
    [
        '{"a": 1}',
        "[[1]]",
        '{"id": "x", "observations": [{"id": "1", "startTime": "yesterday"}], "context.trace_id":'
        ' "a", "context.span_id": "b", "start_time": "yesterday"}',
        '{"context.trace_id": "a", "context.span_id": "b", "attributes.x": '
        + '{"y": ' * 30
        + "1"
        + "}" * 30
        + "}",
    ],
)
def test_a_bad_row_is_named_and_the_rest_goes_on(tmp_path: Path, form: str, line: str) -> None:
    good = LANGFUSE if form == "langfuse" else PHOENIX[0]
    path = tmp_path / "mixed.jsonl"
    path.write_text(json.dumps(good) + "\n" + line + "\n" + json.dumps(good) + "\n")
    rows = list(read_export(path, form, None))

    assert [isinstance(row, BadRow) for row in rows] == [False, True, False]
    assert isinstance(rows[1], BadRow)
    assert rows[1].line == 2


@pytest.mark.parametrize("form", ["langfuse", "phoenix"])
def test_a_broken_first_line_is_named_and_the_rest_goes_on(tmp_path: Path, form: str) -> None:
    good = json.dumps(LANGFUSE if form == "langfuse" else PHOENIX[0])
    path = tmp_path / "export.json"
    path.write_text(f"{good[:-1]}\n{good}\n{good}\n")

    first, *others = read_export(path, form, None)

    assert isinstance(first, BadRow)
    assert first.line == 1
    assert [isinstance(row, BadRow) for row in others] == [False, False]
