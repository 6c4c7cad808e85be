"""Which names a project has: new ones are taken in as long as there is room, others folded.

A name keeps its place while it is in use. One that was not seen for a week, or that a rule rewrites
by now, makes room for a new one; so an application that once sent a thousand names does not keep
its neighbours out for ever.
"""

from __future__ import annotations

import logging
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import Final

from sqlalchemy import Connection, delete, select, update

from rag_monitor import telemetry
from rag_monitor.domain.clock import Clock
from rag_monitor.domain.names import OTHER_NAME, NameKind, NameLimits, names_of, renamed
from rag_monitor.domain.stored import NameCount, PendingTrace
from rag_monitor.domain.trace import Trace
from rag_monitor.store.bulk import chunks, distinct_values
from rag_monitor.store.engine import Database
from rag_monitor.store.tables import names, rollups
from rag_monitor.store.types import storable_name

QUIET_DAYS: Final = 7
"""A name that was not seen for longer makes room for a new one."""
_AGAIN_S: Final = 30.0
"""While there is no room, it is looked for again this often."""

_LOG: Final = logging.getLogger(__name__)

_Place = tuple[str, NameKind]
"""Project and kind."""
Derived = Sequence[tuple[PendingTrace, Trace | None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Naming:
    """How names are treated."""

    limits: NameLimits = field(default_factory=NameLimits)
    rewrite_app: Callable[[str], str] = str
    """What an app's name becomes before it is counted."""


@dataclass(slots=True)
class _CachedNames:
    """The names of one kind in one project, as this process read them last."""

    days: dict[str, date] = field(default_factory=dict)
    """By name, the day on which it was last noted that it is in use."""
    full_until: float = 0.0
    """Monotonic; until then nobody is asked whether there is room."""


class Names:
    """Fits traces to the names there may be. Safe to share between threads that may do it twice."""

    def __init__(self, database: Database, clock: Clock, naming: Naming) -> None:
        self._database = database
        self._clock = clock
        self._naming = naming
        self._cached: dict[_Place, _CachedNames] = defaultdict(_CachedNames)
        self._warned: set[_Place] = set()

    def fitted(self, derived: Derived) -> Derived:
        """The traces with names that there is room for.

        Raises:
            StoreUnavailable: The database does not answer; nothing was decided.
        """
        rewritten = [(pending, self._rewritten(trace)) for pending, trace in derived]
        used = Counter(
            (pending.project, kind, name)
            for pending, trace in rewritten
            if trace is not None
            for kind, name in names_of(trace)
        )
        seen: dict[_Place, Counter[str]] = defaultdict(Counter)
        for (project, kind, name), count in used.items():
            seen[project, kind][storable_name(name)] += count
        for place, counted in seen.items():
            self._take_in(place, [name for name, _ in counted.most_common()])
        if all(self._has_room(place, name) for place, counted in seen.items() for name in counted):
            return rewritten
        return [
            (pending, None if trace is None else self._folded(pending.project, trace))
            for pending, trace in rewritten
        ]

    def counts(self) -> list[NameCount]:
        """How many names each project has of each kind, with their limits."""
        by_place: dict[_Place, list[str]] = defaultdict(list)
        with self._database.read() as connection:
            for row in connection.execute(select(names).order_by(names.c.name)):
                if row.last_day >= self._quiet_before():
                    by_place[row.project, NameKind(row.kind)].append(row.name)
        return [
            NameCount(
                project=project, kind=kind, names=tuple(own), limit=self._naming.limits.of(kind)
            )
            for (project, kind), own in sorted(by_place.items())
        ]

    def _rewritten(self, trace: Trace | None) -> Trace | None:
        if trace is None:
            return None
        rewrite = self._naming.rewrite_app
        if trace.expected is None and rewrite(trace.app) == trace.app:  # as nearly all are
            return trace
        return renamed(trace, lambda kind, name: rewrite(name) if kind is NameKind.APP else name)

    def _folded(self, project: str, trace: Trace) -> Trace:
        def name_of(kind: NameKind, name: str) -> str:
            if self._has_room((project, kind), storable_name(name)):
                return name
            telemetry.NAMES_FOLDED.labels(kind=kind.value).inc()
            return OTHER_NAME

        return renamed(trace, name_of)

    def _has_room(self, place: _Place, name: str) -> bool:
        """Whether a name, as it is stored, is kept by itself."""
        return name == OTHER_NAME or name in self._cached[place].days

    def _take_in(self, place: _Place, requested: Sequence[str]) -> None:
        """Make as many of these names known as there is room for, the first ones first."""
        cached, today = self._cached[place], self._clock.now().date()
        new = [name for name in requested if name not in cached.days and name != OTHER_NAME]
        stale = [name for name in requested if cached.days.get(name, today) < today]
        if not stale and (not new or time.monotonic() < cached.full_until):
            return
        updated = self._database.transact(
            lambda connection: self._updated(connection, place, new, stale, today)
        )
        cached.days = updated
        if any(name not in updated for name in new):
            cached.full_until = time.monotonic() + _AGAIN_S
            self._warn_once(place, len(updated))

    def _updated(
        self, connection: Connection, place: _Place, new: list[str], stale: list[str], today: date
    ) -> dict[str, date]:
        """Note what is in use, let go of what is not, take in what there is room for."""
        project, kind = place
        mine = (names.c.project == project, names.c.kind == kind.value)
        rows = connection.execute(select(names.c.name, names.c.last_day).where(*mine))
        days = {row.name: row.last_day for row in rows}
        fresh = [name for name in (*new, *stale) if name not in days]
        if not days and kind is NameKind.APP:
            # Apps of before there were limits keep their names.
            there = distinct_values(connection, rollups.c.app, rollups.c.project == project)
            fresh = list(dict.fromkeys([*there, *fresh]))
            taken = [*there, *fresh[len(there) : self._naming.limits.of(kind)]]
        else:
            gone = self._to_go(kind, days, fresh, {*new, *stale})
            for _, part in chunks((project, name) for name in gone):
                connection.execute(delete(names).where(*mine, names.c.name.in_(part)))
            for name in gone:
                del days[name]
            taken = fresh[: max(0, self._naming.limits.of(kind) - len(days))]
        if taken:
            values = [
                {"project": project, "kind": kind.value, "name": name, "last_day": today}
                for name in taken
            ]
            statement = self._database.insert(names).on_conflict_do_nothing()
            connection.execute(statement, values)
        used = [name for name in (*new, *stale) if name in days and days[name] < today]
        for _, part in chunks((project, name) for name in used):
            connection.execute(
                update(names).where(*mine, names.c.name.in_(part)).values(last_day=today)
            )
        return days | dict.fromkeys([*taken, *used], today)

    def _to_go(
        self, kind: NameKind, days: dict[str, date], fresh: Sequence[str], used: set[str]
    ) -> list[str]:
        """Names that make room: those that a rule rewrites, then the longest unused."""
        if kind is NameKind.APP:
            rewrite = self._naming.rewrite_app
            gone = [name for name in days if rewrite(name) != name]
        else:
            gone = []
        lacking = len(days) - len(gone) + len(fresh) - self._naming.limits.of(kind)
        if lacking > 0:
            before, spared = self._quiet_before(), {*gone, *used}
            quiet = [name for name in days if days[name] < before and name not in spared]
            gone += sorted(quiet, key=lambda name: (days[name], name))[:lacking]
        return gone

    def _quiet_before(self) -> date:
        return self._clock.now().date() - timedelta(days=QUIET_DAYS)

    def _warn_once(self, place: _Place, count: int) -> None:
        if place in self._warned:
            return
        self._warned.add(place)
        project, kind = place
        _LOG.warning(
            "project %r has %d names of kind %s: further ones are counted as %s; `rag-monitor "
            "doctor` says more, and [names] `%s` raises the limit",
            project, count, kind.value, OTHER_NAME, kind.value,
        )  # fmt: skip
