"""Keeps incidents up to date with the alerts, and tells their stories when there is news."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Final

from rag_monitor import telemetry
from rag_monitor.alerting.incidents.breaks import metrics_of
from rag_monitor.alerting.incidents.grouping import grouped
from rag_monitor.alerting.incidents.story import BEFORE, tell
from rag_monitor.alerting.options import AlertOptions
from rag_monitor.domain.alert import Alert, AlertRule
from rag_monitor.domain.incident import Incident
from rag_monitor.store.incident_traces import IncidentTraces
from rag_monitor.store.incidents import Incidents

_log = logging.getLogger(__name__)

_MOST_TRACES: Final = 4000
"""Newest traces that a story is told from."""
_TELLING_S: Final = 5.0
"""Alerts wait for stories no longer than this; what was not told is told after the next look."""

_NEVER: Final = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class IncidentUpdate:
    """Incidents after a look at the alerts."""

    changed: Sequence[Incident] = ()
    """To be saved."""
    by_alert: Mapping[str, Incident] = field(default_factory=dict)
    """By the id of the alert: those that went on until now."""


class IncidentTeller:
    """Groups alerts and tells of them.

    A story is told when an alert joins, and again each `retell_s` while one fires: the first alert
    may fire before there is much to tell.

    Args:
        incidents: Where incidents are kept.
        traces: What stories are told from.
        options: How far apart alerts begin together, and how often a story is told again.
        monotonic: Seconds of a clock that only goes forward.
    """

    def __init__(
        self,
        incidents: Incidents,
        traces: IncidentTraces,
        options: AlertOptions | None = None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._incidents = incidents
        self._traces = traces
        self._options = options or AlertOptions()
        self._monotonic = monotonic

    def update(
        self, alerts: Sequence[Alert], rules: Mapping[tuple[str, str], AlertRule], now: datetime
    ) -> IncidentUpdate:
        """Bring the incidents up to date; saves nothing.

        Args:
            alerts: All that are pending, firing or resolved.
            rules: By project and name.
            now: End of the windows that the alerts were looked at in.
        """
        before = self._incidents.unfinished()
        together = timedelta(seconds=self._options.together_s)
        by_id = {incident.id: incident for incident in before}
        current = self._tell_news(grouped(alerts, before, now, together), by_id, rules, now)
        return IncidentUpdate(
            changed=[incident for incident in current if incident != by_id.get(incident.id)],
            by_alert={alert.id: incident for incident in current for alert in incident.alerts},
        )

    def _tell_news(
        self,
        incidents: Sequence[Incident],
        before: Mapping[str, Incident],
        rules: Mapping[tuple[str, str], AlertRule],
        now: datetime,
    ) -> list[Incident]:
        """The incidents, with the stories of those with news as far as the time for them goes.

        First those that have no story yet, then the one that was told longest ago.
        """
        until = self._monotonic() + _TELLING_S
        with_stories: dict[str, Incident] = {}
        for incident in sorted(incidents, key=_last_telling):
            if self._monotonic() >= until:
                break
            if self._has_news(incident, before.get(incident.id), now):
                with_stories[incident.id] = self._with_story(incident, rules, now)
        return [with_stories.get(incident.id, incident) for incident in incidents]

    def _with_story(
        self, incident: Incident, rules: Mapping[tuple[str, str], AlertRule], now: datetime
    ) -> Incident:
        try:
            return self._tell(incident, rules, now)
        except Exception:  # noqa: BLE001 - a story that fails must not cost the alert
            telemetry.JOB_FAILURES.labels(job="incident").inc()
            _log.exception(
                "the story of incident %s of %r cannot be told", incident.id, incident.app
            )
            return incident

    def _has_news(self, incident: Incident, before: Incident | None, now: datetime) -> bool:
        if incident.ended_at is not None:
            return False
        if before is None or len(before.alerts) < len(incident.alerts):
            return True
        told_at = None if incident.story is None else incident.story.told_at
        return told_at is None or now - told_at >= timedelta(seconds=self._options.retell_s)

    def _tell(
        self, incident: Incident, rules: Mapping[tuple[str, str], AlertRule], now: datetime
    ) -> Incident:
        project = incident.project
        mine = {name: rule for (owner, name), rule in rules.items() if owner == project}
        watching = [mine[part.rule] for part in incident.alerts if part.rule in mine]
        traces = self._traces.load(
            project,
            incident.app,
            incident.began_at - 2 * BEFORE,
            now,
            _MOST_TRACES,
            metrics_of(watching),
        )
        incident = tell(incident, mine, traces, now)
        story = incident.story
        if story is None or not story.examples:
            return incident
        ids = [example.trace_id for example in story.examples]
        examples = {one.trace_id: one for one in self._traces.examples(project, ids)}
        shown = tuple(
            replace(
                examples[example.trace_id], fault=example.fault, probability=example.probability
            )
            for example in story.examples
            if example.trace_id in examples
        )
        return replace(incident, story=replace(story, examples=shown))


def _last_telling(incident: Incident) -> datetime:
    return _NEVER if incident.story is None else incident.story.told_at
