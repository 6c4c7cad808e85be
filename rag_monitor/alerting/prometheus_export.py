"""Our rules as Prometheus rules, for teams whose alerts all go through Alertmanager.

What Prometheus can compute from `/metrics` as the rule means it, on an interval, becomes an
expression of its own; anything else (other windows than the exported hour, one knowledge base,
sequential detectors, releases, quantiles and hit rates with their intervals, which apps are new or
gone) becomes `rag_monitor_alerts == 1`.

Scores are those of all releases together, as rules watch them: a release that has just begun has no
hour before to be compared with.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple

from rag_monitor.aggregation.keys import COMBINED
from rag_monitor.aggregation.prometheus_labels import app_label, safe_label
from rag_monitor.alerting.params import number, required, word
from rag_monitor.alerting.runbooks import MONITOR, outside_url
from rag_monitor.domain.alert import AlertRule, RuleKind
from rag_monitor.domain.fault import FAULT_METRICS
from rag_monitor.domain.rollup import SATISFACTION_METRIC
from rag_monitor.domain.session_outcome import SESSION_METRICS
from rag_monitor.domain.trace import DEFAULT_PROJECT
from rag_monitor.statistics.wilson import z_two_sided

EVERY_PROJECT: Final = "*"
_EXPOSED_WINDOW_S: Final = 3600.0
_LATENCIES: Final = {
    "first_byte_ms": "rag_monitor_first_byte_seconds",
    "generation_ms": "rag_monitor_generation_seconds",
    "end_to_end_ms": "rag_monitor_end_to_end_seconds",
}
_VALUE: Final = "{{ printf `%.3g` $value }}"
_APP: Final = "{{ reReplaceAll `^[^/]*/` `` $labels.app | urlquery }}"
"""The name of the app in an address: its label leads with the project unless that is plain."""
_OF_A_TARGET: Final = "instance, pod"
"""Labels that Prometheus adds for the process it scraped."""
_SESSIONS: Final = "rag_monitor_session_app_estimate"
_SESSIONS_RECORDED: Final = "rag_monitor:session_app_estimate"
_PARTS: Final = ("", "_lower", "_upper", "_samples")
"""An estimate on `/metrics`: itself, the ends of its interval, and how much it is made of."""
_OFFSETS: Final = {"previous_window": ("1h", "hour"), "last_week": ("1w", "week")}


def export_rules(
    rules: Sequence[AlertRule],
    every_s: float = 60.0,
    *,
    project: str = EVERY_PROJECT,
    public_url: str | None = None,
) -> str:
    """A rule file for Prometheus, as YAML.

    The operator's key shows Prometheus the applications of every project under one name, told apart
    by their labels alone.

    Args:
        rules: Of one project; disabled ones are left out.
        every_s: How often Prometheus evaluates them, whole seconds, 1 or more.
        project: Whose rules they are; an application is looked for in it alone. `*`: they are every
            project's, as the shipped ones are.
        public_url: Where people open the pages, for `dashboard_url`; None: that is not known.
    """
    every = _duration(max(1.0, every_s))
    groups = [
        {"name": "rag_monitor_recording", "interval": every, "rules": _recording()},
        {
            "name": "rag_monitor_rules",
            "interval": every,
            "rules": [
                _alerting(replace(rule, project=project), public_url)
                for rule in rules
                if rule.enabled
            ],
        },
        {"name": "rag_monitor_self", "interval": "30s", "rules": _own(public_url)},
    ]
    head = "# Written by `rag-monitor rules export --prometheus`. Edit the rules there, not here.\n"
    return head + _yaml({"groups": [group for group in groups if group["rules"]]})


def _recording() -> list[dict[str, Any]]:
    """Changes with the upper end of their interval (MOVER), metrics of sessions, and quantiles."""
    rules: list[dict[str, Any]] = []
    now, upper = _of_leader("rag_monitor_app_score"), _of_leader("rag_monitor_app_score_upper")
    for offset, name in _OFFSETS.values():
        before = _of_leader(f"rag_monitor_app_score offset {offset}")
        lower_before = _of_leader(f"rag_monitor_app_score_lower offset {offset}")
        rules.append({"record": f"rag_monitor:score_change:{name}", "expr": f"{now} - {before}"})
        rules.append(
            {
                "record": f"rag_monitor:score_change_upper:{name}",
                "expr": (
                    f"rag_monitor:score_change:{name} + sqrt(({upper} - {now}) ^ 2"
                    f" + ({before} - {lower_before}) ^ 2)"
                ),
            }
        )
    rules.extend(
        {
            "record": f"{_SESSIONS_RECORDED}{part}",
            "expr": _of_leader(f"{_SESSIONS}{part}"),
        }
        for part in _PARTS
    )
    for quantile in (0.5, 0.9, 0.99):
        rules.extend(
            {
                "record": f"{metric}:p{quantile * 100:g}",
                "expr": f"histogram_quantile({quantile:g}, sum by (app, le) ({metric}_bucket))",
            }
            for metric in _LATENCIES.values()
        )
    return rules


def _of_leader(series: str) -> str:
    """A series of the leader's as the same one, whichever process leads.

    Values from the database are exposed by the leader alone. When another process takes over, its
    series have another `instance`, and nothing would be there to compare them with for an hour or a
    week. While two are seen, the mean keeps a value between the ends of its interval.
    """
    return f"avg without ({_OF_A_TARGET}) ({series})"


def _own(public_url: str | None) -> list[dict[str, Any]]:
    """About the monitor itself, and the dead man's switch."""
    rules = [
        _rule(
            "RagMonitorWatchdog",
            "vector(1)",
            {"severity": "none"},
            "Always firing: when it stops arriving, the alert path is broken.",
        ),
        _rule(
            "RagMonitorDown",
            "absent(rag_monitor_store_up)",
            {"severity": "page"},
            "No rag-monitor is scraped: nothing is watched.",
            hold="5m",
        ),
        _rule(
            "RagMonitorStoreDown",
            "rag_monitor_store_up == 0",
            {"severity": "page"},
            "rag-monitor cannot read its database.",
            hold="5m",
        ),
        _rule(
            "RagMonitorNoLeader",
            "max(rag_monitor_leads) == 0",
            {"severity": "page"},
            "No worker leads: alert rules are not looked at and messages are not sent.",
            hold="2m",
        ),
        _rule(
            "RagMonitorRulesStand",
            "time() - max(rag_monitor_rules_checked_timestamp_seconds) > 300"
            " and max(rag_monitor_leads) == 1",
            {"severity": "page"},
            "A worker leads, but has not looked at the alert rules for five minutes.",
            hold="2m",
        ),
        _rule(
            "RagMonitorNotificationsFail",
            'sum by (channel) (increase(rag_monitor_notifications_total{outcome="dead"}[1h])) > 0'
            " or sum by (channel) (increase("
            'rag_monitor_notifications_total{outcome="failed"}[15m])) > 5',
            {"severity": "ticket"},
            "Channel {{ $labels.channel }} does not take notifications.",
        ),
        _rule(
            # A channel that was removed has no counter before its first loss: no increase shows it.
            "RagMonitorMessagesUndelivered",
            'sum(delta(rag_monitor_queue_depth{queue="undelivered"}[1h])) > 0',
            {"severity": "ticket"},
            "Messages were given up; rag-monitor doctor names their channel and the reason.",
        ),
        _rule(
            # Its traces wait before their scores fail, and the rule on failures is late by that.
            "RagMonitorJudgeAway",
            "max by (judge) (rag_monitor_judge_away) == 1",
            {"severity": "ticket"},
            "Judge {{ $labels.judge }} does not answer: the traces that were drawn for it wait.",
            hold="5m",
        ),
        _rule(
            # Every process counts the same database.
            "RagMonitorAssemblyBehind",
            'max(rag_monitor_queue_oldest_seconds{queue="assembly"}) > 60',
            {"severity": "page"},
            "Acknowledged traces wait to be assembled, the oldest for"
            " {{ printf `%.0f` $value }} s: no page and no rule sees them. Do workers run?",
            hold="2m",
        ),
        _rule(
            "RagMonitorTracesParked",
            'max(rag_monitor_queue_depth{queue="parked"}) > 0',
            {"severity": "ticket"},
            "{{ printf `%.0f` $value }} traces were given up and have no scores;"
            " rag-monitor doctor names them and the reason.",
            hold="5m",
        ),
        _rule(
            "RagMonitorRulesFail",
            'sum(increase(rag_monitor_job_failures_total{job="rule"}[15m])) > 0',
            {"severity": "ticket"},
            "An alert rule cannot be evaluated; the log says which.",
        ),
    ]
    for rule in rules:
        rule["annotations"] |= _links(MONITOR, "", public_url, None)
    return rules


