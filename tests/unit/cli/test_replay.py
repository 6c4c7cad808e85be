"""Replaying recorded traffic: paced, patient, complete."""

from __future__ import annotations

import csv
import gzip
import json
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from rag_monitor.cli.remote import Remote
from rag_monitor.cli.replay import BadRow, Outcome, Pace, Replay, read_rows
from rag_monitor.errors import ConfigurationError, RagMonitorError
from rag_monitor.outbound.connection import NoAnswer, Reply
from rag_monitor.testing import EPOCH, ManualClock
from tests.unit.cli.monitors import Handler, Request, answer, transport


def _rows(count: int) -> list[tuple[int, dict[str, Any]]]:
    return [(n, {"id": f"q-{n}", "question": "q", "answer": "a"}) for n in range(1, count + 1)]


def _accept(request: Request) -> Reply:
    rows = json.loads(request.content)
    return answer(200, {"accepted": len(rows), "trace_ids": [], "unknown_fields": [], "errors": []})


def _replay(handler: Handler, clock: ManualClock, **pace: float) -> Replay:
    monitor = Remote("http://monitor", transport=transport(handler))
    return Replay(monitor, Pace(**pace), clock=clock.monotonic, sleep=clock.advance)


def test_every_row_is_sent_once_and_in_order(clock: ManualClock) -> None:
    received: list[str] = []

    def handler(request: Request) -> Reply:
        received.extend(row["id"] for row in json.loads(request.content))
        return _accept(request)

    outcome = _replay(handler, clock).run(_rows(250))

    assert received == [f"q-{n}" for n in range(1, 251)]
    assert (outcome.rows, outcome.accepted, outcome.rejected) == (250, 250, 0)


def test_a_monitor_that_is_away_loses_nothing(clock: ManualClock) -> None:
    stored: set[str] = set()
    calls = 0

    def handler(request: Request) -> Reply:
        nonlocal calls
        calls += 1
        if calls in (2, 3):
            raise NoAnswer("connection refused")
        if calls == 4:
            return answer(503, retry_after="1")
        stored.update(row["id"] for row in json.loads(request.content))
        return _accept(request)

    outcome = _replay(handler, clock).run(_rows(250))

    assert len(stored) == 250
    assert outcome.retries == 3


def test_patience_ends_with_a_clear_error(clock: ManualClock) -> None:
    replay = _replay(lambda _: answer(503), clock, patience_s=30.0)

    with pytest.raises(
        RagMonitorError, match="gave up on the monitor at http://monitor after 30 s"
    ):
        replay.run(_rows(3))

    assert clock.monotonic() <= 30.0


def test_whoever_waits_is_told_once_for_what(clock: ManualClock) -> None:
    told: list[tuple[float, str]] = []
    calls = 0

    def handler(request: Request) -> Reply:
        nonlocal calls
        calls += 1
        if calls <= 3:
            raise NoAnswer("refused")
        return answer(429) if calls == 5 else _accept(request)

    monitor = Remote("http://monitor", transport=transport(handler))
    Replay(
        monitor,
        Pace(),
        on_wait=lambda trouble: told.append((clock.monotonic(), trouble)),
        clock=clock.monotonic,
        sleep=clock.advance,
    ).run(_rows(250))

    assert told == [(0.0, "it does not answer (refused)")]


def test_a_monitor_that_goes_on_saying_later_is_named_after_a_while(clock: ManualClock) -> None:
    told: list[str] = []
    monitor = Remote("http://monitor", transport=transport(lambda _: answer(503)))
    replay = Replay(
        monitor, Pace(), on_wait=told.append, clock=clock.monotonic, sleep=clock.advance
    )

    with pytest.raises(RagMonitorError, match="it answers 503"):
        replay.run(_rows(1))

    assert told == ["it answers 503"]


def test_speed_spreads_the_rows_over_time(clock: ManualClock) -> None:
    times: list[float] = []

    def handler(request: Request) -> Reply:
        times.extend([clock.monotonic()] * len(json.loads(request.content)))
        return _accept(request)

    _replay(handler, clock, per_second=20.0).run(_rows(100))

    assert len(times) == 100
    assert 4.5 <= times[-1] <= 5.0


def test_a_row_the_monitor_refuses_is_named_and_the_others_are_kept(clock: ManualClock) -> None:
    def handler(request: Request) -> Reply:
        if any(row["id"] == "q-7" for row in json.loads(request.content)):
            return answer(422, {"detail": "answer: must be text"})
        return _accept(request)

    outcome = _replay(handler, clock).run(_rows(20))

    assert outcome.accepted == 19
    assert outcome.problems == ["line 7: answer: must be text"]


def test_errors_in_the_reply_are_given_their_line(clock: ManualClock) -> None:
    def handler(request: Request) -> Reply:
        errors = [{"row": 1, "id": None, "field": "", "message": "no question"}]
        return answer(200, {"accepted": 2, "errors": errors, "unknown_fields": ["x"]})

    outcome = _replay(handler, clock).run([(10, {}), (12, {}), (13, {})])

    assert outcome.problems == ["line 12: no question"]
    assert outcome.unknown_fields == {"x"}


