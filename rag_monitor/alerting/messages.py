"""The text of a message in the language of its channel; the channel formats it.

All text here is plain. What came from traces (app names, releases, errors) may hold anything, so
every channel escapes all of it in its own way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, tzinfo
from typing import Final
from urllib.parse import quote, urlencode

from rag_monitor import i18n
from rag_monitor.alerting.alert_actions import TOGETHER, AlertAction
from rag_monitor.alerting.conditions.wording import (
    in_zone,
    measure,
    milliseconds,
    notes_text,
    share,
)
from rag_monitor.alerting.incidents.wording import next_url, sentences
from rag_monitor.alerting.plain_text import plain
from rag_monitor.alerting.rule_names import rule_name
from rag_monitor.alerting.runbooks import runbook_link
from rag_monitor.domain.alert import Alert, AlertState, Finding, Notification, Severity
from rag_monitor.domain.incident import Incident
from rag_monitor.metrics.names import with_display_names

DETAILED: Final = 5
"""Up to so many alerts are told in full; more get one line each."""
_MAX_SUMMARY: Final = 600
_MAX_LINE: Final = 160
_MAX_NAME: Final = 80
_MAX_LISTED: Final = 24
"""Characters of a rule's name in a list of more than `DETAILED`."""
_MAX_TRACES: Final = 5
"""Traces that a message links."""

_STATE: Final = {
    "firing": i18n.Message("FIRING"),
    "repeat": i18n.Message("STILL FIRING"),
    "resolved": i18n.Message("RESOLVED"),
}
_SEVERITY: Final = {
    "page": i18n.Message.within("notification", "page"),
    "ticket": i18n.Message.within("notification", "ticket"),
}
_OFFERED: Final = {
    AlertAction.ACKNOWLEDGE: i18n.Message("acknowledge"),
    AlertAction.SNOOZE_1H: i18n.Message("snooze 1 h"),
}
"""What a message links; the page that opens offers the other actions."""
_RESOLVED_BECAUSE: Final = {
    "rule_removed": i18n.Message("the rule was removed or switched off"),
    "app_gone": i18n.Message("the application is gone"),
    "no_traces": i18n.Message("the application sends nothing any more"),
}


@dataclass(frozen=True, slots=True)
class Link:
    """A label and where it leads."""

    label: str
    url: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One alert in a message."""

    title: str
    lines: tuple[str, ...] = ()
    links: tuple[Link, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """A batch of notifications in words."""

    title: str
    items: tuple[Item, ...]
    firing: bool
    """Whether anything in it is (still) firing."""


def compose(
    batch: Sequence[Notification],
    language: str = "en",
    public_url: str | None = None,
    *,
    zone: tzinfo = UTC,
    detailed: int = DETAILED,
    line_chars: int = _MAX_LINE,
) -> Message:
    """Put a batch into words.

    Args:
        batch: Of one project, oldest first; all of them are named.
        language: Chinese or English.
        public_url: Where links begin; None: no links.
        zone: What times are told in.
        detailed: Up to so many alerts, or incidents, are told in full; of more, each alert gets one
            line, and all of them one link.
        line_chars: Length of such a line.
    """
    units = _units(batch)
    if len(units) <= detailed:
        items = tuple(
            _together(unit, incident, language, public_url, zone, line_chars)
            if len(unit) > 1 and (incident := _latest(unit)) is not None
            else _detailed(unit[0], language, public_url, zone)
            for unit in units
        )
    else:
        items = tuple(Item(title=_line(one, language, line_chars)) for one in batch)
        if public_url:
            # One link for all of them: whoever is woken by many must not look for the page.
            to_all = Link(
                i18n.translate(i18n.Message("all alerts"), language), alerts_url(public_url)
            )
            items = (*items[:-1], replace(items[-1], links=(to_all,)))
    return Message(
        title=_title(units, language),
        items=items,
        firing=any(notification.event != "resolved" for notification in batch),
    )


def summary_of(alert: Alert, language: str, zone: tzinfo = UTC) -> str:
    """The finding's sentence in the language, cut and on one line; metrics by their own names."""
    return plain(in_zone(_summary(alert, language)[0], zone), _MAX_SUMMARY)


def sentence_of(alert: Alert, language: str, zone: tzinfo = UTC) -> str:
    """The finding's sentence for people: metrics are called as the pages call them."""
    text, spoken = _summary(alert, language)
    return plain(with_display_names(in_zone(text, zone), spoken), _MAX_SUMMARY)


