"""Latencies and hit rates stand in the report of a file, and can have targets."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

TIMES = [100.0, 200.0, 300.0, 400.0, 5000.0]


def _rows(times: list[float | None]) -> list[dict[str, Any]]:
    return [
        {"id": n, "question": "q", "answer": "a", "timings": {"end_to_end_ms": time}}
        for n, time in enumerate(times)
    ]


def test_17_percentiles_and_means_come_out(evaluate: Callable[..., Any]) -> None:
    found = evaluate(_rows([*TIMES]), "--judge", "none")

    assert found.figure("end_to_end_ms_p50") == 300.0
    assert found.figure("end_to_end_ms_p90") == pytest.approx(3160.0)
    assert found.figure("end_to_end_ms_p99") == pytest.approx(4816.0)
    assert found.mean("end_to_end_ms") == 1200.0
    assert "first_byte_ms" not in found.report["metrics"]


@pytest.mark.parametrize(
    "name", ["first_byte_ms", "generation_ms", "end_to_end_ms", "retrieval_ms"]
)
def test_17_columns_of_a_table_are_timings(
    evaluate: Callable[..., Any], tmp_path: Path, name: str
) -> None:
    path = tmp_path / "rows.csv"
    with path.open("w", newline="", encoding="utf-8") as stream:
        csv.writer(stream).writerows(
            [("question", "answer", name), *(("q", "a", time) for time in TIMES)]
        )

    assert evaluate(path, "--judge", "none").figure(f"{name}_p50") == 300.0


@pytest.mark.parametrize(
    ("metric", "bound", "code"),
    [
        ("end_to_end_ms_p50", 300, 0),
        ("end_to_end_ms_p50", 299, 1),
        ("end_to_end_ms_p90", 3200, 0),
        ("end_to_end_ms_p99", 3200, 1),
        ("end_to_end_ms", 1200, 0),
    ],
)
def test_17_latencies_can_have_targets(
    evaluate: Callable[..., Any], targets: Callable[..., Any], metric: str, bound: int, code: int
) -> None:
    wanted = targets(**{metric: ("at_most", bound)})

    assert evaluate(_rows([*TIMES]), "--judge", "none", *wanted, "--fail-under").code == code


def test_17_rows_without_a_time_are_missing_for_a_gate(
    evaluate: Callable[..., Any], targets: Callable[..., Any]
) -> None:
    wanted = targets(end_to_end_ms_p90=("at_most", 9000))

    found = evaluate(_rows([*TIMES, None]), "--judge", "none", *wanted, "--fail-under")

    assert found.code == 1
    assert "end_to_end_ms_p90: rows without a score: 16.7%, more than 5%" in found.stderr
    assert "not measured 1" in found.stderr


def test_17_slower_answers_are_worse(
    command: Callable[..., Any], evaluate: Callable[..., Any], tmp_path: Path
) -> None:
    files = []
    for name, factor in (("a", 1), ("b", 3)):
        found = evaluate(_rows([100.0 + n * factor * 10 for n in range(40)]), "--judge", "none")
        path = tmp_path / f"{name}.jsonl"
        path.write_text("".join(json.dumps(line) + "\n" for line in found.lines))
        files.append(path)

    done = command("compare", *files, "--fail-on-loss")

    assert done.exit_code == 1
    assert "worse" in done.stdout


HITS = [
    ({"kind": "plugin", "name": "map", "ok": True, "items": 2}, ["map"]),
    ({"kind": "plugin", "name": "map", "ok": False}, ["map"]),
    ({"kind": "plugin", "name": "map", "items": 0}, ["map"]),
    (None, []),
]


def _hits() -> list[dict[str, Any]]:
    return [
        {
            "id": n,
            "question": "q",
            "answer": "a",
            "hits": [hit] if hit else [],
            "expected": {"plugin": names},
        }
        for n, (hit, names) in enumerate(HITS)
    ]


def test_17_hit_rates_come_out_and_can_have_targets(
    evaluate: Callable[..., Any], targets: Callable[..., Any]
) -> None:
    wanted = targets(**{"hit_rate/plugin/map/expected": ("at_least", 0.5)})

    found = evaluate(_hits(), "--judge", "none", *wanted, "--fail-under")

    assert found.figure("hit_rate/plugin/map/expected") == pytest.approx(1 / 3)
    assert found.figure("hit_rate/plugin/map/all") == pytest.approx(1 / 4)
    assert found.figure("hit_rate/plugin/expected") == pytest.approx(1 / 3)
    assert found.figure("hit_rate/plugin/all") == pytest.approx(1 / 4)
    assert found.figure("recall/plugin/map") == pytest.approx(1 / 3)
    assert found.code == 1


def test_17_a_plugin_that_never_hits_is_not_out_of_sight(evaluate: Callable[..., Any]) -> None:
    hit = {"kind": "plugin", "name": "map", "ok": False}
    rows = [{"id": n, "question": "q", "answer": "a", "hits": [hit]} for n in range(4)]

    assert evaluate(rows, "--judge", "none").figure("hit_rate/plugin/map/all") == 0.0


@pytest.mark.parametrize(
    ("language", "words"),
    [
        ("en", ("End to end (ms)", "p90", "3,160", "Hit rates", "weather")),
        ("zh", ("端到端（毫秒）", "p90", "3,160", "命中率", "weather")),
    ],
)
def test_17_the_terminal_and_every_report_show_them(
    command: Callable[..., Any],
    write: Callable[..., Path],
    tmp_path: Path,
    language: str,
    words: tuple[str, ...],
) -> None:
    hit = {"kind": "plugin", "name": "weather"}
    rows = [{**row, "hits": [hit]} for row in _rows([*TIMES])]
    path = write("rows.jsonl", rows)
    shown = []
    for kind in ("html", "md"):
        page = tmp_path / f"report.{kind}"
        done = command(
            "evaluate", path, "--judge", "none", "--report", page, "--language", language
        )
        assert done.exit_code == 0, done.output
        shown += [done.stdout, page.read_text("utf-8")]

    assert all(word in text for text in shown for word in words)


def test_17_timings_ignored(
    evaluate: Callable[..., Any], shared_case: Callable[[str], Path]
) -> None:
    found = evaluate(shared_case("17_timings_ignored.jsonl"))

    assert found.figure("first_byte_ms_p50") == 170.0
    assert found.figure("generation_ms_p50") == 850.0
    assert found.figure("end_to_end_ms_p50") == 1800.0
    assert found.figure("end_to_end_ms_p99") == pytest.approx(2290.0)
    assert found.figure("hit_rate/plugin/weather/expected") == 0.5
    assert found.figure("hit_rate/plugin/weather/all") == 0.5
