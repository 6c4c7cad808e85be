"""Rows come out the same whatever file they were in."""

from __future__ import annotations

import csv
import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from rag_monitor.errors import ConfigurationError
from rag_monitor.i18n import translate
from rag_monitor.offline.encodings import looks_like
from rag_monitor.offline.rows import BadRow, Row, count_rows, read_rows

ROWS: list[dict[str, Any]] = [
    {
        "id": "1",
        "user_input": "保修期多久?",
        "response": "24 个月",
        "retrieved_contexts": ["保修 24 个月。", "退货 7 天。"],
        "reference": "24 个月",
    },
    {
        "id": "2",
        "user_input": "How long?",
        "response": 'He said "two, years"\nor so',
        "retrieved_contexts": ["Two years."],
        "reference": "two years",
    },
]
EXPECTED = [
    {
        "id": row["id"],
        "question": row["user_input"],
        "answer": row["response"],
        "contexts": row["retrieved_contexts"],
        "reference": row["reference"],
    }
    for row in ROWS
]


def _write(path: Path) -> Path:
    kind = path.name.removesuffix(".gz").rsplit(".", 1)[-1]
    opener = gzip.open if path.suffix == ".gz" else open
    if kind == "parquet":
        import pyarrow as pa
        import pyarrow.parquet as pq

        pq.write_table(pa.Table.from_pylist(ROWS), path)
    elif kind == "csv":
        with opener(path, "wt", encoding="utf-8", newline="") as stream:
            writer = csv.DictWriter(stream, list(ROWS[0]))
            writer.writeheader()
            for row in ROWS:
                cells = {**row, "retrieved_contexts": json.dumps(row["retrieved_contexts"])}
                writer.writerow(cells)
    else:
        text = json.dumps(ROWS) if kind == "json" else "\n".join(map(json.dumps, ROWS)) + "\n\n"
        with opener(path, "wt", encoding="utf-8") as stream:
            stream.write(text)
    return path


@pytest.mark.parametrize(
    "name", ["a.jsonl", "a.jsonl.gz", "a.json", "a.json.gz", "a.csv", "a.csv.gz", "a.parquet"]
)
def test_every_kind_of_file_gives_the_same_rows(tmp_path: Path, name: str) -> None:
    if name.endswith("parquet"):
        pytest.importorskip("pyarrow", reason="Parquet needs pyarrow")
    rows = list(read_rows(_write(tmp_path / name)))

    assert [row.fields for row in rows if isinstance(row, Row)] == EXPECTED


def test_a_saved_data_set_folder_is_read(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow", reason="data set folders need pyarrow")
    table = pa.Table.from_pylist(ROWS)
    file = tmp_path / "data-00000-of-00001.arrow"
    with pa.OSFile(str(file), "wb") as sink, pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)

    assert [row.fields for row in read_rows(tmp_path) if isinstance(row, Row)] == EXPECTED


def test_a_broken_line_keeps_its_place(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"question": "a"}\nnot json\n[1]\n{"question": "b"}\n')

    first, second, third, fourth = read_rows(path)

    assert isinstance(first, Row)
    assert isinstance(second, BadRow)
    assert isinstance(third, BadRow)
    assert isinstance(fourth, Row)
    assert (second.number, fourth.number) == (1, 3)


@pytest.mark.parametrize("packed", [False, True])
def test_a_line_in_another_encoding_keeps_its_place(tmp_path: Path, packed: bool) -> None:
    path = tmp_path / ("a.jsonl.gz" if packed else "a.jsonl")
    lines = b"\xef\xbb\xbf" + b'{"question": "a"}\n' + '{"question": "你好"}\n'.encode("gbk")
    path.write_bytes(gzip.compress(lines) if packed else lines)

    first, second = read_rows(path)

    assert isinstance(first, Row)
    assert isinstance(second, BadRow)
    assert second.reason.startswith("not UTF-8")


CHINESE = "\n".join(f'{{"question": "贷款期限{n}年", "answer": "是"}}' for n in range(40))


