"""Alerts: what fires, what is silenced, what was; and what a rule would find."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from fastapi import APIRouter
from starlette.responses import HTMLResponse

from rag_monitor.alerting.incidents.next_step import path_of
from rag_monitor.alerting.incidents.wording import sentences
from rag_monitor.alerting.params import number
from rag_monitor.alerting.replay import Replay
from rag_monitor.alerting.runbooks import MONITOR, SECTIONS, runbook_of, runbook_url
from rag_monitor.charts.durations import latency_interval, milliseconds
from rag_monitor.charts.numbers import (
    count_text,
    figure_text,
    foreign_text,
    given_share,
    score_text,
    share_interval,
    share_text,
)
from rag_monitor.domain.alert import Alert, AlertRule, Finding, RuleKind, Silence
from rag_monitor.domain.incident import Incident
from rag_monitor.domain.selection import Selection
from rag_monitor.domain.stored import TraceSummary
from rag_monitor.domain.window import Window
from rag_monitor.i18n import msgid
from rag_monitor.server.ui import catalog
from rag_monitor.server.ui.pictures import AppCharts, Picture, alert_marks, break_marks
from rag_monitor.server.ui.rule_form import rule_form
from rag_monitor.server.ui.view import OPEN_STATES, Viewer, Visitor, page
from rag_monitor.server.validation import unknown_names

router = APIRouter(include_in_schema=False)

MAX_HISTORY: Final = 100
MAX_UNTOLD: Final = 100
MAX_INCIDENTS: Final = 20
MAX_WORST: Final = 20
"""So many worst traces of a page are shown with their question; of more, the ids."""
MAX_COURSES: Final = 5
"""So many open alerts have a chart; each costs as much as one of the overview."""
_BEFORE: Final = timedelta(days=1)
_AFTER: Final = timedelta(days=6)
_USUAL_WINDOW_S: Final = 3600.0
TRIAL_DAYS: Final = ("0", "1", "7", "30")
SILENCE_HOURS: Final = {
    "1": msgid("1 hour"),
    "4": msgid("4 hours"),
    "24": msgid("1 day"),
    "168": msgid("7 days"),
}
"""Hours a silence may last, and how they are called in English."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Worst:
    """A trace an alert points at."""

    trace_id: str
    question: str | None = None
    """None: withheld, not kept any more, or not looked up."""
    value: float | None = None
    """Of the rule's metric."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Open:
    """An open alert with what stands beside it."""

    alert: Alert
    finding: Finding
    """What the last look saw; of an alert that is over, what it fired for."""
    silence: Silence | None
    metric: str
    figures: Figures
    worst: Sequence[Worst]
    incident: str
    """Id of the incident that it is a part of; empty: it is of none that is shown."""
    broke: bool
    """The course has a mark where it broke."""
    course: Picture | None
    """What the rule looks at, over time; None: of later alerts of a long list, too."""
    runbook: str
    has_rule: bool
    """False: somebody deleted it since."""
    compared: Mapping[str, str]
    """What an address says that holds the time of the alert against the time before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoryView:
    """An incident with its story in words."""

    incident: Incident
    sentences: Sequence[str]
    next_path: str | None
    runbook: str
    """Of the alert that broke first."""


@router.get("/alerts")
def alerts(me: Viewer) -> HTMLResponse:
    """Open alerts, silences, rules, and what is over."""
    with me.services.reading():
        return _alerts(me)


@router.get("/runbooks")
def runbooks(me: Viewer) -> HTMLResponse:
    """What to do about each kind of alert."""
    titles = {**catalog.RULE_KINDS, MONITOR: catalog.THE_MONITOR}
    about = {"introduction": catalog.RUNBOOK_INTRODUCTION}
    return page(me, "runbooks.html", {"sections": SECTIONS, "titles": titles, **about})


def _alerts(me: Visitor) -> HTMLResponse:
    app = me.request.query_params.get("app", "")
    now = me.services.clock.now()
    project = me.principal.project
    silences = [silence for silence in me.services.silences.all(project) if silence.ends_at > now]
    rules = me.services.rules.all(project)
    alerts = me.services.alerts.load(project)
    over = [alert for alert in alerts if alert.state not in OPEN_STATES and app in {"", alert.app}]
    alerted = {alert.app for alert in alerts}
    apps = me.services.traces.apps(project)
    going_on, past = (
        [_tell(me, one) for one in _incidents(me, app, unfinished=state)] for state in (True, False)
    )
    parts = {part.id: one.incident for one in going_on for part in one.incident.alerts}
    return page(
        me,
        "alerts.html",
        {
            "app": app,
            "refused": me.not_applied("app"),
            "hints": unknown_names(me.services, project, app=app or None, further=alerted),
            "incidents": going_on,
            "past": [one for one in past if one.incident.story is not None],
            "open": _open(me, app, {rule.name: rule for rule in rules}, silences, now, parts),
            "over": sorted(over, key=lambda alert: alert.since, reverse=True)[:MAX_HISTORY],
            "silences": silences,
            "now": now,
            "report": me.rule_report([app] if app else [one.app for one in apps if one.kept]),
            "most_untold": MAX_UNTOLD,
            "empty": not any(one.kept for one in apps),
            "hours": SILENCE_HOURS,
            "rules": rules,
            "apps": [one.app for one in apps],
        },
    )