def _summary(alert: Alert, language: str) -> tuple[str, str]:
    """The sentence and the language it is in: English where nothing was said in Chinese."""
    finding = alert.finding
    if language == "zh" and finding.summary_zh:
        return finding.summary_zh, "zh"
    return finding.summary, "en"


def trace_url(public_url: str, trace_id: str) -> str:
    """Where a trace is shown."""
    return f"{public_url.rstrip('/')}/traces/{quote(trace_id, safe='')}"


def alerts_url(public_url: str) -> str:
    """Where alerts are shown."""
    return f"{public_url.rstrip('/')}/alerts"


def alert_url(public_url: str, alert_id: str, **query: str) -> str:
    """Where one alert is shown, with the action that the page shall ask about (`do`)."""
    action = f"?{urlencode(query)}" if query else ""
    return f"{alerts_url(public_url)}/{quote(alert_id, safe='')}{action}"


def app_url(public_url: str, app: str) -> str:
    """Where an application is shown."""
    return f"{public_url.rstrip('/')}/?{urlencode({'app': app})}"


def _units(batch: Sequence[Notification]) -> list[list[Notification]]:
    """What is told together: alerts of one incident that fire, and each other one alone."""
    units: dict[str | int, list[Notification]] = {}
    for place, notification in enumerate(batch):
        incident = notification.incident
        firing = notification.event != "resolved"
        key = incident.id if incident is not None and firing else place
        units.setdefault(key, []).append(notification)
    return list(units.values())


def _latest(unit: Sequence[Notification]) -> Incident | None:
    """The incident of the alerts, as it was told last; None: they are of none."""
    stories = [notification.incident for notification in unit if notification.incident is not None]
    return max(stories, key=_told_at, default=None)


def _title(units: Sequence[Sequence[Notification]], language: str) -> str:
    batch = [notification for unit in units for notification in unit]
    if len(batch) == 1:
        return _line(batch[0], language)
    if len(units) == 1:
        return _incident_title(units[0], language)
    counts: dict[str, int] = {}
    for notification in batch:
        counts[notification.event] = counts.get(notification.event, 0) + 1
    parts = tuple(
        i18n.Message("{state} {count}", state=_STATE[event], count=n) for event, n in counts.items()
    )
    title = i18n.Message("{count} alerts: {parts}", count=len(batch), parts=parts)
    return i18n.translate(title, language)


def _incident_title(unit: Sequence[Notification], language: str) -> str:
    """State, the worst severity, the app and how many alerts."""
    fires = any(notification.event == "firing" for notification in unit)
    state = i18n.translate(_STATE["firing" if fires else "repeat"], language)
    severities = {notification.alert.severity for notification in unit}
    worst = Severity.PAGE if Severity.PAGE in severities else Severity.TICKET
    severity = i18n.translate(_SEVERITY[worst.value], language)
    count = i18n.translate(
        i18n.Message("{count} alerts that began together", count=len(unit)), language
    )
    return f"[{state} · {severity}] {plain(unit[0].alert.app, _MAX_NAME)} · {count}"


