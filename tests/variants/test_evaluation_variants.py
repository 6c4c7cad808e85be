"""Gates, files and figures of `evaluate` and `compare` on rows they were not tuned for."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.variants.command import Done, rag_monitor, read_rows, write_rows
from tests.variants.judge_server import Asked, Given, as_json, completion, right, serving, settings

ANSWER = "保修期为两年。"
ROW = {"question": "保修期多长？", "answer": ANSWER}


def evaluate(rows: Path, *more: object, judge: str = "none") -> Done:
    return rag_monitor("evaluate", rows, "--judge", judge, "--processes", 0, *more)


def figures(rows: Path, *more: object, judge: str = "none") -> Any:
    done = evaluate(rows, "--json", *more, judge=judge)
    assert done.code == 0, done.err
    return done.json


def found(value: Any, name: str) -> Iterator[Any]:
    """Every value in a report whose key contains `name`."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            if name in key:
                yield item
            yield from found(item, name)
    elif isinstance(value, list):
        for item in value:
            yield from found(item, name)


def says_that_scores_are_missing(done: Done) -> bool:
    return any(word in done.shown for word in ("missing", "without a score", "no score"))


class TestRowsWithoutAScoreCount:
    """05: `compare` and `--fail-under` never pass on what they did not measure."""

    def scores(self, path: Path, values: Mapping[int, Any], rows: int = 40) -> Path:
        """A file of scores; `values` replaces the score of a row, "gone" its whole line."""
        lines = []
        for number in range(rows):
            value = values.get(number, 0.9)
            if value == "gone":
                continue
            line: dict[str, Any] = {"id": str(number), "failed": {}, "not_applicable": {}}
            if isinstance(value, str):
                line[value.partition(":")[0]] = {"faithfulness": value.partition(":")[2]}
                value = None
            lines.append({**line, "scores": {"faithfulness": value}, "suspect": {}})
        return write_rows(path, lines)

    @pytest.mark.parametrize(
        ("before", "after", "options", "code"),
        [
            ({}, dict.fromkeys(range(10), "failed:judge_timeout"), (), 1),
            ({}, dict.fromkeys(range(15), "gone"), (), 1),
            (dict.fromkeys(range(12), "failed:reply_cut"), {}, (), 1),
            ({1: "failed:a"}, dict.fromkeys(range(20, 22), "failed:b"), (), 1),
            ({}, {7: "failed:judge_timeout"}, ("--max-missing", "0"), 1),
            ({}, {7: "failed:judge_timeout"}, (), 0),
            ({}, dict.fromkeys(range(10), "failed:judge_timeout"), ("--max-missing", "0.5"), 0),
            (
                dict.fromkeys(range(20), "not_applicable:refusal"),
                dict.fromkeys(range(20), "not_applicable:refusal"),
                (),
                0,
            ),
        ],
        ids=["10 of 40 failed", "15 of 40 lines gone", "missing in the first file",
             "3 of 40 in different files", "one, none allowed", "near miss: one of 40",
             "near miss: half allowed", "near miss: not applicable in both"],
    )  # fmt: skip
    def test_in_compare(
        self,
        tmp_path: Path,
        before: dict[int, str],
        after: dict[int, str],
        options: tuple[str, ...],
        code: int,
    ) -> None:
        a = self.scores(tmp_path / "a.jsonl", before)
        b = self.scores(tmp_path / "b.jsonl", after)

        done = rag_monitor("compare", a, b, "--fail-on-loss", *options)
        report = rag_monitor("compare", a, b, "--fail-on-loss", "--json", *options)

        assert (done.code, report.code) == (code, code), done.shown
        if code == 1:
            assert "no change" not in done.shown
            assert says_that_scores_are_missing(done)
            assert [row["verdict"] for row in report.json["metrics"]] != ["same"]
        else:
            assert "no change" in done.shown

    @pytest.mark.parametrize(
        ("good", "bad", "options", "code"),
        [
            (20, 5, (), 1),
            (3, 9, (), 1),
            (20, 5, ("--language", "zh"), 1),
            (40, 1, (), 0),
            (20, 5, ("--max-missing", "0.3"), 0),
        ],
        ids=["5 of 25", "most", "in Chinese", "near miss: one of 41", "near miss: allowed"],
    )
    def test_in_fail_under(
        self, tmp_path: Path, good: int, bad: int, options: tuple[str, ...], code: int
    ) -> None:
        target = '[[target]]\nmetric = "exact_match"\nat_least = 0.8\n'
        (tmp_path / "t.toml").write_text(f'title = "t"\n{target}', encoding="utf-8")
        rows = write_rows(
            tmp_path / "rows.jsonl",
            [{"id": f"g{n}", **ROW, "reference": ANSWER} for n in range(good)]
            + [{"id": f"b{n}", **ROW, "contexts": 7, "reference": ANSWER} for n in range(bad)],
        )

        gate = ("--targets", tmp_path / "t.toml", "--fail-under", "--metrics", "exact_match")
        done = evaluate(rows, *gate, *options)

        assert done.code == code, done.shown
        if code == 1 and "zh" not in options:
            assert says_that_scores_are_missing(done)

    def test_in_fail_under_where_the_judge_failed(self, tmp_path: Path) -> None:
        pytest.importorskip("openai", reason="needs the openai client")
        rows = write_rows(
            tmp_path / "rows.jsonl",
            [
                {"id": str(n), **ROW, "contexts": ["保修期为两年。" + ("失败" if n < 4 else "")]}
                for n in range(10)
            ],
        )
        target = '[[target]]\nmetric = "faithfulness"\nat_least = 0.8\n'
        (tmp_path / "t.toml").write_text(f'title = "t"\n{target}', encoding="utf-8")

        def script(asked: Asked) -> Given:
            return Given(completion("无法判断" if "失败" in asked.text else as_json(right(asked))))

        with serving(script) as server:
            config = settings(tmp_path, server.url, "reasks = 0", "probe_every = 0")
            done = evaluate(
                rows, "--targets", tmp_path / "t.toml", "--fail-under", "--config",
                config, "--metrics", "faithfulness", judge="openai_compatible",
            )  # fmt: skip

        assert done.code == 1, done.shown
        assert says_that_scores_are_missing(done)