def _links(section: str, own: str, public_url: str | None, app: str | None) -> dict[str, str]:
    """The annotations that dashboards and Alertmanager's templates know by name.

    Args:
        section: Of the runbooks.
        own: The rule's own runbook; empty: it has none.
        public_url: Where people open the pages; None: that is not known.
        app: A template of its name; None: the alert is about no app.
    """
    links = {}
    runbook = outside_url(section, own, public_url)
    if runbook is not None:
        links["runbook_url"] = _untemplated(runbook)
    if public_url:
        query = "" if app is None else f"?app={app}"
        links["dashboard_url"] = f"{_untemplated(public_url.rstrip('/'))}/{query}"
    return links


def _alerting(rule: AlertRule, public_url: str | None) -> dict[str, Any]:
    able = _NATIVE.get(rule.kind)
    native = able(rule) if able is not None else None
    hold = _duration(rule.hold_for_s)
    if native is None:
        selector = _selector(rule, rule=safe_label(rule.name), state="firing")
        summary = "fires for {{ $labels.app }}; rag-monitor's Alerts page has the numbers"
        firing = f"max without ({_OF_A_TARGET}) (rag_monitor_alerts{selector}) == 1"
        native, hold = _Native(firing, summary), ""
    alert = _rule(
        _alert_name(rule),
        native.expr,
        {"severity": rule.severity.value, "rule": _untemplated(rule.name)},
        f"{_untemplated(rule.name)}: {native.summary}.",
        hold=hold,
    )
    alert["annotations"] |= _links(rule.kind.value, rule.runbook_url, public_url, _APP)
    if rule.keep_firing_s > 0:
        alert["keep_firing_for"] = _duration(rule.keep_firing_s)
    return alert