def _open(
    me: Visitor,
    app: str,
    rules: Mapping[str, AlertRule],
    silences: Sequence[Silence],
    now: datetime,
    incidents: Mapping[str, Incident],
) -> list[Open]:
    alerts = me.open_alerts(app)
    summaries = _look_up(me, alerts)
    return [
        _beside(
            me,
            alert,
            rules.get(alert.rule),
            silence_of(alert, silences, now),
            summaries,
            incident=incidents.get(alert.id),
            with_course=place < MAX_COURSES,
        )
        for place, alert in enumerate(alerts)
    ]


def opened(me: Visitor, alert: Alert, incident: Incident | None) -> Open:
    """One alert, open or over, with what stands beside it.

    Args:
        me: Who looks.
        alert: The alert.
        incident: The one that goes on and holds it; None: there is none.
    """
    now, project = me.services.clock.now(), me.principal.project
    rules = {rule.name: rule for rule in me.services.rules.all(project)}
    silences = [one for one in me.services.silences.all(project) if one.ends_at > now]
    return _beside(
        me,
        alert,
        rules.get(alert.rule),
        silence_of(alert, silences, now),
        _look_up(me, [alert]),
        incident=incident,
        with_course=True,
    )


def _beside(
    me: Visitor,
    alert: Alert,
    rule: AlertRule | None,
    silence: Silence | None,
    summaries: Mapping[str, TraceSummary],
    *,
    incident: Incident | None,
    with_course: bool,
) -> Open:
    metric = rule.metric or "" if rule else ""
    finding = _shown(alert)
    broke_at = _broke_at(alert, finding, incident)
    return Open(
        alert=alert,
        finding=finding,
        silence=silence,
        metric=metric,
        figures=figures_of(me, finding, rule),
        worst=[_worst(id, summaries.get(id), metric) for id in finding.worst_traces],
        incident="" if incident is None else incident.id,
        course=_course(me, alert, rule, me.services.clock.now(), broke_at) if with_course else None,
        broke=broke_at is not None,
        runbook=runbook_of(alert),
        has_rule=rule is not None,
        compared=_compared(me, alert, rule, broke_at),
    )


def _broke_at(alert: Alert, finding: Finding, incident: Incident | None) -> datetime | None:
    """When the course broke, as the detector or the incident tells it; None: neither does."""
    parts = () if incident is None else incident.alerts
    breaks = (part.broke_at for part in parts if part.id == alert.id)
    return finding.onset_at or next(breaks, None)


def _compared(
    me: Visitor, alert: Alert, rule: AlertRule | None, broke_at: datetime | None
) -> dict[str, str]:
    """From when it broke, or else from the beginning of what the rule looked at, to its end."""
    since = broke_at or alert.started_at - timedelta(seconds=_window_s(me, alert, rule))
    ends = {"from": since, "to": alert.resolved_at}
    return {name: end.isoformat() for name, end in ends.items() if end is not None}


def _window_s(me: Visitor, alert: Alert, rule: AlertRule | None) -> float:
    """Over which a rule looks at the app; of a rule that is gone, the usual one."""
    if rule is not None and rule.window_s is not None:
        return rule.window_s
    states = me.services.rule_states.all(alert.project, alert.app)
    return next((one.window_s for one in states if one.rule == alert.rule), _USUAL_WINDOW_S)


def _shown(alert: Alert) -> Finding:
    """What the last look saw; of an alert that is over, what it fired for."""
    return alert.finding if alert.state in OPEN_STATES else alert.cause


def _course(
    me: Visitor, alert: Alert, rule: AlertRule | None, now: datetime, broke_at: datetime | None
) -> Picture | None:
    """From a day before the alert on; a week at most."""
    if rule is None:
        return None
    window = Window(alert.started_at - _BEFORE, min(now, alert.started_at + _AFTER))
    charts = AppCharts(
        me=me,
        source=me.services.estimates.once(),
        selection=Selection(project=alert.project, app=alert.app, window=window),
        marks=(*break_marks(me, broke_at, window), *alert_marks(me, [alert], window)),
        wide=True,
    )
    return charts.watched(rule)


def _incidents(me: Visitor, app: str, *, unfinished: bool) -> Sequence[Incident]:
    return me.services.incidents.newest(
        me.principal.project, app=app or None, unfinished=unfinished, limit=MAX_INCIDENTS
    )


def _tell(me: Visitor, incident: Incident) -> StoryView:
    first = incident.first
    return StoryView(
        incident=incident,
        sentences=sentences(incident, me.language, me.zone),
        next_path=path_of(incident),
        runbook=runbook_url(first.kind, first.runbook_url),
    )


