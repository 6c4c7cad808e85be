"""A judge whose server refuses everything is not asked to the end of a file."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from rag_monitor.domain.judgement import Judgement, JudgeRequest, JudgeUsage
from rag_monitor.errors import EverythingRefused, JudgeRefused, JudgeUnavailable, QuotaExhausted
from rag_monitor.offline.file_run import FileEvaluation
from rag_monitor.offline.run_settings import FileOptions
from rag_monitor.testing import ScriptedJudge

METRICS = ("faithfulness", "answer_supported")


class ServedJudge(ScriptedJudge):
    """One call each; `says` gives the error for the question of a number, None for an answer."""

    def __init__(self, says: Callable[[int], Exception | None]) -> None:
        super().__init__()
        self._says = says
        self.asked: list[int] = []

    async def judge_many(self, requests: Sequence[JudgeRequest]) -> Sequence[Judgement | Exception]:
        found = await super().judge_many(requests)
        return [self._one(request, result) for request, result in zip(requests, found, strict=True)]

    def _one(self, request: JudgeRequest, result: Judgement | Exception) -> Judgement | Exception:
        assert isinstance(result, Judgement)
        if not request.answer:
            return replace(result, usage=JudgeUsage())
        number = int(request.question)
        self.asked.append(number)
        return self._says(number) or result


def _rows(folder: Path, count: int, *, empty: Sequence[int] = ()) -> Path:
    path = folder / "rows.jsonl"
    with path.open("w") as file:
        for n in range(count):
            answer = "" if n in empty else "It lasts 24 months."
            row = {"id": f"r{n}", "question": str(n), "answer": answer, "contexts": ["24 months."]}
            file.write(json.dumps(row) + "\n")
    return path


async def _run(path: Path, judge: ServedJudge, output: Path, *, resume: bool = False) -> None:
    options = FileOptions(metrics=METRICS, output=output, resume=resume, processes=0)
    await FileEvaluation(path, options, judge).run()


def _lines(output: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in output.read_text().splitlines()]


async def test_a_refused_key_stops_the_run_early_and_going_on_asks_about_every_row(
    tmp_path: Path,
) -> None:
    rows, output = _rows(tmp_path, 300, empty=range(0, 300, 3)), tmp_path / "scores.jsonl"
    refusing = ServedJudge(lambda _: JudgeRefused("answered 401"))

    with pytest.raises(EverythingRefused, match="answered 401"):
        await _run(rows, refusing, output)

    assert len(refusing.asked) < 50
    assert [line["id"] for line in _lines(output)] == ["r0"]

    await _run(rows, ServedJudge(lambda _: None), output, resume=True)

    assert [line["id"] for line in _lines(output)] == [f"r{n}" for n in range(300)]
    assert not any(line["failed"] for line in _lines(output))


async def test_a_key_that_is_revoked_midway_keeps_what_was_judged(tmp_path: Path) -> None:
    rows, output = _rows(tmp_path, 300), tmp_path / "scores.jsonl"
    judge = ServedJudge(lambda n: JudgeRefused("answered 402") if n >= 50 else None)

    with pytest.raises(EverythingRefused):
        await _run(rows, judge, output)

    assert max(judge.asked) < 150
    assert [line["id"] for line in _lines(output)] == [f"r{n}" for n in range(50)]


async def test_a_quota_that_is_used_up_midway_stops_the_run_with_the_batch(tmp_path: Path) -> None:
    rows, output = _rows(tmp_path, 300), tmp_path / "scores.jsonl"
    spent = QuotaExhausted("the judge's server answered 429: no credit")
    judge = ServedJudge(lambda n: spent if n == 70 else None)  # others were under way

    with pytest.raises(EverythingRefused, match=r"is used up: .* 429: no credit"):
        await _run(rows, judge, output)

    assert max(judge.asked) < 96, "no batch after the one in which it turned out"
    assert [line["id"] for line in _lines(output)] == [f"r{n}" for n in range(70)]


async def test_a_short_file_of_which_every_row_is_refused_is_refused(tmp_path: Path) -> None:
    rows, output = _rows(tmp_path, 3), tmp_path / "scores.jsonl"

    with pytest.raises(EverythingRefused):
        await _run(rows, ServedJudge(lambda _: JudgeRefused("answered 404")), output)

    assert _lines(output) == []


async def test_what_passes_by_itself_never_stops_a_run(tmp_path: Path) -> None:
    rows, output = _rows(tmp_path, 120), tmp_path / "scores.jsonl"

    await _run(rows, ServedJudge(lambda _: JudgeUnavailable("answered 503")), output)

    assert len(_lines(output)) == 120
    assert all(line["failed"] for line in _lines(output))


async def test_texts_that_a_server_refuses_singly_are_failed_rows_in_their_place(
    tmp_path: Path,
) -> None:
    rows, output = _rows(tmp_path, 100), tmp_path / "scores.jsonl"
    judge = ServedJudge(lambda n: JudgeRefused("answered 403") if 20 <= n < 40 else None)

    await _run(rows, judge, output)

    lines = _lines(output)
    assert [line["id"] for line in lines] == [f"r{n}" for n in range(100)]
    assert [n for n, line in enumerate(lines) if line["failed"]] == list(range(20, 40))
    assert lines[20]["failed"] == dict.fromkeys(METRICS, "judge_refused")