def _rule(
    name: str, expr: str, labels: Mapping[str, str], summary: str, *, hold: str = ""
) -> dict[str, Any]:
    alert: dict[str, Any] = {"alert": name, "expr": expr}
    if hold:
        alert["for"] = hold
    alert["labels"] = dict(labels)
    alert["annotations"] = {"summary": summary}
    return alert


class _Native(NamedTuple):
    """A rule in the words of Prometheus."""

    expr: str
    summary: str
    """What its value is, as a template."""


def _exposed(rule: AlertRule) -> bool:
    """Whether `/metrics` has what the rule watches: an hour of an application as a whole."""
    return rule.window_s == _EXPOSED_WINDOW_S and not word(rule, "knowledge_base")


def _threshold(rule: AlertRule) -> _Native | None:
    if not _exposed(rule):
        return None
    fault = FAULT_METRICS.get(rule.metric or "")
    if fault is not None and word(rule, "judge") != COMBINED:
        return None

    def part(which: str) -> str:
        if rule.metric in SESSION_METRICS:
            return f"{_SESSIONS_RECORDED}{which}{_selector(rule, metric=rule.metric)}"
        if fault is not None:
            at = _selector(rule, fault=fault.value)
            return _of_leader(f"rag_monitor_app_fault_ratio{which}{at}")
        at = _selector(rule, metric=rule.metric, judge=word(rule, "judge"))
        return _of_leader(f"rag_monitor_app_score{which}{at}")

    enough = f"{part('_samples')} >= {rule.min_judged}"
    widening = _widening(rule)

    def end(side: str) -> str:
        return f"{part('')} + {widening} * ({part(f'_{side}')} - {part('')})"

    def summary(side: str, limit: str) -> str:
        return (
            f"{rule.metric} of {{{{ $labels.app }}}} has the {side} end of its interval at "
            f"{_VALUE}, {limit}"
        )

    below = number(rule, "below")
    if below is not None:
        expr = f"{end('upper')} < {below:g} and {enough}"
        return _Native(expr, summary("upper", f"below {below:g}"))
    above = required(rule, "above")
    expr = f"{end('lower')} > {above:g} and {enough}"
    return _Native(expr, summary("lower", f"above {above:g}"))


