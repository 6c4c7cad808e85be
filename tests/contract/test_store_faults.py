"""What the store survives: killed processes, second servers, full disks, lost connections."""

from __future__ import annotations

import asyncio
import errno
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text

from rag_monitor.domain.ports import IngestBatch
from rag_monitor.domain.stored import RetentionPolicy
from rag_monitor.errors import ConfigurationError, StoreFull, StoreUnavailable
from rag_monitor.store import lockfile, partitions
from rag_monitor.store.engine import parse_url
from rag_monitor.store.options import StoreOptions
from rag_monitor.store.store import Store
from rag_monitor.store.tables import traces
from rag_monitor.testing import EPOCH, ManualClock, make_trace
from tests.contract.evidence import blob, ingest, write
from tests.postgresql import database

_CHILD = """
import asyncio, sys
from datetime import UTC, datetime
from rag_monitor.domain.ports import BlobFormat, IngestBatch, SpanBlob
from rag_monitor.store.options import StoreOptions
from rag_monitor.store.store import Store

store = Store.open(StoreOptions(url=sys.argv[1], ballast_bytes=0))
store.writer.start()

async def send(start):
    for n in range(start, 10**9, 20):
        trace_id = f"{n + 1:032x}"
        item = SpanBlob(trace_id=trace_id, format=BlobFormat.OTLP, payload=b"x" * 500)
        batch = IngestBatch(project="default", received_at=datetime.now(UTC), blobs=(item,))
        await store.writer.write(batch)
        sys.stdout.write(trace_id + "\\n")
        sys.stdout.flush()

async def main():
    await asyncio.gather(*(send(start) for start in range(20)))

asyncio.run(main())
"""


def test_nothing_acknowledged_is_lost_when_the_process_is_killed(database_url: str) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", _CHILD, database_url], stdout=subprocess.PIPE, text=True
    ) as child:
        acknowledged = [child.stdout.readline().strip() for _ in range(300)]
        child.send_signal(signal.SIGKILL)
        rest = child.stdout.read().split("\n")
    # The last line may have been cut in the middle by the kill.
    acknowledged += [line for line in rest if len(line) == 32]

    with Store.open(StoreOptions(url=database_url, ballast_bytes=0)) as store:
        stored = [bool(store.spans.blobs("default", trace_id)) for trace_id in acknowledged]

    assert len(acknowledged) >= 300
    assert all(stored)


def test_a_second_server_on_the_same_file_is_refused(tmp_path: Path) -> None:
    options = StoreOptions(url=f"sqlite:///{tmp_path / 'm.db'}", ballast_bytes=0)

    with Store.open(options):
        with pytest.raises(ConfigurationError, match="another rag-monitor process"):
            Store.open(options)
        with Store.open(replace(options, exclusive=False)) as command:
            command.keys.create("default", "from a command", [])
    Store.open(options).close()


@pytest.mark.skipif(not Path("/proc/self").is_dir(), reason="no folder that nobody can write")
def test_a_folder_that_cannot_be_written_is_told_with_who_would_write() -> None:
    with pytest.raises(ConfigurationError) as told:
        Store.open(StoreOptions(url="sqlite:////proc/self/m.db"))

    assert "nothing can be written in /proc/self as user " in str(told.value)
    assert "RAG_MONITOR_DATABASE_URL" in str(told.value)


def test_a_file_system_without_locks_is_not_taken_for_a_second_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_locks(handle: int, operation: int) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(lockfile.fcntl, "flock", no_locks)

    with pytest.raises(ConfigurationError, match="knows no locks"):
        Store.open(StoreOptions(url=f"sqlite:///{tmp_path / 'm.db'}", ballast_bytes=0))


@pytest.mark.parametrize("url", ["nonsense", "mysql://x/y", "sqlite://", "sqlite:///:memory:"])
def test_a_url_that_cannot_work_says_what_to_write(url: str) -> None:
    with pytest.raises(ConfigurationError, match="sqlite:///"):
        Store.open(StoreOptions(url=url))


@pytest.fixture
def small_disk() -> Iterator[Path]:
    """A file system of 24 MiB; skips where none can be mounted."""
    folder = Path(tempfile.mkdtemp())
    mount = ["mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", str(folder)]
    if shutil.which("mount") is None or subprocess.run(mount, capture_output=True).returncode:
        folder.rmdir()
        pytest.skip("needs the right to mount a tmpfs")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)
    folder.rmdir()


