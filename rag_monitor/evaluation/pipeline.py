"""The pipeline: trace in, sample, judge, score, out. Storing is the caller's business.

A judge that cannot be reached makes the trace wait; a judge that answers nonsense, or stays away
too long, makes failed scores with a reason. Nothing disappears.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rag_monitor import telemetry
from rag_monitor.domain.clock import Clock
from rag_monitor.domain.decision import SamplingDecision, SamplingReason
from rag_monitor.domain.judgement import Judgement, JudgeRequest
from rag_monitor.domain.score import Score, ScoreStatus
from rag_monitor.domain.trace import Trace
from rag_monitor.errors import JudgeError, JudgeTimeout, JudgeUnavailable
from rag_monitor.evaluation.plan import EvaluationPlan
from rag_monitor.evaluation.request import build_request
from rag_monitor.judges.judge import Judge
from rag_monitor.metrics.rag import failed_scores, score_trace
from rag_monitor.sampling.sampler import Sampler

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkItem:
    """One trace to evaluate."""

    trace: Trace
    attempt: int = 1
    """1 on the first try."""
    forced: bool = False
    """A person asked for it: the sampled judge sees it whatever the draw."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What evaluating one trace gave: scores and decisions to save, or a reason to try again."""

    scores: tuple[Score, ...] = ()
    decisions: tuple[SamplingDecision, ...] = ()
    retry_reason: str | None = None
    """Set when a judge could not be reached and tries are left; nothing is to be saved."""


class Pipeline:
    """Evaluates traces by a plan. Stateless but for which variant of the cheap judge is on."""

    def __init__(self, plan: EvaluationPlan, sampler: Sampler, clock: Clock) -> None:
        self.plan = plan
        self._sampler = sampler
        self._clock = clock
        self._behind = False

    def note_lag(self, oldest_age_s: float) -> None:
        """Tell how far judging is behind; switches to the lexical variant and back.

        The two thresholds lie apart so that the judge does not flip at the limit.
        """
        options = self.plan.options
        limit = options.lag_clear_s if self._behind else options.lag_limit_s
        behind = self.plan.lagging is not None and oldest_age_s > limit
        if behind != self._behind:
            _log.warning(
                "judging is %.0f s behind: %s",
                oldest_age_s,
                "the lexical variant takes over" if behind else "the full judge is back",
            )
        self._behind = behind

    @property
    def every_judge(self) -> Judge:
        """The judge that currently sees every trace."""
        if self._behind and self.plan.lagging is not None:
            return self.plan.lagging
        return self.plan.every

    async def evaluate(self, items: Sequence[WorkItem]) -> list[Outcome]:
        """Judge and score `items`; one outcome each, in order."""
        cheap = self.every_judge
        first = await self._judge(cheap, items)
        outcomes = [
            self._always(cheap, item, result) for item, result in zip(items, first, strict=True)
        ]
        if self.plan.sampled is not None:
            await self._add_sampled(self.plan.sampled, items, outcomes)
        return outcomes

    def _always(self, judge: Judge, item: WorkItem, result: Judgement | Exception) -> Outcome:
        outcome = self._score(judge, item, result)
        decision = SamplingDecision(
            judge=judge.identity.name,
            included=True,
            probability=1.0,
            reason=SamplingReason.ALWAYS,
        )
        return Outcome(
            scores=outcome.scores, decisions=(decision,), retry_reason=outcome.retry_reason
        )

    async def _add_sampled(
        self, judge: Judge, items: Sequence[WorkItem], outcomes: list[Outcome]
    ) -> None:
        drawn: list[int] = []
        for place, (item, outcome) in enumerate(zip(items, outcomes, strict=True)):
            if outcome.retry_reason is not None:
                continue
            decision = self._sampler.decide(
                item.trace,
                judge.identity.name,
                cheap=_values(outcome.scores),
                forced=item.forced,
            )
            outcomes[place] = Outcome(
                scores=outcome.scores, decisions=(*outcome.decisions, decision)
            )
            if decision.included:
                drawn.append(place)
        results = await self._judge(judge, [items[place] for place in drawn])
        for place, result in zip(drawn, results, strict=True):
            before = outcomes[place]
            more = self._score(judge, items[place], result)
            outcomes[place] = Outcome(
                scores=(*before.scores, *more.scores),
                decisions=before.decisions,
                retry_reason=more.retry_reason,
            )

    async def _judge(
        self, judge: Judge, items: Sequence[WorkItem]
    ) -> Sequence[Judgement | Exception]:
        if not items:
            return []
        requests: list[JudgeRequest] = [
            build_request(item.trace, self.plan.aspects) for item in items
        ]
        began = time.perf_counter()
        try:
            results = await judge.judge_many(requests)
        except JudgeError as error:
            results = [error] * len(items)
        except Exception as error:  # noqa: BLE001 - a judge may come from another package
            _log.exception("judge %s failed on a batch of %d", judge.identity.name, len(items))
            results = [error] * len(items)
        each = (time.perf_counter() - began) / len(items)
        for _ in items:
            telemetry.JUDGE_SECONDS.labels(judge=judge.identity.name).observe(each)
        return results

    def _score(self, judge: Judge, item: WorkItem, result: Judgement | Exception) -> Outcome:
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
                return Outcome(scores=tuple(score_trace(item.trace, result, metrics, now)))
            except Exception as error:  # noqa: BLE001 - one odd judgement must not spoil the batch
                result = error
        if (
            isinstance(result, JudgeUnavailable | JudgeTimeout)
            and item.attempt < self.plan.options.max_attempts
        ):
            telemetry.EVALUATIONS.labels(judge=name, status="retried").inc()
            return Outcome(retry_reason=result.reason)
        if not isinstance(result, JudgeError):
            _log.error("judge %s failed on %s", name, item.trace.trace_id, exc_info=result)
        telemetry.EVALUATIONS.labels(judge=name, status="failed").inc()
        return Outcome(scores=tuple(failed_scores(metrics, result, judge.identity, now)))


def _values(scores: Sequence[Score]) -> Mapping[str, float]:
    return {
        score.metric: score.value
        for score in scores
        if score.status is ScoreStatus.SCORED and score.value is not None
    }
