"""Which rules can work, and the ones every app gets.

`params` documents the parameters of every kind. A rule that could never fire is refused with the
reason, because nobody notices an alert that does not come.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Mapping
from typing import Final

from rag_monitor.aggregation.comparison import BaselineKind
from rag_monitor.aggregation.keys import COMBINED
from rag_monitor.alerting.params import PARAMS, number, required, word
from rag_monitor.alerting.window_chooser import FOLLOWING
from rag_monitor.domain.alert import AlertRule, FieldName, RuleKind, Severity
from rag_monitor.domain.fault import FAULT_METRICS, Fault, fault_metric
from rag_monitor.domain.hit import HitKind
from rag_monitor.domain.rollup import LATENCY_METRICS, SATISFACTION_METRIC
from rag_monitor.domain.session_outcome import (
    RESOLVED_RATE,
    SESSION_FAITHFULNESS,
    SESSION_FAITHFULNESS_MEAN,
    SESSION_SHARES,
)
from rag_monitor.errors import RuleError
from rag_monitor.i18n import Message, msgid
from rag_monitor.metrics.rag import BAD_BELOW, METRICS
from rag_monitor.spelling import did_you_mean
from rag_monitor.statistics.burn import MIN_JUDGED, max_burn_rate

MAX_WINDOW_S: Final = 34_560_000.0
"""400 days: as long as rollups are kept."""
_MINUTE_S: Final = 60.0

_GRADED_METRICS: Final = tuple(BAD_BELOW)


def _param(name: str) -> FieldName:
    return FieldName(f"params.{name}")


_WEB_PAGE: Final = re.compile(r"""https?://[^\s<>()\[\]{}"'`\\|^]{1,2000}""")
"""What every channel can link to as it is."""
_METRIC: Final = FieldName("metric")
_MIN_JUDGED: Final = FieldName("min_judged")
_WINDOW: Final = FieldName("window_s")


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
        raise RuleError(
            "{field}: must be at least 1, not {value}", field=_MIN_JUDGED, value=rule.min_judged
        )
    if rule.kind is RuleKind.BUDGET and rule.app != "*":
        raise RuleError(
            "{field}: the judging budget is one for all apps; leave it `*`", field=FieldName("app")
        )
    _check_runbook(rule.runbook_url)
    _check_metric(rule)
    _check_params(rule)
    _check_of_sessions(rule)
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
            **{"window_s": None, **fields},  # type: ignore[arg-type]
        )

    def drops(metric: str, name: str) -> list[AlertRule]:
        """Against the window before, and against the last release."""
        release = {"baseline": BaselineKind.PREVIOUS_RELEASE.value}
        return [
            rule(f"{name} drop", RuleKind.DROP, metric=metric, hold_for_s=120.0),
            rule(
                f"{name} below last release",
                RuleKind.DROP,
                metric=metric,
                hold_for_s=120.0,
                params=release,
            ),
        ]

    ticket = Severity.TICKET
    return [
        *drops("faithfulness", "faithfulness"),
        *drops("context_precision", "context precision"),
        *drops("context_sufficiency", "context sufficiency"),
        rule(
            "end-to-end latency",
            RuleKind.LATENCY,
            metric="end_to_end_ms",
            severity=ticket,
            hold_for_s=120.0,
        ),
        rule("hit rate drop", RuleKind.HIT_RATE, severity=ticket, hold_for_s=120.0),
        rule("error rate", RuleKind.ERROR_RATE, hold_for_s=120.0),
        rule("traffic", RuleKind.TRAFFIC, severity=ticket, hold_for_s=600.0),
        rule("no data", RuleKind.NO_DATA, severity=ticket, window_s=3600.0),
        rule(
            "judge failures",
            RuleKind.JUDGE_FAILURES,
            metric="faithfulness",
            min_judged=20,
            severity=ticket,
        ),
        rule("suspect share", RuleKind.SUSPECT, metric="faithfulness", severity=ticket),
    ]


def _check_name(rule: AlertRule) -> None:
    for field, text in (("name", rule.name), ("app", rule.app)):
        if not text.strip() or len(text) > 200 or not text.isprintable():
            raise RuleError(
                "{field}: must be 1 to 200 printable characters", field=FieldName(field)
            )


def _check_runbook(url: str) -> None:
    if url and _WEB_PAGE.fullmatch(url) is None:
        raise RuleError(
            "{field}: must be an http:// or https:// address without blanks, quotes or brackets; "
            "write them as %20, %22, %28",
            field=FieldName("runbook_url"),
        )


def _check_channels(rule: AlertRule, channels: Collection[str]) -> None:
    for name in rule.notifiers:
        if name not in channels:
            text = msgid("{field}: there is no channel {name!r}{meant}; configured: none")
            if channels:
                text = msgid("{field}: there is no channel {name!r}{meant}; configured: {known}")
            raise RuleError(
                text,
                field=FieldName("notifiers"),
                name=name,
                meant=did_you_mean(name, channels),
                known=", ".join(channels),
            )


def _check_times(rule: AlertRule) -> None:
    if rule.window_s is None:
        if rule.kind not in FOLLOWING:
            raise RuleError(
                "{field}: the window of a {kind} rule cannot follow the traffic; give seconds",
                field=_WINDOW,
                kind=rule.kind.value,
            )
    elif not _MINUTE_S <= rule.window_s <= MAX_WINDOW_S:
        raise RuleError(
            "{field}: must lie between 60 and {most:.0f} (400 days), not {value:g}; numbers are "
            "kept per minute",
            field=_WINDOW,
            most=MAX_WINDOW_S,
            value=rule.window_s,
        )
    for field in ("hold_for_s", "keep_firing_s", "repeat_s"):
        value = getattr(rule, field)
        if not math.isfinite(value) or not 0.0 <= value <= MAX_WINDOW_S:
            raise RuleError(
                "{field}: must be 0 or more seconds, at most 400 days, not {value:g}",
                field=FieldName(field),
                value=value,
            )
    if 0.0 < rule.repeat_s < _MINUTE_S:
        raise RuleError(
            "{field}: must be 0 (never) or at least 60 s, not {value:g} s",
            field=FieldName("repeat_s"),
            value=rule.repeat_s,
        )


