"""Who may come in, and what they did, in memory."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from datetime import datetime, timedelta

from rag_monitor.domain.stored import ApiKey, AuditEvent, KeyScope
from rag_monitor.errors import NotFound
from rag_monitor.testing import EPOCH, ManualClock


class FakeKeys:
    def __init__(self, clock: ManualClock) -> None:
        self.keys: dict[str, ApiKey] = {}
        self.clock = clock

    def create(
        self,
        project: str,
        name: str,
        scopes: Collection[KeyScope],
        *,
        expires_at: datetime | None = None,
        requests_per_minute: int | None = None,
    ) -> tuple[str, ApiKey]:
        secret = f"rm_{len(self.keys)}_secret"
        key = ApiKey(
            id=f"k{len(self.keys)}",
            project=project,
            name=name,
            scopes=frozenset(scopes),
            prefix=secret[:5],
            created_at=EPOCH,
            expires_at=expires_at,
            requests_per_minute=requests_per_minute,
        )
        self.keys[secret] = key
        return secret, key

    def rotate(
        self, project: str, id: str, grace: timedelta, *, expires_at: datetime | None = None
    ) -> tuple[str, ApiKey]:
        old = next((k for k in self.list(project) if k.id == id and not k.revoked_at), None)
        if old is None:
            raise NotFound("there is no such key")
        if not grace:
            self.revoke(project, id)
        return self.create(project, old.name, old.scopes, expires_at=expires_at or old.expires_at)

    def secret(self, name: str) -> bytes:
        return name.encode()

    def list(self, project: str) -> list[ApiKey]:
        return [k for k in self.keys.values() if k.project == project]

    def revoke(self, project: str, id: str) -> None:
        for secret, key in self.keys.items():
            if key.id == id and key.project == project:
                self.keys[secret] = replace(key, revoked_at=EPOCH)
                return
        raise NotFound("there is no such key")

    def authenticate(self, key: str) -> ApiKey | None:
        found = self.keys.get(key)
        return found if found is not None and found.alive(self.clock.now()) else None

    def find(self, key: str) -> ApiKey | None:
        return self.keys.get(key)


class FakeAudit:
    def __init__(self) -> None:
        self.events: list[AuditEvent] = []
        self.error: Exception | None = None

    def add(self, event: AuditEvent) -> None:
        if self.error is not None:
            raise self.error
        self.events.append(replace(event, id=len(self.events) + 1))

    def list(
        self, project: str, *, action: str | None, before: int | None, limit: int
    ) -> list[AuditEvent]:
        return [
            event
            for event in reversed(self.events)
            if event.project == project
            and (action is None or event.action.startswith(action))
            and (before is None or event.id < before)
        ][:limit]
