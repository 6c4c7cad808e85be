"""A whole file in one pass: every family of metrics, failures as values, going on after a stop."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from rag_monitor.domain.judgement import Aspect, Judgement, JudgeRequest, Verdict
from rag_monitor.errors import ConfigurationError, JudgeTimeout, UnknownMetric
from rag_monitor.metrics.targets import parse_profile
from rag_monitor.metrics.text.suite import score_text
from rag_monitor.offline.file_run import FileEvaluation
from rag_monitor.offline.lines import drop_broken_end, open_lines, read_lines, scores_of
from rag_monitor.offline.report.model import Report
from rag_monitor.offline.run_settings import FileOptions
from rag_monitor.offline.selection import DEFAULT_TEXT, Features, choose
from rag_monitor.testing import EPOCH, ScriptedJudge

TEXT = ("bleu_4", "rouge_l", "token_f1")


def _row(number: int, **fields: Any) -> dict[str, Any]:
    return {
        "id": f"r{number}",
        "app": "faq" if number % 2 else "shop",
        "question": f"How long is warranty {number}?",
        "answer": f"Warranty {number} lasts 24 months.",
        "reference": f"Warranty {number} lasts two years or 24 months.",
        "contexts": [
            {"id": "a", "content": f"Warranty {number} lasts 24 months."},
            {"id": "b", "content": "Returns are free."},
        ],
        "relevant_ids": ["a", "c"],
        "label": "yes" if number % 3 else "no",
        "predicted": "yes",
        "label_faithful": number % 2,
        "hits": [{"kind": "plugin", "name": "search"}],
        "expected": {"plugin": ["search"] if number % 4 else ["weather"]},
        **fields,
    }


def _file(folder: Path, rows: list[dict[str, Any] | str]) -> Path:
    path = folder / "rows.jsonl"
    lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def mean_of(report: Report, name: str) -> float | None:
    return next(metric.mean for metric in report.metrics if metric.name == name)


async def _evaluate(
    path: Path, judge: ScriptedJudge | None = None, **options: Any
) -> tuple[Report, FileEvaluation]:
    options.setdefault("processes", 0)
    run = FileEvaluation(path, FileOptions(**options), judge)
    await run.run()
    report = run.tally.report(file=path.name, created_at=EPOCH, notes=run.notes())
    return report, run


async def test_one_pass_has_judged_text_ranking_label_and_routing_figures(tmp_path: Path) -> None:
    path = _file(tmp_path, [_row(n) for n in range(12)])

    report, _ = await _evaluate(path, ScriptedJudge())

    families = {metric.family for metric in report.metrics}
    assert families == {"judge", "text", "ranking"}
    assert mean_of(report, "faithfulness") == pytest.approx(0.9)
    assert mean_of(report, "retrieval_recall") == pytest.approx(0.5)
    assert {c.title for c in report.confusions} >= {"classification", "faithfulness", "plugin"}
    assert report.corpus["corpus_bleu_4"].n == 12
    assert {g.name: g.rows for g in report.groups["app"]} == {"faq": 6, "shop": 6}
    assert report.reliability is not None
    assert report.reliability.n == 12
    assert report.hit_rates["plugin/search/all"].value == 1.0


async def test_rows_that_fail_are_reported_and_their_neighbours_are_scored(tmp_path: Path) -> None:
    def script(request: JudgeRequest) -> Judgement | Exception:
        if "3" in request.question:
            return JudgeTimeout()
        verdict = Verdict(aspect=Aspect.SUPPORT, probability=0.6)
        return Judgement(identity=judge.identity, verdicts=(verdict,))

    judge = ScriptedJudge(script)
    path = _file(tmp_path, [_row(1), "{broken", _row(3), {"note": "no trace"}, _row(5)])
    output = tmp_path / "scores.jsonl"

    report, _ = await _evaluate(path, judge, metrics=("faithfulness", "token_f1"), output=output)

    lines = list(read_lines(output))
    assert [line["id"] for line in lines] == ["r1", "#2", "r3", "#4", "r5"]
    assert report.failed_rows == 3
    assert lines[2]["failed"] == {"faithfulness": "judge_timeout"}
    assert lines[2]["scores"]["token_f1"] is not None
    assert "not valid JSON" in lines[1]["failed"]["faithfulness"]
    assert mean_of(report, "faithfulness") == pytest.approx(0.6)


async def test_processes_keep_the_order_and_the_numbers(tmp_path: Path) -> None:
    draw = random.Random(2)
    words = ["the", "rate", "of", "loan", "is", "银行", "利率", "four"]
    rows = [
        _row(n, answer=" ".join(draw.choices(words, k=draw.randint(1, 60)))) for n in range(450)
    ]
    path = _file(tmp_path, list(rows))
    output = tmp_path / "scores.jsonl"

    await _evaluate(path, metrics=TEXT, output=output, processes=2)

    lines = list(read_lines(output))
    assert [line["id"] for line in lines] == [row["id"] for row in rows]
    for row, line in zip(rows[::50], lines[::50], strict=True):
        assert line["scores"] == score_text(row["answer"], [row["reference"]], TEXT)


@pytest.mark.parametrize("kind", [".jsonl", ".csv"])
async def test_an_interrupted_run_goes_on_where_it_stopped(tmp_path: Path, kind: str) -> None:
    path = _file(tmp_path, [_row(n) for n in range(9)])
    whole, broken = tmp_path / f"whole{kind}", tmp_path / f"broken{kind}"
    first, _ = await _evaluate(path, ScriptedJudge(), output=whole)
    content = whole.read_bytes()
    ends = [place for place, byte in enumerate(content) if byte == ord("\n")]
    # Killed in the middle of a line.
    broken.write_bytes(content[: ends[4] + 20])
    judge = ScriptedJudge()

    second, run = await _evaluate(path, judge, output=broken, resume=True)

    assert broken.read_bytes() == content
    assert len(judge.requests) == 9 - run.resumed
    assert run.resumed >= 4
    for one, other in zip(first.metrics, second.metrics, strict=True):
        assert one.mean == pytest.approx(other.mean)
        assert one.scored == other.scored
    assert first.corpus == second.corpus
    assert f"resumed={run.resumed}" in second.notes


async def test_going_on_with_another_input_or_other_metrics_is_refused(tmp_path: Path) -> None:
    path = _file(tmp_path, [_row(n) for n in range(3)])
    output = tmp_path / "scores.jsonl"
    await _evaluate(path, metrics=TEXT, output=output)
    other = tmp_path / "other.jsonl"
    other.write_text(json.dumps(_row(7)) + "\n", encoding="utf-8")

    with pytest.raises(ConfigurationError, match="line 1 is row r0"):
        await _evaluate(other, metrics=TEXT, output=output, resume=True)
    with pytest.raises(ConfigurationError, match="other metrics"):
        await _evaluate(path, metrics=("bleu_1",), output=output, resume=True)


@pytest.mark.parametrize("kind", [".jsonl", ".csv"])
async def test_going_on_with_another_judge_is_refused(tmp_path: Path, kind: str) -> None:
    path = _file(tmp_path, [_row(n) for n in range(3)])
    output = tmp_path / f"scores{kind}"
    await _evaluate(path, ScriptedJudge(name="one"), output=output)
    written = output.read_bytes()
    with output.open("rb+") as stream:
        stream.truncate(written.rstrip(b"\n").rindex(b"\n") + 1)

    with pytest.raises(ConfigurationError, match=r"line 1 was judged by one.* is other.* now"):
        await _evaluate(path, ScriptedJudge(name="other"), output=output, resume=True)
    await _evaluate(path, ScriptedJudge(name="one"), output=output, resume=True)

    assert output.read_bytes() == written
    assert {line["judge"] for line in read_lines(output)} == {
        str(ScriptedJudge(name="one").identity)
    }


@pytest.mark.parametrize("kind", [".jsonl", ".csv"])
async def test_going_on_with_other_settings_is_refused(tmp_path: Path, kind: str) -> None:
    path = _file(tmp_path, [_row(n) for n in range(3)])
    output = tmp_path / f"scores{kind}"
    ranked = ("retrieval_recall", "token_f1")
    await _evaluate(path, metrics=ranked, output=output, k=1)
    written = output.read_bytes()
    with output.open("rb+") as stream:
        stream.truncate(written.rstrip(b"\n").rindex(b"\n") + 1)

    with pytest.raises(ConfigurationError, match=r"line 1 was computed with k=1 .* now; go on"):
        await _evaluate(path, metrics=ranked, output=output, resume=True, k=2)
    await _evaluate(path, metrics=ranked, output=output, resume=True, k=1)

    assert output.read_bytes() == written


@pytest.mark.parametrize("kind", [".jsonl", ".csv"])
async def test_an_older_file_that_names_no_judge_is_gone_on_with(tmp_path: Path, kind: str) -> None:
    path = _file(tmp_path, [_row(n) for n in range(3)])
    output = tmp_path / f"scores{kind}"
    judge = ScriptedJudge()
    await _evaluate(path, judge, output=output)
    lines = output.read_text("utf-8").splitlines()
    head = ",judge,settings" if kind == ".csv" else ', "judge": '
    written = [line.partition(f",{judge.identity},")[0].partition(head)[0] for line in lines]
    lines = [line + "}" * (kind != ".csv") for line in written]
    assert not any("judge" in line or "settings" in line for line in lines)
    output.write_text("\n".join(lines[:-1]) + "\n", encoding="utf-8")

    _, run = await _evaluate(path, judge, output=output, resume=True)

    assert run.resumed == 2
    found = list(read_lines(output))
    assert [line["id"] for line in found] == ["r0", "r1", "r2"]
    assert all(line["input"] and line["scores"]["faithfulness"] is not None for line in found)


@pytest.mark.parametrize("kind", [".jsonl", ".csv"])
async def test_going_on_after_a_row_was_changed_is_refused(tmp_path: Path, kind: str) -> None:
    rows = [_row(n) for n in range(3)]
    path, output = _file(tmp_path, list(rows)), tmp_path / f"scores{kind}"
    await _evaluate(path, metrics=TEXT, output=output)
    written = output.read_bytes()
    shuffled = [dict(reversed(row.items())) for row in rows]
    await _evaluate(_file(tmp_path, list(shuffled)), metrics=TEXT, output=output, resume=True)
    rows[1]["answer"] = "It lasts twelve months."

    with pytest.raises(ConfigurationError, match="line 2: row r1 of the input is not what was"):
        await _evaluate(_file(tmp_path, list(rows)), metrics=TEXT, output=output, resume=True)

    assert output.read_bytes() == written


async def test_going_on_after_a_broken_row_was_mended_is_refused(tmp_path: Path) -> None:
    output = tmp_path / "scores.jsonl"
    await _evaluate(_file(tmp_path, [_row(0), "{oops"]), metrics=TEXT, output=output)

    mended = _file(tmp_path, [_row(0), _row(1)])
    with pytest.raises(ConfigurationError, match="line 2"):
        await _evaluate(mended, metrics=TEXT, output=output, resume=True)


@pytest.mark.parametrize("kind", [".csv", ".jsonl"])
async def test_rows_without_an_id_never_take_that_of_another(tmp_path: Path, kind: str) -> None:
    path, output = tmp_path / f"rows{kind}", tmp_path / "scores.jsonl"
    ids = ["2", "", "3", "  ", "5"]
    if kind == ".csv":
        lines = "".join(f"{name},q,a,a\n" for name in ids)
        path.write_text("id,question,answer,reference\n" + lines)
    else:
        row = {"question": "q", "answer": "a", "reference": "a"}
        path.write_text("".join(json.dumps({"id": name, **row}) + "\n" for name in ids))

    await _evaluate(path, metrics=TEXT, output=output)

    assert [line["id"] for line in read_lines(output)] == ["2", "#2", "3", "#4", "5"]


@pytest.mark.parametrize("kind", [".jsonl", ".csv", ".parquet"])
def test_every_kind_of_output_gives_the_lines_back(tmp_path: Path, kind: str) -> None:
    pytest.importorskip("pyarrow", reason="Parquet needs pyarrow")
    path = tmp_path / f"scores{kind}"
    lines = [
        {
            "id": '=HYPERLINK("http://x")',
            "scores": {"faithfulness": 0.25, "bleu_4": None},
            "flagged": True,
            "not_applicable": {"bleu_4": "no_reference"},
            "failed": {},
            "suspect": {},
            "reported": {"Bias": 0.5},
            "input": "h12345678901234567890",
            "judge": "scripted/m/0",
            "settings": "k=5 terms=none",
            "detail": None,
            "question": "=1+1 是多少？",
        },
        {
            "id": "-1",
            "scores": {"faithfulness": None, "bleu_4": 1.0},
            "flagged": None,
            "not_applicable": {},
            "failed": {"faithfulness": "judge_timeout"},
            "suspect": {},
            "reported": {},
            "input": "h12345678901234567890",
            "judge": "scripted/m/0",
            "settings": "k=5 terms=none",
            "detail": "the judge did not answer within 30.0 s",
            "question": None,
        },
    ]
    writer = open_lines(path, ["faithfulness", "bleu_4"])
    for line in lines:
        writer.write(line)
    writer.close()

    assert list(read_lines(path)) == lines
    failed, scored = scores_of(lines[1])
    assert (failed.reason, failed.detail) == ("judge_timeout", lines[1]["detail"])
    assert (scored.reason, scored.detail) == (None, None)


def test_csv_cells_cannot_become_formulas(tmp_path: Path) -> None:
    path = tmp_path / "scores.csv"
    writer = open_lines(path, [])
    for id_ in ("=1+1", "@SUM(A1)", "+1", "\t=1", "'=1"):
        empty: dict[str, Any] = {
            "not_applicable": {},
            "failed": {},
            "suspect": {},
            "input": None,
            "judge": None,
            "settings": None,
            "detail": None,
        }
        writer.write({"id": id_, "scores": {}, "flagged": None, **empty})
    writer.close()

    cells = [line.split(",")[0].strip('"') for line in path.read_text("utf-8").splitlines()[1:]]
    assert all(cell.startswith("'") for cell in cells)


def test_an_unfinished_last_line_is_cut(tmp_path: Path) -> None:
    path = tmp_path / "scores.jsonl"
    path.write_bytes(b'{"id": 1}\n{"id": 2}\n{"id"')

    drop_broken_end(path)

    assert path.read_bytes() == b'{"id": 1}\n{"id": 2}\n'


async def test_memory_of_the_tally_does_not_grow_with_distinct_labels(tmp_path: Path) -> None:
    rows = [_row(n, label=f"label {n}", predicted=f"label {n}", app=f"app {n}") for n in range(500)]
    report, _ = await _evaluate(_file(tmp_path, list(rows)), metrics=("exact_match",))

    (classes,) = (c for c in report.confusions if c.title == "classification")
    assert len(classes.labels) <= 20
    assert classes.rows == 500
    assert len(report.groups["app"]) <= 12


async def test_correctness_and_noise_ask_the_judge_about_the_reference(tmp_path: Path) -> None:
    def script(request: JudgeRequest) -> Judgement:
        words = set("".join(request.contexts or ()).split())
        verdicts = tuple(
            Verdict(aspect=Aspect.SUPPORT, probability=float(word in words), index=n, text=word)
            for n, word in enumerate(request.answer.split())
        )
        return Judgement(identity=judge.identity, verdicts=verdicts)

    judge = ScriptedJudge(script)
    row = _row(1, answer="one two three", reference="one four", contexts=["one two", "three"])
    report, run = await _evaluate(
        _file(tmp_path, [row]),
        judge,
        metrics=("answer_correctness", "noise_sensitivity", "noise_sensitivity_irrelevant"),
        similarity_share=0.0,
    )

    # TP one; FP two, three; FN four. "two" comes from a relevant passage, "three" from another.
    assert mean_of(report, "answer_correctness") == pytest.approx(2 / 5)
    assert mean_of(report, "noise_sensitivity") == pytest.approx(1 / 3)
    assert mean_of(report, "noise_sensitivity_irrelevant") == pytest.approx(1 / 3)
    assert "similarity_share=0" in run.notes()


async def test_what_cannot_be_computed_is_said_before_any_work(tmp_path: Path) -> None:
    path = _file(tmp_path, [_row(1)])

    with pytest.raises(UnknownMetric, match="did you mean 'rouge_l'"):
        await _evaluate(path, metrics=("rouge_ll",))
    with pytest.raises(ConfigurationError, match="needs a judge"):
        await _evaluate(path, metrics=("faithfulness",))
    with pytest.raises(ConfigurationError, match="--bertscore-model"):
        await _evaluate(path, metrics=("bertscore_f1",))
    with pytest.raises(ConfigurationError, match="--perplexity-model"):
        await _evaluate(path, metrics=("perplexity",))
    with pytest.raises(ConfigurationError, match="--similarity-weight 0"):
        await _evaluate(path, ScriptedJudge(), metrics=("answer_correctness",))
    bare = tmp_path / "bare.jsonl"
    bare.write_text('{"question": "q", "answer": "a"}\n', encoding="utf-8")
    with pytest.raises(ConfigurationError, match="nothing to compute"):
        await _evaluate(bare)


async def test_labels_of_retrieved_passages_alone_have_no_recall(tmp_path: Path) -> None:
    row = _row(1, relevant_ids=None, contexts=["a", "b", "c"], context_labels=[0, 1, 1])
    report, _ = await _evaluate(
        _file(tmp_path, [row]),
        metrics=("retrieval_recall", "retrieval_precision", "reciprocal_rank"),
    )

    recall, precision, rank = report.metrics
    assert recall.reasons == {"only_retrieved_labelled": 1}
    assert precision.mean == pytest.approx(2 / 3)
    assert rank.mean == pytest.approx(1 / 2)


async def test_targets_are_met_missed_or_not_measured(tmp_path: Path) -> None:
    profile = parse_profile(
        "mine",
        '[[target]]\nmetric = "token_f1"\nat_least = 0.1\n'
        '[[target]]\nmetric = "exact_match"\nat_least = 0.9\n'
        '[[target]]\nmetric = "perplexity"\nat_most = 50\n',
    )
    run = FileEvaluation(
        _file(tmp_path, [_row(1)]), FileOptions(metrics=("token_f1", "exact_match")), None, 1
    )
    await run.run()

    report = run.tally.report(file="x", created_at=EPOCH, profile=profile)

    assert [target.met for target in report.targets] == [True, False, None]


async def test_ragas_columns_and_chinese_names_are_read(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text(
        "frage,response,ground_truth\n保修多久?,保修24个月,保修24个月\n", encoding="utf-8"
    )

    report, _ = await _evaluate(path, columns={"frage": "question"}, metrics=("exact_match",))

    assert mean_of(report, "exact_match") == 1.0
    assert report.failed_rows == 0


async def test_alternatives_written_into_one_string_are_several_references(tmp_path: Path) -> None:
    row = _row(1, answer="11日", reference='["11月9日", "11日"]')

    report, _ = await _evaluate(_file(tmp_path, [row]), metrics=("exact_match",))

    assert mean_of(report, "exact_match") == 1.0


def test_without_its_library_a_metric_is_left_out_or_names_what_to_install() -> None:
    features = Features(reference=True)

    chosen = choose(None, features, (), installed=lambda library: library == "jieba")

    assert chosen.text == tuple(n for n in DEFAULT_TEXT if n != "meteor" and "bleu" not in n)
    with pytest.raises(ConfigurationError, match=r"pip install .*\[metrics\]"):
        choose(("bleu_4",), features, (), installed=lambda _: False)


async def test_where_no_row_can_be_read_the_reason_is_that_and_not_a_missing_label(
    tmp_path: Path,
) -> None:
    path = _file(tmp_path, [{"frage": "q", "antwort": "a"}])

    with pytest.raises(ConfigurationError, match="this one has `frage`, `antwort`"):
        await _evaluate(path)