_METRICS_OF: Final[Mapping[RuleKind, tuple[str, ...]]] = {
    RuleKind.THRESHOLD: (*METRICS, SATISFACTION_METRIC, *SESSION_SHARES, *FAULT_METRICS),
    RuleKind.DROP: (
        *(*METRICS, SATISFACTION_METRIC, fault_metric(Fault.NONE)),
        *(RESOLVED_RATE, SESSION_FAITHFULNESS, SESSION_FAITHFULNESS_MEAN),
    ),
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
            text = msgid("{field}: a {kind} rule has none; leave it out")
            raise RuleError(text, field=_METRIC, kind=rule.kind.value)
        return
    if rule.metric is None:
        if rule.kind in _METRIC_OPTIONAL:
            return
        raise RuleError(
            "{field}: a {kind} rule needs one of {known}",
            field=_METRIC,
            kind=rule.kind.value,
            known=", ".join(metrics),
        )
    if rule.metric not in metrics:
        raise RuleError(
            "{field}: a {kind} rule knows no {metric!r}{meant}; it takes {known}",
            field=_METRIC,
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
                "{field}: a {kind} rule has no such parameter{meant}; it takes {known}",
                field=_param(name),
                kind=rule.kind.value,
                meant=did_you_mean(name, specs),
                known=", ".join(specs),
            )
        spec.check(name, value)


def _check_of_sessions(rule: AlertRule) -> None:
    """A session has turns of several judges and knowledge bases: none of them can be picked."""
    if rule.metric not in SESSION_SHARES:
        return
    for name, whole in (("judge", COMBINED), ("knowledge_base", "")):
        if word(rule, name) != whole:
            raise RuleError(
                "{field}: {metric} is of whole sessions; leave it out",
                field=_param(name),
                metric=rule.metric,
            )


def _check_threshold(rule: AlertRule) -> None:
    if ("below" in rule.params) == ("above" in rule.params):
        both = (_param("below"), _param("above"))
        raise RuleError("{field}: give exactly one of the two", field=both)
    below, above = number(rule, "below"), number(rule, "above")
    if below == 0.0:
        raise RuleError(
            "{field}: no score lies below 0, the rule could never fire", field=_param("below")
        )
    if above == 1.0:
        raise RuleError(
            "{field}: no score lies above 1, the rule could never fire", field=_param("above")
        )


def _check_change(rule: AlertRule) -> None:
    if "days" in rule.params and "every_judged" in rule.params:
        raise RuleError(
            "{field}: both state the false-alarm rate; give one",
            field=(_param("days"), _param("every_judged")),
        )


def _check_burn_rate(rule: AlertRule) -> None:
    slo, multiple = required(rule, "slo"), required(rule, "multiple")
    limit = max_burn_rate(slo)
    if multiple >= limit:
        raise RuleError(
            "{field}: at an objective of {slo:.4g} the burn rate is at most {limit:.3g}, "
            "so {multiple:g} can never be exceeded; use 2, 1.5 or 1.2 (fast, medium, slow tier)",
            field=_param("multiple"),
            slo=slo,
            limit=limit,
            multiple=multiple,
        )
    short, window_s = number(rule, "short_s"), rule.window_s or 0.0
    if short is not None and short >= window_s:
        raise RuleError(
            "{field}: must be shorter than {window_field} ({window:g} s), not {value:g} s",
            field=_param("short_s"),
            window_field=_WINDOW,
            window=window_s,
            value=short,
        )
    if rule.min_judged < MIN_JUDGED:
        raise RuleError(
            "{field}: a burn-rate rule needs at least {least} judged in its window to tell, not "
            "{value}",
            field=_MIN_JUDGED,
            least=MIN_JUDGED,
            value=rule.min_judged,
        )
    rate = number(rule, "judged_per_hour")
    if rate is not None and rate * window_s / 3600.0 < rule.min_judged:
        raise RuleError(
            "{field}: {rate:g} judged an hour give {judged:.3g} in the window, "
            "below {judged_field} ({least}): the rule could never fire. Take a longer "
            "{window_field} (6 h at 1.5, 3 days at 1.2) or raise the judge rate",
            field=_param("judged_per_hour"),
            judged_field=_MIN_JUDGED,
            window_field=_WINDOW,
            rate=rate,
            judged=rate * window_s / 3600.0,
            least=rule.min_judged,
        )


def _check_hit_rate(rule: AlertRule) -> None:
    if rule.params.get("name") and rule.metric is None:
        raise RuleError(
            "{field}: say whether {name_field} is a plugin, knowledge_base or workflow",
            field=_METRIC,
            name_field=_param("name"),
        )
    if "min_rate" in rule.params and {"baseline", "min_drop"} & set(rule.params):
        raise RuleError(
            "{field}: an absolute limit needs no baseline and no min_drop; give one kind",
            field=_param("min_rate"),
        )
    if number(rule, "min_rate") == 0.0:
        raise RuleError(
            "{field}: no rate lies below 0, the rule could never fire", field=_param("min_rate")
        )


def _check_latency(rule: AlertRule) -> None:
    if "max_ms" in rule.params and {"baseline", "min_rise"} & set(rule.params):
        raise RuleError(
            "{field}: an absolute limit needs no baseline and no min_rise; give one kind",
            field=_param("max_ms"),
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