READ: Mapping[str, Any] = {
    "langchain": [{"page_content": ANSWER, "metadata": {"source": "手册.pdf"}}],
    "langchain-js": [{"pageContent": ANSWER, "metadata": {}}],
    "langchain-serialised": [
        {"lc": 1, "type": "constructor", "id": ["x"], "kwargs": {"page_content": ANSWER}}
    ],
    "llama-index": [{"node": {"id_": "n", "text": ANSWER}, "score": 0.8}],
    "text": [{"text": ANSWER}],
    "names-in-chinese": [{"内容": ANSWER, "标题": "手册"}],
    "haystack": [{"id": "h", "content": ANSWER, "meta": {}, "score": 0.2}],
    "elasticsearch": [{"_id": "e", "_source": {"content": ANSWER}}],
    "mixed": ["本店十点开门。", {"page_content": ANSWER}, {"content": "停车免费。"}],
    "json-in-a-string": json.dumps([ANSWER, "本店十点开门。"]),
    "json-objects-in-a-string": json.dumps([{"page_content": ANSWER}], ensure_ascii=False),
    "python-in-a-string": f"['{ANSWER}', '本店十点开门。']",
}
EMPTY: Mapping[str, Any] = {"empty": [], "empty-in-a-string": "[]"}
UNREAD: Mapping[str, Any] = {
    "strange-objects": [{"foo": 1}],
    "numbers": [3, 4],
    "a-word": "oops",
    "one-of-two": [{"content": ANSWER}, {"foo": 1}],
}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Done, dict[str, Any]]:
    folder = tmp_path_factory.mktemp("passages")
    given = {**READ, **EMPTY, **UNREAD, "absent": None}
    lines = [{"id": name, **ROW, "contexts": value} for name, value in given.items()]
    lines.append({"id": "no-column", **ROW})
    rows = write_rows(folder / "rows.jsonl", lines)
    done = evaluate(
        rows, "--metrics", "faithfulness", "--output", folder / "s.jsonl",
        judge="embedded-lexical",
    )  # fmt: skip
    assert done.code == 0, done.shown
    return done, {row["id"]: row for row in read_rows(folder / "s.jsonl")}


