"""Evaluates every rule on every app, updates their alerts and queues the messages.

One save per run: states and messages in one transaction. A rule that fails is counted and reported;
the others go on.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from typing import Final

from rag_monitor import telemetry
from rag_monitor.alerting.estimates import RuleEstimates
from rag_monitor.alerting.evaluator import Evaluator, slot
from rag_monitor.alerting.incidents.teller import IncidentTeller
from rag_monitor.alerting.lifecycle import (
    Event,
    Step,
    announce,
    correct_clock,
    dedup_key,
    muted,
    retire,
    step,
)
from rag_monitor.alerting.options import AlertOptions
from rag_monitor.alerting.standing import Standing, state_of
from rag_monitor.alerting.window_chooser import WindowChooser
from rag_monitor.domain.alert import (
    Alert,
    AlertRule,
    AlertState,
    Finding,
    Notification,
    RuleKind,
    Silence,
)
from rag_monitor.domain.clock import Clock
from rag_monitor.domain.incident import Incident
from rag_monitor.domain.rule_state import RuleState
from rag_monitor.domain.stored import Lease
from rag_monitor.errors import StoreDamaged, StoreUnavailable
from rag_monitor.store.alerts import Alerts, Silences
from rag_monitor.store.rule_states import RuleStates
from rag_monitor.store.rules import Rules

_log = logging.getLogger(__name__)

_Key = tuple[str, str, str]
_CHOICES_A_RUN: Final = 100
"""Windows of very many apps are chosen over several runs: each reads the counts of two weeks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Transition:
    """An alert that changed its state, or was announced again."""

    alert: Alert
    previous: AlertState
    event: Event | None = None
    """What was queued about it."""


@dataclass(slots=True)
class _Run:
    """The results of one run."""

    now: datetime
    """End of the windows that are looked at."""
    began_at: datetime
    """When the run began, up to a slot later: what is silenced by then is not announced."""
    silences: Sequence[Silence]
    apps: dict[tuple[str, str], Sequence[str]] = field(default_factory=dict)
    """Per rule, the apps it was looked at for; missing where that could not be told."""
    apps_by_project: dict[str, Sequence[str]] = field(default_factory=dict)
    """By project."""
    changed: list[Alert] = field(default_factory=list)
    notifications: list[Notification] = field(default_factory=list)
    transitions: list[Transition] = field(default_factory=list)
    incidents: list[Incident] = field(default_factory=list)
    standing: Standing = field(default_factory=lambda: Standing({}))