@pytest.mark.parametrize(
    ("encoding", "said"),
    [
        ("gbk", "iconv -f GB18030"),
        ("big5", "iconv -f BIG5"),
        ("utf-16-le", "iconv -f UTF-16LE"),
        ("utf-16-be", "iconv -f UTF-16BE"),
    ],
)
@pytest.mark.parametrize("name", ["a.jsonl", "a.json", "a.csv", "a.jsonl.gz"])
def test_a_file_in_another_encoding_is_refused_once_with_its_name(
    tmp_path: Path, name: str, encoding: str, said: str
) -> None:
    text = "question,answer\n贷款期限,是\n保修期限,否\n" if name == "a.csv" else CHINESE
    content = (text.replace("贷", "貸") if encoding == "big5" else text).encode(encoding)
    path = tmp_path / name
    path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)

    with pytest.raises(ConfigurationError, match=said):
        list(read_rows(path))
    if name != "a.json":
        with pytest.raises(ConfigurationError, match=said):
            count_rows(path)


@pytest.mark.parametrize("before", [0, 9000])
def test_a_table_of_which_one_row_is_foreign_is_refused_with_the_encodings_name(
    tmp_path: Path, before: int
) -> None:
    path = tmp_path / "a.csv"
    plain = "".join(f"question {n}?,yes\n" for n in range(before))
    path.write_bytes(f"question,answer\n{plain}贷款期限是多少年?,三十年\n".encode("gbk"))

    with pytest.raises(ConfigurationError, match=r"iconv -f GB18030 -t UTF-8 a\.csv") as caught:
        list(read_rows(path))

    assert "看起来是 GB18030" in translate(caught.value, "zh")


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32"])
@pytest.mark.parametrize("name", ["a.jsonl", "a.json", "a.jsonl.gz"])
def test_marked_unicode_is_read(tmp_path: Path, name: str, encoding: str) -> None:
    content = (CHINESE + "\n").encode(encoding)
    path = tmp_path / name
    path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)

    rows = list(read_rows(path))

    assert len(rows) == 40
    assert all(isinstance(row, Row) for row in rows)
    assert rows[39] == Row(39, {"question": "贷款期限39年", "answer": "是"})


