"""Data sets wrapped in objects, in columns, in other delimiters, under the names people give."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

from rag_monitor.cli.replay import read_rows as rows_to_import
from rag_monitor.offline.conversations import last_turn
from rag_monitor.offline.rows import Row, count_rows, read_rows
from rag_monitor.offline.wrapped import rows_in

ASKED, SAID, PASSAGE, WANTED = "几点开门？", "九点。", "营业时间九点。", "九点"
ROW: dict[str, Any] = {
    "question": ASKED, "answer": SAID, "contexts": [PASSAGE], "reference": WANTED,
}  # fmt: skip
TWO = [ROW, ROW]
FULL = (ASKED, SAID, [PASSAGE], WANTED)

WRAPPED: dict[str, Any] = {
    "data": {"data": TWO},
    "examples": {"examples": TWO},
    "test_cases": {"test_cases": TWO},
    "any_name": {"set_of_march": TWO},
    "beside_others": {"version": 1, "name": "set", "tags": ["a"], "data": TWO, "meta": {"a": 1}},
    "in_two_objects": {"dataset": {"examples": TWO}},
    "columns": {name: [value, value] for name, value in ROW.items()},
    "columns_inside": {"data": {name: [value, value] for name, value in ROW.items()}},
    "pandas_columns": {name: {"0": value, "1": value} for name, value in ROW.items()},
    "pandas_index": {"0": ROW, "1": ROW},
    "by_names": {"first": ROW, "second": ROW},
    "pandas_split": {"columns": list(ROW), "index": [0, 1], "data": [list(ROW.values())] * 2},
    "pandas_table": {"schema": {"fields": []}, "data": TWO},
}


def _rows(path: Path) -> list[tuple[Any, ...]]:
    """What `evaluate` makes of the file, which is what `import` does."""
    read = list(read_rows(path))
    assert all(isinstance(row, Row) for row in read), read
    rows = [last_turn(row.fields) for row in read]
    imported = [
        item[1] for item in rows_to_import(path, "app", None, set()) if isinstance(item, tuple)
    ]
    told = [_told(row) for row in rows]
    assert [_told(row) for row in imported] == told
    return told


def _told(row: Any) -> tuple[Any, ...]:
    texts = [
        item.get("content") if isinstance(item, dict) else item
        for item in row.get("contexts") or ()
    ]
    return row.get("question"), row.get("answer"), texts, row.get("reference")


@pytest.mark.parametrize("kind", ["f.json", "f.jsonl"])
@pytest.mark.parametrize("name", WRAPPED)
def test_rows_are_found_in_a_document(tmp_path: Path, name: str, kind: str) -> None:
    path = tmp_path / kind
    path.write_text(json.dumps(WRAPPED[name], ensure_ascii=False), encoding="utf-8")

    assert _rows(path) == [FULL, FULL]
    assert count_rows(path) in (None, 2)


@pytest.mark.parametrize("name", WRAPPED)
def test_a_document_over_many_lines_is_read_as_well(tmp_path: Path, name: str) -> None:
    path = tmp_path / "f.json"
    path.write_text(json.dumps(WRAPPED[name], indent=2), encoding="utf-8")

    assert _rows(path) == [FULL, FULL]


@pytest.mark.parametrize(
    "row",
    [
        ROW,
        {**ROW, "items": [{"question": "x"}], "examples": ["a"]},
        {"question": [{"role": "user", "content": "x"}], "contexts": ["c"]},
        {"id": "1", "hits": [{"name": "a"}], "question": "x"},
        {"trace_id": "1", "retrievals": [{"documents": []}]},
        {"inputs": {"question": "x"}, "outputs": {"answer": "y"}},
        {"note": "nothing here", "list": ["a", "b"]},
    ],
)
def test_one_row_stays_one_row(row: Any) -> None:
    assert rows_in(row) == [row]


NAMES: dict[str, dict[str, Any]] = {
    "chinese": {"问题": ASKED, "回答": SAID, "检索内容": [PASSAGE], "标准答案": WANTED},
    "chinese_2": {"用户问题": ASKED, "答案": SAID, "参考资料": PASSAGE, "参考答案": WANTED},
    "chinese_notes": {"问题（必填）": ASKED, "回答*": SAID, "上下文": PASSAGE,
                      "标准答案：": WANTED},
    "context": {"question": ASKED, "output": SAID, "context": PASSAGE, "ideal": WANTED},
    "documents": {"query": ASKED, "response": SAID, "expected_answer": WANTED,
                  "documents": [{"page_content": PASSAGE, "metadata": {}}]},
    "inputs": {"inputs": {"question": ASKED, "context": PASSAGE}, "outputs": {"answer": SAID},
               "reference_outputs": {"answer": WANTED}},
    "objects": {"input": {"query": ASKED}, "output": {"text": SAID}, "context": [PASSAGE],
                "expected_output": {"answer": WANTED}},
    "objects_in_texts": {"input": json.dumps({"question": ASKED, "user": "u-1"}),
                         "output": json.dumps({"answer": SAID, "source_documents": [PASSAGE]}),
                         "expected_output": WANTED},
    "chat_in_a_text": {"inputs": json.dumps({"messages": [{"role": "user", "content": ASKED}]}),
                       "outputs": json.dumps({"output": SAID}), "reference": WANTED,
                       "retriever_resources": [{"position": 1, "content": PASSAGE}]},
    "messages": {"messages": [{"role": "system", "content": "s"},
                              {"role": "user", "content": ASKED},
                              {"role": "assistant", "content": SAID}],
                 "context": PASSAGE, "reference": WANTED},
    "sharegpt": {"conversations": [{"from": "human", "value": ASKED},
                                   {"from": "gpt", "value": SAID}],
                 "context": PASSAGE, "reference": WANTED},
    "messages_and_output": {"input": [{"role": "user", "content": ASKED}], "output": SAID,
                            "contexts": [PASSAGE], "ideal": WANTED},
}  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_columns_have_the_names_that_people_give(tmp_path: Path, name: str) -> None:
    path = tmp_path / "f.jsonl"
    line = json.dumps(NAMES[name], ensure_ascii=False)
    path.write_text(f"{line}\n{line}\n", encoding="utf-8")

    assert _rows(path) == [FULL, FULL]


@pytest.mark.parametrize("name", ["input", "inputs", "user_input", "question"])
def test_what_somebody_asks_may_be_json(tmp_path: Path, name: str) -> None:
    asked = '{"level": "ERROR", "code": 504}'
    path = tmp_path / "f.jsonl"
    path.write_text(json.dumps({name: asked, "output": SAID, "context": PASSAGE}), "utf-8")

    assert _rows(path)[0][:3] == (asked, SAID, [PASSAGE])


@pytest.mark.parametrize("name", NAMES)
def test_so_have_those_of_tables(tmp_path: Path, name: str) -> None:
    row = NAMES[name]
    flat = {
        f"{key}.{inner}": value
        for key, held in row.items()
        if isinstance(held, dict)
        for inner, value in held.items()
    }
    flat |= {key: value for key, value in row.items() if not isinstance(value, dict)}
    cells = [cell if isinstance(cell, str) else json.dumps(cell) for cell in flat.values()]
    path = tmp_path / "f.csv"
    path.write_text(_table([list(flat), cells], ","), encoding="utf-8")

    assert _rows(path) == [FULL]


def test_a_name_of_ours_wins_over_what_people_give(tmp_path: Path) -> None:
    path = tmp_path / "f.jsonl"
    row = {**ROW, "问题": "x", "output": "x", "context": "x", "messages": [], "query": "x"}
    path.write_text(json.dumps(row) + "\n" + json.dumps(row), encoding="utf-8")

    assert _rows(path) == [FULL, FULL]


def _table(rows: list[list[str]], delimiter: str) -> str:
    text = io.StringIO()
    csv.writer(text, delimiter=delimiter).writerows(rows)
    return text.getvalue()


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("said", ["", "sep={}\n", '"sep={}"\r\n', "\ufeffsep={}\r\n", "SEP={}\n"])
def test_a_table_may_say_what_parts_its_cells(tmp_path: Path, delimiter: str, said: str) -> None:
    header = ["question", "answer", "contexts", "reference"]
    text = _table([header, [ASKED, SAID, PASSAGE, WANTED]], delimiter)
    path = tmp_path / "f.csv"
    path.write_text(said.format(delimiter) + text, encoding="utf-8")

    assert _rows(path) == [FULL]
    assert count_rows(path) == 1
