"""Alert rules, by project and name."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Final

from sqlalchemy import Connection, delete, select, update

from rag_monitor.domain.alert import AlertRule, FieldName
from rag_monitor.domain.clock import Clock
from rag_monitor.errors import NotFound, RuleError
from rag_monitor.store.alert_rows import dump_rule, load_rule
from rag_monitor.store.engine import Database
from rag_monitor.store.rule_state_tables import rule_windows
from rag_monitor.store.tables import rules, secrets, silences

_SHIPPED: Final = "default rules shipped"
"""A mark beside the secrets, which hold the other facts that an installation makes up once.

Its value is a JSON list of the names of the rules that the project was given.
"""
_GIVEN_BEFORE: Final = frozenset(
    {
        *("context precision below last release", "context precision drop", "end-to-end latency"),
        *("error rate", "faithfulness below last release", "faithfulness drop", "hit rate drop"),
        *("judge failures", "no data", "suspect share", "traffic"),
    }
)
"""What an empty mark stands for, as processes of releases before revision 0031 make it."""


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

    def rename(self, name: str, rule: AlertRule) -> None:
        """Put `rule` in the place of the one called `name`, with its silences and windows.

        Of two who rename at once one is refused, whatever either had seen before.

        Raises:
            NotFound: There is no rule of the old name any more.
            RuleError: Another one has the new name.
        """

        def work(connection: Connection) -> None:
            row = {"project": rule.project, "name": rule.name, "body": dump_rule(rule)}
            added = self._database.insert(rules).on_conflict_do_nothing()
            if not connection.execute(added.values(row | {"updated_at": now})).rowcount:
                raise RuleError(
                    "{field}: another rule is called {name!r}; choose another name, or edit that "
                    "one",
                    field=FieldName("name"),
                    name=rule.name,
                )
            old = delete(rules).where(rules.c.project == rule.project, rules.c.name == name)
            if not connection.execute(old).rowcount:
                raise NotFound(
                    "project {project!r} has no rule {name!r}", project=rule.project, name=name
                )
            muted = silences.c.project == rule.project, silences.c.rule == name
            connection.execute(update(silences).where(*muted).values(rule=rule.name))
            fixed = rule_windows.c.project == rule.project, rule_windows.c.rule == name
            connection.execute(update(rule_windows).where(*fixed).values(rule=rule.name))

        now = self._clock.now()
        self._database.transact(work)

    def ship(self, project: str, defaults: Sequence[AlertRule]) -> bool:
        """Give the project those of `defaults` that it was never given; True when there were any.

        The mark outlives the rules: what was removed stays removed, and a project in which no
        shipped rule is left is given none that came with a newer release. With no `defaults` it
        stays without from the beginning.
        """

        def work(connection: Connection) -> bool:
            mark = secrets.c.project == project, secrets.c.name == _SHIPPED
            before = connection.execute(select(secrets.c.value).where(*mark)).scalar()
            given = _names(before)
            new = [rule for rule in defaults if rule.name not in given]
            if before is not None and not (given and new):
                return False
            names = json.dumps(sorted({*given, *(rule.name for rule in new)})).encode()
            row = {"project": project, "name": _SHIPPED, "value": names}
            statement = self._database.insert(secrets)
            statement = statement.on_conflict_do_update(
                index_elements=["project", "name"], set_={"value": statement.excluded["value"]}
            )
            connection.execute(statement, [row])
            if before is not None and not _has_shipped(connection, project):
                return False
            rows = [
                {"project": project, "name": r.name, "body": dump_rule(r), "updated_at": now}
                for r in new
            ]
            # A rule that somebody has put in under that name is theirs.
            if rows:
                connection.execute(self._database.insert(rules).on_conflict_do_nothing(), rows)
            return True

        now = self._clock.now()
        return self._database.transact(work)

    def delete(self, project: str, name: str) -> None:
        """Remove a rule.

        Raises:
            NotFound: There is none of that name.
        """
        statement = delete(rules).where(rules.c.project == project, rules.c.name == name)
        removed = self._database.transact(lambda connection: connection.execute(statement).rowcount)
        if not removed:
            raise NotFound("project {project!r} has no rule {name!r}", project=project, name=name)


def _names(mark: bytes | None) -> frozenset[str]:
    if mark is None:
        return frozenset()
    return frozenset(json.loads(mark)) if mark else _GIVEN_BEFORE


def _has_shipped(connection: Connection, project: str) -> bool:
    bodies = connection.execute(select(rules.c.body).where(rules.c.project == project)).scalars()
    return any(load_rule(body).shipped for body in bodies)
