"""The pipeline: trace in, sample, judge, score, out. Storing is the caller's business.

A judge that cannot be reached makes the trace wait; a judge that answers nonsense, or stays away
too long, makes failed scores with a reason. Nothing disappears.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from rag_monitor import semconv, telemetry
from rag_monitor.domain.clock import Clock
from rag_monitor.domain.decision import SamplingDecision, SamplingReason
from rag_monitor.domain.judgement import Judgement, JudgeRequest
from rag_monitor.domain.score import Score, ScoreStatus
from rag_monitor.domain.stored import EvaluationTask
from rag_monitor.errors import (
    BudgetExhausted,
    JudgeBehind,
    JudgeError,
    JudgeTimeout,
    JudgeUnavailable,
)
from rag_monitor.evaluation.failure_log import FailureLog
from rag_monitor.evaluation.plan import EvaluationPlan
from rag_monitor.evaluation.request import build_request
from rag_monitor.judges.judge import Judge
from rag_monitor.metrics.rag import NO_CITATIONS, failed_scores, score_trace, sentence_of
from rag_monitor.sampling.sampler import Sampler
from rag_monitor.self_tracing import JUDGE, SelfTracing

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What evaluating one trace gave: scores and decisions to save, or a reason to try again."""

    scores: tuple[Score, ...] = ()
    decisions: tuple[SamplingDecision, ...] = ()
    retry_reason: str | None = None
    """Set when a judge could not be reached and tries are left; nothing is to be saved."""
    detail: str | None = None
    """What the judge's server or the reader of its reply said, where there is no judgement."""
    sampled: bool = False
    """The sampled judge is still to see it: save what is here and hand it over. That judge may be
    far away, slow or down; the scores of the other wait for nobody."""
    reached: bool | None = None
    """Whether the judge answered, of what it was asked last; None: that says nothing."""