def test_a_long_file_whose_beginning_is_cut_inside_a_character_is_utf_8(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(f'{{"question": "{"贷" * 50_000}"}}\n', "utf-8")

    [row] = read_rows(path)

    assert isinstance(row, Row)


@pytest.mark.parametrize(
    ("encoding", "text", "guess"),
    [
        ("gbk", "问题：how long, 24个月", "GB18030"),
        ("big5", "貸款期限是多少年？二十四個月", "BIG5"),
        ("cp1252", "Où est le café déjà prêt?", "WINDOWS-1252"),
        ("shift_jis", "これはペンですか", "SHIFT_JIS"),
    ],
)
def test_what_an_encoding_looks_like(encoding: str, text: str, guess: str) -> None:
    assert looks_like(text.encode(encoding)) == guess


def test_a_table_in_another_encoding_says_so(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes("question,answer\n你好,在\n".encode("gbk"))

    with pytest.raises(ConfigurationError, match=r"a\.csv is not UTF-8"):
        list(read_rows(path))
    with pytest.raises(ConfigurationError, match=r"a\.csv is not UTF-8"):
        count_rows(path)


def test_text_in_a_table_stays_text_though_it_looks_like_json(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    with path.open("w", newline="") as stream:
        csv.writer(stream).writerows(
            [["user_input", "answer", "contexts"], ["[2024]", '{"rate": 3.4}', '["one", "two"]']]
        )

    (row,) = read_rows(path)

    assert isinstance(row, Row)
    assert row.fields == {
        "question": "[2024]",
        "answer": '{"rate": 3.4}',
        "contexts": ["one", "two"],
    }


def test_a_column_can_be_named(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"frage": "a", "answer": "b"}\n')

    (row,) = read_rows(path, {"frage": "question"})

    assert isinstance(row, Row)
    assert row.fields == {"question": "a", "answer": "b"}


def test_cells_of_named_columns_are_read_as_what_they_are_named(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text('编号,问题,标注,上下文,要点\n007,[2024],1,一段,"[""a"", ""b""]"\n')
    named = {
        "编号": "id",
        "问题": "question",
        "标注": "label_faithful",
        "上下文": "contexts",
        "要点": "key_points",
    }

    (row,) = read_rows(path, named)

    assert isinstance(row, Row)
    assert row.fields == {
        "id": "007",
        "question": "[2024]",
        "label_faithful": 1,
        "contexts": ["一段"],
        "key_points": ["a", "b"],
    }


def test_our_own_name_wins_over_a_foreign_one(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"response": "theirs", "answer": "ours"}\n')

    (row,) = read_rows(path)

    assert isinstance(row, Row)
    assert row.fields["answer"] == "ours"


@pytest.mark.parametrize(("name", "message"), [("a.docx", "unknown kind"), ("a.json", "not valid")])
def test_an_unreadable_file_says_why(tmp_path: Path, name: str, message: str) -> None:
    path = tmp_path / name
    path.write_text("{")

    with pytest.raises(ConfigurationError, match=message):
        list(read_rows(path))


def test_packed_files_are_known_by_their_content(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(gzip.compress(b"question,answer\na,b\n"))

    (row,) = read_rows(path)

    assert isinstance(row, Row)
    assert row.fields == {"question": "a", "answer": "b"}
    assert count_rows(path) == 1


def test_json_lines_may_be_called_json(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(b'\xef\xbb\xbf{"question": "a"}\n{"question": "b"}\n')

    assert [row.fields for row in read_rows(path) if isinstance(row, Row)] == [
        {"question": "a"},
        {"question": "b"},
    ]


@pytest.mark.parametrize("broken", ["oops", '{"question": "a"', "[1]", '{"question": "a"},'])
def test_json_lines_called_json_are_read_though_the_first_is_broken(
    tmp_path: Path, broken: str
) -> None:
    path = tmp_path / "a.json"
    path.write_text(broken + '\n{"question": "b"}\n\n{"question": "c"}\n')

    first, second, third = read_rows(path)

    assert isinstance(first, BadRow)
    assert (second, third) == (Row(1, {"question": "b"}), Row(2, {"question": "c"}))


@pytest.mark.parametrize("rows", [1, 2, 24, 25, 26, 100])
@pytest.mark.parametrize("begin", ["[", "[1,"])
def test_a_document_over_many_lines_is_never_taken_for_lines(
    tmp_path: Path, begin: str, rows: int
) -> None:
    path = tmp_path / "a.json"
    path.write_text("\n".join((begin, "\n,\n".join(['{"question": "a"}'] * rows), "]")))

    found = [row for row in read_rows(path) if isinstance(row, Row)]

    assert len(found) == rows


@pytest.mark.parametrize("text", ['[\n{"question": "a"}\n', '{\n{"question": "a"}\n', "oops\n"])
def test_a_broken_document_is_refused_whole(tmp_path: Path, text: str) -> None:
    path = tmp_path / "a.json"
    path.write_text(text)

    with pytest.raises(ConfigurationError, match="not valid JSON"):
        list(read_rows(path))


@pytest.mark.parametrize("name", ["a.jsonl.gz", "a.csv.gz", "a.json.gz"])
def test_a_cut_file_says_so(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(gzip.compress(b'{"question": "a"}\n' * 1000)[:-20])

    with pytest.raises(ConfigurationError, match="cannot read"):
        list(read_rows(path))


@pytest.mark.parametrize("name", ["a.jsonl.gz", "a.csv.gz"])
def test_counting_the_rows_of_a_cut_file_says_so(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(gzip.compress(b'{"question": "a"}\n' * 1000)[:-20])

    with pytest.raises(ConfigurationError, match="cannot read"):
        count_rows(path)


def test_what_is_no_parquet_says_so(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow", reason="Parquet needs pyarrow")
    path = tmp_path / "a.parquet"
    path.write_bytes(b"question,answer\n")

    assert count_rows(path) is None
    with pytest.raises(ConfigurationError, match="as Parquet"):
        list(read_rows(path))


def test_a_missing_file_says_so(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="there is no file"):
        list(read_rows(tmp_path / "nothing.jsonl"))


def _cells(folder: Path, **cells: str) -> Row | BadRow:
    path = folder / "a.csv"
    with path.open("w", newline="", encoding="utf-8") as stream:
        table = csv.writer(stream)
        table.writerow(cells)
        table.writerow(cells.values())
    [row] = read_rows(path)
    return row


@pytest.mark.parametrize(
    ("cell", "passages"),
    [
        ("['a', \"it's\\n b\"]", ["a", "it's\n b"]),
        ("['a' 'b']", ["a", "b"]),
        ("['保修 24 个月。'\n 'it is' \"o'clock\"]", ["保修 24 个月。", "it is", "o'clock"]),
        ("['only one']", ["only one"]),
        ("[]", []),
        (
            "[{'id': 'x', 'content': 'a', 'score': 0.5}]",
            [{"id": "x", "content": "a", "score": 0.5}],
        ),
        ('["a", "b"]', ["a", "b"]),
        ("[1] Opening hours: 9 to 5", ["[1] Opening hours: 9 to 5"]),
        ("plain", ["plain"]),
    ],
)
def test_lists_that_pandas_and_numpy_wrote_are_read(
    tmp_path: Path, cell: str, passages: list[object]
) -> None:
    row = _cells(tmp_path, question="q", retrieved_contexts=cell)

    assert isinstance(row, Row), row
    assert row.fields["contexts"] == passages


def test_numbers_of_an_array_are_labels(tmp_path: Path) -> None:
    row = _cells(tmp_path, question="q", context_labels="[1 0\n 1]")

    assert isinstance(row, Row)
    assert row.fields["context_labels"] == [1, 0, 1]


@pytest.mark.parametrize(
    "cell",
    [
        "['a' 'b' ... 'z']",
        "[array(['a', 'b'], dtype=object)]",
        "['a', __import__('os').getcwd()]",
        "['a', 'cut",
        "['a', nan]",
        "['a', " + "[" * 80 + "]" * 80 + "]",
        "['\\d']",
    ],
)
def test_what_only_looks_like_a_list_of_python_is_told(tmp_path: Path, cell: str) -> None:
    row = _cells(tmp_path, question="q", contexts=cell)

    assert isinstance(row, BadRow)
    assert "`contexts` looks like a list of Python or NumPy" in row.reason
    assert "请把该列写成 JSON" in translate(row.reason, "zh")


def test_a_reference_in_brackets_stays_a_text_where_it_is_none(tmp_path: Path) -> None:
    row = _cells(tmp_path, question="q", reference="['a' is a letter")

    assert isinstance(row, Row)
    assert row.fields["reference"] == "['a' is a letter"


@pytest.mark.parametrize("delimiter", [";", "\t", ","])
def test_semicolons_and_tabs_part_cells_where_the_header_has_no_comma(
    tmp_path: Path, delimiter: str
) -> None:
    path = tmp_path / "a.csv"
    with path.open("w", newline="", encoding="utf-8-sig") as stream:
        table = csv.writer(stream, delimiter=delimiter)
        table.writerow(["user_input", "response", "contexts"])
        table.writerow(["q, or not; that\tis it", "a\nb", "['x', 'y']"])

    [row] = read_rows(path)

    assert row == Row(
        0, {"question": "q, or not; that\tis it", "answer": "a\nb", "contexts": ["x", "y"]}
    )
    assert count_rows(path) == 1


@pytest.mark.parametrize("ending", ["\n", "", "\n\n"])
def test_a_quotation_mark_that_is_never_closed_takes_no_rows_in_silence(
    tmp_path: Path, ending: str
) -> None:
    path = tmp_path / "a.csv"
    path.write_text(f'id,answer\n1,"a\nb"\n2,"5 inch\n3,c\n4,d{ending}', "utf-8")

    first, second = read_rows(path)

    assert isinstance(first, Row)
    assert first.fields["answer"] == "a\nb"
    assert isinstance(second, BadRow)
    assert second.reason.startswith("a quotation mark opens here and is never closed")
    assert "引号没有闭合" in translate(second.reason, "zh")


@pytest.mark.parametrize("ending", ["\n", "", "\n\n", "\r\n"])
def test_a_last_cell_in_quotation_marks_is_whole(tmp_path: Path, ending: str) -> None:
    path = tmp_path / "a.csv"
    path.write_text(f'id,answer\n1,"a, ""b"""{ending}', "utf-8")

    [row] = read_rows(path)

    assert isinstance(row, Row)
    assert row.fields["answer"] == 'a, "b"'
