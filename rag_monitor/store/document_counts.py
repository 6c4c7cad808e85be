"""Adding traces to the counts of documents, once each, and taking erased ones away again.

What a trace was counted as is kept beside it: a new judgement replaces it, erasure takes it away.
Of a knowledge base, app and day the number of documents is bounded; further ones are counted
together.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from datetime import date, datetime, timedelta
from functools import partial
from typing import Any, Final

from sqlalchemy import Connection, Table, delete, exists, func, select, update

from rag_monitor.domain.document import DocumentInfo, DocumentKey, DocumentKind, TraceUses
from rag_monitor.store.bulk import Key, chunks, upsert
from rag_monitor.store.document_rows import (
    COLUMNS,
    Changes,
    Group,
    RowKey,
    Sums,
    dump_uses,
    keys_of,
    load_uses,
)
from rag_monitor.store.document_tables import (
    document_conflicts,
    document_days,
    document_inventory,
    document_uses,
    documents,
)
from rag_monitor.store.engine import Database
from rag_monitor.store.tables import trace_keys
from rag_monitor.store.types import storable_name

TOP: Final = 1_000
"""Documents of a knowledge base, app and day that are kept apart once the day is over: those that
were retrieved most."""
MOST: Final = 10_000
"""The same while it lasts: those that came first."""
OPEN_DAYS: Final = 2
"""Days that last: today and the day before."""
MAX_CONFLICTS: Final = 10_000
"""Pairs of a project and day that are counted."""
_LOOKUP: Final = 400
_REST: Final = DocumentKind.REST.value
_OPEN_ENDED: Final = frozenset({_REST, DocumentKind.ALL.value})
_INFO: Final = ("title", "updated_at", "version", "effective_date", "passage", "last_seen")

Counted = tuple[TraceUses, dict[DocumentKey, DocumentInfo]]
"""A trace, and what it says of its documents."""


def save_uses(
    database: Database,
    connection: Connection,
    counted: dict[Key, Counted],
    today: date,
) -> int:
    """Count traces in place of what they were counted as; returns how many are there.

    Those that were erased meanwhile are left out. Locks the keys, so that two who count one trace
    follow one another and the second changes nothing.
    """
    changes = Changes()
    rows: list[dict[str, Any]] = []
    infos: dict[tuple[str, DocumentKey], DocumentInfo] = {}
    for project, trace_ids in chunks(counted):
        days = _lock(connection, project, trace_ids)
        before = _loaded(connection, project, days)
        for trace_id, day in days.items():
            uses, described = counted[project, trace_id]
            old = before.get(trace_id)
            if old == uses:
                continue
            if old is not None:
                changes.add(project, old, -1)
                _count_conflicts(database, connection, project, old, trace_id, -1)
            changes.add(project, uses, 1)
            _count_conflicts(database, connection, project, uses, trace_id, 1)
            rows.append(
                {"project": project, "trace_id": trace_id, "day": day, "uses": dump_uses(uses)}
            )
            for key, info in described.items():
                earlier = infos.get((project, key))
                if earlier is None or _moment(earlier) < _moment(info):
                    infos[project, key] = info
    upsert(connection, document_uses, rows, ["uses"])
    _apply(connection, changes, today)
    _save_infos(connection, infos)
    return len(rows)


def forget(database: Database, connection: Connection, project: str, ids: Collection[str]) -> None:
    """Take traces away that are about to be erased, and documents that no other trace names."""
    before: list[TraceUses] = []
    changes = Changes()
    for name, part in chunks((project, trace_id) for trace_id in ids):
        days = _lock(connection, name, part)
        for trace_id, uses in _loaded(connection, name, days).items():
            changes.add(name, uses, -1)
            _count_conflicts(database, connection, name, uses, trace_id, -1)
            before.append(uses)
        connection.execute(
            update(document_conflicts)
            .where(document_conflicts.c.project == name, document_conflicts.c.trace_id.in_(part))
            .values(trace_id="")
        )
    _apply(connection, changes, date.max)
    gone = [key for key in keys_of(before) if key.kind not in _OPEN_ENDED]
    for base, kind, names in _by_base(gone):
        named = exists().where(
            *(document_days.c[name] == documents.c[name]
              for name in ("project", "knowledge_base", "kind", "document"))
        )  # fmt: skip
        connection.execute(
            delete(documents).where(
                documents.c.project == project,
                documents.c.knowledge_base == base,
                documents.c.kind == kind,
                documents.c.document.in_(names),
                ~named,
            )
        )


def fold_days(database: Database, today: date, limit: int = 20) -> int:
    """Keep the `TOP` documents of days that are over, and count the others together.

    Returns how many groups were folded; 0: there is nothing to do.
    """
    table = document_days.c
    full = (
        select(table.project, table.knowledge_base, table.app, table.day)
        .where(table.judge == "", table.kind.not_in(_OPEN_ENDED), table.day <= _over(today))
        .group_by(table.project, table.knowledge_base, table.app, table.day)
        .having(func.count() > TOP)
        .limit(limit)
    )
    with database.read() as connection:
        groups = [Group(*row) for row in connection.execute(full)]
    for group in groups:
        database.transact(partial(_fold, group=group))
    return len(groups)


def _over(today: date) -> date:
    """The newest day that is over."""
    return today - timedelta(days=OPEN_DAYS)


def _fold(connection: Connection, group: Group) -> None:
    table = document_days.c
    mine = _of_group(group)
    named = connection.execute(
        select(table.kind, table.document)
        .where(*mine, table.judge == "", table.kind.not_in(_OPEN_ENDED))
        .order_by(table.retrieved.desc(), table.in_context.desc(), table.kind, table.document)
        .offset(TOP)
    ).all()
    folded: dict[str, Sums] = defaultdict(dict)
    by_kind: dict[str, list[str]] = defaultdict(list)
    for row in named:
        by_kind[row.kind].append(row.document)
    for kind, names in by_kind.items():
        for start in range(0, len(names), _LOOKUP):
            # Deleted and read at once: what others added meanwhile is in it.
            deleted = connection.execute(
                delete(document_days)
                .where(
                    *mine,
                    table.kind == kind,
                    table.document.in_(names[start : start + _LOOKUP]),
                )
                .returning(table.judge, *(table[column] for column in COLUMNS))
            )
            for row in deleted:
                into = folded[row.judge]
                for column in COLUMNS:
                    into[column] = into.get(column, 0) + row._mapping[column]
    rest = {RowKey(_REST, "", judge): sums for judge, sums in folded.items()}
    _add_rows(connection, group, rest)


def _lock(connection: Connection, project: str, trace_ids: Sequence[str]) -> dict[str, date]:
    """The days of those traces that are there."""
    rows = connection.execute(
        select(trace_keys.c.trace_id, trace_keys.c.day)
        .where(trace_keys.c.project == project, trace_keys.c.trace_id.in_(trace_ids))
        .order_by(trace_keys.c.trace_id)
        .with_for_update()
    )
    return {row.trace_id: row.day for row in rows}


def _loaded(connection: Connection, project: str, trace_ids: Iterable[str]) -> dict[str, TraceUses]:
    ids = list(trace_ids)
    days = select(trace_keys.c.day).where(
        trace_keys.c.project == project, trace_keys.c.trace_id.in_(ids)
    )
    rows = connection.execute(
        select(document_uses.c.trace_id, document_uses.c.uses).where(
            document_uses.c.project == project,
            document_uses.c.trace_id.in_(ids),
            document_uses.c.day.in_(set(connection.execute(days).scalars())),
        )
    )
    return {row.trace_id: load_uses(row.uses) for row in rows}


def _apply(connection: Connection, changes: Changes, today: date) -> None:
    for group, rows in changes.nonzero():
        _add_rows(connection, group, _bounded(connection, group, rows, today))


def _bounded(
    connection: Connection, group: Group, rows: dict[RowKey, Sums], today: date
) -> dict[RowKey, Sums]:
    """The rows, with those of documents that there is no room for counted together."""
    named = sorted({(key.kind, key.document) for key in rows if key.kind not in _OPEN_ENDED})
    table = document_days.c
    present: set[tuple[str, str]] = set()
    for start in range(0, len(named), _LOOKUP):
        part = [document for _, document in named[start : start + _LOOKUP]]
        present |= {
            (row.kind, row.document)
            for row in connection.execute(
                select(table.kind, table.document).where(
                    *_of_group(group), table.judge == "", table.document.in_(part)
                )
            )
        }
    # A document without a row was folded: what is taken away goes from the rest, too.
    missing = [pair for pair in named if pair not in present]
    fresh = [pair for pair in missing if _grows(rows.get(RowKey(*pair, "")))]
    room = 0
    if fresh:
        most = MOST if group.day > _over(today) else TOP
        there = connection.execute(
            select(func.count())
            .select_from(document_days)
            .where(*_of_group(group), table.judge == "", table.kind.not_in(_OPEN_ENDED))
        ).scalar_one()
        room = max(0, most - there)
    kept = {*present, *fresh[:room]}
    bounded: dict[RowKey, Sums] = {}
    for key, sums in rows.items():
        place = key
        if key.kind not in _OPEN_ENDED and (key.kind, key.document) not in kept:
            place = RowKey(_REST, "", key.judge)
        into = bounded.setdefault(place, {})
        for column, value in sums.items():
            into[column] = into.get(column, 0) + value
    return bounded


def _grows(counts: Sums | None) -> bool:
    return bool(counts) and all(value > 0 for value in (counts or {}).values())


def _of_group(group: Group) -> list[Any]:
    return [document_days.c[name] == value for name, value in group._asdict().items()]


def _add_rows(connection: Connection, group: Group, rows: dict[RowKey, Sums]) -> None:
    if not rows:
        return
    zeros = dict.fromkeys(COLUMNS, 0)
    values = [{**group._asdict(), **key._asdict(), **zeros, **rows[key]} for key in sorted(rows)]
    upsert(connection, document_days, values, COLUMNS, add=True)
    if any(value < 0 for sums in rows.values() for value in sums.values()):
        _delete_empty(connection, document_days, *_of_group(group))


def _delete_empty(connection: Connection, table: Table, *place: Any) -> None:
    """Rows that count no trace any more, with what rounding leaves of their sums."""
    counts = [column for column in table.c if column.name in _WHOLE]
    connection.execute(delete(table).where(*place, *(column <= 0 for column in counts)))


_WHOLE: Final = frozenset(
    {"retrieved", "in_context", "traces", *(name for name in COLUMNS if name.endswith("_count"))}
)


def _count_conflicts(
    database: Database,
    connection: Connection,
    project: str,
    uses: TraceUses,
    trace_id: str,
    sign: int,
) -> None:
    table = document_conflicts.c
    for conflict in sorted(uses.conflicts):
        used, other = conflict.used, conflict.other
        place = {
            "project": project,
            "app": storable_name(uses.app),
            "knowledge_base": storable_name(used.knowledge_base),
            "day": uses.day,
            "kind": used.kind.value,
            "document": storable_name(used.document),
            "other_knowledge_base": storable_name(other.knowledge_base),
            "other_kind": other.kind.value,
            "other": storable_name(other.document),
        }
        same = [table[name] == value for name, value in place.items()]
        outdated = int(conflict.outdated)
        if sign < 0:
            connection.execute(
                update(document_conflicts)
                .where(*same)
                .values(traces=table.traces - 1, outdated=table.outdated - outdated)
            )
            connection.execute(delete(document_conflicts).where(*same, table.traces <= 0))
            continue
        row = {**place, "traces": 1, "outdated": outdated, "trace_id": trace_id}
        statement = database.insert(document_conflicts).values(row)
        more = {
            "traces": table.traces + 1,
            "outdated": table.outdated + outdated,
            "trace_id": trace_id,
        }
        there = connection.execute(select(table.traces).where(*same)).first() is not None
        if there or _room_for_conflict(connection, project, uses.day):
            connection.execute(
                statement.on_conflict_do_update(index_elements=list(place), set_=more)
            )


def _room_for_conflict(connection: Connection, project: str, day: date) -> bool:
    table = document_conflicts.c
    of_day = select(table.day).where(table.project == project, table.day == day)
    few = of_day.limit(MAX_CONFLICTS).subquery()
    there: int = connection.execute(select(func.count()).select_from(few)).scalar_one()
    return there < MAX_CONFLICTS


def _moment(info: DocumentInfo) -> datetime:
    if info.last_seen is None:
        raise ValueError("a document of a trace was seen when the trace began")
    return info.last_seen


def _save_infos(connection: Connection, infos: dict[tuple[str, DocumentKey], DocumentInfo]) -> None:
    rows = {}
    for (project, key), info in infos.items():
        place = (project, storable_name(key.knowledge_base), key.kind.value)
        named = (*place, storable_name(key.document))
        rows[named] = dict(
            zip(("project", "knowledge_base", "kind", "document"), named, strict=True)
        ) | {name: getattr(info, name) for name in _INFO}
    ordered = [rows[named] for named in sorted(rows)]
    upsert(connection, documents, ordered, _INFO, newer="last_seen")
    for project, base, moment, names in _seen(ordered):
        table = document_inventory.c
        connection.execute(
            update(document_inventory)
            .where(
                table.project == project,
                table.knowledge_base == base,
                table.document.in_(names),
                table.last_retrieved.is_(None) | (table.last_retrieved < moment),
            )
            .values(last_retrieved=moment)
        )


def _seen(rows: Sequence[dict[str, Any]]) -> list[tuple[str, str, datetime, list[str]]]:
    """The ids that were seen, by project and knowledge base, each with the newest moment of all."""
    grouped: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        if row["kind"] == DocumentKind.ID.value:
            grouped[row["project"], row["knowledge_base"]].append(row)
    return [
        (project, base, max(r["last_seen"] for r in some), [r["document"] for r in some])
        for (project, base), mine in grouped.items()
        for some in (mine[n : n + _LOOKUP] for n in range(0, len(mine), _LOOKUP))
    ]


def _by_base(keys: Iterable[DocumentKey]) -> Iterable[tuple[str, str, list[str]]]:
    grouped: dict[tuple[str, str], list[str]] = defaultdict(list)
    for key in keys:
        grouped[key.knowledge_base, key.kind.value].append(key.document)
    for (base, kind), names in sorted(grouped.items()):
        for start in range(0, len(names), _LOOKUP):
            yield base, kind, names[start : start + _LOOKUP]
