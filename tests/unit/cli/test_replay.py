"""Replaying recorded traffic: paced, patient, complete."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from rag_monitor.cli.remote import Remote
from rag_monitor.cli.replay import BadRow, Pace, Replay, read_rows
from rag_monitor.errors import ConfigurationError, RagMonitorError
from rag_monitor.testing import ManualClock

Handler = Callable[[httpx.Request], httpx.Response]


def _rows(count: int) -> list[tuple[int, dict[str, Any]]]:
    return [(n, {"id": f"q-{n}", "question": "q", "answer": "a"}) for n in range(1, count + 1)]


def _accept(request: httpx.Request) -> httpx.Response:
    rows = json.loads(request.content)
    return httpx.Response(
        200, json={"accepted": len(rows), "trace_ids": [], "unknown_fields": [], "errors": []}
    )


def _replay(handler: Handler, clock: ManualClock, **pace: float) -> Replay:
    monitor = Remote("http://monitor", transport=httpx.MockTransport(handler))
    return Replay(monitor, Pace(**pace), clock=clock.monotonic, sleep=clock.advance)


def test_every_row_is_sent_once_and_in_order(clock: ManualClock) -> None:
    received: list[str] = []

    def handler(request: httpx.Request) -> httpx.Response:
        received.extend(row["id"] for row in json.loads(request.content))
        return _accept(request)

    outcome = _replay(handler, clock).run(_rows(250))

    assert received == [f"q-{n}" for n in range(1, 251)]
    assert (outcome.rows, outcome.accepted, outcome.rejected) == (250, 250, 0)


def test_a_monitor_that_is_away_loses_nothing(clock: ManualClock) -> None:
    stored: set[str] = set()
    calls = 0

    def handler(request: httpx.Request) -> httpx.Response:
        nonlocal calls
        calls += 1
        if calls in (2, 3):
            raise httpx.ConnectError("connection refused", request=request)
        if calls == 4:
            return httpx.Response(503, headers={"retry-after": "1"})
        stored.update(row["id"] for row in json.loads(request.content))
        return _accept(request)

    outcome = _replay(handler, clock).run(_rows(250))

    assert len(stored) == 250
    assert outcome.retries == 3


def test_patience_ends_with_a_clear_error(clock: ManualClock) -> None:
    replay = _replay(lambda _: httpx.Response(503), clock, patience_s=30.0)

    with pytest.raises(RagMonitorError, match="gave up on the monitor after 30 s"):
        replay.run(_rows(3))

    assert clock.monotonic() <= 30.0


def test_speed_spreads_the_rows_over_time(clock: ManualClock) -> None:
    times: list[float] = []

    def handler(request: httpx.Request) -> httpx.Response:
        times.extend([clock.monotonic()] * len(json.loads(request.content)))
        return _accept(request)

    _replay(handler, clock, per_second=20.0).run(_rows(100))

    assert len(times) == 100
    assert 4.5 <= times[-1] <= 5.0


def test_a_row_the_monitor_refuses_is_named_and_the_others_are_kept(clock: ManualClock) -> None:
    def handler(request: httpx.Request) -> httpx.Response:
        if any(row["id"] == "q-7" for row in json.loads(request.content)):
            return httpx.Response(422, json={"detail": "answer: must be text"})
        return _accept(request)

    outcome = _replay(handler, clock).run(_rows(20))

    assert outcome.accepted == 19
    assert outcome.problems == ["line 7: answer: must be text"]


def test_errors_in_the_reply_are_given_their_line(clock: ManualClock) -> None:
    def handler(request: httpx.Request) -> httpx.Response:
        errors = [{"row": 1, "id": None, "field": "", "message": "no question"}]
        return httpx.Response(200, json={"accepted": 2, "errors": errors, "unknown_fields": ["x"]})

    outcome = _replay(handler, clock).run([(10, {}), (12, {}), (13, {})])

    assert outcome.problems == ["line 12: no question"]
    assert outcome.unknown_fields == {"x"}


def test_a_wrong_key_stops_the_import(clock: ManualClock) -> None:
    replay = _replay(lambda _: httpx.Response(401, json={"detail": "unknown key"}), clock)

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


def test_a_missing_file_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"cannot read .*: No such file"):
        list(read_rows(tmp_path / "nothing.jsonl"))


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
