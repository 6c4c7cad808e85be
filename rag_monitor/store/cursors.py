"""Named cursors: up to when something has been dealt with, whoever leads."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import Connection, Executable, select, update

from rag_monitor.store.engine import Database
from rag_monitor.store.tables import marks

_EVERYBODY = ""
"""The cursors here are the installation's, not a project's."""


def advance_cursor(database: Database, name: str, at: datetime) -> Executable:
    """The statement that moves a cursor on to `at`, and never back."""
    statement = database.insert(marks).values(project=_EVERYBODY, name=name, at=at)
    moved: Executable = statement.on_conflict_do_update(
        index_elements=["project", "name"],
        set_={"at": statement.excluded.at},
        where=marks.c.at < statement.excluded.at,
    )
    return moved


class Cursors:
    """Reads and moves cursors by name; they are rows of the table `marks`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def cursor(self, name: str, default: datetime) -> datetime:
        """Where a cursor is; set to `default` the first time."""

        def work(connection: Connection) -> datetime:
            row = {"project": _EVERYBODY, "name": name, "at": default}
            connection.execute(self._database.insert(marks).on_conflict_do_nothing(), [row])
            statement = select(marks.c.at).where(
                marks.c.project == _EVERYBODY, marks.c.name == name
            )
            at: datetime = connection.execute(statement).scalar_one()
            return at

        return self._database.transact(work)

    def advance(self, name: str, at: datetime) -> None:
        """Move a cursor; it never goes back, whoever else moves it."""
        statement = advance_cursor(self._database, name, at)
        self._database.transact(lambda connection: connection.execute(statement))

    def rewind(self, name: str, at: datetime) -> None:
        """Put a cursor back that a wrong clock has moved ahead."""
        statement = update(marks).where(
            marks.c.project == _EVERYBODY, marks.c.name == name, marks.c.at > at
        )
        self._database.transact(lambda connection: connection.execute(statement.values(at=at)))
