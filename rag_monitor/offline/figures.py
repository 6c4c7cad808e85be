"""Figures over all rows that a target can name beside the metrics: rates of labels and of hits.

`accuracy`, `macro_f1`, `precision/CLASS` of labels and predictions, of two classes also `precision`
for the positive one; `recall/plugin/NAME` of routing; `hit_rate/plugin/NAME/expected`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, TypeVar

from rag_monitor.domain.hit import HitKind

T = TypeVar("T")

RATES: Final = (
    "precision", "recall", "f1", "false_positive_rate", "false_negative_rate", "accuracy",
)  # fmt: skip
"""Of one class or name against the rest."""
AVERAGES: Final = (
    "accuracy", "macro_precision", "macro_recall", "macro_f1",
    "micro_precision", "micro_recall", "micro_f1",
)  # fmt: skip
"""Of all classes together."""
HIT_RATE: Final = "hit_rate"
HIT_RATE_FORM: Final = "hit_rate/plugin/NAME/expected"
"""Kind, name, basis; without the name of any."""
BASES: Final = ("all", "expected")
_PERCENTILE: Final = re.compile(r"_p\d+$")
CLASSIFICATION: Final = "classification"
FAITHFULNESS: Final = "faithfulness"
TITLES: Final = (CLASSIFICATION, FAITHFULNESS, *(kind.value for kind in HitKind))
"""What labels and predictions are held against each other."""
_POSITIVE: Final = frozenset({"1", "true", "yes", "positive", "是", "正", "阳性"})
_NEGATIVE: Final = frozenset({"0", "false", "no", "negative", "否", "不是", "负", "阴性"})


def is_figure(name: str) -> bool:
    """Whether a target may name this; which classes and names there are, only the rows say."""
    head, *rest = name.split("/")
    if head == HIT_RATE:
        return len(rest) > 1 and rest[0] in {*HitKind} and rest[-1] in BASES
    return head in RATES or head in AVERAGES


def names_a_label(name: str) -> bool:
    """Whether it is about one class, plugin or the like, which the rows must have then."""
    return "/" in name


def title_of(name: str) -> str:
    """Which of `TITLES` a figure belongs to."""
    parts = name.split("/")
    return parts[1] if len(parts) > 1 and parts[1] in TITLES else CLASSIFICATION


def metric_of(name: str) -> str:
    """The metric that a figure over all rows is made of: `corpus_bleu_4`, `end_to_end_ms_p90`."""
    return _PERCENTILE.sub("", name.removeprefix("corpus_"))


def rates_of(counted: Iterable[tuple[str, Any]]) -> dict[str, float]:
    """`RATE/NAME` to its value, of names with their counts, which have `RATES` as attributes."""
    return {
        f"{rate}/{name}": value
        for name, counts in counted
        for rate in RATES
        if (value := getattr(counts, rate)) is not None
    }


def named(title: str, values: Mapping[str, T], classes: Sequence[str] = ()) -> dict[str, T]:
    """Rates and averages by the names that targets have for them.

    Args:
        title: One of `TITLES`; it stands in the names of all but `classification`.
        values: By `RATE/NAME`, and by the name of the average.
        classes: All of them; of two, the rates of the positive one need no name.
    """
    if title == CLASSIFICATION:
        positive = _positive(classes)
        alone = {rate: values.get(f"{rate}/{positive}") for rate in RATES} if positive else {}
        return {**values, **{rate: value for rate, value in alone.items() if value is not None}}
    parts = ((name.partition("/"), value) for name, value in values.items())
    return {f"{rate}/{title}{slash}{name}": value for (rate, slash, name), value in parts}


def _positive(names: Sequence[str]) -> str | None:
    """The positive one of two classes; None: they are other ones."""
    yes = [name for name in names if name.strip().lower() in _POSITIVE]
    no = [name for name in names if name.strip().lower() in _NEGATIVE]
    return yes[0] if len(yes) == 1 and len(yes) + len(no) == len(names) <= 2 else None
