"""An EvaluationPlan: which judges see which traces, and for which metrics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from rag_monitor.domain.judgement import Aspect
from rag_monitor.evaluation.options import EvaluationOptions
from rag_monitor.judges.judge import Judge
from rag_monitor.metrics.rag import aspects_for


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationPlan:
    """The judges of one deployment.

    With no `sampled` judge the scores of `baseline` are the estimate. With one they are the proxy
    that lowers the variance of the sampled judge's estimate.
    """

    baseline: Judge
    """Sees every trace."""
    fallback: Judge | None = None
    """Takes the place of `baseline` while judging lags too far; its scores are a series apart."""
    sampled: Judge | None = None
    """Sees what the sampler includes."""
    options: EvaluationOptions = field(default_factory=EvaluationOptions)

    @property
    def aspects(self) -> frozenset[Aspect]:
        """The union of what the metrics need."""
        return aspects_for(self.options.metrics)

    def named(self, requested: str) -> Judge | None:
        """The judge of that name or identity that evaluates now; `embedded` is any variant.

        None: no such judge is part of this plan.
        """
        candidates = [judge for judge in (self.sampled, self.baseline) if judge is not None]
        for judge in candidates:
            if requested in (judge.identity.name, str(judge.identity)):
                return judge
        name = self.baseline.identity.name
        return self.baseline if name.startswith(f"{requested}-") else None

    @property
    def judges(self) -> Sequence[Judge]:
        """All of them, for closing and for `doctor`."""
        return [
            judge for judge in (self.baseline, self.fallback, self.sampled) if judge is not None
        ]
