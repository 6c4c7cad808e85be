"""Figures of texts, times, hits and targets in the report of `evaluate`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.variants.command import read_rows, write_rows
from tests.variants.judge_server import Asked, Given, as_json, completion, right, serving, settings
from tests.variants.test_evaluation_variants import evaluate, figures, found, gate

TEXTS: dict[str, tuple[str, str, Mapping[str, float]]] = {
    "full stops": ("。。。", "保修两年", {"bleu_1": 0, "bleu_4": 0, "meteor": 0, "rouge_l": 0}),
    "marks": ("?! …", "Two years", {"bleu_1": 0, "bleu_4": 0, "meteor": 0, "rouge_l": 0}),
    "a blank": ("  ", "Two years", {"bleu_1": 0, "bleu_4": 0, "meteor": 0, "rouge_l": 0}),
    "nothing": ("", "两年", {"bleu_1": 0, "bleu_4": 0, "meteor": 0, "rouge_l": 0}),
    "dashes": ("——", "一年", {"bleu_1": 0, "meteor": 0, "rouge_l": 0, "token_f1": 0}),
    "clipped counts": ("sun sun sun", "sun moon", {"bleu_1": 1 / 3, "rouge_1": 0.4}),
    "a longest common subsequence": ("a b c d", "a c", {"rouge_l": 2 / 3, "rouge_1": 2 / 3}),
    "brevity": ("one two", "one two three four", {"bleu_1": 0.36787944}),
    "near miss: Thai": ("ราคาห้าสิบบาท", "ราคาห้าสิบบาท", {"exact_match": 1, "rouge_l": 1}),
    "near miss: Arabic": ("السعر خمسون", "السعر خمسون", {"bleu_1": 1, "rouge_l": 1}),
    "near miss: Korean": ("가격은 오만원", "가격은 오만원", {"bleu_1": 1, "rouge_l": 1}),
    "near miss: full width": ("ＡＢ１２", "AB12", {"exact_match": 1, "bleu_1": 1, "token_f1": 1}),
    "near miss: composed": ("cafe\u0301", "caf\u00e9", {"exact_match": 1, "bleu_1": 1}),
    "near miss: one word": ("两年", "两年", {"exact_match": 1, "bleu_1": 1, "rouge_l": 1}),
}


@pytest.fixture(scope="module")
def of_texts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("texts")
    rows = write_rows(
        folder / "rows.jsonl",
        [
            {"id": name, "question": "q?", "answer": answer, "reference": reference}
            for name, (answer, reference, _) in TEXTS.items()
        ],
    )
    done = evaluate(rows, "--output", folder / "s.jsonl")
    assert done.code == 0, done.shown
    return {row["id"]: row for row in read_rows(folder / "s.jsonl")}


@pytest.mark.parametrize("name", TEXTS)
def test_texts_have_the_figures_of_their_definitions(of_texts: dict[str, Any], name: str) -> None:
    wanted = TEXTS[name][2]
    got = {metric: of_texts[name]["scores"][metric] for metric in wanted}

    assert got == pytest.approx(dict(wanted), abs=1e-6), of_texts[name]


@pytest.mark.parametrize(
    ("metric", "candidates", "value"),
    [
        ("recall", ("rouge_l_recall", "rouge_l_r"), 1.0),
        ("precision", ("rouge_l_precision", "rouge_l_p"), 0.5),
        ("recall of words", ("rouge_1_recall", "rouge_1_r"), 1.0),
    ],
)
def test_rouge_is_given_as_recall_and_precision_too(
    tmp_path: Path, metric: str, candidates: tuple[str, ...], value: float
) -> None:
    rows = write_rows(
        tmp_path / "rows.jsonl",
        [{"id": "1", "question": "q?", "answer": "a b c d", "reference": "a c"}],
    )

    for name in candidates:
        done = evaluate(rows, "--metrics", name, "--json")
        if done.code == 0:
            assert done.json["metrics"][name]["mean"] == pytest.approx(value)
            return
    pytest.fail(f"there is no metric for ROUGE's {metric}: {done.shown}")


class TestTimes:
    """17: what `timings` and `hits` say is in the report."""

    def lines(self) -> list[dict[str, Any]]:
        return [
            {
                "id": str(n),
                "question": "几点？",
                "answer": "九点",
                "timings": {
                    "first_byte_ms": 10 * n,
                    "generation_ms": 100 * n,
                    "end_to_end_ms": 200 * n,
                },
                "hits": [
                    {"kind": "plugin", "name": "天气", "ok": n != 5, "items": 1},
                    {"kind": "knowledge_base", "name": "kb", "ok": True, "items": n % 2},
                ],
                "expected": {"plugin": ["天气"], "knowledge_base": ["kb"]},
            }
            for n in range(1, 6)
        ]

    @pytest.mark.parametrize(
        ("name", "median"),
        [("first_byte_ms", 30), ("generation_ms", 300), ("end_to_end_ms", 600)],
    )
    def test_latencies_have_their_median(self, tmp_path: Path, name: str, median: float) -> None:
        report = figures(write_rows(tmp_path / "rows.jsonl", self.lines()))

        medians = [value["p50"] for value in found(report, name) if "p50" in value]
        assert medians == [pytest.approx(median)], report

    def test_near_miss_rows_without_timings_are_not_counted_as_zero(self, tmp_path: Path) -> None:
        bare = {"id": "x", "question": "几点？", "answer": "九点"}
        lines = [*self.lines(), {**bare, "timings": {"end_to_end_ms": None}}]

        report = figures(write_rows(tmp_path / "rows.jsonl", lines))

        (times,) = [value for value in found(report, "end_to_end_ms") if "p50" in value]
        assert times["p50"] == pytest.approx(600)

    def test_hit_rates_count_what_succeeded_and_found_something(self, tmp_path: Path) -> None:
        report = figures(write_rows(tmp_path / "rows.jsonl", self.lines()))

        rates = {name: figure["value"] for name, figure in report["hit_rates"].items()}
        assert rates["plugin/天气/expected"] == pytest.approx(0.8)
        assert rates["knowledge_base/kb/expected"] == pytest.approx(0.6)

    @pytest.mark.parametrize(
        ("names", "bound", "code"),
        [
            (("end_to_end_ms", "end_to_end_ms_p50", "end_to_end_p50"), "at_most = 650", 0),
            (("end_to_end_ms", "end_to_end_ms_p50", "end_to_end_p50"), "at_most = 500", 1),
            (
                ("plugin/天气/expected", "hit_rate/plugin/天气/expected", "hit_rate/plugin/天气"),
                "at_least = 0.9",
                1,
            ),
        ],
        ids=["kept", "missed", "hit rate missed"],
    )
    def test_and_can_have_targets(
        self, tmp_path: Path, names: tuple[str, ...], bound: str, code: int
    ) -> None:
        assert gate(tmp_path, self.lines(), names, bound).code == code


class TestTargetsOfRag:
    """09: the share of cited passages is `context_utilization`; relevance has its own target."""

    @pytest.mark.parametrize(
        ("relevant", "used", "relevance", "utilization"),
        [
            ((0.9, 0.1, 0.1), (0.9, 0.1, 0.1), 1 / 3, 1 / 3),
            ((0.9, 0.9, 0.9), (0.1, 0.9, 0.1), 1.0, 1 / 3),
            ((0.9, 0.9, 0.9), (0.9, 0.9, 0.9), 1.0, 1.0),
        ],
        ids=["one of three", "all relevant, one cited", "near miss: all"],
    )
    def test_stand_on_the_right_metrics(
        self,
        tmp_path: Path,
        relevant: tuple[float, ...],
        used: tuple[float, ...],
        relevance: float,
        utilization: float,
    ) -> None:
        pytest.importorskip("openai", reason="needs the openai client")

        def script(asked: Asked) -> Given:
            reply = right(asked) | {"noncommittal": 0.1}
            for field, values in (("relevance", relevant), ("usefulness", used), ("use", used)):
                if field in reply:
                    reply[field] = {str(n): v for n, v in enumerate(values, start=1)}
            return Given(completion(as_json(reply)))

        contexts = ["年假十五天。", "病假另计。", "加班可调休。"]
        row = {"id": "1", "question": "年假几天？", "contexts": contexts, "answer": "年假十五天。"}
        rows = write_rows(tmp_path / "rows.jsonl", [row])
        with serving(script) as server:
            config = settings(tmp_path, server.url, "probe_every = 0")
            report = figures(
                rows, "--targets", "rag", "--config", config,
                judge="openai_compatible",
            )  # fmt: skip

        targets = {target["metric"]: target for target in report["targets"]}
        assert "context_precision" not in targets
        assert targets["context_utilization"]["value"] == pytest.approx(utilization)
        assert targets["context_relevance"]["value"] == pytest.approx(relevance)
        assert targets["context_utilization"]["met"] is (utilization >= 0.9)
        assert targets["context_relevance"]["met"] is (relevance >= 0.9)
