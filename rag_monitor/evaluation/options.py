"""Options of live evaluation."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Final

from rag_monitor.domain.ranges import above, at_least, check_ranges
from rag_monitor.i18n import Message
from rag_monitor.metrics.rag import LIVE_METRICS, METRICS
from rag_monitor.spelling import did_you_mean

_LONGEST_WAIT_S: Final = 86_400.0


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationOptions:
    """How live evaluation behaves. All times in seconds."""

    metrics: tuple[str, ...] = LIVE_METRICS
    """Metrics computed for every judged trace."""
    lag_limit_s: Annotated[float, above(0)] = 60.0
    """When judging is further behind than this, the lexical variant takes over."""
    lag_clear_s: float = 15.0
    """It hands back once judging is less far behind than this."""
    imports_wait: bool = True
    """Imported traces, and those that a person asked for, wait for the full judge however far
    behind it is; False: the lexical variant takes them over, too."""
    max_attempts: Annotated[
        int, at_least(1, "`{name}` must be at least 1 (judge once, no retry), not {value}")
    ] = 3
    """Tries before an unreachable judge makes a failed score."""
    retry_base_s: Annotated[float, above(0)] = 5.0
    """First wait before a retry; doubles each time."""

    def __post_init__(self) -> None:
        if not self.metrics:
            raise ValueError(
                Message("`metrics` is empty; name at least one, or leave it out for all")
            )
        for name in self.metrics:
            if name not in METRICS:
                raise ValueError(
                    Message(
                        "`metrics`: there is no live metric {name!r}{meant}; known: {names}",
                        name=name,
                        meant=did_you_mean(name, METRICS),
                        names=", ".join(METRICS),
                    )
                )
        check_ranges(self)
        if not 0 <= self.lag_clear_s <= self.lag_limit_s:
            raise ValueError(
                Message(
                    "`lag_clear_s` must be from 0 to `lag_limit_s` ({most:g}), not {value:g}",
                    most=self.lag_limit_s,
                    value=self.lag_clear_s,
                )
            )
        most = int(math.log2(max(_LONGEST_WAIT_S / self.retry_base_s, 1.0))) + 1
        if self.max_attempts > most:
            raise ValueError(
                Message(
                    "`max_attempts` must be at most {most}, not {value}: the wait doubles each "
                    "time from `retry_base_s` ({first:g} s) on and would pass a day",
                    most=most,
                    value=self.max_attempts,
                    first=self.retry_base_s,
                )
            )

    def wait_s(self, attempts: int) -> float:
        """How long a trace waits that failed so many times, in seconds."""
        return self.retry_base_s * 2.0 ** (attempts - 1)
