"""What `export` writes, `import` and `evaluate` read: traces come back whole."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rag_monitor.cli.export import trace_file
from rag_monitor.cli.replay import BadRow, read_rows
from rag_monitor.domain.hit import Hit, HitKind
from rag_monitor.domain.trace import Timings, Trace, Usage
from rag_monitor.ingest.trace_encoding import unknown_fields
from rag_monitor.ingest.trace_json import decode_trace, encode_trace
from rag_monitor.testing import make_trace

pa = pytest.importorskip("pyarrow", reason="Parquet needs pyarrow")
parquet = pytest.importorskip("pyarrow.parquet", reason="Parquet needs pyarrow")

TIMINGS = Timings(first_byte_ms=120.5, generation_ms=400.0, end_to_end_ms=600.0, retrieval_ms=20.0)


def _exported(path: Path, *traces: Trace) -> Path:
    with trace_file(path) as file:
        for trace in traces:
            scores = [{"metric": "faithfulness", "value": 0.25}]
            file.write(encode_trace(trace) | {"scores": scores})
    return path


def _rewritten(path: Path, **columns: list[Any]) -> Path:
    """The file as somebody saves it who changed some columns."""
    table = parquet.read_table(path)
    for name, values in columns.items():
        place = table.schema.get_field_index(name)
        array = pa.array(values, table.schema.field(name).type)
        table = table.set_column(place, name, array)
    parquet.write_table(table, path)
    return path


def _rows(path: Path) -> list[dict[str, Any]]:
    return [row for _, row in (item for item in read_rows(path) if not isinstance(item, BadRow))]


def _sent(row: dict[str, Any]) -> dict[str, Any]:
    """The row as it travels: moments of a table are written out."""
    return row | {"started_at": row["started_at"].isoformat()}


def test_a_trace_comes_back_from_parquet_as_it_went(tmp_path: Path) -> None:
    plain = make_trace(id="a", contexts=None, answer=None, timings=Timings())
    rich = make_trace(
        question="保修期多久?",
        timings=TIMINGS,
        usage=Usage(input_tokens=900, output_tokens=40),
        hits=(Hit(kind=HitKind.PLUGIN, name="calc", ok=True, items=1, latency_ms=3.0),),
        tags=("web",),
        streamed=True,
    )

    rows = _rows(_exported(tmp_path / "traces.parquet", plain, rich))

    assert [decode_trace(_sent(row)) for row in rows] == [plain, rich]
    assert [unknown_fields(row) for row in rows] == [set(), set()]


def test_columns_that_were_changed_win_over_the_trace_beside_them(tmp_path: Path) -> None:
    file = _exported(tmp_path / "a.parquet", make_trace(user_id="u-7", timings=TIMINGS))
    _rewritten(file, first_byte_ms=[7.0], user_id=[None], contexts=[["another passage"]])

    (row,) = _rows(file)

    trace = decode_trace(_sent(row))
    assert (trace.timings.first_byte_ms, trace.timings.end_to_end_ms) == (7.0, 600.0)
    assert trace.user_id is None
    assert trace.contexts is not None
    assert [passage.content for passage in trace.contexts] == ["another passage"]


@pytest.mark.parametrize("cell", ["2026-01-05", "{oops", '{"a": 1}', 7, None])
def test_a_column_of_that_name_in_another_table_is_left_alone(tmp_path: Path, cell: object) -> None:
    file = tmp_path / "a.parquet"
    table = {"question": ["q"], "trace": [cell], "first_byte_ms": [1.0]}
    parquet.write_table(pa.table(table), file)

    assert _rows(file) == [{"question": "q", "trace": cell, "timings": {"first_byte_ms": 1.0}}]


def test_without_the_whole_traces_times_and_tokens_come_from_their_columns(tmp_path: Path) -> None:
    usage = Usage(input_tokens=900, output_tokens=40)
    trace = make_trace(timings=TIMINGS, usage=usage)
    file = _exported(tmp_path / "a.parquet", trace, make_trace(id="b", timings=Timings()))
    parquet.write_table(parquet.read_table(file).drop_columns(["trace", "scores"]), file)

    timed, plain = (decode_trace(_sent(row)) for row in _rows(file))

    assert (timed.timings, timed.usage) == (TIMINGS, usage)
    assert (plain.timings, plain.usage) == (Timings(), Usage())


def test_times_in_a_table_of_anothers_are_taken_where_they_are_numbers(tmp_path: Path) -> None:
    file = tmp_path / "a.parquet"
    table = {
        "question": ["q"] * 3,
        "end_to_end_ms": [600.0, float("nan"), None],
        "input_tokens": ["many"] * 3,
        "timings": [{"first_byte_ms": 1.0}] * 3,
    }
    parquet.write_table(pa.table(table), file)

    first, *others = _rows(file)

    assert first["timings"] == {"first_byte_ms": 1.0, "end_to_end_ms": 600.0}
    assert [row["timings"] for row in others] == [{"first_byte_ms": 1.0}] * 2
    assert first["input_tokens"] == "many"
