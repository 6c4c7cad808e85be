"""Two evaluations compared row by row."""

from __future__ import annotations

import json
import random
from math import nextafter
from pathlib import Path

import pytest
from typer.testing import CliRunner

from rag_monitor.cli.application import app
from rag_monitor.errors import ConfigurationError, RagMonitorError
from rag_monitor.offline.paired import _interval, compare_files

Scores = dict[str, dict[str, float | None]]


def _write(path: Path, rows: Scores) -> Path:
    lines = [json.dumps({"id": id_, "scores": scores}) for id_, scores in rows.items()]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def _files(tmp_path: Path, a: Scores, b: Scores) -> tuple[Path, Path]:
    return _write(tmp_path / "a.jsonl", a), _write(tmp_path / "b.jsonl", b)


def test_a_clear_loss_is_worse_and_the_largest_comes_first(tmp_path: Path) -> None:
    before: Scores = {f"r{n}": {"faithfulness": 0.9} for n in range(40)}
    after: Scores = {f"r{n}": {"faithfulness": 0.7 + n / 400} for n in range(40)}

    found = compare_files(*_files(tmp_path, before, after), worst=2)

    (row,) = found.metrics
    assert row.verdict == "worse"
    assert row.difference == pytest.approx(-0.2 + 39 / 800)
    assert row.lower is not None
    assert row.upper is not None
    assert row.lower < row.difference < row.upper < 0
    assert [lost.id for lost in found.regressions] == ["r0", "r1"]


def test_noise_around_zero_is_no_change(tmp_path: Path) -> None:
    before: Scores = {f"r{n}": {"bleu_4": 0.5} for n in range(30)}
    after: Scores = {f"r{n}": {"bleu_4": 0.5 + (-1) ** n * 0.1} for n in range(30)}

    (row,) = compare_files(*_files(tmp_path, before, after)).metrics

    assert row.verdict == "same"
    assert (row.better, row.worse) == (15, 15)


def test_of_many_metrics_that_did_not_change_few_comparisons_call_any_worse(tmp_path: Path) -> None:
    draw = random.Random(3)
    alone = together = 0
    for _ in range(60):
        names = [f"m{n}" for n in range(17)]
        sides: list[Scores] = [
            {f"r{n}": {name: draw.random() for name in names} for n in range(210)} for _ in "ab"
        ]
        rows = compare_files(*_files(tmp_path, *sides)).metrics
        alone += any((row.lower or 0.0) * (row.upper or 0.0) > 0 for row in rows)
        together += any(row.verdict != "same" for row in rows)

    assert alone > 20
    assert together <= 7


def test_a_clear_loss_stands_out_among_many_metrics(tmp_path: Path) -> None:
    draw = random.Random(4)
    before: Scores = {f"r{n}": {f"m{m}": draw.random() for m in range(17)} for n in range(40)}
    after: Scores = {id_: dict(scores) for id_, scores in before.items()}
    for scores in after.values():
        scores["m3"] = draw.random() * 0.4

    found = compare_files(*_files(tmp_path, before, after)).metrics

    assert {row.metric: row.verdict for row in found if row.verdict != "same"} == {"m3": "worse"}


def test_an_interval_does_not_leave_what_a_difference_can_be(tmp_path: Path) -> None:
    before: Scores = {"1": {"faithfulness": 1.0, "perplexity": 40.0}, "2": {"faithfulness": 1.0}}
    before["2"]["perplexity"] = 90.0
    after: Scores = {"1": {"faithfulness": 1.0, "perplexity": 40.0}, "2": {"faithfulness": 0.0}}
    after["2"]["perplexity"] = 20.0

    found = {row.metric: row for row in compare_files(*_files(tmp_path, before, after)).metrics}

    assert (found["faithfulness"].lower, found["faithfulness"].upper) == (-1.0, 1.0)
    assert (found["perplexity"].lower or 0.0) < -100.0


def test_only_rows_that_both_scored_are_paired(tmp_path: Path) -> None:
    before: Scores = {"x": {"f": 0.5}, "y": {"f": None}, "z": {"f": 0.1}, "only a": {"f": 1.0}}
    after: Scores = {"z": {"f": 0.3}, "y": {"f": 0.2}, "x": {"f": 0.5}, "only b": {"f": 0.0}}

    found = compare_files(*_files(tmp_path, before, after))

    assert (found.rows, found.only_a, found.only_b) == (3, 1, 1)
    assert found.metrics[0].rows == 2
    assert found.regressions == ()


def test_a_metric_where_less_is_better_loses_when_it_rises(tmp_path: Path) -> None:
    before: Scores = {f"r{n}": {"refusal_rate": 0.0} for n in range(20)}
    after: Scores = {f"r{n}": {"refusal_rate": 1.0} for n in range(20)}

    found = compare_files(*_files(tmp_path, before, after))

    assert found.metrics[0].verdict == "worse"
    assert found.regressions[0].loss == 1.0


def test_many_rows_use_the_normal_interval_and_agree_with_the_bootstrap(tmp_path: Path) -> None:
    before: Scores = {f"r{n}": {"f": (n % 10) / 10} for n in range(1000)}
    after: Scores = {f"r{n}": {"f": (n % 7) / 10} for n in range(1000)}
    few = dict(list(before.items())[:200])

    normal = compare_files(*_files(tmp_path, before, after)).metrics[0]
    drawn = compare_files(*_files(tmp_path, few, after)).metrics[0]

    assert normal.lower is not None
    assert drawn.lower is not None
    # A fifth of the rows: about root five as wide.
    widths = (drawn.difference - drawn.lower) / (normal.difference - normal.lower)
    assert widths == pytest.approx(5**0.5, rel=0.25)


