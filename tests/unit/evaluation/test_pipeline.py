"""A trace goes in; scores, decisions or a reason to wait come out."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from rag_monitor import telemetry
from rag_monitor.domain.conversation import EarlierTurn
from rag_monitor.domain.decision import PEOPLE, SamplingDecision, SamplingReason
from rag_monitor.domain.judgement import Aspect, Judgement, JudgeRequest
from rag_monitor.domain.score import ScoreStatus
from rag_monitor.domain.stored import EvaluationTask
from rag_monitor.domain.trace import Trace
from rag_monitor.errors import (
    BudgetExhausted,
    JudgeError,
    JudgeOutputInvalid,
    JudgeUnavailable,
)
from rag_monitor.evaluation.options import EvaluationOptions
from rag_monitor.evaluation.pipeline import Outcome, Pipeline
from rag_monitor.evaluation.plan import EvaluationPlan
from rag_monitor.testing import ManualClock, ScriptedJudge, make_task, make_trace

METRICS = ("faithfulness", "context_relevance")


class Draws:
    """A sampler that includes what the test says."""

    def __init__(
        self,
        include: Callable[[Trace], bool] = lambda _: True,
        ask: Callable[[Trace], bool] = lambda _: False,
    ) -> None:
        self._include = include
        self._ask = ask
        self.cheap: list[dict[str, float]] = []

    def decide(
        self, trace: Trace, judge_name: str, *, baseline_scores: object = None, forced: bool = False
    ) -> SamplingDecision:
        self.cheap.append(dict(baseline_scores or {}))  # type: ignore[call-overload]
        return SamplingDecision(
            judge=judge_name,
            included=forced or self._include(trace),
            probability=0.5,
            reason=SamplingReason.BASE_RATE,
        )

    def ask_people(self, trace: Trace) -> SamplingDecision:
        return SamplingDecision(
            judge=PEOPLE,
            included=self._ask(trace),
            probability=0.25,
            reason=SamplingReason.BASE_RATE,
        )


def _pipeline(
    baseline: ScriptedJudge,
    *,
    fallback: ScriptedJudge | None = None,
    sampled: ScriptedJudge | None = None,
    sampler: Draws | None = None,
) -> Pipeline:
    plan = EvaluationPlan(
        baseline=baseline,
        fallback=fallback,
        sampled=sampled,
        options=EvaluationOptions(metrics=METRICS),
    )
    return Pipeline(plan, sampler or Draws(), ManualClock())  # type: ignore[arg-type]


async def _through(pipeline: Pipeline, items: Sequence[EvaluationTask]) -> list[Outcome]:
    """Both stages as one: the judge of every trace, then the one that some are drawn for."""
    first = await pipeline.evaluate(items)
    handed = [n for n, outcome in enumerate(first) if outcome.sampled]
    second = await pipeline.evaluate(
        [replace(items[n], sampled=True, decisions=first[n].decisions) for n in handed]
    )
    whole = list(first)
    for n, more in zip(handed, second, strict=True):
        drawn = {decision.judge: decision for decision in (*first[n].decisions, *more.decisions)}
        whole[n] = replace(
            more, scores=(*first[n].scores, *more.scores), decisions=tuple(drawn.values())
        )
    return whole


async def test_every_metric_gets_a_score_from_one_judgement() -> None:
    judge = ScriptedJudge(dict.fromkeys(Aspect, 0.75))

    (outcome,) = await _pipeline(judge).evaluate([make_task()])

    assert len(judge.requests) == 1
    assert {s.metric: s.value for s in outcome.scores} == {
        "faithfulness": 0.75,
        "context_relevance": 1.0,
    }
    assert [(d.probability, d.reason) for d in outcome.decisions] == [(1.0, SamplingReason.ALWAYS)]


@pytest.mark.parametrize("given", [("1" * 32,), ()])
async def test_a_decision_names_the_earlier_turns_that_the_judge_was_given(
    given: tuple[str, ...],
) -> None:
    turns = tuple(EarlierTurn(question="What do adults pay?", trace_id=one) for one in given)
    every, drawn = ScriptedJudge(name="embedded"), ScriptedJudge(name="packed")
    task = make_task(make_trace("And students?", session_id="s"), history=turns)

    (outcome,) = await _through(_pipeline(every, sampled=drawn), [task])

    assert [decision.history for decision in outcome.decisions] == [given, given]
    for judge in (every, drawn):
        [request] = judge.requests
        assert [turn.trace_id for turn in request.history] == list(given)


async def test_a_decision_of_a_judge_that_failed_names_no_turns() -> None:
    turn = EarlierTurn(question="What do adults pay?", trace_id="1" * 32)
    judge = ScriptedJudge(lambda _: JudgeOutputInvalid("no JSON"))
    task = make_task(make_trace("And students?", session_id="s"), history=(turn,))

    (outcome,) = await _pipeline(judge).evaluate([task])

    assert [decision.history for decision in outcome.decisions] == [()]


@pytest.mark.parametrize(("answer", "kept"), [("24 months [1].", True), ("24 months.", False)])
async def test_scores_of_citations_are_kept_where_there_are_any(answer: str, kept: bool) -> None:
    metrics = ("citation_precision", "citation_recall", "citation_validity")
    options = EvaluationOptions(metrics=("faithfulness", *metrics))
    plan = EvaluationPlan(baseline=ScriptedJudge(), options=options)
    pipeline = Pipeline(plan, Draws(), ManualClock())  # type: ignore[arg-type]

    [outcome] = await pipeline.evaluate([make_task(make_trace(answer=answer))])

    values = {score.metric: score.value for score in outcome.scores}
    assert values.pop("faithfulness") == pytest.approx(0.9)
    assert values == (dict.fromkeys(metrics, 1.0) if kept else {})


async def test_an_unreachable_judge_makes_the_trace_wait() -> None:
    judge = ScriptedJudge(lambda _: JudgeUnavailable())

    (outcome,) = await _pipeline(judge).evaluate([make_task()])

    assert outcome.retry_reason == "judge_unavailable"
    assert outcome.scores == ()


async def test_the_last_try_makes_failed_scores() -> None:
    judge = ScriptedJudge(lambda _: JudgeUnavailable())

    (outcome,) = await _pipeline(judge).evaluate([make_task(attempts=3)])

    assert outcome.retry_reason is None
    assert {s.status for s in outcome.scores} == {ScoreStatus.FAILED}
    assert {s.reason for s in outcome.scores} == {"judge_unavailable"}
    assert all(s.value is None for s in outcome.scores)


async def test_a_failed_score_says_what_the_server_said_and_a_waiting_trace_does_too() -> None:
    said = "the judge's server answered 503: Loading model"
    pipeline = _pipeline(ScriptedJudge(lambda _: JudgeUnavailable(f"{said}\n")))

    (waiting,) = await pipeline.evaluate([make_task()])
    (failed,) = await pipeline.evaluate([make_task(attempts=3)])

    assert (waiting.scores, waiting.detail) == ((), said)
    assert {s.detail for s in failed.scores} == {said}


async def test_a_metric_without_a_verdict_says_what_was_wrong_with_the_reply() -> None:
    def script(request: JudgeRequest) -> Judgement:
        return Judgement(
            identity=judge.identity,
            missing=dict.fromkeys(request.aspects, "verdict_missing"),
            details={Aspect.SUPPORT: "support 1 is 90, outside 0 to 1"},
        )

    judge = ScriptedJudge(script)
    (outcome,) = await _pipeline(judge).evaluate([make_task()])

    assert {s.metric: s.detail for s in outcome.scores} == {
        "faithfulness": "support 1 is 90, outside 0 to 1",
        "context_relevance": None,
    }


async def test_failures_are_logged_once_a_minute_with_the_sentence_and_their_number(
    caplog: pytest.LogCaptureFixture,
) -> None:
    clock = ManualClock()
    judge = ScriptedJudge(lambda _: JudgeOutputInvalid("the reply is empty"))
    plan = EvaluationPlan(baseline=judge, options=EvaluationOptions(metrics=METRICS))
    pipeline = Pipeline(plan, Draws(), clock)  # type: ignore[arg-type]
    items = [make_task(make_trace(id=str(n))) for n in range(7)]

    await pipeline.evaluate(items)
    clock.advance(61)
    await pipeline.evaluate(items[:1])

    assert [record.getMessage() for record in caplog.records] == [
        "judge scripted: no judgement on 1 trace (judge_output_invalid): the reply is empty",
        "judge scripted: no judgement on 7 traces (judge_output_invalid): the reply is empty",
    ]


@pytest.mark.parametrize("error", [JudgeOutputInvalid(), RuntimeError("boom")])
async def test_a_broken_answer_fails_at_once_and_spares_its_neighbours(error: Exception) -> None:
    def script(request: JudgeRequest) -> Judgement | Exception:
        if request.question == "bad":
            return error
        return Judgement(identity=judge.identity, missing=dict.fromkeys(request.aspects, "none"))

    judge = ScriptedJudge(script)
    items = [make_task(make_trace(q, id=q)) for q in ("good", "bad", "fine")]

    outcomes = await _pipeline(judge).evaluate(items)

    reasons = [{s.reason for s in o.scores} for o in outcomes]
    assert len(reasons[1]) == 1
    assert reasons[0] == reasons[2] != reasons[1]


async def test_the_sampled_judge_sees_what_is_drawn_and_knows_the_cheap_scores() -> None:
    cheap = ScriptedJudge(dict.fromkeys(Aspect, 0.4), name="cheap")
    dear = ScriptedJudge(dict.fromkeys(Aspect, 0.9), name="dear")
    draws = Draws(lambda trace: trace.question == "yes")
    items = [make_task(make_trace(q, id=q)) for q in ("yes", "no")]

    drawn, skipped = await _through(_pipeline(cheap, sampled=dear, sampler=draws), items)

    assert [r.question for r in dear.requests] == ["yes"]
    assert {s.judge.name for s in drawn.scores if s.judge} == {"cheap", "dear"}
    assert {s.judge.name for s in skipped.scores if s.judge} == {"cheap"}
    assert [d.included for d in skipped.decisions] == [True, False]
    assert draws.cheap[0]["faithfulness"] == 0.4


async def test_what_a_judge_used_goes_with_the_draw_it_was_for() -> None:
    cheap = ScriptedJudge(dict.fromkeys(Aspect, 0.4), name="cheap")
    dear = ScriptedJudge(dict.fromkeys(Aspect, 0.9), name="dear")
    free = ScriptedJudge(
        lambda request: Judgement(
            identity=free.identity, missing=dict.fromkeys(request.aspects, "none")
        ),
        name="free",
    )
    item = make_task()

    (both,) = await _through(_pipeline(cheap, sampled=dear), [item])
    (alone,) = await _pipeline(free).evaluate([item])
    (failed,) = await _through(
        _pipeline(free, sampled=ScriptedJudge(lambda _: JudgeOutputInvalid())), [item]
    )

    assert {d.judge: d.usage and d.usage.input_tokens for d in both.decisions} == {
        "cheap": 100,
        "dear": 100,
    }
    assert [d.usage for d in (*alone.decisions, *failed.decisions)] == [None] * 3


async def test_people_are_asked_only_about_what_the_last_judge_has_scored() -> None:
    draws = Draws(lambda trace: trace.question == "yes", ask=lambda _: True)
    items = [make_task(make_trace(q, id=q)) for q in ("yes", "no")]
    cheap, dear = ScriptedJudge(name="cheap"), ScriptedJudge(name="dear")

    both = await _through(_pipeline(cheap, sampled=dear, sampler=draws), items)
    alone = await _pipeline(cheap, sampler=draws).evaluate(items)

    assert [[d.judge for d in outcome.decisions] for outcome in both] == [
        ["cheap", "dear", PEOPLE],
        ["cheap", "dear"],
    ]
    assert [outcome.decisions[-1].judge for outcome in alone] == [PEOPLE, PEOPLE]


async def test_a_backfill_is_judged_whatever_the_draw() -> None:
    dear = ScriptedJudge(name="dear")
    pipeline = _pipeline(ScriptedJudge(), sampled=dear, sampler=Draws(lambda _: False))

    await _through(pipeline, [make_task(forced=True)])

    assert len(dear.requests) == 1


@pytest.mark.parametrize("asked", ["dear", "scripted"])
async def test_only_the_judge_a_person_asked_for_sees_the_trace(asked: str) -> None:
    judges = {"dear": ScriptedJudge(name="dear"), "scripted": ScriptedJudge(name="scripted")}
    pipeline = _pipeline(judges["scripted"], sampled=judges["dear"], sampler=Draws(lambda _: False))

    asked_item, open_item = await _through(
        pipeline,
        [
            make_task(forced=True, judge=asked),
            make_task(make_trace(id="b")),
        ],
    )

    assert {score.judge.name for score in asked_item.scores if score.judge} == {asked}
    assert [decision.judge for decision in asked_item.decisions] == [asked]
    assert len(judges["dear"].requests) == (asked == "dear")
    assert len(judges["scripted"].requests) == 1 + (asked == "scripted")
    assert {score.judge.name for score in open_item.scores if score.judge} == {"scripted"}


async def test_a_judge_that_is_not_configured_any_more_leaves_the_scores_alone() -> None:
    (outcome,) = await _pipeline(ScriptedJudge()).evaluate([make_task(forced=True, judge="gone")])

    assert outcome == Outcome()


async def test_a_spent_budget_costs_no_scores_that_are_there() -> None:
    spent = ScriptedJudge(lambda _: BudgetExhausted(), name="dear")
    pipeline = _pipeline(ScriptedJudge(), sampled=spent)

    again, first = await _through(
        pipeline,
        [
            make_task(forced=True, judge="dear"),
            make_task(make_trace(id="b")),
        ],
    )

    assert (again.scores, again.retry_reason, again.sampled) == ((), None, False)
    assert {score.reason for score in first.scores if score.status is ScoreStatus.FAILED} == {
        "budget_exhausted"
    }


async def test_falling_behind_switches_the_judge_and_catching_up_switches_back() -> None:
    full, lexical = ScriptedJudge(name="full"), ScriptedJudge(name="lexical")
    pipeline = _pipeline(full, fallback=lexical)
    seen = []

    for lag in (0, 61, 30, 14, 30):
        pipeline.note_lag(lag)
        seen.append(pipeline.baseline_judge.identity.name)

    assert seen == ["full", "lexical", "lexical", "full", "full"]


async def test_a_judge_that_breaks_on_the_batch_fails_the_batch_only() -> None:
    class Broken(ScriptedJudge):
        async def judge_many(self, requests: object) -> object:  # type: ignore[override]
            raise OSError("the model file is gone")

    outcomes = await _pipeline(Broken()).evaluate([make_task()])

    assert {s.status for s in outcomes[0].scores} == {ScoreStatus.FAILED}


async def test_a_judgement_that_cannot_be_scored_fails_its_trace_only() -> None:
    def script(request: JudgeRequest) -> Judgement | Exception:
        identity = judge.identity
        if request.question == "odd":
            return Judgement(identity=identity, verdicts=(None,))  # type: ignore[arg-type]
        return Judgement(identity=identity, missing=dict.fromkeys(request.aspects, "no_verdict"))

    judge = ScriptedJudge(script)
    items = [make_task(make_trace(q, id=q)) for q in ("odd", "fine")]

    odd, fine = await _pipeline(judge).evaluate(items)

    assert {s.status for s in odd.scores} == {ScoreStatus.FAILED}
    assert {s.reason for s in odd.scores} != {s.reason for s in fine.scores}


class Counting(ScriptedJudge):
    """Knows how many batches it had in hand at once."""

    def __init__(self, name: str, rounds: int) -> None:
        super().__init__(name=name)
        self._rounds = rounds
        self.most = 0
        self._now = 0

    async def judge_many(self, requests: Sequence[JudgeRequest]) -> Sequence[Judgement | Exception]:
        self._now += 1
        self.most = max(self.most, self._now)
        for _ in range(self._rounds):
            await asyncio.sleep(0)
        self._now -= 1
        return await super().judge_many(requests)


async def test_batches_take_turns_on_processors_and_wait_for_a_remote_judge_together() -> None:
    baseline, sampled = Counting("embedded", 5), Counting("remote", 100)
    pipeline = _pipeline(baseline, sampled=sampled)
    items = [make_task(make_trace(id=str(n))) for n in range(3)]

    outcomes = await asyncio.gather(*(_through(pipeline, [item]) for item in items))

    assert baseline.most == 1
    assert sampled.most > 1
    assert all(len({score.judge for score in one.scores}) == 2 for (one,) in outcomes)


@pytest.mark.parametrize("asked", [None, "dear"])
async def test_the_sampled_judge_keeps_nobody_waiting(asked: str | None) -> None:
    """Its server may be down: what the other judge says is there without it."""
    dear = ScriptedJudge(name="dear")
    pipeline = _pipeline(ScriptedJudge(name="cheap"), sampled=dear)

    (outcome,) = await pipeline.evaluate([make_task(forced=True, judge=asked)])

    assert outcome.sampled
    assert not dear.requests
    assert bool(outcome.scores) == (asked is None)


async def test_a_drawn_trace_keeps_the_probability_it_was_drawn_with() -> None:
    drawn = SamplingDecision(
        judge="dear", included=True, probability=0.0625, reason=SamplingReason.STRATUM, stratum="s"
    )
    cheap, dear = ScriptedJudge(name="cheap"), ScriptedJudge(name="dear")
    item = make_task(sampled=True, decisions=(drawn,))

    (outcome,) = await _pipeline(cheap, sampled=dear).evaluate([item])

    (decision,) = [each for each in outcome.decisions if each.judge == "dear"]
    assert (decision.probability, decision.stratum) == (0.0625, "s")
    assert decision.usage is not None
    assert not cheap.requests
    assert {score.judge.name for score in outcome.scores if score.judge} == {"dear"}


@pytest.mark.parametrize("configured", [None, "another"])
async def test_what_was_drawn_for_a_judge_that_is_gone_ends_and_is_counted(
    configured: str | None,
) -> None:
    counted = telemetry.DROPPED.labels(stage="evaluation", reason="unknown_judge")._value.get
    before = counted()
    dear = None if configured is None else ScriptedJudge(name=configured)
    (first,) = await _pipeline(ScriptedJudge(), sampled=ScriptedJudge(name="dear")).evaluate(
        [make_task()]
    )
    handed = make_task(sampled=True, decisions=first.decisions)

    (outcome,) = await _pipeline(ScriptedJudge(), sampled=dear).evaluate([handed])

    assert outcome == Outcome()
    assert counted() - before == 1


async def test_given_up_is_a_failed_score_with_a_reason_and_takes_none_that_is_there() -> None:
    pipeline = _pipeline(ScriptedJudge(), sampled=ScriptedJudge(name="dear"))

    (outcome,) = pipeline.shed([make_task(sampled=True)], "judge_refused")

    assert {(s.status, s.reason) for s in outcome.scores} == {(ScoreStatus.FAILED, "judge_refused")}
    assert outcome.retry_reason is None


@pytest.mark.parametrize(
    ("error", "reached"),
    [(JudgeUnavailable(), False), (JudgeOutputInvalid(), True), (BudgetExhausted(), None)],
)
async def test_an_outcome_tells_whether_the_judge_answered(
    error: JudgeError, reached: bool | None
) -> None:
    judge = ScriptedJudge(lambda _: error)

    (outcome,) = await _pipeline(judge).evaluate([make_task()])

    assert outcome.reached is reached
