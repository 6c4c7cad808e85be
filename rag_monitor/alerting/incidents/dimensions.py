"""By what an incident's answers are told apart, and where the bad ones are concentrated."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from rag_monitor.alerting.incidents.breaks import Indicator
from rag_monitor.domain.incident import Concentration, IncidentTrace
from rag_monitor.statistics.concentration import Tally, excesses

DIMENSIONS: Final[Mapping[str, Callable[[IncidentTrace], Sequence[str]]]] = {
    "release": lambda trace: () if trace.release is None else (trace.release,),
    "knowledge_base": lambda trace: trace.knowledge_bases,
    "model": lambda trace: () if trace.model is None else (trace.model,),
    "topic": lambda trace: () if trace.topic is None else (trace.topic,),
}
"""By name, the values that a trace has; it may have none, or several."""
MOST_VALUES: Final = 10
"""Values of one dimension that are compared: those with the most traffic since the begin, which
says nothing of how good their answers are."""


def concentrations(
    now: Sequence[IncidentTrace], before: Sequence[IncidentTrace], bad: Indicator
) -> tuple[tuple[Concentration, ...], int]:
    """Where the share of bad answers rose more than elsewhere, and how many values were compared.

    `statistics.concentration` defines the excess and why its intervals are simultaneous.

    Args:
        now: Traces since the begin.
        before: Traces of the time before.
        bad: Which answers are bad.
    """
    parts: dict[tuple[str, str], tuple[Tally, Tally]] = {}
    for dimension, values_of in DIMENSIONS.items():
        traffic = Counter(value for trace in now for value in set(values_of(trace)))
        for value, _ in sorted(traffic.items(), key=lambda item: (-item[1], item[0]))[:MOST_VALUES]:
            now_inside, before_inside = (
                [trace for trace in side if value in values_of(trace)] for side in (now, before)
            )
            parts[dimension, value] = (tally(now_inside, bad), tally(before_inside, bad))
    all_now = tally(now, bad)
    compared = excesses(all_now, tally(before, bad), parts)
    rising = sorted(
        ((key, excess) for key, excess in compared.items() if excess.lower > 0),
        key=lambda item: (-item[1].lower, item[0]),
    )
    return tuple(
        Concentration(
            dimension=dimension,
            value=value,
            excess=excess.value,
            lower=excess.lower,
            upper=excess.upper,
            of_bad=parts[dimension, value][0].bad / all_now.bad,
            of_traffic=parts[dimension, value][0].total / all_now.total,
        )
        for (dimension, value), excess in rising
    ), len(compared)


def tally(traces: Sequence[IncidentTrace], bad: Indicator) -> Tally:
    """How many of those of which it can be told are bad."""
    values = [value for trace in traces if (value := bad(trace)) is not None]
    return Tally(bad=sum(values), total=len(values))