def _line(notification: Notification, language: str, limit: int | None = None) -> str:
    """State, rule and app; with a limit also the number, and the names cut to fit."""
    alert = notification.alert
    state = i18n.translate(_STATE.get(notification.event, notification.event), language)
    severity = i18n.translate(_SEVERITY[alert.severity.value], language)
    head = f"[{state} · {severity}]"
    rule = rule_name(alert.rule, language)
    if limit is None:
        return f"{head} {plain(rule, _MAX_NAME)} · {plain(alert.app, _MAX_NAME)}"
    number = _number(alert.finding, language)
    name = min(_MAX_NAME, max(8, (limit - len(head) - len(number) - 4) // 2))
    return plain(f"{head} {plain(rule, name)} · {plain(alert.app, name)}{number}", limit)


def _number(finding: Finding, language: str) -> str:
    """The value, and what it is held against."""

    def show(value: float) -> str:
        if finding.unit == "ms":
            return milliseconds(value)
        return share(value) if finding.unit == "share" else measure(value)

    if finding.value is None:
        return ""
    if finding.baseline is None:
        return f" · {show(finding.value)}"
    against = i18n.Message(
        "{value} against {baseline}", value=show(finding.value), baseline=show(finding.baseline)
    )
    return f" · {i18n.translate(against, language)}"


def _detailed(
    notification: Notification, language: str, public_url: str | None, zone: tzinfo
) -> Item:
    alert, incident = notification.alert, notification.incident
    lines = [sentence_of(alert, language, zone)]
    moment = alert.fired_at or alert.started_at
    since = i18n.Message(
        "since {moment}", moment=f"{moment.astimezone(zone):%Y-%m-%d %H:%M:%S} {zone}"
    )
    lines.append(i18n.translate(since, language))
    firing = notification.event != "resolved"
    if incident is not None and incident.story is not None and firing:
        lines.extend(sentences(incident, language, zone))
    lines.extend(_reasons(alert, language))
    shown = [*_examples(incident), *alert.finding.worst_traces] if firing else []
    traces = tuple(dict.fromkeys(shown or alert.finding.worst_traces))[:_MAX_TRACES]
    if traces and not public_url:
        listed = ", ".join(plain(trace_id, 32) for trace_id in traces)
        lines.append(
            i18n.translate(i18n.Message("worst traces: {traces}", traces=listed), language)
        )
    return Item(
        title=_line(notification, language),
        lines=tuple(line for line in lines if line),
        links=_links(
            alert,
            incident if firing else None,
            traces,
            language,
            public_url,
            _actions(alert, language, public_url) if firing else (),
        ),
    )


def _together(
    unit: Sequence[Notification],
    incident: Incident,
    language: str,
    public_url: str | None,
    zone: tzinfo,
    line_chars: int,
) -> Item:
    """Alerts of one incident as one: each in a line, and their story once."""
    if len(unit) <= DETAILED:
        lines = [_line(one, language, line_chars) for one in unit]
    else:
        rules = [rule_name(one.alert.rule, language) for one in unit]
        lines = [" · ".join(plain(rule, _MAX_LISTED) for rule in rules)]
    lines += sentences(incident, language, zone)
    first = next((one.alert for one in unit if one.alert.id == incident.first.id), unit[0].alert)
    traces = tuple(_examples(incident)) or first.finding.worst_traces
    return Item(
        title=_incident_title(unit, language),
        lines=tuple(lines),
        links=_links(
            first,
            incident,
            traces,
            language,
            public_url,
            _actions(first, language, public_url, TOGETHER),
        ),
    )


def _told_at(incident: Incident) -> datetime:
    return incident.began_at if incident.story is None else incident.story.told_at


def _examples(incident: Incident | None) -> list[str]:
    """Ids of the traces that stand as examples in its story."""
    story = None if incident is None else incident.story
    return [] if story is None else [example.trace_id for example in story.examples]


def _links(
    alert: Alert,
    incident: Incident | None,
    traces: Sequence[str],
    language: str,
    public_url: str | None,
    actions: Sequence[Link],
) -> tuple[Link, ...]:
    """Traces, the alert, what to do about it, the runbook, and where the next step begins."""
    links = []
    if public_url:
        links += [Link(trace_id[:8], trace_url(public_url, trace_id)) for trace_id in traces]
        page = alert_url(public_url, alert.id)
        links.append(Link(i18n.translate(i18n.Message("alert"), language), page))
    links += actions
    runbook = runbook_link(alert, public_url)
    if runbook is not None:
        links.append(Link(i18n.translate(i18n.Message("runbook"), language), runbook))
    step = next_url(incident, public_url) if incident is not None and public_url else None
    if step is not None:
        # The last: its names may be long, and what does not fit into a message goes from the end.
        links.append(Link(i18n.translate(i18n.Message("next step"), language), step))
    return tuple(links)


def _actions(
    alert: Alert, language: str, public_url: str | None, together: str = ""
) -> tuple[Link, ...]:
    """Links to pages that ask whether to do it; `together`: about all alerts of the incident."""
    if not public_url:
        return ()
    whole = {"with": together} if together else {}
    return tuple(
        Link(i18n.translate(label, language), alert_url(public_url, alert.id, do=action, **whole))
        for action, label in _OFFERED.items()
        if action is not AlertAction.ACKNOWLEDGE or not alert.acknowledged_by
    )


def _reasons(alert: Alert, language: str) -> list[str]:
    if alert.state is not AlertState.RESOLVED:
        notes = alert.finding.notes
        listed = i18n.Message("notes: {notes}", notes=plain(notes_text(notes, language), 200))
        return [i18n.translate(listed, language)] if notes else []
    reasons = (_RESOLVED_BECAUSE.get(note) for note in alert.finding.notes)
    return [i18n.translate(reason, language) for reason in reasons if reason is not None]