class Pipeline:
    """Evaluates traces by a plan. Stateless but for which variant of the baseline judge is on.

    Args:
        plan: Which judges see which traces.
        sampler: Draws what the sampled judge sees.
        clock: Tells when a score was made.
        own: Takes note of the batches; None: nobody does.
    """

    def __init__(
        self, plan: EvaluationPlan, sampler: Sampler, clock: Clock, own: SelfTracing | None = None
    ) -> None:
        self.plan = plan
        self._own = own
        self._sampler = sampler
        self._clock = clock
        self._failure_log = FailureLog(clock)
        self._behind = False
        self._turn = asyncio.Lock()

    def note_lag(self, lag_s: float) -> None:
        """Tell how far judging is behind; switches to the lexical variant and back.

        The two thresholds lie apart so that the judge does not flip at the limit.
        """
        options = self.plan.options
        limit = options.lag_clear_s if self._behind else options.lag_limit_s
        behind = self.plan.fallback is not None and lag_s > limit
        if behind != self._behind:
            _log.warning(
                "judging is %.0f s behind: %s",
                lag_s,
                "the lexical variant takes over" if behind else "the full judge is back",
            )
        self._behind = behind

    @property
    def baseline_judge(self) -> Judge:
        """The judge that currently sees every trace."""
        if self._behind and self.plan.fallback is not None:
            return self.plan.fallback
        return self.plan.baseline

    async def evaluate(self, tasks: Sequence[EvaluationTask]) -> list[Outcome]:
        """Judge and score `tasks`, no two with one id; one outcome each, in order.

        A monitor's own work is never judged, whoever asks for it.
        """
        judged = [task for task in tasks if task.trace.convention != semconv.SELF_SCOPE]
        sampled = [task for task in judged if task.sampled]
        fresh = [task for task in judged if not task.sampled]
        outcomes = _by_id(sampled, await self._by_sampled(sampled))
        for judge, mine in self._by_baseline_judge([task for task in fresh if task.judge is None]):
            outcomes |= _by_id(mine, await self._by_baseline(judge, mine))
        for name in dict.fromkeys(task.judge for task in fresh if task.judge is not None):
            requested = [task for task in fresh if task.judge == name]
            outcomes |= _by_id(requested, await self._by_one(name, requested))
        return [outcomes.get(task.id, Outcome()) for task in tasks]

    def shed(
        self, tasks: Sequence[EvaluationTask], reason: str, detail: str | None = None
    ) -> list[Outcome]:
        """Give up on sampled traces that the sampled judge did not get to.

        Args:
            tasks: Which.
            reason: A machine word.
            detail: What its server said last; None: nothing.
        """
        judge, error = self.plan.sampled, JudgeBehind(detail)
        if judge is None:
            return [Outcome()] * len(tasks)
        error.reason = reason
        telemetry.dropped("evaluation", JudgeBehind.reason, len(tasks))
        return [self._score(judge, task, error) for task in tasks]

    async def _by_one(self, name: str, tasks: Sequence[EvaluationTask]) -> list[Outcome]:
        """The judge a person asked for, and no other."""
        judge = self.plan.named(name)
        if judge is None:
            _log.warning(
                "%d traces wait for the judge %r, which is not configured", len(tasks), name
            )
            telemetry.dropped("evaluation", "unknown_judge", len(tasks))
            return [Outcome()] * len(tasks)
        if judge is self.plan.sampled:
            return [Outcome(sampled=True)] * len(tasks)
        results = await self._judge(judge, tasks)
        outcomes = [
            self._score(judge, task, result) for task, result in zip(tasks, results, strict=True)
        ]
        return [
            replace(outcome, decisions=(_recorded(self._forced(judge, task), task, result),))
            if outcome.scores
            else outcome
            for task, outcome, result in zip(tasks, outcomes, results, strict=True)
        ]

    async def _by_sampled(self, tasks: Sequence[EvaluationTask]) -> list[Outcome]:
        """The sampled judge, on what was sampled or requested."""
        decisions = [self._decision_of(task) for task in tasks]
        unknown = decisions.count(None)
        if unknown:
            _log.warning("%d traces were drawn for a judge that is no longer configured", unknown)
            telemetry.dropped("evaluation", "unknown_judge", unknown)
        judge = self.plan.sampled
        if judge is None:
            return [Outcome()] * len(tasks)
        included = [
            task for task, decision in zip(tasks, decisions, strict=True) if decision is not None
        ]
        results = iter(await self._judge(judge, included))
        return [
            Outcome() if decision is None else self._sampled(judge, task, decision, next(results))
            for task, decision in zip(tasks, decisions, strict=True)
        ]

    def _sampled(
        self,
        judge: Judge,
        task: EvaluationTask,
        decision: SamplingDecision,
        result: Judgement | Exception,
    ) -> Outcome:
        outcome = self._score(judge, task, result)
        if outcome.scores:
            outcome = replace(outcome, decisions=(_recorded(decision, task, result),))
        if task.judge is not None:
            return outcome
        return self._with_people(task, outcome, judge.identity.name)

    def _decision_of(self, task: EvaluationTask) -> SamplingDecision | None:
        """Why the sampled judge sees a trace; None: it was another that should."""
        judge = self.plan.sampled
        if judge is None:
            return None
        if task.judge is not None:
            requested = self.plan.named(task.judge) is judge
            return self._forced(judge, task) if requested else None
        name = judge.identity.name
        return next(
            (
                decision
                for decision in task.decisions
                if decision.judge == name and decision.included
            ),
            None,
        )

    def _forced(self, judge: Judge, task: EvaluationTask) -> SamplingDecision:
        return self._sampler.decide(task.trace, judge.identity.name, forced=True)

    def _by_baseline_judge(
        self, tasks: Sequence[EvaluationTask]
    ) -> Iterator[tuple[Judge, Sequence[EvaluationTask]]]:
        """Which judge of every trace sees which of them: history waits for the full one."""
        patient = [task for task in tasks if task.bulk and self.plan.options.imports_wait]
        live = [task for task in tasks if not (task.bulk and self.plan.options.imports_wait)]
        yield self.baseline_judge, live
        yield self.plan.baseline, patient

    async def _by_baseline(self, judge: Judge, tasks: Sequence[EvaluationTask]) -> list[Outcome]:
        async with self._turn:
            # It runs on processors: two batches at once would only starve the event loop.
            first = await self._judge(judge, tasks)
        outcomes = [
            self._always(judge, task, result) for task, result in zip(tasks, first, strict=True)
        ]
        if self.plan.sampled is not None:
            self._sample(self.plan.sampled, tasks, outcomes)
        last = (self.plan.sampled or judge).identity.name
        return [
            self._with_people(task, outcome, last)
            for task, outcome in zip(tasks, outcomes, strict=True)
        ]

    def _with_people(self, task: EvaluationTask, outcome: Outcome, last: str) -> Outcome:
        """Ask people about some of the traces that the last judge has scored."""
        judged = any(
            score.status is ScoreStatus.SCORED
            and score.judge is not None
            and score.judge.name == last
            for score in outcome.scores
        )
        if outcome.retry_reason is not None or not judged:
            return outcome
        decision = self._sampler.ask_people(task.trace)
        if not decision.included:
            return outcome
        return replace(outcome, decisions=(*outcome.decisions, decision))

    def _always(self, judge: Judge, task: EvaluationTask, result: Judgement | Exception) -> Outcome:
        outcome = self._score(judge, task, result)
        decision = SamplingDecision(
            judge=judge.identity.name,
            included=True,
            probability=1.0,
            reason=SamplingReason.ALWAYS,
        )
        return replace(outcome, decisions=(_recorded(decision, task, result),))

    def _sample(
        self, judge: Judge, tasks: Sequence[EvaluationTask], outcomes: list[Outcome]
    ) -> None:
        """Decide which of them the sampled judge sees, in the light of the scores they have."""
        for place, (task, outcome) in enumerate(zip(tasks, outcomes, strict=True)):
            if outcome.retry_reason is not None:
                continue
            decision = self._sampler.decide(
                task.trace,
                judge.identity.name,
                baseline_scores=_values(outcome.scores),
                forced=task.forced,
            )
            outcomes[place] = replace(
                outcome, decisions=(*outcome.decisions, decision), sampled=decision.included
            )

    async def _judge(
        self, judge: Judge, tasks: Sequence[EvaluationTask]
    ) -> Sequence[Judgement | Exception]:
        if not tasks:
            return []
        requests: list[JudgeRequest] = [
            build_request(task.trace, self.plan.aspects, task.history) for task in tasks
        ]
        began = time.perf_counter()
        noted = self._own.begin() if self._own is not None else 0
        try:
            results = await judge.judge_many(requests)
        except JudgeError as error:
            results = [error] * len(tasks)
        except Exception as error:  # noqa: BLE001 - a judge may come from another package
            _log.exception("judge %s failed on a batch of %d", judge.identity.name, len(tasks))
            results = [error] * len(tasks)
        each = (time.perf_counter() - began) / len(tasks)
        for _ in tasks:
            telemetry.JUDGE_SECONDS.labels(judge=judge.identity.name).observe(each)
        self._note(noted, judge.identity.name, results)
        return results

    def _note(self, began: int, judge: str, results: Sequence[Judgement | Exception]) -> None:
        if self._own is None:
            return
        failures = [result for result in results if isinstance(result, Exception)]
        error = failures[0] if len(failures) == len(results) else None
        figures: dict[str, str | int | float] = {
            "judge": judge,
            "traces": len(results),
            "failed": len(failures),
        }
        self._own.record(JUDGE, began, figures, error)

    def _score(self, judge: Judge, task: EvaluationTask, result: Judgement | Exception) -> Outcome:
        return replace(self._scored(judge, task, result), reached=_reached(result))

    def _scored(self, judge: Judge, task: EvaluationTask, result: Judgement | Exception) -> Outcome:
        now = self._clock.now()
        metrics = self.plan.options.metrics
        name = judge.identity.name
        if isinstance(result, Judgement):
            telemetry.EVALUATIONS.labels(judge=name, status="judged").inc()
            telemetry.JUDGE_TOKENS.labels(judge=name, direction="input").inc(
                result.usage.input_tokens
            )
            telemetry.JUDGE_TOKENS.labels(judge=name, direction="output").inc(
                result.usage.output_tokens
            )
            try:
                every = score_trace(task.trace, result, metrics, now)
                return Outcome(scores=tuple(score for score in every if _worth_keeping(score)))
            except Exception as error:  # noqa: BLE001 - one odd judgement must not spoil the batch
                result = error
        if (
            isinstance(result, JudgeUnavailable | JudgeTimeout)
            and task.attempts < self.plan.options.max_attempts
        ):
            telemetry.EVALUATIONS.labels(judge=name, status="retried").inc()
            return Outcome(retry_reason=result.reason, detail=sentence_of(result))
        if isinstance(result, JudgeError):
            if not isinstance(result, BudgetExhausted):
                self._failure_log.note(name, result)
        else:
            _log.error("judge %s failed on %s", name, task.trace.trace_id, exc_info=result)
        telemetry.EVALUATIONS.labels(judge=name, status="failed").inc()
        if task.forced and isinstance(result, BudgetExhausted):
            # Judged again on request: the scores it has are worth more than a note about money.
            telemetry.dropped("evaluation", result.reason)
            return Outcome()
        scores = tuple(failed_scores(metrics, result, judge.identity, now))
        return Outcome(scores=scores, detail=sentence_of(result))


