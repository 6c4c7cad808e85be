"""Alert rules, by project and name."""

from __future__ import annotations

from sqlalchemy import delete, select

from rag_monitor.domain.alert import AlertRule
from rag_monitor.domain.clock import Clock
from rag_monitor.errors import NotFound
from rag_monitor.store.alert_rows import dump_rule, load_rule
from rag_monitor.store.engine import Database
from rag_monitor.store.tables import rules


class Rules:
    """What is watched. Rules are checked before they are saved, by `alerting.rules`."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    def all(self, project: str | None = None) -> list[AlertRule]:
        """The rules of a project (None: of all projects), by name."""
        statement = select(rules.c.body).order_by(rules.c.project, rules.c.name)
        if project is not None:
            statement = statement.where(rules.c.project == project)
        with self._database.read() as connection:
            return [load_rule(body) for body in connection.execute(statement).scalars()]

    def save(self, rule: AlertRule) -> None:
        """Add the rule, or replace the one of that name."""
        row = {
            "project": rule.project,
            "name": rule.name,
            "body": dump_rule(rule),
            "updated_at": self._clock.now(),
        }
        statement = self._database.insert(rules)
        statement = statement.on_conflict_do_update(
            index_elements=["project", "name"],
            set_={name: statement.excluded[name] for name in ("body", "updated_at")},
        )
        self._database.transact(lambda connection: connection.execute(statement, [row]))

    def delete(self, project: str, name: str) -> None:
        """Remove a rule.

        Raises:
            NotFound: There is none of that name.
        """
        statement = delete(rules).where(rules.c.project == project, rules.c.name == name)
        removed = self._database.transact(lambda connection: connection.execute(statement).rowcount)
        if not removed:
            raise NotFound(f"project {project!r} has no rule {name!r}")