def test_files_that_cannot_be_compared_say_why(tmp_path: Path) -> None:
    a, b = _files(tmp_path, {"x": {"f": 1.0}}, {"y": {"f": 1.0}})

    with pytest.raises(RagMonitorError, match="no row id in common"):
        compare_files(a, b)
    foreign = tmp_path / "c.jsonl"
    foreign.write_text('{"question": "q"}\n', encoding="utf-8")
    with pytest.raises(ConfigurationError, match="not a file that `evaluate --output` wrote"):
        compare_files(a, foreign)
    with pytest.raises(ConfigurationError, match="there is no file"):
        compare_files(a, tmp_path / "none.jsonl")


@pytest.mark.parametrize("rows", [30, 300])
def test_the_last_bit_of_a_score_is_no_change(rows: int, tmp_path: Path) -> None:
    before: Scores = {f"r{n}": {"faithfulness": 0.1 + n / 1000} for n in range(rows)}
    after: Scores = {
        id_: {"faithfulness": nextafter(scores["faithfulness"], 0.0)}
        for id_, scores in before.items()
    }

    (row,) = compare_files(*_files(tmp_path, before, after)).metrics

    assert (row.verdict, row.difference, row.lower, row.upper) == ("same", 0.0, 0.0, 0.0)


@pytest.mark.parametrize(("language", "said"), [("en", "3 rows"), ("zh", "3 行，")])
def test_a_comparison_says_which_lines_it_left_out(
    language: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    a, b = _files(tmp_path, *({f"r{n}": {"bleu_4": 0.5} for n in range(3)} for _ in "ab"))
    b.write_text(b.read_text() * 2)
    monkeypatch.setenv("RAG_MONITOR_LANGUAGE", language)

    done = CliRunner().invoke(app, ["compare", str(a), str(b)])

    assert done.exit_code == 0, done.output
    last = done.output.splitlines()[-1]
    assert last.startswith(said)
    assert ("3 left out" if language == "en" else "3 编号重复") in last


def _judged(path: Path, judge: str | None) -> Path:
    about = {} if judge is None else {"judge": judge}
    lines = [
        json.dumps({"id": f"r{n}", "scores": {"faithfulness": 0.9}, **about}) for n in range(3)
    ]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.mark.parametrize("rows", [2, 3, 5, 10])
def test_few_rows_that_differ_by_chance_are_seldom_a_clear_loss(rows: int) -> None:
    draw = random.Random(rows)
    runs = 300
    missed = 0
    for _ in range(runs):
        found = _interval([draw.gauss(0.0, 0.1) for _ in range(rows)])
        missed += found is None or 0.0 not in found

    assert missed / runs < 0.09, "5 % by chance; the bootstrap alone misses 46 % of two rows"


def test_a_few_rows_that_lost_the_same_are_no_clear_loss(tmp_path: Path) -> None:
    before: Scores = {f"r{n}": {"exact_match": 1.0} for n in range(3)}
    after: Scores = {f"r{n}": {"exact_match": 0.0} for n in range(3)}

    (row,) = compare_files(*_files(tmp_path, before, after)).metrics

    assert (row.difference, row.worse, row.lower, row.verdict) == (-1.0, 3, None, "same")


@pytest.mark.parametrize(
    ("judges", "told"),
    [
        (("embedded/10", "packed/q"), True),
        (("embedded/10", "embedded/10"), False),
        (("embedded/10", None), False),
        ((None, None), False),
    ],
)
def test_that_others_judged_is_told(
    tmp_path: Path, judges: tuple[str | None, str | None], told: bool
) -> None:
    a = _judged(tmp_path / "a.jsonl", judges[0])
    b = _judged(tmp_path / "b.jsonl", judges[1])

    english = CliRunner().invoke(app, ["compare", str(a), str(b)])
    chinese = CliRunner().invoke(app, ["compare", str(a), str(b), "--language", "zh", "--json"])

    said = "A was judged by embedded/10 and B by packed/q: what differs may be the judges"
    assert (said in english.stderr) is told
    assert (
        "A 由 embedded/10 评审，B 由 packed/q 评审：差异可能来自评审模型" in chinese.stderr
    ) is told
    found = json.loads(chinese.stdout)
    assert found["judges_a"] == ([] if judges[0] is None else [judges[0]])
    assert english.exit_code == chinese.exit_code == 0


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        (("k=5 terms=none", "k=10 terms=none"), True),
        (("k=5 terms=none", "k=5 terms=none"), False),
        (("k=5 terms=none", "terms=none"), False),
        (("k=5", None), False),
    ],
)
def test_that_settings_were_others_is_told(
    tmp_path: Path, settings: tuple[str | None, str | None], told: bool
) -> None:
    files = [tmp_path / name for name in ("a.jsonl", "b.jsonl")]
    for path, with_ in zip(files, settings, strict=True):
        line = {"id": "r1", "scores": {"retrieval_recall": 0.9}, "settings": with_}
        path.write_text(json.dumps(line) + "\n", encoding="utf-8")

    english = CliRunner().invoke(app, ["compare", *map(str, files)])
    chinese = CliRunner().invoke(app, ["compare", *map(str, files), "--language", "zh", "--json"])

    said = "A was computed with k=5 and B with k=10: what differs may be the settings"
    assert (said in english.stderr) is told
    assert ("A 用 k=5 算出，B 用 k=10 算出：差异可能来自设置" in chinese.stderr) is told
    assert json.loads(chinese.stdout)["settings_a"] == ("k=5" if told else "")