def _drop(rule: AlertRule) -> _Native | None:
    offset_and_name = _OFFSETS.get(word(rule, "baseline"))
    of_scores = rule.metric not in {*FAULT_METRICS, *SESSION_METRICS}
    if not _exposed(rule) or offset_and_name is None or not of_scores:
        return None
    offset, name = offset_and_name
    at = _selector(rule, metric=rule.metric, judge=word(rule, "judge"))
    change = f"rag_monitor:score_change:{name}{at}"
    upper = f"rag_monitor:score_change_upper:{name}{at}"
    samples = _of_leader(f"rag_monitor_app_score_samples{at}")
    samples_before = _of_leader(f"rag_monitor_app_score_samples{at} offset {offset}")
    expr = (
        f"{change} <= -{required(rule, 'min_drop'):g}"
        f" and {change} + {_widening(rule)} * ({upper} - {change}) < 0"
        f" and {samples} >= {rule.min_judged}"
        f" and {samples_before} >= {rule.min_judged}"
        f"{_by_one_judge(rule, at, offset)}"
    )
    return _Native(
        expr, f"{rule.metric} of {{{{ $labels.app }}}} changed by {_VALUE} against {offset} before"
    )


def _by_one_judge(rule: AlertRule, combined: str, offset: str) -> str:
    """That one judge's scores, told by their number, are what `combined` was made of both times."""
    if word(rule, "judge") != COMBINED or rule.metric == SATISFACTION_METRIC:
        return ""
    single = f'{_selector(rule, metric=rule.metric).removesuffix("}")},judge!="{COMBINED}"}}'

    def rests(when: str) -> str:
        of_single, of_all = (
            _of_leader(f"rag_monitor_app_score_samples{which}{when}")
            for which in (single, combined)
        )
        return f"{of_single} == ignoring (judge) group_left {of_all}"

    return f" and ignoring (judge) ({rests('')} and {rests(f' offset {offset}')})"


def _widening(rule: AlertRule) -> str:
    """How much wider the rule's interval is than the 95% interval that `/metrics` shows."""
    return f"{z_two_sided(required(rule, 'confidence')) / z_two_sided(0.95):.3g}"


_NATIVE: Final[Mapping[RuleKind, Callable[[AlertRule], _Native | None]]] = {
    RuleKind.THRESHOLD: _threshold,
    RuleKind.DROP: _drop,
}


def _selector(rule: AlertRule, /, **labels: str | None) -> str:
    parts = [_of_apps(rule)]
    parts += [f"{name}={_quoted(value)}" for name, value in labels.items() if value is not None]
    return f"{{{','.join(part for part in parts if part)}}}" if any(parts) else ""


def _of_apps(rule: AlertRule) -> str:
    """Finds what the rule watches by its label, which names the project unless it is plain."""
    everywhere, each = rule.project == EVERY_PROJECT, rule.app == "*"
    if everywhere:
        return "" if each else f"app=~{_quoted(f'([^/]+/)?{re.escape(rule.app)}')}"
    if not each:
        return f"app={_quoted(app_label(rule.project, rule.app))}"
    own = f"{re.escape(rule.project)}/.+"
    return f"app=~{_quoted(f'[^/]+|{own}' if rule.project == DEFAULT_PROJECT else own)}"


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _alert_name(rule: AlertRule) -> str:
    words = re.findall(r"[A-Za-z0-9]+", rule.name)
    return "RagMonitor" + ("".join(w[:1].upper() + w[1:] for w in words) or "Rule")


def _untemplated(text: str) -> str:
    """A name in a place that Prometheus reads as a template."""
    return text.replace("{{", '{{ "{{" }}')


def _duration(seconds: float) -> str:
    whole = round(seconds)
    if whole <= 0:
        return ""
    for size, unit in ((86_400, "d"), (3600, "h"), (60, "m")):
        if whole % size == 0:
            return f"{whole // size}{unit}"
    return f"{whole}s"


def _yaml(value: Any, indent: int = 0) -> str:
    """Block YAML of mappings, lists and strings; strings are quoted as JSON, which YAML reads."""
    pad = "  " * indent
    if isinstance(value, Mapping):
        lines = []
        for key, item in value.items():
            if isinstance(item, str):
                lines.append(f"{pad}{key}: {json.dumps(item, ensure_ascii=False)}\n")
            else:
                lines.append(f"{pad}{key}:\n{_yaml(item, indent + 1)}")
        return "".join(lines)
    return "".join(f"{pad}- {_yaml(item, indent + 1).lstrip()}" for item in value)
