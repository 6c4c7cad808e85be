"""Judging the rows of a file: in order, completely, whatever single rows do."""

from __future__ import annotations

from rag_monitor.domain.judgement import Aspect, Judgement, JudgeRequest, Verdict
from rag_monitor.errors import JudgeTimeout
from rag_monitor.offline.dataset import (
    DatasetRow,
    JudgeScorer,
    RowResult,
    as_line,
    metrics_of,
    run_rows,
)
from rag_monitor.testing import ScriptedJudge, make_trace

METRICS = ("faithfulness", "answer_supported", "context_relevance")


def _row(name: str, **fields: object) -> DatasetRow:
    return DatasetRow(id=name, trace=make_trace(id=name, **fields))  # type: ignore[arg-type]


async def _results(rows: list[DatasetRow], judge: ScriptedJudge, batch: int) -> list[RowResult]:
    scorers = [JudgeScorer(judge, METRICS)]
    return [result async for result in run_rows(rows, scorers, batch=batch, ahead=1)]


async def test_results_keep_the_order_of_the_rows_across_batches() -> None:
    names = [f"r{n}" for n in range(7)]

    results = await _results([_row(name) for name in names], ScriptedJudge(), batch=3)

    assert [result.id for result in results] == names
    assert all(len(result.scores) == len(METRICS) for result in results)


async def test_a_failing_row_does_not_stop_its_neighbours() -> None:
    def script(request: JudgeRequest) -> Judgement | Exception:
        if request.answer == "slow":
            return JudgeTimeout()
        verdict = Verdict(aspect=Aspect.SUPPORT, probability=0.7)
        return Judgement(identity=judge.identity, verdicts=(verdict,))

    judge = ScriptedJudge(script)
    rows = [_row("a"), DatasetRow(id="b", error="line 2: not JSON"), _row("c", answer="slow")]

    first, second, third = await _results(rows, judge, batch=8)

    assert as_line(first, METRICS)["scores"]["faithfulness"] == 0.7
    assert second.error == "line 2: not JSON"
    assert as_line(third, METRICS)["failed"] == dict.fromkeys(METRICS, "judge_timeout")
    assert as_line(third, METRICS)["scores"] == dict.fromkeys(METRICS)


async def test_a_metric_without_meaning_is_null_with_its_reason() -> None:
    (result,) = await _results([_row("a", contexts=None)], ScriptedJudge(), batch=1)

    line = as_line(result, METRICS)
    assert line["scores"]["context_relevance"] is None
    assert "context_relevance" in line["not_applicable"]


def test_a_judge_is_asked_only_for_metrics_it_can_serve() -> None:
    judge = ScriptedJudge({Aspect.SUPPORT: 0.9, Aspect.RELEVANCE: 0.9})

    assert set(metrics_of(judge)) == {"faithfulness", "context_relevance", "citation_validity"}
