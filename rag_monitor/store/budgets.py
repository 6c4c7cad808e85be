"""The judging budget: one row per project, judge and UTC day, shared by all workers."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import date, timedelta
from typing import Any, Final
from uuid import uuid4
from weakref import WeakValueDictionary

from sqlalchemy import (
    Connection,
    RowMapping,
    Update,
    bindparam,
    delete,
    func,
    literal,
    or_,
    select,
    update,
)

from rag_monitor.domain.clock import Clock
from rag_monitor.domain.judgement import JudgeUsage
from rag_monitor.domain.ports import BudgetState, Reservation
from rag_monitor.domain.stored import BudgetLimits, JudgeSpending
from rag_monitor.store.engine import Database
from rag_monitor.store.leases import database_now
from rag_monitor.store.tables import budgets, reservations

_HELD: Final = timedelta(minutes=2)
"""So long a reservation is held without being renewed."""


class Budgets:
    """A `BudgetLedger`. Reserving and spending add up in the database, never in a process.

    A reservation is a row of its own beside the day's sums, held for two minutes and renewed while
    its judgement goes on. When the process that made it is gone it runs out, and is given back.
    """

    def __init__(
        self, database: Database, clock: Clock, limits: Mapping[str, BudgetLimits]
    ) -> None:
        self._database = database
        self._clock = clock
        self._limits = dict(limits)
        self._kept: WeakValueDictionary[str, Reservation] = WeakValueDictionary()
        """Those of judgements under way here; one that was forgotten runs out."""

    def reserve(self, project: str, judge: str, estimate: JudgeUsage) -> Reservation | None:
        """Set aside what a judgement may cost; None when today's budget does not allow it."""
        held = Reservation(
            id=uuid4().hex,
            project=project,
            judge=judge,
            day=self._clock.now().date(),
            reserved=estimate,
        )

        def work(connection: Connection) -> None:
            if self._put(connection, held):
                self._spend(connection, held, _amounts(estimate), limited=True)

        return self._keep(held) if self._allowed(work) else None

    def extend(self, reservation: Reservation, more: JudgeUsage) -> Reservation | None:
        """Set aside more on the same day; None when its budget does not allow it."""
        held = replace(reservation, reserved=_sum(reservation.reserved, more))

        def work(connection: Connection) -> None:
            self._change(connection, reservation, held)
            self._spend(connection, held, _amounts(more), limited=True)

        return self._keep(held) if self._allowed(work) else None

    def note_sent(self, reservation: Reservation, sent: JudgeUsage) -> Reservation:
        """Note how much of it is on its way to the judge in all."""
        held = replace(reservation, sent=sent)

        def work(connection: Connection) -> None:
            self._change(connection, reservation, held)

        self._database.transact(work)
        return self._keep(held)

    def settle(self, reservation: Reservation, actual: JudgeUsage) -> None:
        """Replace a reservation by what was really used, on the day that it was made on.

        What is given back after midnight would otherwise be a gift to the new day. One that was
        given back meanwhile, for its keeper was taken for dead, counts as what it left there.
        """

        def work(connection: Connection) -> None:
            gone = delete(reservations).where(*_row_of(reservation))
            there = connection.execute(gone).rowcount
            counted = reservation.reserved if there else reservation.sent
            self._spend(connection, reservation, _difference(actual, counted))

        self._kept.pop(reservation.id, None)
        self._database.transact(work)

    def renew(self) -> int:
        """Hold longer what judgements in this process still need; says how much that is."""
        held = list(self._kept.items())
        until = update(reservations).where(
            reservations.c.project == bindparam("whose"), reservations.c.id == bindparam("which")
        )

        def work(connection: Connection) -> None:
            renewed = until.values(held_until=self._until())
            connection.execute(renewed, [{"whose": r.project, "which": id_} for id_, r in held])

        if held:
            self._database.transact(work)
        return len(held)

    def release(self) -> int:
        """Give back what nobody holds any more, but for what was sent; says how many they were."""

        def work(connection: Connection) -> int:
            now = database_now(self._database, connection, self._clock)
            # Longer than anybody holds it: since then the clock was set back.
            late = or_(
                reservations.c.held_until <= now, reservations.c.held_until > now + 2 * _HELD
            )
            dead = connection.execute(delete(reservations).where(late).returning(reservations))
            left: dict[tuple[str, str, date], Counter[str]] = defaultdict(Counter)
            count = 0
            for row in dead:
                count += 1
                given = left[row.project, row.judge, row.day]
                given["tokens"] += row.sent_tokens - row.tokens
                given["gpu_seconds"] -= row.gpu_seconds
                given["money"] += row.sent_money - row.money
            for whose in sorted(left):  # the same order everywhere: nobody waits in a circle
                connection.execute(_add(*whose, left[whose]))
            return count

        return self._database.transact(work)

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
        amounts = {
            "tokens": limits.tokens,
            "gpu_seconds": limits.gpu_seconds,
            "money": limits.money,
        }
        return {name: float(limit) for name, limit in amounts.items() if limit is not None}

    def _row(self, project: str, judge: str) -> RowMapping | None:
        """What today has cost so far; None: nothing yet."""
        with self._database.read() as connection:
            today = _of_day(project, judge, self._clock.now().date())
            result = connection.execute(select(budgets).where(*today))
            return result.mappings().one_or_none()

    def _allowed(self, work: Callable[[Connection], None]) -> bool:
        """Whether it went through; where the budget stops it, all of it is undone."""
        try:
            self._database.transact(work)
        except _LimitReached:
            return False
        return True

    def _keep(self, held: Reservation) -> Reservation:
        self._kept[held.id] = held
        return held

    def _put(self, connection: Connection, held: Reservation) -> bool:
        """Write it down; False: it stood there already."""
        row = _row(held) | {"held_until": self._until()}
        added = self._database.insert(reservations).on_conflict_do_nothing()
        return bool(connection.execute(added.values(row)).rowcount)

    def _change(self, connection: Connection, before: Reservation, held: Reservation) -> None:
        """Write down what it is now; set `before` aside again if somebody took us for dead."""
        row = _row(held) | {"held_until": self._until()}
        changed = update(reservations).where(*_row_of(held)).values(row)
        if not connection.execute(changed).rowcount:
            self._put(connection, held)
            self._spend(connection, before, _difference(before.reserved, before.sent))

    def _until(self) -> Any:
        """Till when one that is written down now is held, by the database's time."""
        if self._database.is_postgresql:
            return func.clock_timestamp() + literal(_HELD)
        return self._clock.now() + _HELD

    def _spend(
        self,
        connection: Connection,
        held: Reservation,
        amounts: Mapping[str, float],
        *,
        limited: bool = False,
    ) -> None:
        """Add to the day's sums; raises `_LimitReached` where a limit stops it."""
        allowed = [
            # What costs nothing that is known beforehand stops once the limit is reached.
            budgets.c[name] + amounts[name] <= limit
            if amounts[name] > 0
            else budgets.c[name] < limit
            for name, limit in self._of(held.judge).items()
            if limited
        ]
        added = _add(held.project, held.judge, held.day, amounts).where(*allowed)
        if connection.execute(added).rowcount:
            return
        row = {"project": held.project, "judge": held.judge, "day": held.day}
        row |= {"tokens": 0, "gpu_seconds": 0.0, "money": 0.0}
        connection.execute(self._database.insert(budgets).on_conflict_do_nothing(), [row])
        if not connection.execute(added).rowcount:
            raise _LimitReached


