"""Rules, alerts and silences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Annotated, Any

from pydantic import Field

from rag_monitor.alerting.replay import Replay
from rag_monitor.alerting.window_chooser import FOLLOWING
from rag_monitor.domain.alert import Alert, AlertRule, Finding, RuleKind, Severity, Silence
from rag_monitor.domain.rule_state import RuleState
from rag_monitor.server.schemas.rule_states import RuleStateOut
from rag_monitor.server.schemas.values import (
    Flag,
    Given,
    Hints,
    MetricName,
    Moment,
    Name,
    Number,
    Text,
    Whole,
    Wire,
    finite,
)

_HOUR_S = 3600.0
_Seconds = Annotated[Number, Field(ge=0, le=34_560_000)]
_Param = Annotated[Number, Field(allow_inf_nan=False)] | Annotated[str, Field(max_length=500)]


class RuleIn(Given):
    """What to watch."""

    name: Name = Field(examples=["faithfulness drops"])
    kind: RuleKind = Field(examples=["drop"])
    app: Name = Field(default="*", description="One app, or `*` for each app on its own.")
    metric: MetricName | None = Field(default=None, examples=["faithfulness"])
    window_s: Number | None = Field(
        default=None,
        ge=60,
        le=34_560_000,
        description="null: it follows the traffic of each app; of `change`, `burn_rate`, `no_data` "
        "and `budget`, which cannot follow: an hour.",
    )
    hold_for_s: _Seconds = 0.0
    keep_firing_s: _Seconds = 300.0
    repeat_s: _Seconds = 14_400.0
    severity: Severity = Severity.PAGE
    min_judged: Annotated[Whole, Field(ge=1, le=1_000_000_000)] = 50
    params: Annotated[dict[MetricName, _Param], Field(max_length=50)] = Field(
        default_factory=dict, examples=[{"min_drop": 0.05}]
    )
    notifiers: Annotated[list[Name], Field(max_length=50)] = Field(default_factory=list)
    runbook_url: Annotated[str, Field(max_length=2000)] = Field(
        default="",
        description="What messages link to; empty: the documentation's page on the kind.",
        examples=["https://wiki.example.com/rag/faithfulness"],
    )
    enabled: Flag = True
    shipped: Flag = False

    def to_domain(self, project: str) -> AlertRule:
        """The rule of this project."""
        return AlertRule(
            name=self.name,
            kind=self.kind,
            project=project,
            app=self.app,
            metric=self.metric,
            window_s=_HOUR_S if self._needs_fixed_window() else self.window_s,
            hold_for_s=self.hold_for_s,
            keep_firing_s=self.keep_firing_s,
            repeat_s=self.repeat_s,
            severity=self.severity,
            min_judged=self.min_judged,
            params=dict(self.params),
            notifiers=tuple(self.notifiers),
            runbook_url=self.runbook_url,
            enabled=self.enabled,
            shipped=self.shipped,
        )

    def _needs_fixed_window(self) -> bool:
        return self.window_s is None and self.kind not in FOLLOWING


class RuleOut(RuleIn):
    """A rule as it stands."""

    @classmethod
    def from_domain(cls, rule: AlertRule) -> RuleOut:
        """The rule as it goes out; stored values are not judged again."""
        return cls.model_construct(
            name=rule.name,
            kind=rule.kind,
            app=rule.app,
            metric=rule.metric,
            window_s=rule.window_s,
            hold_for_s=rule.hold_for_s,
            keep_firing_s=rule.keep_firing_s,
            repeat_s=rule.repeat_s,
            severity=rule.severity,
            min_judged=rule.min_judged,
            params=dict(rule.params),
            notifiers=list(rule.notifiers),
            runbook_url=rule.runbook_url,
            enabled=rule.enabled,
            shipped=rule.shipped,
        )


class RulesIn(Given):
    """The whole set of rules: what is left out is deleted."""

    rules: Annotated[list[RuleIn], Field(max_length=1000)]
    project: str | None = Field(
        default=None,
        description="As in the answer to a GET; ignored, because the key says whose they are.",
    )
    states: list[dict[str, Any]] | None = Field(
        default=None, description="As in the answer to a GET; ignored."
    )
    empty: bool | None = Field(default=None, description="As in the answer to a GET; ignored.")


class RulesOut(Wire):
    """All rules of the project, and how they stand."""

    rules: list[RuleOut]
    states: list[RuleStateOut] = Field(description="Per app and rule that is in force.")
    empty: bool = Field(description="No application has sent traces yet: nothing is watched.")
    project: str = Field(description="Whose rules these are.")


class FindingOut(Wire):
    """What one evaluation of a rule saw."""

    active: bool | None = Field(description="null: cannot be told, too little data.")
    value: float | None
    lower: float | None
    upper: float | None
    level: float | None = Field(
        description="Of the interval, 0 to 1; null: none, or one level at each end (burn rate)."
    )
    baseline: float | None
    judged: int
    baseline_judged: int
    onset_at: datetime | None = Field(
        description="When the change began, as the sentences say it; null: not known."
    )
    summary: str
    summary_zh: str
    needed: int = Field(
        description="Where too few is why nothing can be told: so many a window needs; else 0."
    )
    worst_traces: list[str]
    notes: list[str]

    @classmethod
    def from_domain(cls, finding: Finding) -> FindingOut:
        """The finding as it goes out."""
        return cls(
            active=finding.active,
            value=finite(finding.value),
            lower=finite(finding.lower),
            upper=finite(finding.upper),
            level=finding.level,
            baseline=finite(finding.baseline),
            judged=finding.judged,
            baseline_judged=finding.baseline_judged,
            needed=finding.needed,
            onset_at=finding.onset_at,
            summary=finding.summary,
            summary_zh=finding.summary_zh,
            worst_traces=list(finding.worst_traces),
            notes=list(finding.notes),
        )


class EpisodeOut(Wire):
    """One time the rule would have fired."""

    fired_at: datetime
    resolved_at: datetime | None = Field(description="null: it would still fire.")
    summary: str


class AppHistoryOut(Wire):
    """What the rule would have done on one app."""

    looks: int
    untold: int = Field(description="Looks that could not tell; near `looks` the rule is blind.")
    fired: int
    episodes: list[EpisodeOut] = Field(description="The newest 20.")


class HistoryOut(Wire):
    """The rule run over stored history, with its hold and keep times."""

    since: datetime
    until: datetime
    every_s: float = Field(description="Between two looks.")
    apps: dict[str, AppHistoryOut]

    @classmethod
    def from_domain(cls, replay: Replay) -> HistoryOut:
        """The replay as it goes out."""
        return cls(
            since=replay.since,
            until=replay.until,
            every_s=replay.every.total_seconds(),
            apps={
                name: AppHistoryOut(
                    looks=app.looks,
                    untold=app.untold,
                    fired=len(app.episodes),
                    episodes=[
                        EpisodeOut(
                            fired_at=episode.fired_at,
                            resolved_at=episode.resolved_at,
                            summary=episode.summary,
                        )
                        for episode in app.episodes[-20:]
                    ],
                )
                for name, app in replay.apps.items()
            },
        )


class RuleChecked(Wire):
    """The rule can work; `findings` is what it would say now."""

    ok: bool
    rule: RuleOut
    findings: dict[str, FindingOut] | None = Field(
        description="By app; null when dry runs are not offered."
    )
    states: dict[str, RuleStateOut] = Field(
        default={}, description="By app: the window that the rule has there, and what it needs."
    )
    history: HistoryOut | None = Field(
        default=None, description="null unless `days` was given, or where it is not offered."
    )
    warnings: list[str] = Field(
        default=[],
        description="What may be a mistake, such as an app of which there is no trace.",
    )

    @classmethod
    def from_domain(
        cls,
        rule: AlertRule,
        findings: Mapping[str, Finding],
        history: Replay | None = None,
        warnings: Sequence[str] = (),
        states: Mapping[str, RuleState] | None = None,
    ) -> RuleChecked:
        """The outcome as it goes out."""
        return cls(
            ok=True,
            rule=RuleOut.from_domain(rule),
            findings={app: FindingOut.from_domain(f) for app, f in findings.items()},
            states={app: RuleStateOut.from_domain(one) for app, one in (states or {}).items()},
            history=None if history is None else HistoryOut.from_domain(history),
            warnings=list(warnings),
        )


class AlertOut(Wire):
    """One rule on one app, with its state."""

    id: str
    rule: str
    app: str
    state: str
    severity: str
    since: datetime
    started_at: datetime
    fired_at: datetime | None
    resolved_at: datetime | None
    acknowledged_by: str | None
    acknowledged_at: datetime | None
    finding: FindingOut = Field(description="What the last look saw.")
    cause: FindingOut = Field(description="What the last look saw that found it active.")

    @classmethod
    def from_domain(cls, alert: Alert) -> AlertOut:
        """The alert as it goes out."""
        return cls(
            id=alert.id,
            rule=alert.rule,
            app=alert.app,
            state=alert.state.value,
            severity=alert.severity.value,
            since=alert.since,
            started_at=alert.started_at,
            fired_at=alert.fired_at,
            resolved_at=alert.resolved_at,
            acknowledged_by=alert.acknowledged_by,
            acknowledged_at=alert.acknowledged_at,
            finding=FindingOut.from_domain(alert.finding),
            cause=FindingOut.from_domain(alert.cause),
        )


class AlertsOut(Wire):
    """Alerts, newest first."""

    alerts: list[AlertOut]
    hints: Hints


class AcknowledgeIn(Given):
    """Who has seen it."""

    by: Name | None = Field(default=None, examples=["mei"])


class SilenceIn(Given):
    """Mute announcements that match, for a time."""

    rule: Name = Field(default="*", examples=["faithfulness drops"])
    app: Name = "*"
    starts_at: Moment | None = Field(default=None, description="Default: now.")
    ends_at: Moment
    comment: Text = ""
    created_by: Annotated[str, Field(max_length=200)] = ""


class SilenceOut(Wire):
    """A silence."""

    id: str
    rule: str
    app: str
    starts_at: datetime
    ends_at: datetime
    comment: str
    created_by: str

    @classmethod
    def from_domain(cls, silence: Silence) -> SilenceOut:
        """The silence as it goes out."""
        return cls(
            id=silence.id,
            rule=silence.rule,
            app=silence.app,
            starts_at=silence.starts_at,
            ends_at=silence.ends_at,
            comment=silence.comment,
            created_by=silence.created_by,
        )


class SilencesOut(Wire):
    """All silences of the project."""

    silences: list[SilenceOut]
