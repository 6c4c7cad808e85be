"""Through PgBouncer in transaction mode: every transaction may be on another session."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from sqlalchemy import make_url

from rag_monitor.domain.clock import SharedClock
from rag_monitor.domain.judgement import JudgeUsage
from rag_monitor.domain.stored import BudgetLimits
from rag_monitor.errors import StoreUnavailable
from rag_monitor.store import migration
from rag_monitor.store.options import StoreOptions
from rag_monitor.store.store import Store
from rag_monitor.testing import make_trace
from tests.chaos.cluster import free_port
from tests.contract.evidence import blob, write
from tests.postgresql import database

pytestmark = pytest.mark.postgresql
TRACES = 60


@pytest.fixture
def bouncer(postgresql_template: str) -> Iterator[str]:
    """The URL of a database behind a PgBouncer with fewer sessions than we have connections."""
    program = shutil.which("pgbouncer") or shutil.which("pgbouncer", path="/usr/sbin")
    if program is None:
        pytest.skip("pgbouncer is not installed")
    user = "nobody" if os.getuid() == 0 else None  # it refuses to run as root
    port = free_port()
    with database(postgresql_template) as url:
        real = make_url(url)
        password = f" password={real.password}" if real.password else ""
        settings = Path(tempfile.gettempdir()) / f"pgbouncer-{port}.ini"  # not readable in tmp_path
        settings.write_text(
            f"""
[databases]
* = host={real.host} port={real.port} user={real.username}{password}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
auth_type = any
pool_mode = transaction
default_pool_size = 2
unix_socket_dir =
""",
            encoding="utf-8",
        )
        settings.chmod(0o644)
        process = subprocess.Popen([program, "-q", settings], user=user, stderr=subprocess.PIPE)
        try:
            yield real.set(port=port).render_as_string(hide_password=False)
        finally:
            process.kill()
            process.communicate()
            settings.unlink()


def _open(url: str, **options: object) -> Store:
    """A store, once the bouncer listens."""
    deadline = time.monotonic() + 20
    while True:
        try:
            return Store.open(StoreOptions(url=url, pool_size=6, **options), SharedClock())
        except StoreUnavailable:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.1)


def test_everything_works_when_each_transaction_is_on_another_session(bouncer: str) -> None:
    budgets = {"dear": BudgetLimits(tokens=500)}
    with _open(bouncer, statement_timeout_s=0, budgets=budgets) as store:
        assert migration.current(bouncer) == migration.head()
        store.writer.start()
        traces = [make_trace(id=str(n)) for n in range(TRACES)]
        now = store.leases.now()
        write(store, *(blob(trace.trace_id, complete=True) for trace in traces), at=now)
        by_id = {trace.trace_id: trace for trace in traces}
        due = store.spans.due(now, 1000)
        store.traces.save_derived([(pending, by_id[pending.trace_id]) for pending in due])

        def work(name: str) -> tuple[list[int], int]:
            mine: list[int] = []
            while tasks := store.tasks.claim(name, 4, 60, store.leases.now()):
                assert store.tasks.renew_many(tasks, 60, store.leases.now()) == len(tasks)
                assert store.tasks.complete_many([(task, (), ()) for task in tasks]) == []
                mine += [task.id for task in tasks]
            allowed = sum(
                store.budgets.reserve("default", "dear", JudgeUsage(input_tokens=100)) is not None
                for _ in range(4)
            )
            return mine, allowed

        with ThreadPoolExecutor(6) as pool:
            found = list(pool.map(work, "abcdef"))
        leases = [store.leases.acquire("scheduler", name, 30) for name in ("a", "b")]

    done = [id_ for ids, _ in found for id_ in ids]
    assert len(done) == len(set(done)) == TRACES
    assert sum(allowed for _, allowed in found) == 5, "the budget holds across sessions"
    assert [lease is not None for lease in leases] == [True, False]


def test_without_the_setting_the_refusal_names_the_startup_option(bouncer: str) -> None:
    _open(bouncer, statement_timeout_s=0).close()

    with pytest.raises(StoreUnavailable, match="startup"):
        Store.open(StoreOptions(url=bouncer))
