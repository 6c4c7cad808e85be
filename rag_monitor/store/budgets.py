"""The judging budget: one row per project, judge and UTC day, shared by all workers."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import Any

from sqlalchemy import Connection, RowMapping, select, update

from rag_monitor.domain.clock import Clock
from rag_monitor.domain.judgement import JudgeUsage
from rag_monitor.domain.ports import BudgetState
from rag_monitor.domain.stored import BudgetLimits, JudgeSpending
from rag_monitor.store.engine import Database
from rag_monitor.store.tables import budgets


class Budgets:
    """A `BudgetLedger`. Reserving and spending add up in the database, never in a process."""

    def __init__(
        self, database: Database, clock: Clock, limits: Mapping[str, BudgetLimits]
    ) -> None:
        self._database = database
        self._clock = clock
        self._limits = dict(limits)

    def reserve(
        self, project: str, judge: str, estimate: JudgeUsage, day: date | None = None
    ) -> date | None:
        """Set aside what a judgement may cost; None when the day's budget does not allow it."""
        paying = day or self._clock.now().date()
        amounts = _amounts(estimate)
        allowed = [
            # What costs nothing that is known beforehand stops once the limit is reached.
            budgets.c[name] + amounts[name] <= limit
            if amounts[name] > 0
            else budgets.c[name] < limit
            for name, limit in self._of(judge).items()
        ]

        def work(connection: Connection) -> bool:
            self._ensure(connection, project, judge, paying)
            added = self._add(project, judge, paying, amounts, allowed)
            return bool(connection.execute(added).rowcount)

        return paying if self._database.transact(work) else None

    def settle(
        self, project: str, judge: str, day: date, estimate: JudgeUsage, actual: JudgeUsage
    ) -> None:
        """Replace a reservation by what was really used, on the day that it was made on.

        What is given back after midnight would otherwise be a gift to the new day.
        """
        reserved, used = _amounts(estimate), _amounts(actual)
        difference = {name: used[name] - reserved[name] for name in used}

        def work(connection: Connection) -> None:
            self._ensure(connection, project, judge, day)
            connection.execute(self._add(project, judge, day, difference, []))

        self._database.transact(work)

    def allows(self, project: str, judge: str, estimate: JudgeUsage) -> bool:
        """Whether `reserve` would set that much aside right now; nothing is written."""
        amounts = _amounts(estimate)
        row = self._row(project, judge)
        spent = {name: 0.0 if row is None else float(row[name]) for name in amounts}
        return all(
            spent[name] + amounts[name] <= limit if amounts[name] > 0 else spent[name] < limit
            for name, limit in self._of(judge).items()
        )

    def state(self, project: str, judge: str) -> BudgetState:
        """What is left of the current UTC day."""
        limits = self._of(judge)
        if not limits:
            return BudgetState(remaining=1.0)
        row = self._row(project, judge)
        left = {
            name: 1.0 if row is None else 1.0 - row[name] / limit if limit > 0 else 0.0
            for name, limit in limits.items()
        }
        spent = tuple(name for name, share in left.items() if share <= 0)
        return BudgetState(
            remaining=max(0.0, min(left.values())), exhausted=bool(spent), limits=spent
        )

    def spent(self, project: str, since: date) -> list[JudgeSpending]:
        """What every judge used per UTC day from `since` on, oldest day first."""
        statement = (
            select(budgets)
            .where(budgets.c.project == project, budgets.c.day >= since)
            .order_by(budgets.c.day, budgets.c.judge)
        )
        with self._database.read() as connection:
            return [
                JudgeSpending(
                    judge=row.judge,
                    day=row.day,
                    tokens=row.tokens,
                    gpu_seconds=row.gpu_seconds,
                    money=row.money,
                )
                for row in connection.execute(statement)
            ]

    def _of(self, judge: str) -> dict[str, float]:
        limits = self._limits.get(judge, BudgetLimits())
        found = {
            "tokens": limits.tokens,
            "gpu_seconds": limits.gpu_seconds,
            "money": limits.money,
        }
        return {name: float(limit) for name, limit in found.items() if limit is not None}

    def _row(self, project: str, judge: str) -> RowMapping | None:
        """What today has cost so far; None: nothing yet."""
        with self._database.read() as connection:
            today = _of_day(project, judge, self._clock.now().date())
            found = connection.execute(select(budgets).where(*today))
            return found.mappings().one_or_none()

    def _ensure(self, connection: Connection, project: str, judge: str, day: date) -> None:
        row = {
            "project": project,
            "judge": judge,
            "day": day,
            "tokens": 0,
            "gpu_seconds": 0.0,
            "money": 0.0,
        }
        connection.execute(self._database.insert(budgets).on_conflict_do_nothing(), [row])

    def _add(
        self, project: str, judge: str, day: date, amounts: Mapping[str, float], allowed: Any
    ) -> Any:
        return (
            update(budgets)
            .where(*_of_day(project, judge, day), *allowed)
            .values({name: budgets.c[name] + amount for name, amount in amounts.items()})
        )


def _of_day(project: str, judge: str, day: date) -> tuple[Any, ...]:
    return (budgets.c.project == project, budgets.c.judge == judge, budgets.c.day == day)


def _amounts(usage: JudgeUsage) -> dict[str, float]:
    return {
        "tokens": usage.input_tokens + usage.output_tokens,
        "gpu_seconds": usage.gpu_seconds,
        "money": usage.cost,
    }