class _LimitReached(Exception):  # noqa: N818 - it never leaves this module
    """The day's budget does not allow it."""


def _add(project: str, judge: str, day: date, amounts: Mapping[str, float]) -> Update:
    added = {name: budgets.c[name] + amount for name, amount in amounts.items()}
    return update(budgets).where(*_of_day(project, judge, day)).values(added)


def _row_of(held: Reservation) -> tuple[Any, ...]:
    return (reservations.c.project == held.project, reservations.c.id == held.id)


def _row(held: Reservation) -> dict[str, Any]:
    sent = _amounts(held.sent)
    return {
        "project": held.project,
        "id": held.id,
        "judge": held.judge,
        "day": held.day,
        "sent_tokens": sent["tokens"],
        "sent_money": sent["money"],
        **_amounts(held.reserved),
    }


def _of_day(project: str, judge: str, day: date) -> tuple[Any, ...]:
    return (budgets.c.project == project, budgets.c.judge == judge, budgets.c.day == day)


def _amounts(usage: JudgeUsage) -> dict[str, float]:
    return {
        "tokens": usage.input_tokens + usage.output_tokens,
        "gpu_seconds": usage.gpu_seconds,
        "money": usage.cost,
    }


def _sum(one: JudgeUsage, other: JudgeUsage) -> JudgeUsage:
    return JudgeUsage(
        input_tokens=one.input_tokens + other.input_tokens,
        output_tokens=one.output_tokens + other.output_tokens,
        gpu_seconds=one.gpu_seconds + other.gpu_seconds,
        cost=one.cost + other.cost,
    )


def _difference(one: JudgeUsage, other: JudgeUsage) -> dict[str, float]:
    less = _amounts(other)
    return {name: amount - less[name] for name, amount in _amounts(one).items()}