def test_a_full_disk_refuses_loses_nothing_and_heals_by_retention(
    small_disk: Path, clock: ManualClock
) -> None:
    url = f"sqlite:///{small_disk / 'm.db'}"
    options = StoreOptions(url=url, ballast_bytes=8 * 2**20, retry_s=0.1)
    with Store.open(options, clock) as store:
        store.writer.start()
        acknowledged = []
        error = None
        while error is None and len(acknowledged) < 1000:
            trace_id = f"{len(acknowledged) + 1:032x}"
            try:
                write(store, blob(trace_id, os.urandom(50_000)))
                acknowledged.append(trace_id)
            except StoreUnavailable as refusal:
                error = refusal

        assert isinstance(error, StoreFull)
        assert "make room" in str(error)
        assert acknowledged
        assert store.writer.refusing
        assert all(store.spans.blobs("default", trace_id) for trace_id in acknowledged)
        later = clock.advance(timedelta(days=40))
        store.retention.run(later, RetentionPolicy())
        assert write(store, blob("f" * 32, b"again"), at=later).new == 1
        assert not store.writer.refusing


@pytest.mark.postgresql
@pytest.mark.parametrize("dialect", ["postgresql"], indirect=True)
def test_connections_that_the_server_ends_are_replaced(store: Store, database_url: str) -> None:
    write(store, blob())
    engine = create_engine(parse_url(database_url), isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(
            text(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
        )
    engine.dispose()

    assert write(store, blob("b" * 32)).new == 1
    assert store.spans.assembling(EPOCH).traces == 2


@pytest.mark.postgresql
def test_partitions_are_made_ahead_filled_and_dropped(
    postgresql_template: str, clock: ManualClock
) -> None:
    with database(postgresql_template) as url:
        engine = create_engine(parse_url(url))
        with engine.connect() as connection:
            assert "traces_p20260105" not in partitions.names(connection, traces)
        options = StoreOptions(url=url, ballast_bytes=0, partitions_ahead=1)
        with Store.open(options, clock) as store:
            store.writer.start()
            ingest(store, make_trace())
            with engine.connect() as connection:
                assert "traces_p20260105" in partitions.names(connection, traces)
                rows = connection.execute(text("SELECT count(*) FROM traces_p20260105"))
                assert rows.scalar_one() == 1

            report = store.retention.run(clock.advance(timedelta(days=31)), RetentionPolicy())

        assert "traces_p20260105" in report.partitions
        with engine.connect() as connection:
            names = partitions.names(connection, traces)
        engine.dispose()
        assert "traces_p20260105" not in names
        assert "traces_p20260205" in names


async def test_writes_fail_fast_and_heal_when_the_tables_come_back(
    store: Store, database_url: str
) -> None:
    """A table that is missing stands for any refusal that is not passing: no caller hangs."""
    engine = create_engine(parse_url(database_url))
    with engine.begin() as connection:
        connection.execute(text("ALTER TABLE trace_keys RENAME TO away"))
    batch = IngestBatch(project="default", received_at=EPOCH, blobs=(blob(),))

    results = await asyncio.gather(
        *(store.writer.write(batch) for _ in range(3)), return_exceptions=True
    )
    with engine.begin() as connection:
        connection.execute(text("ALTER TABLE away RENAME TO trace_keys"))
    engine.dispose()

    assert all(isinstance(result, Exception) for result in results)
    assert (await store.writer.write(batch)).new == 1


@pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)
async def test_a_commit_that_does_not_come_is_a_refusal_and_nothing_is_stored_twice(
    store: Store, database_url: str
) -> None:
    store.close()
    options = StoreOptions(url=database_url, ballast_bytes=0, write_timeout_s=0.05)
    batch = IngestBatch(project="default", received_at=EPOCH, blobs=(blob(),))
    other = sqlite3.connect(parse_url(database_url).database, isolation_level=None)
    with Store.open(options) as hung:
        hung.writer.start()
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreUnavailable, match="try again"):
            await hung.writer.write(batch)
        other.execute("ROLLBACK")
        other.close()
        assert hung.writer.stop(10)

        assert len(hung.spans.blobs("default", "a" * 32)) == 1
