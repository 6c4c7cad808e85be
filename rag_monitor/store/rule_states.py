"""How rules stand on apps, and the windows that were chosen for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, fields
from functools import partial
from typing import Any, Final

from sqlalchemy import Connection, Table, delete, select

from rag_monitor.domain.rule_state import Counted, Place, RuleState, Verdict, WindowChoice
from rag_monitor.domain.stored import Lease
from rag_monitor.store.engine import Database
from rag_monitor.store.leases import require_held
from rag_monitor.store.rule_state_tables import rule_states, rule_windows

_KEY: Final = ("project", "rule", "app")
_COLUMNS: Final = (*_KEY, "verdict", "since", "looked_at", "window_s", "chosen_at")
_BODY: Final = tuple(field.name for field in fields(RuleState) if field.name not in _COLUMNS)
_PIECE: Final = 1_000
"""States of one transaction."""


class RuleStates:
    """What rules said when they last looked; pages and `/metrics` read it, the leader writes it."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def all(self, project: str | None = None, app: str | None = None) -> list[RuleState]:
        """States by rule and app; None: of all projects, of all apps."""
        statement = select(rule_states).order_by(*(rule_states.c[name] for name in _KEY))
        if project is not None:
            statement = statement.where(rule_states.c.project == project)
        if app is not None:
            statement = statement.where(rule_states.c.app == app)
        with self._database.read() as connection:
            return [_state(row) for row in connection.execute(statement).mappings()]

    def windows(self) -> list[WindowChoice]:
        """The choices of windows, of all projects."""
        with self._database.read() as connection:
            rows = connection.execute(select(rule_windows)).mappings()
            return [WindowChoice(**row) for row in rows]

    def save(
        self,
        states: Sequence[RuleState] = (),
        windows: Sequence[WindowChoice] = (),
        *,
        gone: Sequence[Place] = (),
        lease: Lease | None = None,
    ) -> None:
        """Save what changed. A window that somebody fixed meanwhile stays.

        States are saved in pieces, so that rules on thousands of apps hold up nobody who writes.

        Args:
            states: As they are now.
            windows: Choices of the monitor.
            gone: Rules and apps that are looked at no more.
            lease: Save only while this lease is held.

        Raises:
            LeaseLost: Somebody else has the lease; what is left of it is not saved.
        """

        def begin(connection: Connection) -> None:
            if lease is not None:
                require_held(connection, lease)
            for place in sorted(gone):
                for table in (rule_states, rule_windows):
                    connection.execute(delete(table).where(*_at(table, place)))
            taken = rule_windows.c.chosen_by == ""
            chosen = [asdict(one) for one in windows]
            _put(self._database, connection, rule_windows, chosen, where=taken)

        def save_piece(piece: Sequence[RuleState], connection: Connection) -> None:
            if lease is not None:
                require_held(connection, lease)
            _put(self._database, connection, rule_states, [_row(one) for one in piece])

        if windows or gone:
            self._database.transact(begin)
        for start in range(0, len(states), _PIECE):
            self._database.transact(partial(save_piece, states[start : start + _PIECE]))

    def fix_window(self, choice: WindowChoice) -> None:
        """Let a rule look at an app over this window, until it is released."""
        row = asdict(choice)
        self._database.transact(
            lambda connection: _put(self._database, connection, rule_windows, [row])
        )

    def release_window(self, project: str, rule: str, app: str) -> None:
        """Forget the window of a rule on an app: the rule's own holds again, or one is chosen."""
        statement = delete(rule_windows).where(*_at(rule_windows, (project, rule, app)))
        self._database.transact(lambda connection: connection.execute(statement))


def _at(table: Table, place: Place) -> tuple[Any, ...]:
    return tuple(table.c[name] == value for name, value in zip(_KEY, place, strict=True))


def _put(
    database: Database,
    connection: Connection,
    table: Table,
    rows: Sequence[dict[str, Any]],
    where: Any = None,
) -> None:
    if not rows:
        return
    statement = database.insert(table)
    others = [column.name for column in table.c if column.name not in _KEY]
    statement = statement.on_conflict_do_update(
        index_elements=list(_KEY),
        set_={name: statement.excluded[name] for name in others},
        where=where,
    )
    ordered = sorted(rows, key=lambda row: tuple(row[name] for name in _KEY))
    connection.execute(statement, ordered)


def _row(state: RuleState) -> dict[str, Any]:
    values = asdict(state)
    return {name: values[name] for name in _COLUMNS} | {
        "verdict": state.verdict.value,
        "body": {name: values[name] for name in _BODY},
    }


def _state(row: Any) -> RuleState:
    values = {name: row[name] for name in _COLUMNS}
    body = {name: value for name, value in row["body"].items() if name in _BODY}
    return RuleState(
        **{
            **values,
            **body,
            "verdict": Verdict(row["verdict"]),
            "counted": Counted(body["counted"]),
            "notes": tuple(body["notes"]),
        }
    )
