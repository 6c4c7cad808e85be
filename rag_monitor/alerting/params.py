"""The parameters of every rule kind: what they mean, their units, ranges and defaults.

Everything that asks for one reads this table: checks, the form of a rule, the documentation.
`confidence` is 0.999 by default: rules look every few seconds, and 95% would cry wolf every day.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from rag_monitor.aggregation.comparison import BaselineKind
from rag_monitor.domain.alert import AlertRule, FieldName, RuleKind
from rag_monitor.errors import RuleError
from rag_monitor.i18n import Message, msgid


class Unit(StrEnum):
    """What a numeric parameter counts; the value is its English word, empty where none is said."""

    NONE = ""
    SHARE = "share"
    DURATION = "duration"
    """In seconds; people read and type it with its unit (`10 min`)."""
    MILLISECONDS = "ms"
    DAYS = "days"
    WEEKS = "weeks"
    TRACES = "traces"
    JUDGED = "judged traces"
    TIMES = "times"


UNITS: Final[Mapping[Unit, str]] = MappingProxyType(
    {
        Unit.NONE: "",
        Unit.SHARE: msgid("share"),
        Unit.DURATION: "",
        Unit.MILLISECONDS: msgid("ms"),
        Unit.DAYS: msgid("days"),
        Unit.WEEKS: msgid("weeks"),
        Unit.TRACES: msgid("traces"),
        Unit.JUDGED: msgid("judged traces"),
        Unit.TIMES: msgid("times"),
    }
)
"""What stands behind a number, for translation; a duration carries its own unit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Number:
    """A numeric parameter, its range and default (None: there is none)."""

    label: str
    """What a form calls it."""
    low: float
    high: float
    default: float | None = None
    unit: Unit = Unit.NONE
    help: str = ""
    """What it does, and what it is when it is left out; empty: the label says it."""
    hint: str = ""
    """How a value is meant; also told to whoever gave a wrong one."""

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

    label: str
    default: str
    choices: Mapping[str, str] = field(default_factory=dict)
    """By value, what a form calls it."""
    help: str = ""

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


BASELINES: Final = {
    BaselineKind.PREVIOUS_WINDOW.value: Message("the window before"),
    BaselineKind.LAST_WEEK.value: Message("the same hours last week"),
    BaselineKind.PREVIOUS_RELEASE.value: Message("the release before"),
}
"""What a window is compared with, as sentences and forms call it."""
_SHARE: Final = Message("Shares are 0 to 1: 0.1 is ten percent.")
_OTHERWISE: Final = msgid("A fixed limit, instead of a comparison.")


def _share(label: str, default: float | None = None, help: str = "") -> Number:
    return Number(
        label=label, low=0.0, high=1.0, default=default, unit=Unit.SHARE, help=help, hint=_SHARE
    )


def _allowed_share(default: float, help: str) -> Number:
    share = _share(msgid("Largest share"), default, help)
    return replace(share, high=0.999)


def _least_fall(default: float) -> Number:
    share = _share(msgid("Smallest fall that counts"), default)
    return replace(share, low=0.001, high=0.999)


def _baseline(*kinds: BaselineKind) -> Word:
    names = {kind.value: BASELINES[kind.value] for kind in kinds}
    return Word(label=msgid("Compared with"), default=kinds[0].value, choices=names)


_JUDGE: Final = Word(
    label=msgid("Judge"),
    default="combined",
    help=msgid("The identity of one; combined: what all of them say together."),
)
_KNOWLEDGE_BASE: Final = Word(
    label=msgid("Knowledge base"),
    default="",
    help=msgid("Only traces that it gave passages to; empty: all."),
)
_CONFIDENCE: Final = Number(
    label=msgid("Level"),
    low=0.8,
    high=0.99999,
    default=0.999,
    help=msgid("Of the interval that it fires on."),
    hint=Message("0.999 is 99.9%."),
)
_IN_TIME: Final = _baseline(BaselineKind.PREVIOUS_WINDOW, BaselineKind.LAST_WEEK)
_YEAR_S: Final = 366 * 86_400.0

