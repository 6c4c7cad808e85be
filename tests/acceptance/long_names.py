"""The story, told of names that have no place to break."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from rag_monitor.domain.hit import HitKind
from rag_monitor.domain.selection import Selection
from rag_monitor.domain.stored import ReleaseStart
from rag_monitor.domain.trace import TraceStatus
from rag_monitor.server.services import Services
from rag_monitor.testing import ManualClock
from tests.unit.server.fake_estimates import FakeEstimates
from tests.unit.server.fake_feedback import FakeLabelQueue
from tests.unit.server.fakes import FakeAlerts, FakeTraces, make_services

ERROR = f"no answer from https://models.example.com/v1/{'deployment-of-a-model_' * 12}chat"


def long(name: str, length: int) -> str:
    """A name as long as asked, which begins as the short one does."""
    return (name + "0f3a9c7e" * length)[:length]


class LongTraces(FakeTraces):
    """Traces whose releases have long names."""

    length = 0

    def releases(self, project: str, app: str) -> list[str]:
        return [long(name, self.length) for name in super().releases(project, app)]

    def release_starts(
        self, project: str, app: str, since: datetime | None = None
    ) -> list[ReleaseStart]:
        found = super().release_starts(project, app, since)
        return [replace(one, release=long(one.release, self.length)) for one in found]


class LongEstimates(FakeEstimates):
    """Estimates by plugins and knowledge bases with long names."""

    length = 0

    def hit_names(self, selection: Selection) -> list[tuple[HitKind, str]]:
        found = super().hit_names(selection)
        return [(kind, long(name, self.length)) for kind, name in found]


def long_services(length: int, *, many: bool = False) -> Services:
    """Services over the story with names of `length`; many: every trace is of its own app."""
    services = make_services()
    stored = []
    for number, one in enumerate(services.traces.stored.values()):  # type: ignore[attr-defined]
        trace = one.trace
        renamed = replace(
            trace,
            app=long(f"{trace.app}-{number}" if many else trace.app, length),
            release=long(trace.release, length),
            environment=long("production", length),
            model=long(trace.model, length),
            session_id=long(trace.session_id, length),
            user_id=long(trace.user_id, length),
            tags=(long("tag", length),),
            status=TraceStatus.ERROR,
            error=ERROR,
        )
        stored.append(replace(one, trace=renamed))
    alerts = [
        replace(one, app=long(one.app, length))
        for one in services.alerts.alerts.values()  # type: ignore[attr-defined]
    ]
    traces, estimates = LongTraces(stored), LongEstimates(ManualClock())
    traces.length = estimates.length = length
    return replace(
        services,
        traces=traces,
        estimates=estimates,
        alerts=FakeAlerts(alerts),
        label_queue=FakeLabelQueue(stored),
    )
