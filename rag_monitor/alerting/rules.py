"""Which rules can work, and the ones every app gets.

`params` documents the parameters of every kind. A rule that could never fire is refused with the
reason, because nobody notices an alert that does not come.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from typing import Final

from rag_monitor.alerting.params import PARAMS, number, required
from rag_monitor.domain.alert import AlertRule, RuleKind, Severity
from rag_monitor.domain.hit import HitKind
from rag_monitor.domain.rollup import LATENCY_METRICS
from rag_monitor.errors import RuleError
from rag_monitor.i18n import Message, msgid
from rag_monitor.metrics.rag import BAD_BELOW, METRICS
from rag_monitor.spelling import did_you_mean
from rag_monitor.statistics.burn import MIN_JUDGED, max_burn_rate

MAX_WINDOW_S: Final = 34_560_000.0
"""400 days: as long as rollups are kept."""
_MINUTE_S: Final = 60.0

_GRADED_METRICS: Final = tuple(BAD_BELOW)


def check_rule(rule: AlertRule, channels: Collection[str] | None = None) -> None:
    """Say whether a rule can work.

    Args:
        rule: What is to be checked.
        channels: Names of the configured channels; None: not known here, so any will do.

    Raises:
        RuleError: It cannot; the message names the field and says how to mend it.
    """
    _check_name(rule)
    _check_times(rule)
    if rule.min_judged < 1:
        raise RuleError("min_judged: must be at least 1, not {value}", value=rule.min_judged)
    if rule.kind is RuleKind.BUDGET and rule.app != "*":
        raise RuleError("app: the judging budget is one for all apps; leave it `*`")
    _check_metric(rule)
    _check_params(rule)
    if channels is not None:
        _check_channels(rule, channels)
    special = _SPECIAL.get(rule.kind)
    if special is not None:
        special(rule)


def default_rules(app: str = "*", project: str = "default") -> list[AlertRule]:
    """The shipped rules; `*` watches each app on its own."""

    def rule(name: str, kind: RuleKind, **fields: object) -> AlertRule:
        return AlertRule(
            name=name,
            kind=kind,
            project=project,
            app=app,
            shipped=True,
            **fields,  # type: ignore[arg-type]
        )

    return [
        rule("faithfulness drop", RuleKind.DROP, metric="faithfulness", hold_for_s=120.0),
        rule("context precision drop", RuleKind.DROP, metric="context_precision", hold_for_s=120.0),
        rule(
            "end-to-end latency",
            RuleKind.LATENCY,
            metric="end_to_end_ms",
            severity=Severity.TICKET,
            hold_for_s=120.0,
        ),
        rule("hit rate drop", RuleKind.HIT_RATE, severity=Severity.TICKET, hold_for_s=120.0),
        rule("error rate", RuleKind.ERROR_RATE, hold_for_s=120.0),
        rule("no data", RuleKind.NO_DATA),
        rule(
            "judge failures",
            RuleKind.JUDGE_FAILURES,
            metric="faithfulness",
            min_judged=20,
            severity=Severity.TICKET,
        ),
        rule(
            "suspect share",
            RuleKind.SUSPECT,
            metric="faithfulness",
            severity=Severity.TICKET,
        ),
    ]


def _check_name(rule: AlertRule) -> None:
    for field, text in (("name", rule.name), ("app", rule.app)):
        if not text.strip() or len(text) > 200 or not text.isprintable():
            raise RuleError("{field}: must be 1 to 200 printable characters", field=field)


def _check_channels(rule: AlertRule, channels: Collection[str]) -> None:
    for name in rule.notifiers:
        if name not in channels:
            text = msgid("notifiers: there is no channel {name!r}{meant}; configured: none")
            if channels:
                text = msgid("notifiers: there is no channel {name!r}{meant}; configured: {known}")
            raise RuleError(
                text, name=name, meant=did_you_mean(name, channels), known=", ".join(channels)
            )


def _check_times(rule: AlertRule) -> None:
    if not _MINUTE_S <= rule.window_s <= MAX_WINDOW_S:
        raise RuleError(
            "window_s: must lie between 60 and {most:.0f} (400 days), not {value:g}; numbers are "
            "kept per minute",
            most=MAX_WINDOW_S,
            value=rule.window_s,
        )
    for field in ("hold_for_s", "keep_firing_s", "repeat_s"):
        value = getattr(rule, field)
        if not math.isfinite(value) or not 0.0 <= value <= MAX_WINDOW_S:
            raise RuleError(
                "{field}: must be 0 or more seconds, at most 400 days, not {value:g}",
                field=field,
                value=value,
            )
    if 0.0 < rule.repeat_s < _MINUTE_S:
        raise RuleError(
            "repeat_s: must be 0 (never) or at least 60, not {value:g}", value=rule.repeat_s
        )


_METRICS_OF: Final[Mapping[RuleKind, tuple[str, ...]]] = {
    RuleKind.THRESHOLD: METRICS,
    RuleKind.DROP: METRICS,
    RuleKind.CHANGE: _GRADED_METRICS,
    RuleKind.BURN_RATE: _GRADED_METRICS,
    RuleKind.JUDGE_FAILURES: METRICS,
    RuleKind.SUSPECT: METRICS,
    RuleKind.HIT_RATE: tuple(HitKind),
    RuleKind.LATENCY: LATENCY_METRICS,
}
_METRIC_OPTIONAL: Final = frozenset({RuleKind.HIT_RATE})


def _check_metric(rule: AlertRule) -> None:
    metrics = _METRICS_OF.get(rule.kind)
    if metrics is None:
        if rule.metric is not None:
            raise RuleError("metric: a {kind} rule has none; leave it out", kind=rule.kind.value)
        return
    if rule.metric is None:
        if rule.kind in _METRIC_OPTIONAL:
            return
        raise RuleError(
            "metric: a {kind} rule needs one of {known}",
            kind=rule.kind.value,
            known=", ".join(metrics),
        )
    if rule.metric not in metrics:
        raise RuleError(
            "metric: a {kind} rule knows no {metric!r}{meant}; it takes {known}",
            kind=rule.kind.value,
            metric=rule.metric,
            meant=did_you_mean(rule.metric, metrics),
            known=", ".join(metrics),
        )


def _check_params(rule: AlertRule) -> None:
    specs = PARAMS[rule.kind]
    for name, value in rule.params.items():
        spec = specs.get(name)
        if spec is None:
            raise RuleError(
                "params.{name}: a {kind} rule has no such parameter{meant}; it takes {known}",
                name=name,
                kind=rule.kind.value,
                meant=did_you_mean(name, specs),
                known=", ".join(specs),
            )
        spec.check(name, value)


def _check_threshold(rule: AlertRule) -> None:
    if ("below" in rule.params) == ("above" in rule.params):
        raise RuleError("params.below, params.above: give exactly one of the two")
    below, above = number(rule, "below"), number(rule, "above")
    if below == 0.0:
        raise RuleError("params.below: no score lies below 0, the rule could never fire")
    if above == 1.0:
        raise RuleError("params.above: no score lies above 1, the rule could never fire")


def _check_change(rule: AlertRule) -> None:
    if "days" in rule.params and "every_judged" in rule.params:
        raise RuleError(
            "params.days, params.every_judged: both state the false-alarm rate; give one"
        )


def _check_burn_rate(rule: AlertRule) -> None:
    slo, multiple = required(rule, "slo"), required(rule, "multiple")
    limit = max_burn_rate(slo)
    if multiple >= limit:
        raise RuleError(
            "params.multiple: at an objective of {slo:.4g} the burn rate is at most {limit:.3g}, "
            "so {multiple:g} can never be exceeded; use 2, 1.5 or 1.2 (fast, medium, slow tier)",
            slo=slo,
            limit=limit,
            multiple=multiple,
        )
    short = number(rule, "short_s")
    if short is not None and short >= rule.window_s:
        raise RuleError(
            "params.short_s: must be shorter than window_s ({window:g}), not {value:g}",
            window=rule.window_s,
            value=short,
        )
    if rule.min_judged < MIN_JUDGED:
        raise RuleError(
            "min_judged: a burn-rate rule needs at least {least} judged in its window to tell, not "
            "{value}",
            least=MIN_JUDGED,
            value=rule.min_judged,
        )
    rate = number(rule, "judged_per_hour")
    if rate is not None and rate * rule.window_s / 3600.0 < rule.min_judged:
        raise RuleError(
            "params.judged_per_hour: {rate:g} judged an hour give {judged:.3g} in the window, "
            "below min_judged ({least}): the rule could never fire. Take a longer window_s (6 h at "
            "1.5, 3 days at 1.2) or raise the judge rate",
            rate=rate,
            judged=rate * rule.window_s / 3600.0,
            least=rule.min_judged,
        )


def _check_hit_rate(rule: AlertRule) -> None:
    if rule.params.get("name") and rule.metric is None:
        raise RuleError("metric: say whether params.name is a plugin, knowledge_base or workflow")
    if "min_rate" in rule.params and {"baseline", "min_drop"} & set(rule.params):
        raise RuleError(
            "params.min_rate: an absolute limit needs no baseline and no min_drop; give one kind"
        )
    if number(rule, "min_rate") == 0.0:
        raise RuleError("params.min_rate: no rate lies below 0, the rule could never fire")


def _check_latency(rule: AlertRule) -> None:
    if "max_ms" in rule.params and {"baseline", "min_rise"} & set(rule.params):
        raise RuleError(
            "params.max_ms: an absolute limit needs no baseline and no min_rise; give one kind"
        )


_SPECIAL: Final[Mapping[RuleKind, Callable[[AlertRule], None]]] = {
    RuleKind.THRESHOLD: _check_threshold,
    RuleKind.CHANGE: _check_change,
    RuleKind.BURN_RATE: _check_burn_rate,
    RuleKind.HIT_RATE: _check_hit_rate,
    RuleKind.LATENCY: _check_latency,
}


def rule_warnings(rule: AlertRule, apps: Collection[str]) -> list[str]:
    """Sentences about a rule that will stay silent until something changes.

    Args:
        rule: A rule that has passed `check_rule`.
        apps: The applications that have sent traces to its project.
    """
    if rule.app == "*" or rule.app in apps:
        return []
    return [
        Message(
            "app: no stored trace is of an application called {app!r}{meant}; the rule finds "
            "nothing until one comes",
            app=rule.app,
            meant=did_you_mean(rule.app, apps),
        )
    ]
