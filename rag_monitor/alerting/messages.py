"""What a message says, in Chinese or English, before a channel gives it its form.

All text here is plain. What came from traces (app names, releases, errors) may hold anything, so
every channel escapes all of it in its own way.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, tzinfo
from typing import Final, Literal
from urllib.parse import quote

from rag_monitor.alerting.findings.wording import in_zone, measure, milliseconds
from rag_monitor.alerting.notes import notes_text
from rag_monitor.domain.alert import Alert, AlertState, Finding, Notification
from rag_monitor.metrics.names import told

Language = Literal["en", "zh"]

DETAILED: Final = 5
"""Up to so many alerts are told in full; more get one line each."""
_MAX_SUMMARY: Final = 600
_MAX_LINE: Final = 160
_MAX_NAME: Final = 80

_STATE: Final = {
    "en": {"firing": "FIRING", "repeat": "STILL FIRING", "resolved": "RESOLVED"},
    "zh": {"firing": "触发", "repeat": "持续触发", "resolved": "已恢复"},
}
_SEVERITY: Final = {
    "en": {"page": "page", "ticket": "ticket"},
    "zh": {"page": "紧急", "ticket": "一般"},
}
_WORDS: Final = {
    "en": {
        "since": "since",
        "worst": "worst traces",
        "alert": "alert",
        "all": "all alerts",
        "many": "{count} alerts: {parts}",
        "notes": "notes: {notes}",
    },
    "zh": {
        "since": "开始于",
        "worst": "最差的请求",
        "alert": "告警",
        "all": "全部告警",
        "many": "{count} 条告警：{parts}",
        "notes": "备注：{notes}",
    },
}
_RESOLVED_BECAUSE: Final = {
    "en": {
        "rule_removed": "the rule was removed or switched off",
        "app_gone": "the application is gone",
        "no_traces": "the application sends nothing any more",
    },
    "zh": {
        "rule_removed": "规则已删除或停用",
        "app_gone": "应用已不存在",
        "no_traces": "应用不再发送数据",
    },
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


def plain(text: str, limit: int) -> str:
    """One line of visible characters, cut to `limit`.

    Control characters, line breaks and direction overrides become spaces: they could forge a second
    line or turn text around.
    """
    cleaned = "".join(
        " " if unicodedata.category(char) in ("Cc", "Cf", "Cs", "Zl", "Zp") else char
        for char in text[: limit * 4]
    )
    joined = " ".join(cleaned.split())
    return joined if len(joined) <= limit else joined[: limit - 1] + "…"


def compose(
    batch: Sequence[Notification],
    language: Language = "en",
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
        detailed: Up to so many alerts are told in full; more get one line each, and one link.
        line_chars: Length of such a line.
    """
    if len(batch) <= detailed:
        items = tuple(_detailed(one, language, public_url, zone) for one in batch)
    else:
        items = tuple(Item(title=_line(one, language, line_chars)) for one in batch)
        if public_url:
            # One link for all of them: whoever is woken by many must not look for the page.
            to_all = Link(_WORDS[language]["all"], alerts_url(public_url))
            items = (*items[:-1], replace(items[-1], links=(to_all,)))
    return Message(
        title=_title(batch, language),
        items=items,
        firing=any(notification.event != "resolved" for notification in batch),
    )


def summary_of(alert: Alert, language: Language, zone: tzinfo = UTC) -> str:
    """The finding's sentence in the language, cut and on one line; metrics by their own names."""
    return plain(in_zone(_summary(alert, language)[0], zone), _MAX_SUMMARY)


def sentence_of(alert: Alert, language: Language, zone: tzinfo = UTC) -> str:
    """The finding's sentence for people: metrics are called as the pages call them."""
    text, spoken = _summary(alert, language)
    return plain(told(in_zone(text, zone), spoken), _MAX_SUMMARY)


def _summary(alert: Alert, language: Language) -> tuple[str, Language]:
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


def _title(batch: Sequence[Notification], language: Language) -> str:
    if len(batch) == 1:
        return _line(batch[0], language)
    counts: dict[str, int] = {}
    for notification in batch:
        counts[notification.event] = counts.get(notification.event, 0) + 1
    comma = "、" if language == "zh" else ", "
    parts = comma.join(f"{_STATE[language][event]} {n}" for event, n in counts.items())
    return _WORDS[language]["many"].format(count=len(batch), parts=parts)


def _line(notification: Notification, language: Language, limit: int | None = None) -> str:
    """State, rule and app; with a limit also the number, and the names cut to fit."""
    alert = notification.alert
    state = _STATE[language].get(notification.event, notification.event)
    severity = _SEVERITY[language].get(alert.severity.value, alert.severity.value)
    head = f"[{state} · {severity}]"
    if limit is None:
        return f"{head} {plain(alert.rule, _MAX_NAME)} · {plain(alert.app, _MAX_NAME)}"
    number = _number(alert.finding, language)
    name = min(_MAX_NAME, max(8, (limit - len(head) - len(number) - 4) // 2))
    return plain(f"{head} {plain(alert.rule, name)} · {plain(alert.app, name)}{number}", limit)


def _number(finding: Finding, language: Language) -> str:
    """The value, and what it is held against."""

    def told(value: float) -> str:
        return milliseconds(value) if finding.unit == "ms" else measure(value)

    if finding.value is None:
        return ""
    if finding.baseline is None:
        return f" · {told(finding.value)}"
    against = {"en": "against", "zh": "对比"}[language]
    return f" · {told(finding.value)} {against} {told(finding.baseline)}"


def _detailed(
    notification: Notification, language: Language, public_url: str | None, zone: tzinfo
) -> Item:
    alert = notification.alert
    words = _WORDS[language]
    lines = [sentence_of(alert, language, zone)]
    moment = alert.fired_at or alert.started_at
    lines.append(f"{words['since']} {moment.astimezone(zone):%Y-%m-%d %H:%M:%S} {zone}")
    lines.extend(_reasons(alert, language))
    links: list[Link] = []
    worst = alert.finding.worst_traces
    if worst and public_url:
        links.extend(Link(trace_id[:8], trace_url(public_url, trace_id)) for trace_id in worst)
        links.append(Link(words["alert"], alerts_url(public_url)))
    elif worst:
        lines.append(f"{words['worst']}: {', '.join(plain(t, 32) for t in worst)}")
    elif public_url:
        links.append(Link(words["alert"], alerts_url(public_url)))
    return Item(
        title=_line(notification, language),
        lines=tuple(line for line in lines if line),
        links=tuple(links),
    )


def _reasons(alert: Alert, language: Language) -> list[str]:
    if alert.state is not AlertState.RESOLVED:
        notes = alert.finding.notes
        said = plain(notes_text(notes, language), 200)
        return [_WORDS[language]["notes"].format(notes=said)] if notes else []
    known = _RESOLVED_BECAUSE[language]
    return [known[note] for note in alert.finding.notes if note in known]