def test_a_wrong_key_stops_the_import(clock: ManualClock) -> None:
    replay = _replay(lambda _: answer(401, {"detail": "unknown key"}), clock)

    with pytest.raises(ConfigurationError, match="--api-key"):
        replay.run(_rows(1))


@pytest.mark.parametrize("packed", [False, True])
def test_labels_are_left_out_and_bad_lines_are_named(tmp_path: Path, packed: bool) -> None:
    file = tmp_path / "traffic.data"
    lines = [
        '{"id": "1", "question": "年利率?", "label_faithful": 1, "meta": {"row": 2}, "label": "a"}',
        "",
        "{oops",
        "[1]",
        '{"id": "2", "app": "mine"}',
    ]
    data = "\n".join(lines).encode()
    file.write_bytes(gzip.compress(data) if packed else data)

    rows = list(read_rows(file, app="given"))

    assert rows[0] == (1, {"id": "1", "question": "年利率?", "label": "a", "app": "given"})
    assert [row.line for row in rows if isinstance(row, BadRow)] == [3, 4]
    assert rows[-1] == (5, {"id": "2", "app": "mine"})


TRAFFIC: list[dict[str, Any]] = [
    {
        "id": "1",
        "question": "保修期多久?",
        "answer": 'He said "two, years"\nor so',
        "contexts": ["24 个月"],
        "timings": {"first_byte_ms": 120.5},
        "hits": [{"kind": "plugin", "name": "calc", "ok": True}],
    },
    {
        "id": "2",
        "question": "[2024]",
        "answer": "b",
        "contexts": ["one", "two"],
        "timings": {"first_byte_ms": 7.5},
        "hits": [],
    },
]


def _write(path: Path) -> Path:
    kind = path.name.removesuffix(".gz").rsplit(".", 1)[-1]
    opener = gzip.open if path.suffix == ".gz" else open
    if kind == "parquet":
        pa = pytest.importorskip("pyarrow", reason="Parquet needs pyarrow")
        parquet = pytest.importorskip("pyarrow.parquet")
        parquet.write_table(pa.Table.from_pylist(TRAFFIC), path)
        return path
    with opener(path, "wt", encoding="utf-8", newline="") as stream:
        if kind == "csv":
            writer = csv.DictWriter(stream, list(TRAFFIC[0]))
            writer.writeheader()
            for row in TRAFFIC:
                nested = ("contexts", "timings", "hits")
                writer.writerow(row | {name: json.dumps(row[name]) for name in nested})
        elif kind == "json":
            json.dump(TRAFFIC, stream, indent=1)
        else:
            stream.writelines(json.dumps(row) + "\n" for row in TRAFFIC)
    return path


@pytest.mark.parametrize(
    "name", ["a.jsonl", "a.txt.gz", "a.json", "a.json.gz", "a.csv", "a.csv.gz", "a.parquet"]
)
def test_every_kind_of_file_sends_the_same_rows(
    tmp_path: Path, clock: ManualClock, name: str
) -> None:
    received: list[dict[str, Any]] = []

    def handler(request: Request) -> Reply:
        received.extend(json.loads(request.content))
        return _accept(request)

    outcome = _replay(handler, clock).run(read_rows(_write(tmp_path / name), app="faq"))

    assert received == [row | {"app": "faq"} for row in TRAFFIC]
    assert (outcome.rows, outcome.accepted) == (2, 2)


def test_columns_of_other_systems_and_labels_are_known_in_tables_as_in_lines(
    tmp_path: Path,
) -> None:
    table, lines = tmp_path / "a.csv", tmp_path / "a.jsonl"
    table.write_text("user_input,response,label_faithful\nq,a,1\n")
    lines.write_text('{"user_input": "q", "response": "a", "label_faithful": 1}\n')

    assert (
        list(read_rows(table)) == list(read_rows(lines)) == [(1, {"question": "q", "answer": "a"})]
    )


def test_passages_of_other_tools_and_their_scores_are_sent_as_trace_json(
    tmp_path: Path, clock: ManualClock
) -> None:
    file = tmp_path / "a.jsonl"
    row = {"user_input": "q", "response": "a", "faithfulness": 0.5, "year": 2026}
    mixed = [{"page_content": "text", "metadata": {"page": 2}}, {"chapter": 1}, None]
    file.write_text(json.dumps({**row, "retrieved_contexts": mixed}) + "\n")
    received: list[dict[str, Any]] = []
    outcome = Outcome()

    def handler(request: Request) -> Reply:
        received.extend(json.loads(request.content))
        return _accept(request)

    _replay(handler, clock).run(read_rows(file, unread=outcome.unread_passages), outcome)

    assert received == [
        {
            "question": "q",
            "answer": "a",
            "contexts": [{"content": "text", "metadata": {"page": 2}}],
            "reported_scores": {"faithfulness": 0.5},
            "year": 2026,
        }
    ]
    assert (outcome.scores, outcome.unread_passages.count) == (1, 2)
    assert outcome.summary()["unread_passages"] == 2


