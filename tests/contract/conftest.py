"""An open store on each database."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from rag_monitor.store.options import StoreOptions
from rag_monitor.store.store import Store
from rag_monitor.testing import ManualClock


@pytest.fixture
def store(database_url: str, clock: ManualClock) -> Iterator[Store]:
    """A store at `testing.EPOCH`, with its writer running."""
    options = StoreOptions(url=database_url, pool_size=4, ballast_bytes=0, partitions_ahead=1)
    with Store.open(options, clock) as opened:
        opened.writer.start()
        yield opened