class AlertEngine:
    """The alerting stage's one entry.

    A rule that expects an application to send, and nothing was sent:

        >>> from tempfile import TemporaryDirectory
        >>> from rag_monitor.domain.clock import SystemClock
        >>> from rag_monitor.store.options import StoreOptions
        >>> from rag_monitor.store.store import Store
        >>> folder, clock = TemporaryDirectory(), SystemClock()
        >>> options = StoreOptions(url=f"sqlite:///{folder.name}/monitor.db")
        >>> with Store.open(options, clock) as store:
        ...     store.rules.save(AlertRule(name="silent", kind=RuleKind.NO_DATA, app="faq"))
        ...     estimates = RuleEstimates(store.rollups, store.traces)
        ...     engine = AlertEngine(estimates, store.rules, store.alerts, clock)
        ...     [(one.alert.app, one.alert.state.value, one.event.value) for one in engine.run()]
        ...     len(engine.run())  # it fires already: nothing changes, and nothing is sent again
        [('faq', 'firing', 'firing')]
        0
        >>> folder.cleanup()

    Args:
        estimates: Answers about windows.
        rules: Where rules are kept.
        alerts: Where alerts and outbox rows are kept.
        clock: Tells the time when `run` is not told.
        options: Slots and limits.
        silences: Where silences are kept; None: there are none.
        channels: Names of the configured channels; what a rule without notifiers goes to.
        incidents: Groups what fires into incidents; None: nobody does.
        states: Where it is kept how rules stand, and over which windows they look; None: nowhere.
        before_save: Called right before saving; gives the lease that the save depends on, or raises
            `LeaseLost` when somebody else leads by now, and nothing is written.
    """

    def __init__(
        self,
        estimates: RuleEstimates,
        rules: Rules,
        alerts: Alerts,
        clock: Clock,
        options: AlertOptions | None = None,
        *,
        silences: Silences | None = None,
        channels: Sequence[str] = (),
        incidents: IncidentTeller | None = None,
        states: RuleStates | None = None,
        before_save: Callable[[], Lease] | None = None,
    ) -> None:
        self._rules = rules
        self._alerts = alerts
        self._clock = clock
        self._options = options or AlertOptions()
        self._silences = silences
        self._channels = tuple(channels)
        self._warned_channels: set[tuple[str, ...]] = set()
        self._before_save = before_save
        self._incidents = incidents
        self._estimates = estimates
        self._states = states
        windows = WindowChooser(estimates, most=_CHOICES_A_RUN)
        self._evaluator = Evaluator(estimates, self._options, windows)

    def run(self, now: datetime | None = None) -> list[Transition]:
        """Evaluate every rule once; the windows end at the slot that contains `now`.

        Running a slot again, here or on another machine, changes and announces nothing new.
        """
        began_at = now or self._clock.now()
        moment = slot(began_at, self._options.slot_s)
        silences = () if self._silences is None else self._silences.all()
        run = _Run(now=moment, began_at=began_at, silences=tuple(silences))
        if self._states is not None:
            saved = self._states.all()
            self._evaluator.windows.begin(self._states.windows(), saved)
            run.standing = Standing({(one.project, one.rule, one.app): one for one in saved})
        rules = {(rule.project, rule.name): rule for rule in self._rules.all()}
        standing, ended = self._standing(moment)
        for rule in rules.values():
            if rule.enabled:
                self._guarded(rule, partial(self._evaluate_rule, run, rule, standing))
        self._close_orphans(run, rules, standing)
        for alert in ended:
            self._finish_resolved(run, rules, alert)
        if self._incidents is not None:
            self._attach(run, rules, self._incidents, [*standing.values(), *ended])
        if run.changed or run.notifications or run.incidents:
            lease = None if self._before_save is None else self._before_save()
            self._alerts.save(run.changed, run.notifications, incidents=run.incidents, lease=lease)
        self._save_states(run, rules)
        return run.transitions

    def _save_states(self, run: _Run, rules: Mapping[tuple[str, str], AlertRule]) -> None:
        if self._states is None:
            return
        windows, changed = self._evaluator.windows.made, run.standing.changed
        in_force = {place for place, rule in rules.items() if rule.enabled}
        gone = run.standing.gone(in_force, run.apps)
        if windows or changed or gone:
            lease = None if self._before_save is None else self._before_save()
            self._states.save(changed, windows, gone=gone, lease=lease)

    @staticmethod
    def _attach(
        run: _Run,
        rules: Mapping[tuple[str, str], AlertRule],
        incidents: IncidentTeller,
        before: Sequence[Alert],
    ) -> None:
        """Group what fires into incidents; each message says which one it is about."""
        alerts = {alert.id: alert for alert in (*before, *run.changed)}
        try:
            update = incidents.update(list(alerts.values()), rules, run.now)
        except Exception:  # noqa: BLE001 - what is told of alerts must not cost the alerts
            telemetry.JOB_FAILURES.labels(job="incident").inc()
            _log.exception("alerts cannot be grouped into incidents; they are sent without")
            return
        run.incidents.extend(update.changed)
        run.notifications = [
            replace(message, incident=update.by_alert.get(message.alert.id))
            for message in run.notifications
        ]

    def try_rule(self, rule: AlertRule, now: datetime | None = None) -> Mapping[str, Finding]:
        """What a rule would find right now, by app. Changes nothing."""
        evaluator, moment = self._trial(now)
        return {app: evaluator.evaluate(rule, app, moment) for app in evaluator.apps(rule)}

    def stand_rule(self, rule: AlertRule, now: datetime | None = None) -> Mapping[str, RuleState]:
        """How a rule would stand right now, by app, as if there were no alert. Changes nothing."""
        evaluator, moment = self._trial(now)
        return {
            app: state_of(
                rule, app, evaluator.evaluate(rule, app, moment), None, evaluator.windows, moment
            )
            for app in evaluator.apps(rule)
        }

    def _trial(self, now: datetime | None) -> tuple[Evaluator, datetime]:
        # Detectors of its own: a trial must not reset the running one of a rule of that name.
        windows = WindowChooser(self._estimates)
        if self._states is not None:
            windows.begin(self._states.windows())
        moment = slot(now or self._clock.now(), self._options.slot_s)
        return Evaluator(self._estimates, self._options, windows), moment

    def _standing(self, now: datetime) -> tuple[dict[_Key, Alert], list[Alert]]:
        """Pending and firing alerts by rule and app, and the resolved ones."""

        def load(state: AlertState) -> list[Alert]:
            return [correct_clock(alert, now) for alert in self._alerts.load(None, state)]

        open_alerts: dict[_Key, Alert] = {}
        for state in (AlertState.PENDING, AlertState.FIRING):
            for alert in sorted(load(state), key=lambda item: item.started_at):
                open_alerts[alert.project, alert.rule, alert.app] = alert
        return open_alerts, load(AlertState.RESOLVED)

    def _guarded(self, rule: AlertRule, work: Callable[[], None]) -> None:
        try:
            work()
        except (StoreUnavailable, StoreDamaged):
            raise  # no other rule would fare better; whoever runs the job tells of it, once
        except Exception:  # noqa: BLE001 - one rule must not take the others with it
            telemetry.JOB_FAILURES.labels(job="rule").inc()
            _log.exception("rule %r of project %r failed", rule.name, rule.project)

    def _evaluate_rule(self, run: _Run, rule: AlertRule, standing: dict[_Key, Alert]) -> None:
        apps = self._evaluator.apps(rule, run.apps_by_project)
        run.apps[rule.project, rule.name] = apps
        for app in apps:
            self._guarded(rule, partial(self._evaluate_app, run, rule, app, standing))

    def _evaluate_app(
        self, run: _Run, rule: AlertRule, app: str, standing: dict[_Key, Alert]
    ) -> None:
        alert = standing.get((rule.project, rule.name, app))
        finding = self._evaluator.reevaluate(rule, app, alert, run.now)
        moved = self._advance(run, rule, app, alert, finding)
        if self._states is not None:
            windows = self._evaluator.windows
            run.standing.add(state_of(rule, app, finding, moved.alert, windows, run.now))

    def _close_orphans(
        self,
        run: _Run,
        rules: Mapping[tuple[str, str], AlertRule],
        standing: Mapping[_Key, Alert],
    ) -> None:
        """End alerts whose rule was removed or switched off, or whose app is gone."""
        for (project, name, app), alert in standing.items():
            rule = rules.get((project, name))
            alive = rule is not None and rule.enabled
            if alive and app in run.apps.get((project, name), (app,)):
                continue
            note = "app_gone" if alive else "rule_removed"
            finding = replace(alert.finding, active=False, notes=(note,))
            self._advance(run, _final(rule, alert), app, alert, finding)

    def _finish_resolved(
        self, run: _Run, rules: Mapping[tuple[str, str], AlertRule], alert: Alert
    ) -> None:
        """Announce a resolution that a silence held back; then let the alert rest."""
        rule = rules.get((alert.project, alert.rule)) or _final(None, alert)
        moved = announce(rule, alert, run.now, mute=self._muted(run, rule, alert.app))
        rested = retire(moved.alert or alert, run.now, self._options.resolved_for_s)
        self._record(run, rule, alert, Step(alert=rested, event=moved.event))

    def _advance(
        self, run: _Run, rule: AlertRule, app: str, alert: Alert | None, finding: Finding
    ) -> Step:
        mute = self._muted(run, rule, app)
        moved = step(rule, app, alert, finding, run.now, mute=mute)
        self._record(run, rule, alert, moved)
        return moved

    @staticmethod
    def _muted(run: _Run, rule: AlertRule, app: str) -> bool:
        return muted(run.silences, rule, app, run.began_at)

    def _record(self, run: _Run, rule: AlertRule, before: Alert | None, moved: Step) -> None:
        alert = moved.alert
        if alert is None or (alert == before and moved.event is None):
            return
        run.changed.append(alert)
        previous = before.state if before is not None else AlertState.INACTIVE
        if alert.state is not previous or moved.event is not None:
            run.transitions.append(Transition(alert=alert, previous=previous, event=moved.event))
        if moved.event is not None:
            run.notifications.extend(self._messages(rule, alert, moved.event, run.now))

    def _messages(
        self, rule: AlertRule, alert: Alert, event: Event, now: datetime
    ) -> Iterable[Notification]:
        key = dedup_key(rule, alert, event, now)
        for channel in dict.fromkeys(self._channels_of(rule)):
            yield Notification(
                dedup_key=key,
                project=rule.project,
                channel=channel,
                alert=alert,
                event=event.value,
                created_at=now,
            )

    def _channels_of(self, rule: AlertRule) -> Sequence[str]:
        """Where a rule sends to: every channel, when all that it names are gone.

        A channel that was renamed in the configuration must not cost the alert that counts.
        """
        if not rule.notifiers or not self._channels:
            return rule.notifiers or self._channels
        configured = tuple(name for name in rule.notifiers if name in self._channels)
        gone = sorted(set(rule.notifiers) - set(configured))
        if gone and (rule.project, rule.name, *gone) not in self._warned_channels:
            self._warned_channels.add((rule.project, rule.name, *gone))
            _log.error(
                "rule %r of project %r names channels that are not configured (%s): its messages "
                "go to %s; correct the rule or [notifiers]",
                rule.name,
                rule.project,
                ", ".join(gone),
                ", ".join(configured or self._channels),
            )
        return configured or self._channels


def _final(rule: AlertRule | None, alert: Alert) -> AlertRule:
    """A rule under which an orphaned alert ends at once."""
    if rule is not None:
        return replace(rule, keep_firing_s=0.0)
    # An alert of an earlier release has no kind; for ending it only times and names matter.
    return AlertRule(
        name=alert.rule,
        kind=alert.kind or RuleKind.BUDGET,
        project=alert.project,
        runbook_url=alert.runbook_url,
        keep_firing_s=0.0,
        severity=alert.severity,
    )
