"""The parameters of every rule kind, with their ranges and defaults.

kind            parameter                    meaning (default)
threshold       below | above                limit; exactly one of the two
                judge                        judge identity, or `combined` (combined)
                knowledge_base               only traces it gave passages to (all traces)
drop            baseline                     previous_window | last_week | previous_release
                                             (previous_window)
                min_drop                     smallest drop that counts, 0 to 1 (0.10 = ten points)
                judge                        (combined)
change          mu0                          lowest acceptable share of good answers (0.90)
                days                         wanted days between false alarms (30)
                every_judged                 instead of days: wanted judged traces between them
                pi_min                       floor of the sampling policy (smallest probability
                                             seen)
                judge                        (combined)
burn_rate       slo                          objective: share of good answers (0.95)
                multiple                     times the allowance (2.0)
                short_s                      short window (window_s / 12)
                judged_per_hour              expected; refuses a rule that could never fire
                judge                        (combined)
error_rate      max_share                    traces that ended in an error / all (0.10)
no_data         min_traces                   fewer traces than this is no data (1)
                since_s                      `*`: apps silent for longer than this are forgotten
                                             (604800)
                min_before                   `*`: who sent fewer traces than this in that time never
                                             sent regularly (20)
traffic         direction                    both | drop | surge (both)
                min_ratio                    so many times fewer than the least, or more than the
                                             most, of the weeks before (2)
                weeks                        compared with, 2 to 8 (4)
judge_failures  max_share                    failed / asked (0.10)
                judge                        (combined)
suspect         max_share                    suspect / asked (0.05)
                judge                        (combined)
hit_rate        name                         one plugin, knowledge base or workflow (every one)
                basis                        all | expected (all)
                min_rate                     absolute limit; without it the rate is compared:
                baseline                     previous_window | last_week (previous_window)
                min_drop                     (0.20)
latency         quantile                     0.5 to 0.99 (0.9)
                max_ms                       absolute limit; without it the quantile is compared:
                baseline                     previous_window | last_week (previous_window)
                min_rise                     relative, 0.5 = half as slow again (0.5)
budget          min_remaining                share of the budget, 0 to 1 (0: when it is spent)

drop, change and burn_rate take `knowledge_base` as threshold does.
threshold, drop, error_rate, traffic, judge_failures, suspect, hit_rate and latency also take
`confidence`: the level of the interval they fire on (0.999: they look every few seconds, and 95%
would cry wolf every day).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from rag_monitor.aggregation.comparison import BaselineKind
from rag_monitor.domain.alert import AlertRule, FieldName, RuleKind
from rag_monitor.errors import RuleError
from rag_monitor.i18n import Message, msgid


@dataclass(frozen=True, slots=True, kw_only=True)
class Number:
    """A numeric parameter, its range and default (None: there is none)."""

    low: float
    high: float
    default: float | None = None
    hint: str = ""

    def check(self, name: str, value: object) -> None:
        """Raises RuleError when the value is no number of the range."""
        field = FieldName(f"params.{name}")
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            text = msgid("{field}: must be a number, not {value!r}.")
            if self.hint:
                text = msgid("{field}: must be a number, not {value!r}. {hint}")
            raise RuleError(text, field=field, value=value, hint=self.hint)
        if not math.isfinite(value) or not self.low <= value <= self.high:
            text = msgid("{field}: must lie between {low:g} and {high:g}, not {value:g}.")
            if self.hint:
                text = msgid(
                    "{field}: must lie between {low:g} and {high:g}, not {value:g}. {hint}"
                )
            low, high = self.low, self.high
            raise RuleError(text, field=field, low=low, high=high, value=value, hint=self.hint)


@dataclass(frozen=True, slots=True, kw_only=True)
class Word:
    """A textual parameter, its choices (none: any text) and default."""

    default: str
    choices: tuple[str, ...] = ()

    def check(self, name: str, value: object) -> None:
        """Raises RuleError when the value is none of the choices."""
        field = FieldName(f"params.{name}")
        if not isinstance(value, str):
            raise RuleError("{field}: must be text, not {value!r}", field=field, value=value)
        if self.choices and value not in self.choices:
            raise RuleError(
                "{field}: must be one of {choices}, not {value!r}",
                field=field,
                choices=", ".join(self.choices),
                value=value,
            )


_SHARE: Final = Message("Shares are 0 to 1: 0.1 is ten percent.")
_JUDGE: Final = Word(default="combined")
_KNOWLEDGE_BASE: Final = Word(default="")
_CONFIDENCE: Final = Number(low=0.8, high=0.99999, default=0.999, hint=Message("0.999 is 99.9%."))
_TIME_BASELINES: Final = (BaselineKind.PREVIOUS_WINDOW.value, BaselineKind.LAST_WEEK.value)
_BASELINES: Final = tuple(kind.value for kind in BaselineKind)
_YEAR_S: Final = 366 * 86_400.0

PARAMS: Final[Mapping[RuleKind, Mapping[str, Number | Word]]] = MappingProxyType(
    {
        RuleKind.THRESHOLD: {
            "confidence": _CONFIDENCE,
            "below": Number(low=0.0, high=1.0, hint=_SHARE),
            "above": Number(low=0.0, high=1.0, hint=_SHARE),
            "judge": _JUDGE,
            "knowledge_base": _KNOWLEDGE_BASE,
        },
        RuleKind.DROP: {
            "confidence": _CONFIDENCE,
            "baseline": Word(default=_BASELINES[0], choices=_BASELINES),
            "min_drop": Number(low=0.001, high=0.999, default=0.10, hint=_SHARE),
            "judge": _JUDGE,
            "knowledge_base": _KNOWLEDGE_BASE,
        },
        RuleKind.CHANGE: {
            "mu0": Number(low=0.01, high=0.999, default=0.90, hint=_SHARE),
            "days": Number(low=1.0, high=3660.0, default=30.0),
            "every_judged": Number(low=100.0, high=1e9),
            "pi_min": Number(
                low=1e-6, high=1.0, hint=Message("It is the sampling policy's floor.")
            ),
            "judge": _JUDGE,
            "knowledge_base": _KNOWLEDGE_BASE,
        },
        RuleKind.BURN_RATE: {
            "slo": Number(low=0.5, high=0.9999, default=0.95, hint=_SHARE),
            "multiple": Number(low=1.0, high=10_000.0, default=2.0),
            "short_s": Number(low=60.0, high=_YEAR_S),
            "judged_per_hour": Number(low=0.0, high=1e9),
            "judge": _JUDGE,
            "knowledge_base": _KNOWLEDGE_BASE,
        },
        RuleKind.ERROR_RATE: {
            "confidence": _CONFIDENCE,
            "max_share": Number(low=0.0, high=0.999, default=0.10, hint=_SHARE),
        },
        RuleKind.NO_DATA: {
            "min_traces": Number(low=1.0, high=1e9, default=1.0),
            "since_s": Number(low=60.0, high=_YEAR_S, default=604_800.0),
            "min_before": Number(low=1.0, high=1e9, default=20.0),
        },
        RuleKind.TRAFFIC: {
            "confidence": _CONFIDENCE,
            "direction": Word(default="both", choices=("both", "drop", "surge")),
            "min_ratio": Number(low=1.1, high=1000.0, default=2.0),
            "weeks": Number(low=2.0, high=8.0, default=4.0),
        },
        RuleKind.JUDGE_FAILURES: {
            "confidence": _CONFIDENCE,
            "max_share": Number(low=0.0, high=0.999, default=0.10, hint=_SHARE),
            "judge": _JUDGE,
        },
        RuleKind.SUSPECT: {
            "confidence": _CONFIDENCE,
            "max_share": Number(low=0.0, high=0.999, default=0.05, hint=_SHARE),
            "judge": _JUDGE,
        },
        RuleKind.HIT_RATE: {
            "confidence": _CONFIDENCE,
            "name": Word(default=""),
            "basis": Word(default="all", choices=("all", "expected")),
            "min_rate": Number(low=0.0, high=1.0, hint=_SHARE),
            "baseline": Word(default=_TIME_BASELINES[0], choices=_TIME_BASELINES),
            "min_drop": Number(low=0.001, high=0.999, default=0.20, hint=_SHARE),
        },
        RuleKind.LATENCY: {
            "confidence": _CONFIDENCE,
            "quantile": Number(low=0.5, high=0.99, default=0.9, hint=Message("0.9 is the p90.")),
            "max_ms": Number(low=1.0, high=81_920.0, hint=Message("Buckets end at 81.92 s.")),
            "baseline": Word(default=_TIME_BASELINES[0], choices=_TIME_BASELINES),
            "min_rise": Number(low=0.01, high=100.0, default=0.5),
        },
        RuleKind.BUDGET: {
            "min_remaining": Number(low=0.0, high=1.0, default=0.0, hint=_SHARE),
        },
    }
)


def number(rule: AlertRule, name: str) -> float | None:
    """The parameter or its default; None where there is neither."""
    spec = PARAMS[rule.kind][name]
    value = rule.params.get(name, spec.default)
    return None if value is None else float(value)


def required(rule: AlertRule, name: str) -> float:
    """A parameter that has a default.

    Raises:
        RuleError: It has none and was not given.
    """
    value = number(rule, name)
    if value is None:
        raise RuleError(
            "{field}: must be given for a {kind} rule",
            field=FieldName(f"params.{name}"),
            kind=rule.kind.value,
        )
    return value


def word(rule: AlertRule, name: str) -> str:
    """The textual parameter or its default."""
    return str(rule.params.get(name, PARAMS[rule.kind][name].default))
