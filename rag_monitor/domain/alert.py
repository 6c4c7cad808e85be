"""Rules, what they found, and what is sent about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from rag_monitor.domain.incident import Incident
from rag_monitor.i18n import Message, translate


class RuleKind(StrEnum):
    """What a rule compares."""

    THRESHOLD = "threshold"
    """The interval lies wholly on the bad side of a limit."""
    DROP = "drop"
    """The metric fell against a baseline by more than `min_drop`, beyond chance."""
    CHANGE = "change"
    """A sequential detector with a stated false-alarm rate."""
    BURN_RATE = "burn_rate"
    ERROR_RATE = "error_rate"
    """Too many traces ended in an error, beyond chance."""
    NO_DATA = "no_data"
    TRAFFIC = "traffic"
    """Far fewer or far more traces than in the same hours of the last weeks."""
    JUDGE_FAILURES = "judge_failures"
    SUSPECT = "suspect"
    HIT_RATE = "hit_rate"
    LATENCY = "latency"
    BUDGET = "budget"


class AlertState(StrEnum):
    """Life of an alert. A resolved alert is inactive once its resolution was announced."""

    INACTIVE = "inactive"
    PENDING = "pending"
    FIRING = "firing"
    RESOLVED = "resolved"


class Severity(StrEnum):
    """Who is woken."""

    PAGE = "page"
    TICKET = "ticket"


class FieldName(str):
    """The name of a field of a rule as a parameter of a message: a form puts its label there."""

    __slots__ = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertRule:
    """What to watch. Validated by `alerting.rules.check_rule` before it is saved."""

    name: str
    kind: RuleKind
    project: str = "default"
    app: str = "*"
    """One app, or `*` for each app on its own."""
    metric: str | None = None
    """A score (`faithfulness`), a latency (`end_to_end_ms`) or a hit kind (`plugin`), by `kind`."""
    window_s: float | None = 3600.0
    """None: it follows the traffic of each app (`alerting.windows`)."""
    hold_for_s: float = 0.0
    """How long the condition must hold before pending becomes firing."""
    keep_firing_s: float = 300.0
    """How long it must be clear before firing becomes resolved."""
    repeat_s: float = 14_400.0
    """A firing alert is announced again after this long; 0: never."""
    severity: Severity = Severity.PAGE
    min_judged: int = 50
    params: Mapping[str, float | str] = field(default_factory=dict)
    """Per kind; `alerting.rules` documents and checks them."""
    notifiers: tuple[str, ...] = ()
    """Channel names; empty: every configured channel."""
    runbook_url: str = ""
    """Where messages say what to do; empty: the documentation's page on its kind."""
    enabled: bool = True
    shipped: bool = False
    """One of the default rules that every app gets."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What one evaluation of one rule on one app saw."""

    active: bool | None
    """None: cannot be told (too little data, incomplete window); the state does not move."""
    value: float | None = None
    lower: float | None = None
    upper: float | None = None
    level: float | None = None
    """Of the interval, 0 to 1; None: there is none, or its ends are of different levels."""
    baseline: float | None = None
    unit: str = ""
    """Of value, ends and baseline: `ms`, or `share` (of 1); empty: a score or a count."""
    judged: int = 0
    baseline_judged: int = 0
    needed: int = 0
    """Where too few is why nothing can be told: so many a window needs; 0: that is not why."""
    onset_at: datetime | None = None
    """When what was found began, where that can be told: the time that the sentences name."""
    summary: str = ""
    """One English sentence with the numbers."""
    summary_zh: str = ""
    """The same in Chinese; taken from a summary that is a `Message`."""
    worst_traces: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if isinstance(self.summary, Message):
            object.__setattr__(self, "summary_zh", translate(self.summary, "zh"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Alert:
    """One rule on one app, with its state."""

    id: str
    """Stable for (project, rule, app, time it became active)."""
    project: str
    rule: str
    app: str
    state: AlertState
    severity: Severity
    kind: RuleKind | None = None
    """Of the rule; None: of an alert that an earlier release saved."""
    runbook_url: str = ""
    """Of the rule; empty: the page on its kind."""
    since: datetime
    """When the present state began."""
    started_at: datetime
    """When it became pending."""
    fired_at: datetime | None = None
    resolved_at: datetime | None = None
    last_announced_at: datetime | None = None
    clear_since: datetime | None = None
    acknowledged_by: str | None = None
    acknowledged_at: datetime | None = None
    finding: Finding = field(default_factory=lambda: Finding(active=None))
    """What the last look saw."""
    evidence: Finding | None = None
    """What the last look saw that found it active; it stays when the alert is over."""

    def fires_at(self, moment: datetime) -> bool:
        """Whether it had fired, and was not over, right before the moment."""
        if self.fired_at is None or self.fired_at >= moment:
            return False
        return self.resolved_at is None or self.resolved_at >= moment

    @property
    def cause(self) -> Finding:
        """What it fired for."""
        return self.evidence or self.finding


@dataclass(frozen=True, slots=True, kw_only=True)
class Silence:
    """Mutes announcements that match, for a time. State changes are still recorded."""

    id: str
    project: str
    rule: str = "*"
    app: str = "*"
    starts_at: datetime
    ends_at: datetime
    comment: str = ""
    created_by: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Notification:
    """One message for one channel, persisted in the outbox until delivered."""

    dedup_key: str
    """Same key, same message: receivers may drop repeats. Begins with the alert's id and `:`."""
    project: str
    channel: str
    alert: Alert
    event: str
    """`firing`, `repeat` or `resolved`."""
    created_at: datetime
    attempts: int = 0
    incident: Incident | None = None
    """What the alert is a part of; None: it is told alone."""
