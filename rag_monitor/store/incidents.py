"""Incidents, and the traces that stand as examples in their stories."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, delete, select

from rag_monitor.domain.incident import Example, Incident
from rag_monitor.errors import NotFound
from rag_monitor.store.engine import Database
from rag_monitor.store.incident_rows import (
    dump_example,
    dump_incident,
    load_example,
    load_incident,
)
from rag_monitor.store.incident_tables import incident_examples, incidents
from rag_monitor.store.tables import trace_keys


class Incidents:
    """Incidents of all projects; `Alerts.save` saves them together with their alerts."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def unfinished(self) -> list[Incident]:
        """Those of all projects that an alert still keeps open, the newest first."""
        return self._load(incidents.c.ended_at.is_(None))

    def newest(
        self,
        project: str,
        *,
        app: str | None = None,
        unfinished: bool | None = None,
        before: datetime | None = None,
        limit: int = 100,
    ) -> list[Incident]:
        """Incidents of a project, the newest first.

        Args:
            project: Whose.
            app: Of one application only.
            unfinished: Only those that go on, or only those that are over.
            before: Only those that began before.
            limit: At most so many.
        """
        conditions = [incidents.c.project == project]
        if app is not None:
            conditions.append(incidents.c.app == app)
        if unfinished is not None:
            ended = incidents.c.ended_at
            conditions.append(ended.is_(None) if unfinished else ended.is_not(None))
        if before is not None:
            conditions.append(incidents.c.began_at < before)
        return self._load(*conditions, limit=limit)

    def get(self, project: str, id: str) -> Incident:
        """One incident.

        Raises:
            NotFound: This project has none of that id.
        """
        loaded = self._load(incidents.c.project == project, incidents.c.id == id)
        if not loaded:
            raise NotFound("project {project!r} has no incident {id!r}", project=project, id=id)
        return loaded[0]

    def _load(self, *conditions: Any, limit: int | None = None) -> list[Incident]:
        statement = (
            select(incidents.c.project, incidents.c.id, incidents.c.body)
            .where(*conditions)
            .order_by(incidents.c.began_at.desc(), incidents.c.id)
            .limit(limit)
        )
        with self._database.read() as connection:
            rows = connection.execute(statement).all()
            examples = _examples(connection, [(row.project, row.id) for row in rows])
        return [load_incident(row.body, examples[row.project, row.id]) for row in rows]


def put_incident(database: Database, connection: Connection, incident: Incident) -> None:
    """Save an incident inside the caller's transaction.

    An example whose trace was erased meanwhile is left out.
    """
    row = {
        "project": incident.project,
        "id": incident.id,
        "app": incident.app,
        "began_at": incident.began_at,
        "ended_at": incident.ended_at,
        "body": dump_incident(incident),
    }
    statement = database.insert(incidents)
    statement = statement.on_conflict_do_update(
        index_elements=["project", "id"],
        set_={name: statement.excluded[name] for name in ("began_at", "ended_at", "body")},
    )
    connection.execute(statement, [row])
    _put_examples(connection, incident)


def _put_examples(connection: Connection, incident: Incident) -> None:
    examples = () if incident.story is None else incident.story.examples
    mine = (
        incident_examples.c.project == incident.project,
        incident_examples.c.incident == incident.id,
    )
    connection.execute(delete(incident_examples).where(*mine))
    # Locked: whoever erases the trace waits, and then finds the example.
    kept = connection.execute(
        select(trace_keys.c.trace_id, trace_keys.c.day)
        .where(
            trace_keys.c.project == incident.project,
            trace_keys.c.trace_id.in_([example.trace_id for example in examples]),
        )
        .order_by(trace_keys.c.trace_id)
        .with_for_update()
    )
    days = {row.trace_id: row.day for row in kept}
    rows = [
        {
            "project": incident.project,
            "trace_id": example.trace_id,
            "day": days[example.trace_id],
            "incident": incident.id,
            "position": position,
            "body": dump_example(example),
        }
        for position, example in enumerate(examples)
        if example.trace_id in days
    ]
    if rows:
        connection.execute(incident_examples.insert(), rows)


def _examples(
    connection: Connection, keys: Sequence[tuple[str, str]]
) -> dict[tuple[str, str], list[Example]]:
    """By project and incident, in order."""
    by_incident: dict[tuple[str, str], list[Example]] = defaultdict(list)
    for project in sorted({project for project, _ in keys}):
        rows = connection.execute(
            select(incident_examples.c.incident, incident_examples.c.body)
            .where(
                incident_examples.c.project == project,
                incident_examples.c.incident.in_([id for name, id in keys if name == project]),
            )
            .order_by(incident_examples.c.position)
        )
        for row in rows:
            by_incident[project, row.incident].append(load_example(row.body))
    return by_incident