def _by_id(tasks: Sequence[EvaluationTask], outcomes: Sequence[Outcome]) -> dict[int, Outcome]:
    return {task.id: outcome for task, outcome in zip(tasks, outcomes, strict=True)}


def _recorded(
    decision: SamplingDecision, task: EvaluationTask, result: Judgement | Exception
) -> SamplingDecision:
    """The draw with what the judge was given of the session, and what it cost."""
    if not isinstance(result, Judgement):
        return decision
    given = [turn.trace_id for turn in task.history or ()]
    return replace(
        decision,
        history=tuple(trace_id for trace_id in given if trace_id is not None),
        usage=result.usage if result.usage.spent else decision.usage,
    )


def _reached(result: Judgement | Exception) -> bool | None:
    if isinstance(result, JudgeUnavailable | JudgeTimeout):
        return False
    nothing_sent = isinstance(result, BudgetExhausted | JudgeBehind)
    return True if isinstance(result, Judgement | JudgeError) and not nothing_sent else None


def _worth_keeping(score: Score) -> bool:
    """Whether a score is saved: most applications never cite, and need no rows that say so."""
    return score.reason != NO_CITATIONS


def _values(scores: Sequence[Score]) -> Mapping[str, float]:
    return {
        score.metric: score.value
        for score in scores
        if score.status is ScoreStatus.SCORED and score.value is not None
    }
