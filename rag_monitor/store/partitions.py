"""Day partitions on PostgreSQL: made ahead, dropped by retention."""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from datetime import date, timedelta
from typing import Final

from sqlalchemy import Connection, Table, text

from rag_monitor.store.schema import metadata

PARTITIONED: Final = tuple(
    table
    for table in metadata.sorted_tables
    if table.dialect_options["postgresql"].get("partition_by")
)
"""Tables split by day on PostgreSQL."""

_LOG: Final = logging.getLogger(__name__)
_NAME: Final = re.compile(r"_p(\d{4})(\d{2})(\d{2})$")
_LOCK: Final = 7_420_655_117


def ensure(connection: Connection, first: date, days: int) -> list[str]:
    """Make the partitions for `days` days from `first` that are missing; returns their names.

    A day that already has rows in the default partition stays there.
    """
    connection.execute(text(f"SELECT pg_advisory_xact_lock({_LOCK})"))
    made = []
    for table in PARTITIONED:
        present = set(names(connection, table))
        for day in (first + timedelta(days=n) for n in range(days)):
            name = f"{table.name}_p{day:%Y%m%d}"
            if name not in present and _create(connection, table, name, day):
                made.append(name)
    return made


def names(connection: Connection, table: Table) -> list[str]:
    """The partitions of `table`, the default one included."""
    rows = connection.execute(
        text(
            "SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid "
            "WHERE i.inhparent = to_regclass(:parent) ORDER BY c.relname"
        ),
        {"parent": table.name},
    )
    return [name for (name,) in rows]


def drop_before(connection: Connection, tables: Sequence[Table], cutoff: date) -> list[str]:
    """Drop the partitions of days before `cutoff`; returns their names."""
    dropped = []
    for table in tables:
        for name in names(connection, table):
            day = day_of(name)
            if day is not None and day < cutoff:
                connection.execute(text(f'DROP TABLE "{name}"'))
                dropped.append(name)
    return dropped


def day_of(name: str) -> date | None:
    """The day of a partition, by its name; None for the default one."""
    match = _NAME.search(name)
    return date(*(int(part) for part in match.groups())) if match else None


def _create(connection: Connection, table: Table, name: str, day: date) -> bool:
    taken = connection.execute(
        text(f"SELECT EXISTS (SELECT 1 FROM {table.name}_default WHERE day = :day)"),  # noqa: S608
        {"day": day},
    ).scalar_one()
    if taken:
        _LOG.info("%s keeps the rows of %s in its default partition", table.name, day)
        return False
    connection.execute(
        text(
            f'CREATE TABLE "{name}" PARTITION OF {table.name} '
            f"FOR VALUES FROM ('{day}') TO ('{day + timedelta(days=1)}')"
        )
    )
    return True