class TestPassagesInFiles:
    """07, f_deep, f_str: passages of other tools, and rows whose passages cannot be read."""

    @pytest.mark.parametrize("name", READ)
    def test_are_read(self, run: tuple[Done, dict[str, Any]], name: str) -> None:
        row = run[1][name]

        assert row["scores"].get("faithfulness") is not None, row
        assert row["scores"]["faithfulness"] > 0.5
        assert f" {name}:" not in run[0].shown, "a row that was read is named as unreadable"

    @pytest.mark.parametrize("name", UNREAD)
    def test_are_named_where_they_cannot_be_read(
        self, run: tuple[Done, dict[str, Any]], name: str
    ) -> None:
        assert name in run[0].shown
        if name != "one-of-two":  # whether its readable passage counts is left open
            assert run[1].get(name, {"scores": {}})["scores"].get("faithfulness") is None

    @pytest.mark.parametrize("name", EMPTY)
    def test_near_miss_no_passages_are_known_to_be_none(
        self, run: tuple[Done, dict[str, Any]], name: str
    ) -> None:
        assert run[1][name]["scores"]["faithfulness"] == 0.0
        assert f" {name}:" not in run[0].shown

    @pytest.mark.parametrize("name", ["absent", "no-column"])
    def test_near_miss_absent_passages_are_unknown(
        self, run: tuple[Done, dict[str, Any]], name: str
    ) -> None:
        assert run[1][name]["not_applicable"] == {"faithfulness": "contexts_unknown"}
        assert f" {name}:" not in run[0].shown

    def test_of_deepeval_in_chinese(self, tmp_path: Path) -> None:
        case = {"input": "保修期多长？", "actual_output": ANSWER, "expected_output": ANSWER}
        cases = [{**case, "name": "c1", "retrieval_context": [ANSWER, "本店十点开门。"]}]
        path = tmp_path / "cases.json"
        path.write_text(json.dumps(cases), encoding="utf-8")

        report = figures(path, "--metrics", "faithfulness,exact_match", judge="embedded-lexical")

        assert report["metrics"]["exact_match"]["mean"] == 1.0
        assert report["metrics"]["faithfulness"]["scored"] == 1

    def test_of_a_table_where_cells_hold_json(self, tmp_path: Path) -> None:
        cells = json.dumps([{"page_content": ANSWER}], ensure_ascii=False).replace('"', '""')
        path = tmp_path / "rows.csv"
        path.write_text(f'question,answer,contexts\n保修期多长？,{ANSWER},"{cells}"\n', "utf-8")

        report = figures(path, "--metrics", "faithfulness", judge="embedded-lexical")

        assert report["metrics"]["faithfulness"]["scored"] == 1

    @pytest.mark.parametrize("names", ["ours", "ragas"])
    def test_of_a_workbook(self, tmp_path: Path, names: str) -> None:
        openpyxl = pytest.importorskip("openpyxl", reason="needs openpyxl")
        book = openpyxl.Workbook()
        head = {
            "ours": ["question", "answer", "contexts", "reference"],
            "ragas": ["user_input", "response", "retrieved_contexts", "reference"],
        }[names]
        book.active.append(head)
        book.active.append(["保修期多长？", ANSWER, json.dumps([ANSWER]), ANSWER])
        book.save(tmp_path / "rows.xlsx")

        report = figures(
            tmp_path / "rows.xlsx", "--metrics", "faithfulness,exact_match",
            judge="embedded-lexical",
        )  # fmt: skip

        assert report["metrics"]["exact_match"]["mean"] == 1.0
        assert report["metrics"]["faithfulness"]["scored"] == 1

    def test_scores_of_other_tools_are_kept_as_reported(self, tmp_path: Path) -> None:
        row = {"user_input": "q", "response": "x", "reference": "x", "answer_relevancy": 0.73}
        rows = write_rows(tmp_path / "rows.jsonl", [{"id": "1", **row, "faithfulness": 0.41}])
        scores = tmp_path / "s.jsonl"

        done = evaluate(rows, "--metrics", "exact_match", "--output", scores)

        assert done.code == 0, done.shown
        reported = json.dumps(list(found(read_rows(scores)[0], "reported")))
        assert "0.73" in reported
        assert "0.41" in reported
        assert read_rows(scores)[0]["scores"] == {"exact_match": 1.0}