PARAMS: Final[Mapping[RuleKind, Mapping[str, Number | Word]]] = MappingProxyType(
    {
        RuleKind.THRESHOLD: {
            "below": _share(msgid("Fires below"), help=msgid("Give this or the upper limit.")),
            "above": _share(msgid("Fires above"), help=msgid("Give this or the lower limit.")),
            "judge": _JUDGE,
            "knowledge_base": _KNOWLEDGE_BASE,
            "confidence": _CONFIDENCE,
        },
        RuleKind.DROP: {
            "baseline": _baseline(*BaselineKind),
            "min_drop": _least_fall(0.10),
            "judge": _JUDGE,
            "knowledge_base": _KNOWLEDGE_BASE,
            "confidence": _CONFIDENCE,
        },
        RuleKind.CHANGE: {
            "mu0": Number(
                label=msgid("Lowest acceptable share of good answers"),
                low=0.01,
                high=0.999,
                default=0.90,
                unit=Unit.SHARE,
                hint=_SHARE,
            ),
            "days": Number(
                label=msgid("Time between false alarms"),
                low=1.0,
                high=3660.0,
                default=30.0,
                unit=Unit.DAYS,
                help=msgid("On average, at least."),
            ),
            "every_judged": Number(
                label=msgid("Traces between false alarms"),
                low=100.0,
                high=1e9,
                unit=Unit.JUDGED,
                help=msgid("Instead of the time between them."),
            ),
            "pi_min": Number(
                label=msgid("Smallest sampling probability"),
                low=1e-6,
                high=1.0,
                help=msgid("Empty: the smallest seen."),
                hint=Message("It is the sampling policy's floor."),
            ),
            "judge": _JUDGE,
            "knowledge_base": _KNOWLEDGE_BASE,
        },
        RuleKind.BURN_RATE: {
            "slo": Number(
                label=msgid("Objective"),
                low=0.5,
                high=0.9999,
                default=0.95,
                unit=Unit.SHARE,
                help=msgid("The share of good answers that was promised."),
                hint=_SHARE,
            ),
            "multiple": Number(
                label=msgid("Allowance exceeded"),
                low=1.0,
                high=10_000.0,
                default=2.0,
                unit=Unit.TIMES,
            ),
            "short_s": Number(
                label=msgid("Short window"),
                low=60.0,
                high=_YEAR_S,
                unit=Unit.DURATION,
                help=msgid("Empty: a twelfth of the window."),
            ),
            "judged_per_hour": Number(
                label=msgid("Expected an hour"),
                low=0.0,
                high=1e9,
                unit=Unit.JUDGED,
                help=msgid("With it, a rule that could never fire is refused."),
            ),
            "judge": _JUDGE,
            "knowledge_base": _KNOWLEDGE_BASE,
        },
        RuleKind.ERROR_RATE: {
            "max_share": _allowed_share(0.10, msgid("Ended in an error, of all traces.")),
            "confidence": _CONFIDENCE,
        },
        RuleKind.NO_DATA: {
            "min_traces": Number(
                label=msgid("Expected at least"),
                low=1.0,
                high=1e9,
                default=1.0,
                unit=Unit.TRACES,
                help=msgid("Fewer are no data."),
            ),
            "since_s": Number(
                label=msgid("Forgets an app after"),
                low=60.0,
                high=_YEAR_S,
                default=604_800.0,
                unit=Unit.DURATION,
                help=msgid("Of a rule on every app: those silent for longer are left out."),
            ),
            "min_before": Number(
                label=msgid("Sent before, at least"),
                low=1.0,
                high=1e9,
                default=20.0,
                unit=Unit.TRACES,
                help=msgid("Of a rule on every app: those with fewer in four weeks are left out."),
            ),
        },
        RuleKind.TRAFFIC: {
            "direction": Word(
                label=msgid("Direction"),
                default="both",
                choices={
                    "both": msgid("fewer or more traces"),
                    "drop": msgid("fewer traces"),
                    "surge": msgid("more traces"),
                },
            ),
            "min_ratio": Number(
                label=msgid("Fewer or more by"),
                low=1.1,
                high=1000.0,
                default=2.0,
                unit=Unit.TIMES,
                help=msgid("Than the least, or the most, of the weeks before."),
            ),
            "weeks": Number(
                label=msgid("Compared with"), low=2.0, high=8.0, default=4.0, unit=Unit.WEEKS
            ),
            "confidence": _CONFIDENCE,
        },
        RuleKind.JUDGE_FAILURES: {
            "max_share": _allowed_share(0.10, msgid("Failed, of all that were asked for.")),
            "judge": _JUDGE,
            "confidence": _CONFIDENCE,
        },
        RuleKind.SUSPECT: {
            "max_share": _allowed_share(0.05, msgid("Suspect, of all that were asked for.")),
            "judge": _JUDGE,
            "confidence": _CONFIDENCE,
        },
        RuleKind.HIT_RATE: {
            "name": Word(
                label=msgid("Name"),
                default="",
                help=msgid("Of one plugin, knowledge base or workflow; empty: each on its own."),
            ),
            "basis": Word(
                label=msgid("Counted among"),
                default="all",
                choices={
                    "all": msgid("all traces"),
                    "expected": msgid("traces that were to use it"),
                },
            ),
            "min_rate": _share(msgid("Lowest rate"), help=_OTHERWISE),
            "baseline": _IN_TIME,
            "min_drop": _least_fall(0.20),
            "confidence": _CONFIDENCE,
        },
        RuleKind.LATENCY: {
            "quantile": Number(
                label=msgid("Quantile"),
                low=0.5,
                high=0.99,
                default=0.9,
                hint=Message("0.9 is the p90."),
            ),
            "max_ms": Number(
                label=msgid("Longest"),
                low=1.0,
                high=81_920.0,
                unit=Unit.MILLISECONDS,
                help=_OTHERWISE,
                hint=Message("Buckets end at 81.92 s."),
            ),
            "baseline": _IN_TIME,
            "min_rise": Number(
                label=msgid("Smallest rise that counts"),
                low=0.01,
                high=100.0,
                default=0.5,
                help=msgid("0.5 is half as slow again."),
            ),
            "confidence": _CONFIDENCE,
        },
        RuleKind.BUDGET: {
            "min_remaining": _share(
                msgid("Remaining, at least"), 0.0, msgid("Of the budget; 0: until it is spent.")
            ),
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