def test_a_row_of_a_table_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    table, document = tmp_path / "a.csv", tmp_path / "a.json"
    table.write_text("id,question\n1,q\n2,q,too much\n3,q\n")
    document.write_text('[{"id": "1"},\n 7]')

    assert list(read_rows(table))[1] == BadRow(2, "more cells than the header has columns")
    assert list(read_rows(document)) == [(1, {"id": "1"}), BadRow(2, "not a JSON object")]


def test_json_lines_under_another_name_keep_their_line_numbers(tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    file.write_text('\n{"id": "1"}\n\n{oops\n{"id": "2"}\n')

    first, second, third = read_rows(file)

    assert (first, third) == ((2, {"id": "1"}), (5, {"id": "2"}))
    assert isinstance(second, BadRow)
    assert second.line == 4


def test_a_broken_first_line_under_another_name_is_named_and_the_others_are_sent(
    tmp_path: Path,
) -> None:
    file = tmp_path / "a.json"
    file.write_text('{"id": "1"\n{"id": "2"}\n{"id": "3"}\n')

    first, *others = read_rows(file)

    assert isinstance(first, BadRow)
    assert first.line == 1
    assert others == [(2, {"id": "2"}), (3, {"id": "3"})]


def test_a_row_that_json_has_no_words_for_is_named_and_the_others_are_sent(
    tmp_path: Path, clock: ManualClock
) -> None:
    file = tmp_path / "a.jsonl"
    deep = "[" * 100_000
    file.write_text(f'{{"question": Infinity}}\n{{"question": {deep}\n{{"question": "\\ud800"}}\n')
    received: list[Any] = []

    def handler(request: Request) -> Reply:
        received.extend(json.loads(request.content))
        return _accept(request)

    outcome = _replay(handler, clock).run(read_rows(file))

    assert [problem.partition(":")[0] for problem in outcome.problems] == ["line 1", "line 2"]
    assert received == [{"question": "?"}]


def test_a_row_nested_to_the_edge_costs_no_other_row(clock: ManualClock) -> None:
    def accept(request: Request) -> Reply:
        accepted = request.content.count(b'"id"')  # too deep for a parser
        return answer(200, {"accepted": accepted, "errors": []})

    depths = range(300, 1_000, 5)
    rows: list[tuple[int, dict[str, Any]]] = []
    for number, depth in enumerate(depths, 1):
        nested: list[Any] = []
        for _ in range(depth):
            nested = [nested]
        rows += [(2 * number - 1, {"id": "deep", "metadata": nested}), (2 * number, {"id": "flat"})]

    outcome = _replay(accept, clock).run(rows)

    assert outcome.accepted + outcome.rejected == 2 * len(depths)
    assert outcome.accepted >= len(depths)
    assert outcome.rejected > 0


def test_a_null_application_of_a_table_takes_the_given_one(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text('{"question": "q", "app": null}\n{"question": "q", "app": "own"}\n')

    found = [item for item in read_rows(path, "given") if not isinstance(item, BadRow)]
    assert [row["app"] for _, row in found] == ["given", "own"]


def test_moments_of_a_table_are_written_out(tmp_path: Path, clock: ManualClock) -> None:
    pa = pytest.importorskip("pyarrow", reason="Parquet needs pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    file = tmp_path / "a.parquet"
    parquet.write_table(pa.Table.from_pylist([{"question": "q", "started_at": EPOCH}]), file)
    received: list[Any] = []

    def handler(request: Request) -> Reply:
        received.extend(json.loads(request.content))
        return _accept(request)

    _replay(handler, clock).run(read_rows(file))

    assert datetime.fromisoformat(received[0]["started_at"]) == EPOCH


@pytest.mark.parametrize(
    ("name", "reason"),
    [("nothing.jsonl", r"cannot read .*: No such file"), ("nothing.csv", "there is no file")],
)
def test_a_missing_file_is_one_sentence(tmp_path: Path, name: str, reason: str) -> None:
    with pytest.raises(ConfigurationError, match=reason):
        list(read_rows(tmp_path / name))


def test_a_cut_gzip_file_is_one_sentence(tmp_path: Path) -> None:
    file = tmp_path / "cut.gz"
    file.write_bytes(gzip.compress(b'{"id": "1"}\n' * 1000)[:-20])

    with pytest.raises(ConfigurationError, match="cannot read"):
        list(read_rows(file))


@pytest.mark.shared
@pytest.mark.parametrize("name", ["traffic_en.jsonl.gz", "traffic_zh.jsonl.gz"])
def test_recorded_traffic_is_read_without_its_labels(shared_data: Path, name: str) -> None:
    rows = list(read_rows(shared_data / name))

    assert len(rows) == 400
    assert not any(isinstance(row, BadRow) for row in rows)
    fields = {field for row in rows if not isinstance(row, BadRow) for field in row[1]}
    assert fields >= {"id", "app", "question", "contexts", "answer"}
    assert not fields & {"label_faithful", "meta"}