RANKED = ("retrieval_precision", "retrieval_recall", "average_precision", "ndcg", "reciprocal_rank")
IDS: dict[str, tuple[dict[str, Any], Sequence[float] | str]] = {
    "ids beside texts": (
        {"retrieved_contexts": ["a", "b", "c"], "retrieved_context_ids": ["x", "y", "z"],
         "reference_context_ids": ["y", "w"]},
        (1 / 3, 1 / 2, 1 / 4, 0.3868528, 1 / 2),
    ),
    "ids without texts": (
        {"retrieved_context_ids": ["x", "y"], "reference_context_ids": ["x"]},
        (1 / 2, 1.0, 1.0, 1.0, 1.0),
    ),
    "numbers against texts": (
        {"retrieved_contexts": ["a", "b"], "retrieved_context_ids": [7, 8],
         "reference_context_ids": ["8"]},
        (1 / 2, 1.0, 1 / 2, 0.6309298, 1 / 2),
    ),
    "an id twice": (
        {"retrieved_context_ids": ["x", "x", "y"], "reference_context_ids": ["y"]},
        (1 / 2, 1.0, 1 / 2, 0.6309298, 1 / 2),
    ),
    "near miss: nothing retrieved": (
        {"retrieved_context_ids": [], "reference_context_ids": ["x"]},
        (0.0, 0.0, 0.0, 0.0, 0.0),
    ),
    "near miss: nothing is relevant": (
        {"retrieved_context_ids": ["x"], "reference_context_ids": []},
        "not applicable",
    ),
}  # fmt: skip
GRADED: dict[str, tuple[list[str], Any, Sequence[float] | str]] = {
    "graded, best last": (["C", "B", "A"], {"A": 3, "B": 2}, (2 / 3, 1.0, 7 / 12, 0.6480414, 0.5)),
    "a grade below zero": (["N", "P"], {"N": -2, "P": 1}, (0.5, 1.0, 0.5, 0.6309298, 0.5)),
    "a grade of zero": (["Z", "P"], {"Z": 0, "P": 2}, (0.5, 1.0, 0.5, 0.6309298, 0.5)),
    "twice before the cut": (["A", "A", "B"], ["B"], (0.5, 1.0, 0.5, 0.6309298, 0.5)),
    "numbers as ids": (["1", "2"], [2, 9], (0.5, 0.5, 0.25, 0.3868528, 0.5)),
    "near miss: all relevant": (["A", "B"], ["A", "B"], (1.0, 1.0, 1.0, 1.0, 1.0)),
    "near miss: only grades of zero": (["A"], {"A": 0}, "not applicable"),
}


class TestRankings:
    """08 and 14: rankings by Ragas' id columns, by graded labels, with ids that repeat."""

    def check(self, folder: Path, row: Mapping[str, Any], wanted: Sequence[float] | str) -> None:
        # A second row keeps the metrics in the report when this one has none.
        other = {"question": "q", "answer": "x", "contexts": [{"id": "k", "content": "t"}]}
        rows = write_rows(
            folder / "rows.jsonl",
            [{"id": "it", **row}, {"id": "other", **other, "relevant_ids": ["k"]}],
        )
        scores = folder / "s.jsonl"
        done = evaluate(rows, "--metrics", ",".join(RANKED), "--output", scores)
        assert done.code == 0, done.shown
        line = read_rows(scores)[0]
        if isinstance(wanted, str):
            assert set(line["not_applicable"]) == set(RANKED), line
        else:
            got = [line["scores"][name] for name in RANKED]
            assert got == pytest.approx(list(wanted), abs=1e-6), line

    @pytest.mark.parametrize("name", IDS)
    def test_by_id_columns(self, tmp_path: Path, name: str) -> None:
        columns, wanted = IDS[name]

        self.check(tmp_path, {"user_input": "q?", "response": "x", **columns}, wanted)

    @pytest.mark.parametrize("name", GRADED)
    def test_by_labels(self, tmp_path: Path, name: str) -> None:
        ids, relevant, wanted = GRADED[name]
        contexts = [{"id": i, "content": f"text of {i}"} for i in ids]

        row = {"question": "q?", "answer": "x", "contexts": contexts, "relevant_ids": relevant}
        self.check(tmp_path, row, wanted)


