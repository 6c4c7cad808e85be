"""Names inside rollups: dimensions, moments, and the judge of a series."""

from __future__ import annotations

import hashlib
from functools import lru_cache
from typing import Final

from rag_monitor.domain.fault import FAULT_METRIC
from rag_monitor.domain.hit import HitKind
from rag_monitor.domain.rollup import LATE_MOMENT

COMBINED: Final = "combined"
"""The judge of a series that asks for the best estimate there is."""

W2_TOTAL: Final = "w2y"
"""Sum of value/pi^2 over scored traces."""
W2_SQUARES: Final = "w2y2"
"""Sum of value^2/pi^2."""
WEIGHTED_BAD: Final = "wbad"
"""Sum of 1/pi over bad traces."""
SUSPECT_WEIGHT: Final = "sw"
"""Sum of 1/pi over suspect traces."""
SUSPECT_WEIGHT_SQUARES: Final = "sw2"
SHED: Final = "shed"
"""Traces that the budget did not allow to judge."""

UNSCORED: Final = "x"
"""Draws of a judge that gave no score, whatever the reason, in rows that say so: rows written
before this moment was kept have fewer of them than failures and the like."""

LATE: Final = LATE_MOMENT
"""Traces that arrived long after they began: imported history, not live traffic."""
HUMAN_LABELLED: Final = "h.all"
"""Scored traces with a label of people, drawn for them or not."""
CORRECTED: Final = "corrected_by_people"
"""Note of an estimate that the labels of people moved."""

LABELLED: Final = "labelled"
"""Routing cell that counts the traces labelled for a kind; its name is empty."""

MAX_NAME_LENGTH: Final = 128
"""Characters of a name of a plugin, knowledge base or workflow; the rest is cut off."""
_OF: Final = "@"
"""No metric's own name holds it; a name of a knowledge base may."""
_LATENCY: Final = "q:"
_JUDGED_AT: Final = "n@"
_BAD_AT: Final = "bad@"


def pair(quantity: str, proxy: str) -> str:
    """Moment of a difference estimate against the proxy of that identity."""
    return f"pair.{quantity}:{proxy}"


def label(quantity: str, proxy: str = "") -> str:
    """Moment over the traces that were drawn for people and labelled; see `LabelSums`."""
    return f"h.{quantity}:{proxy}" if proxy else f"h.{quantity}"


@lru_cache(maxsize=1024)
def cluster(quantity: str, proxy: str = "") -> str:
    """Name of sums per bucket of clusters (`Rollup.clusters`); a proxy goes by a digest.

    `r` and `y`: weights and weighted values; `f` and `o`: the proxy's values, weighted, of drawn
    traces, and weights of those outside the metric; `h` and `d`: weights of labelled traces, and
    what people add.
    """
    tag = hashlib.blake2s(proxy.encode("utf-8", "surrogatepass"), digest_size=4).hexdigest()
    return f"{quantity}:{tag}" if proxy else quantity


def latency_bucket(index: int) -> str:
    """Moment that counts the values of one fine bucket; see `aggregation.latencies`."""
    return f"{_LATENCY}{index}"


@lru_cache(maxsize=4096)
def latency_index(moment: str) -> int | None:
    """The bucket of a `latency_bucket` moment; None for any other moment."""
    return int(moment[len(_LATENCY) :]) if moment.startswith(_LATENCY) else None


def judged_at(probability: float) -> str:
    """Moment that counts the traces judged with this probability (only below 1)."""
    return f"{_JUDGED_AT}{probability!r}"


def bad_at(probability: float) -> str:
    """Moment that counts the bad ones among them."""
    return f"{_BAD_AT}{probability!r}"


@lru_cache(maxsize=1024)
def probability_of(moment: str) -> float | None:
    """The probability of a `judged_at` moment; None for any other moment."""
    return float(moment[len(_JUDGED_AT) :]) if moment.startswith(_JUDGED_AT) else None


def of_knowledge_base(metric: str, name: str | None) -> str:
    """The metric under which rollups keep the part of it that one knowledge base gave passages to.

    A metric of its own: whoever asks for the metric itself must never count these traces twice.
    """
    return metric if name is None else f"{metric}{_OF}{name[:MAX_NAME_LENGTH]}"


def belongs_to(metric: str, name: str | None) -> bool:
    """Whether it is kept for what that knowledge base gave passages to; None: for all traces."""
    _, at, base = metric.partition(_OF)
    return (base if at else None) == (None if name is None else name[:MAX_NAME_LENGTH])


def without_knowledge_base(metric: str) -> str:
    """The metric's own name."""
    return metric.partition(_OF)[0]


def is_of_faults(metric: str) -> bool:
    """Whether rollups keep the sums of all faults under it."""
    return without_knowledge_base(metric) == FAULT_METRIC


def hit_dimension(kind: HitKind, name: str, basis: str) -> str:
    """`kind:name:basis`; the name may itself hold colons."""
    return f"{kind.value}:{name}:{basis}"


def split_dimension(dimension: str) -> tuple[HitKind, str, str] | None:
    """Kind, name and basis (or routing cell); None when it is not such a dimension."""
    kind, _, rest = dimension.partition(":")
    name, colon, last = rest.rpartition(":")
    if not colon or kind not in HitKind.__members__.values():
        return None
    return HitKind(kind), name, last
