"""An EvaluationPlan: which judges see which traces, and for which metrics."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from rag_monitor.domain.judgement import Aspect
from rag_monitor.judges.judge import Judge
from rag_monitor.metrics.rag import LIVE_METRICS, METRICS, aspects_for
from rag_monitor.spelling import did_you_mean

_LONGEST_WAIT_S: Final = 86_400.0


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationOptions:
    """How live evaluation behaves. All times in seconds."""

    metrics: tuple[str, ...] = LIVE_METRICS
    """Metrics computed for every judged trace."""
    lag_limit_s: float = 60.0
    """When judging is further behind than this, the lexical variant takes over."""
    lag_clear_s: float = 15.0
    """It hands back once judging is less far behind than this."""
    max_attempts: int = 3
    """Tries before an unreachable judge makes a failed score."""
    retry_base_s: float = 5.0
    """First wait before a retry; doubles each time."""

    def __post_init__(self) -> None:
        if not self.metrics:
            raise ValueError("`metrics` is empty; name at least one, or leave it out for all")
        for name in self.metrics:
            if name not in METRICS:
                raise ValueError(
                    f"`metrics`: there is no live metric {name!r}{did_you_mean(name, METRICS)}; "
                    f"known: {', '.join(METRICS)}"
                )
        for name in ("lag_limit_s", "retry_base_s"):
            if getattr(self, name) <= 0:
                raise ValueError(f"`{name}` must be above 0, not {getattr(self, name):g}")
        if not 0 <= self.lag_clear_s <= self.lag_limit_s:
            raise ValueError(
                f"`lag_clear_s` must be from 0 to `lag_limit_s` ({self.lag_limit_s:g}), not "
                f"{self.lag_clear_s:g}"
            )
        if self.max_attempts < 1:
            raise ValueError(
                f"`max_attempts` must be at least 1 (judge once, no retry), not {self.max_attempts}"
            )
        most = int(math.log2(max(_LONGEST_WAIT_S / self.retry_base_s, 1.0))) + 1
        if self.max_attempts > most:
            raise ValueError(
                f"`max_attempts` must be at most {most}, not {self.max_attempts}: the wait doubles "
                f"each time from `retry_base_s` ({self.retry_base_s:g} s) on and would pass a day"
            )

    def wait_s(self, attempts: int) -> float:
        """How long a trace waits that failed so many times, in seconds."""
        return self.retry_base_s * 2.0 ** (attempts - 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationPlan:
    """The judges of one deployment.

    With no `sampled` judge, `every` is the judge and its scores are the estimate. With one, `every`
    becomes the cheap score that lowers the variance of the sampled judge's estimate.
    """

    every: Judge
    """Sees every trace."""
    lagging: Judge | None = None
    """Takes the place of `every` while judging is too far behind; its scores are a series apart."""
    sampled: Judge | None = None
    """Sees what the sampler includes."""
    options: EvaluationOptions = field(default_factory=EvaluationOptions)

    @property
    def aspects(self) -> frozenset[Aspect]:
        """The union of what the metrics need."""
        return aspects_for(self.options.metrics)

    def named(self, wanted: str) -> Judge | None:
        """The judge of that name or identity that evaluates now; `embedded` is any variant.

        None: no such judge is part of this plan.
        """
        candidates = [judge for judge in (self.sampled, self.every) if judge is not None]
        for judge in candidates:
            if wanted in (judge.identity.name, str(judge.identity)):
                return judge
        cheap = self.every.identity.name
        return self.every if cheap.startswith(f"{wanted}-") else None

    @property
    def judges(self) -> Sequence[Judge]:
        """All of them, for closing and for `doctor`."""
        return [judge for judge in (self.every, self.lagging, self.sampled) if judge is not None]