LABELS: dict[str, tuple[list[tuple[Any, Any]], str, tuple[int, int, int, int]]] = {
    "three classes in Chinese": (
        [("退款", "退款")] * 5 + [("物流", "退款")] * 2 + [("退款", "其他")] + [("其他",) * 2] * 4,
        "退款", (5, 2, 4, 1),
    ),
    "true and false": (
        [(True, True)] * 6 + [(False, True)] * 1 + [(True, False)] * 2 + [(False, False)] * 3,
        "true", (6, 1, 3, 2),
    ),
    "never the rare one": ([(0, 0)] * 39 + [(1, 0)], "1", (0, 0, 39, 1)),
    "numbers and numbers as text": ([(1, "1")] * 3 + [("0", 1)] * 1, "1", (3, 1, 0, 0)),
}  # fmt: skip


class TestLabelsOnly:
    """10: rows of labels and predictions need neither question nor answer nor judge."""

    @pytest.mark.parametrize("name", LABELS)
    def test_give_rates_per_class(self, tmp_path: Path, name: str) -> None:
        pairs, label, (tp, fp, tn, fn) = LABELS[name]
        rows = write_rows(
            tmp_path / "rows.jsonl",
            [{"id": str(n), "label": t, "predicted": p} for n, (t, p) in enumerate(pairs)],
        )

        report = figures(rows)

        (confusion,) = report["confusions"]
        (rates,) = [r for r in confusion["rates"] if r["name"].lower() == label]
        assert [rates[key] for key in ("tp", "fp", "tn", "fn")] == [tp, fp, tn, fn]
        correct = sum(str(t) == str(p) for t, p in pairs) / len(pairs)
        assert confusion["averages"]["accuracy"]["value"] == pytest.approx(correct)
        assert rates["recall"] == pytest.approx(tp / (tp + fn))
        assert rates["false_negative_rate"] == pytest.approx(fn / (fn + tp))

    @pytest.mark.parametrize(
        ("names", "at_least", "at_most", "code"),
        [
            (("accuracy",), 0.7, None, 0),
            (("accuracy",), 0.8, None, 1),
            (("false_positive_rate", "fpr"), None, 0.5, 1),
            (("false_negative_rate", "fnr"), None, 0.2, 0),
        ],
    )
    def test_can_have_targets(
        self,
        tmp_path: Path,
        names: tuple[str, ...],
        at_least: float | None,
        at_most: float | None,
        code: int,
    ) -> None:
        pairs = [(1, 1)] * 6 + [(0, 1)] * 2  # accuracy .75, FPR 1, FNR 0
        lines = [{"id": str(n), "label": t, "predicted": p} for n, (t, p) in enumerate(pairs)]
        bound = f"at_least = {at_least}" if at_least is not None else f"at_most = {at_most}"

        assert gate(tmp_path, lines, names, bound).code == code

    def test_near_miss_rows_with_nothing_at_all_are_still_refused(self, tmp_path: Path) -> None:
        done = evaluate(write_rows(tmp_path / "rows.jsonl", [{"id": "1", "colour": "red"}]))

        assert done.code in (1, 2)
        assert done.err


def gate(
    folder: Path, lines: Sequence[Mapping[str, Any]], names: Sequence[str], bound: str
) -> Done:
    """`--fail-under` on the first of `names` that is a metric."""
    rows = write_rows(folder / "rows.jsonl", lines)
    done = Done(code=-1, out="", err="")
    for name in names:
        target = f'title = "t"\n[[target]]\nmetric = "{name}"\n{bound}\n'
        (folder / "t.toml").write_text(target, encoding="utf-8")
        done = evaluate(rows, "--targets", folder / "t.toml", "--fail-under")
        if done.code != 2:  # 2: no such metric
            break
    assert done.code in (0, 1), done.shown
    return done
