"""A new, migrated database of either kind, for tests that share one between them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rag_monitor.store import migration
from tests.postgresql import database


@contextmanager
def new_database(kind: str, folder: Path) -> Iterator[str]:
    """Its URL; gone at the end."""
    if kind == "sqlite":
        yield f"sqlite:///{folder / 'monitor.db'}"
        return
    with database() as url:
        migration.upgrade(url)
        yield url
