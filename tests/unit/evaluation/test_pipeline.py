"""A trace goes in; scores, decisions or a reason to wait come out."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from rag_monitor.domain.decision import SamplingDecision, SamplingReason
from rag_monitor.domain.judgement import Aspect, Judgement, JudgeRequest
from rag_monitor.domain.score import ScoreStatus
from rag_monitor.domain.trace import Trace
from rag_monitor.errors import JudgeOutputInvalid, JudgeUnavailable
from rag_monitor.evaluation.pipeline import Pipeline, WorkItem
from rag_monitor.evaluation.plan import EvaluationOptions, EvaluationPlan
from rag_monitor.testing import ManualClock, ScriptedJudge, make_trace

METRICS = ("faithfulness", "context_relevance")


class Draws:
    """A sampler that includes what the test says."""

    def __init__(self, include: Callable[[Trace], bool] = lambda _: True) -> None:
        self._include = include
        self.cheap: list[dict[str, float]] = []

    def decide(
        self, trace: Trace, judge_name: str, *, cheap: object = None, forced: bool = False
    ) -> SamplingDecision:
        self.cheap.append(dict(cheap or {}))  # type: ignore[call-overload]
        return SamplingDecision(
            judge=judge_name,
            included=forced or self._include(trace),
            probability=0.5,
            reason=SamplingReason.BASE_RATE,
        )


def _pipeline(
    every: ScriptedJudge,
    *,
    lagging: ScriptedJudge | None = None,
    sampled: ScriptedJudge | None = None,
    sampler: Draws | None = None,
) -> Pipeline:
    plan = EvaluationPlan(
        every=every,
        lagging=lagging,
        sampled=sampled,
        options=EvaluationOptions(metrics=METRICS),
    )
    return Pipeline(plan, sampler or Draws(), ManualClock())  # type: ignore[arg-type]


async def test_every_metric_gets_a_score_from_one_judgement() -> None:
    judge = ScriptedJudge(dict.fromkeys(Aspect, 0.75))

    (outcome,) = await _pipeline(judge).evaluate([WorkItem(trace=make_trace())])

    assert len(judge.requests) == 1
    assert {s.metric: s.value for s in outcome.scores} == {
        "faithfulness": 0.75,
        "context_relevance": 1.0,
    }
    assert [(d.probability, d.reason) for d in outcome.decisions] == [(1.0, SamplingReason.ALWAYS)]


async def test_an_unreachable_judge_makes_the_trace_wait() -> None:
    judge = ScriptedJudge(lambda _: JudgeUnavailable())

    (outcome,) = await _pipeline(judge).evaluate([WorkItem(trace=make_trace())])

    assert outcome.retry_reason == "judge_unavailable"
    assert outcome.scores == ()


async def test_the_last_try_makes_failed_scores() -> None:
    judge = ScriptedJudge(lambda _: JudgeUnavailable())

    (outcome,) = await _pipeline(judge).evaluate([WorkItem(trace=make_trace(), attempt=3)])

    assert outcome.retry_reason is None
    assert {s.status for s in outcome.scores} == {ScoreStatus.FAILED}
    assert {s.reason for s in outcome.scores} == {"judge_unavailable"}
    assert all(s.value is None for s in outcome.scores)


@pytest.mark.parametrize("error", [JudgeOutputInvalid(), RuntimeError("boom")])
async def test_a_broken_answer_fails_at_once_and_spares_its_neighbours(error: Exception) -> None:
    def script(request: JudgeRequest) -> Judgement | Exception:
        if request.question == "bad":
            return error
        return Judgement(identity=judge.identity, missing=dict.fromkeys(request.aspects, "none"))

    judge = ScriptedJudge(script)
    items = [WorkItem(trace=make_trace(q, id=q)) for q in ("good", "bad", "fine")]

    outcomes = await _pipeline(judge).evaluate(items)

    reasons = [{s.reason for s in o.scores} for o in outcomes]
    assert len(reasons[1]) == 1
    assert reasons[0] == reasons[2] != reasons[1]


async def test_the_sampled_judge_sees_what_is_drawn_and_knows_the_cheap_scores() -> None:
    cheap = ScriptedJudge(dict.fromkeys(Aspect, 0.4), name="cheap")
    dear = ScriptedJudge(dict.fromkeys(Aspect, 0.9), name="dear")
    draws = Draws(lambda trace: trace.question == "yes")
    items = [WorkItem(trace=make_trace(q, id=q)) for q in ("yes", "no")]

    drawn, skipped = await _pipeline(cheap, sampled=dear, sampler=draws).evaluate(items)

    assert [r.question for r in dear.requests] == ["yes"]
    assert {s.judge.name for s in drawn.scores if s.judge} == {"cheap", "dear"}
    assert {s.judge.name for s in skipped.scores if s.judge} == {"cheap"}
    assert [d.included for d in skipped.decisions] == [True, False]
    assert draws.cheap[0]["faithfulness"] == 0.4


async def test_a_backfill_is_judged_whatever_the_draw() -> None:
    dear = ScriptedJudge(name="dear")
    pipeline = _pipeline(ScriptedJudge(), sampled=dear, sampler=Draws(lambda _: False))

    await pipeline.evaluate([WorkItem(trace=make_trace(), forced=True)])

    assert len(dear.requests) == 1


async def test_falling_behind_switches_the_judge_and_catching_up_switches_back() -> None:
    full, lexical = ScriptedJudge(name="full"), ScriptedJudge(name="lexical")
    pipeline = _pipeline(full, lagging=lexical)
    seen = []

    for lag in (0, 61, 30, 14, 30):
        pipeline.note_lag(lag)
        seen.append(pipeline.every_judge.identity.name)

    assert seen == ["full", "lexical", "lexical", "full", "full"]


async def test_a_judge_that_breaks_on_the_batch_fails_the_batch_only() -> None:
    class Broken(ScriptedJudge):
        async def judge_many(self, requests: object) -> object:  # type: ignore[override]
            raise OSError("the model file is gone")

    outcomes = await _pipeline(Broken()).evaluate([WorkItem(trace=make_trace())])

    assert {s.status for s in outcomes[0].scores} == {ScoreStatus.FAILED}


async def test_a_judgement_that_cannot_be_scored_fails_its_trace_only() -> None:
    def script(request: JudgeRequest) -> Judgement | Exception:
        identity = judge.identity
        if request.question == "odd":
            return Judgement(identity=identity, verdicts=(None,))  # type: ignore[arg-type]
        return Judgement(identity=identity, missing=dict.fromkeys(request.aspects, "no_verdict"))

    judge = ScriptedJudge(script)
    items = [WorkItem(trace=make_trace(q, id=q)) for q in ("odd", "fine")]

    odd, fine = await _pipeline(judge).evaluate(items)

    assert {s.status for s in odd.scores} == {ScoreStatus.FAILED}
    assert {s.reason for s in odd.scores} != {s.reason for s in fine.scores}
