"""A SQLite file with data of ours, and ways to damage its pages."""

from __future__ import annotations

import os
import random
import sqlite3
from pathlib import Path

from rag_monitor.store.options import StoreOptions
from rag_monitor.store.store import Store
from rag_monitor.testing import ManualClock
from tests.contract.evidence import blob, write
from tests.db import new_sqlite

_LEAF = 0x0D
_PAGE = 4096


def ids(count: int) -> list[str]:
    return [f"{number:032x}" for number in range(1, count + 1)]


def filled(path: Path, clock: ManualClock, count: int) -> None:
    """A closed file with so many pieces of evidence, several to a page."""
    draw = random.Random(4)
    options = StoreOptions(url=new_sqlite(path), ballast_bytes=0)
    with Store.open(options, clock) as store:
        store.writer.start()
        write(store, *(blob(name, draw.randbytes(900)) for name in ids(count)))


def damage(path: Path, trace_id: str) -> int:
    """Overwrite the heads of the table pages on which a trace stands; returns how many."""
    data = path.read_bytes()
    hit = [
        start
        for start in range(_PAGE, len(data), _PAGE)
        if data[start] == _LEAF and trace_id.encode() in data[start : start + _PAGE]
    ]
    with path.open("r+b") as file:  # in place: a store may have it open and read meanwhile
        for start in hit:
            file.seek(start)
            file.write(b"\xff" * 64)
    return len(hit)


def damage_root(path: Path, table: str) -> None:
    """Overwrite the page at which a table begins."""
    connection = sqlite3.connect(path)
    ((page,),) = connection.execute(
        "SELECT rootpage FROM sqlite_master WHERE name = ?", (table,)
    ).fetchall()
    connection.close()
    with path.open("r+b") as file:
        file.seek((page - 1) * _PAGE)
        file.write(os.urandom(_PAGE))