def _look_up(me: Visitor, alerts: Sequence[Alert]) -> dict[str, TraceSummary]:
    """The first of the worst traces of a page, by id, in one question to the store."""
    ids = dict.fromkeys(id for alert in alerts for id in _shown(alert).worst_traces)
    wanted = list(ids)[:MAX_WORST]
    summaries = me.services.traces.summaries(me.principal.project, wanted) if wanted else ()
    return {trace.trace_id: trace for trace in summaries}


def _worst(trace_id: str, trace: TraceSummary | None, metric: str) -> Worst:
    if trace is None:
        return Worst(trace_id=trace_id)
    return Worst(trace_id=trace_id, question=trace.question, value=trace.scores.get(metric))


def silence_of(alert: Alert, silences: Sequence[Silence], now: datetime) -> Silence | None:
    """The first silence that holds for the alert now."""
    for silence in silences:
        matches = silence.rule in {"*", alert.rule} and silence.app in {"*", alert.app}
        if matches and silence.starts_at <= now:
            return silence
    return None


def trial_page(me: Visitor, rule: AlertRule, days: int, original: str) -> HTMLResponse:
    """What a rule finds now and would have done over the last `days`. Changes nothing.

    `original` is the name that the form of the rule was opened with; empty for a new one.
    """
    services = me.services
    findings = services.try_rule(rule)
    replayed: Replay | None = None
    if days:
        now = services.clock.now()
        replayed = services.replay_rule(rule, now - timedelta(days=days), now)
    return page(
        me,
        "trial.html",
        {
            "rule": rule,
            "fields": {"original": original, **rule_form(rule, me.language)},
            "saved": rule in services.rules.all(me.principal.project),
            "hints": unknown_names(
                services, me.principal.project, app=None if rule.app == "*" else rule.app
            ),
            "findings": {
                app: (finding, figures_of(me, finding, rule)) for app, finding in findings.items()
            },
            "replayed": replayed,
            "days": str(days),
            "choices": TRIAL_DAYS,
        },
    )


_NUMBERS: Final = frozenset({RuleKind.NO_DATA, RuleKind.TRAFFIC})
"""Kinds whose figures are numbers of traces."""
_COMPARED: Final = frozenset({RuleKind.DROP, RuleKind.HIT_RATE, RuleKind.LATENCY, RuleKind.TRAFFIC})
_COUNTED: Final = frozenset({RuleKind.HIT_RATE, RuleKind.LATENCY, RuleKind.TRAFFIC})
"""Kinds that look at every trace, judged or not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """What stands beside an alert."""

    now: str
    interval: str
    """With its level; empty: there is none."""
    against: str
    """What the number is held against; empty: nothing."""
    against_label: str
    """`Baseline` or `Limit`, translated."""
    counted_label: str
    """What was counted, translated."""


def figures_of(me: Visitor, finding: Finding, rule: AlertRule | None) -> Figures:
    """The numbers of a finding; of a rule that is gone, without what only the rule knows."""
    kind = None if rule is None else rule.kind
    say = _telling(kind, finding)
    against = finding.baseline
    if rule is not None and kind is RuleKind.THRESHOLD:
        below = number(rule, "below")
        against = number(rule, "above") if below is None else below
    compared = kind is None or (kind in _COMPARED and finding.baseline_judged > 0)
    held = ""
    if against is not None:
        held = say(against) if compared else _limit(against, finding, say)
    return Figures(
        now=say(finding.value),
        interval=_interval(me, finding, rule),
        against=held,
        against_label=me.translate("Baseline") if compared else me.translate("Limit"),
        counted_label=me.translate(
            msgid("Traces counted") if kind in _COUNTED else msgid("Judged")
        ),
    )


_Telling = Callable[[float | None], str]


def _telling(kind: RuleKind | None, finding: Finding) -> _Telling:
    """How a number of the finding is written; its unit is known also when the rule is gone."""
    if finding.unit == "ms" or kind is RuleKind.LATENCY:
        return milliseconds
    if kind in _NUMBERS:
        return count_text
    return _share if finding.unit == "share" else figure_text


def _limit(value: float, finding: Finding, say: _Telling) -> str:
    """What somebody set, with as many digits as they gave it."""
    if finding.unit == "share":
        return given_share(value)
    return foreign_text(value) if say is figure_text else say(value)


def _share(value: float | None) -> str:
    return share_text(value, 1)


def _interval(me: Visitor, finding: Finding, rule: AlertRule | None) -> str:
    if rule is None or finding.lower is None:
        return ""
    latency = rule.kind is RuleKind.LATENCY
    if finding.upper is None and not latency:  # a latency's may have no end
        return ""
    if finding.level is None:  # each end has its own, and the sentence of the finding says both
        return ""
    named = given_share(finding.level)
    ends = (finding.lower, finding.upper)
    if latency:
        shown = latency_interval(*ends)
    elif finding.unit == "share":
        shown = share_interval(*ends, 1)
    else:
        shown = "–".join(score_text(end, 3) for end in ends)
    return f"{me.translate('{level} interval', level=named)} {shown}"
