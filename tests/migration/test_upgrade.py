"""What the first release wrote survives every revision up and down, on each database."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from alembic import op
from alembic.script import ScriptDirectory
from sqlalchemy import Engine, create_engine, text

from rag_monitor.aggregation.totals import merged
from rag_monitor.domain.filters import QuestionLanguage
from rag_monitor.domain.rollup import RollupQuery
from rag_monitor.domain.stored import TraceQuery
from rag_monitor.domain.window import Window
from rag_monitor.errors import SchemaMismatch, StoreError
from rag_monitor.store import migration
from rag_monitor.store.engine import parse_url
from rag_monitor.store.options import StoreOptions
from rag_monitor.store.store import Store
from rag_monitor.testing import EPOCH, ManualClock, make_trace
from tests.contract.evidence import ingest
from tests.migration.first_revision import (
    QUESTION,
    TRACE,
    columns_of,
    contents,
    fill,
)

_ROOT = Path(__file__).resolve().parents[2]
_REVISIONS = sorted(path.name[:4] for path in (_ROOT / "migrations" / "versions").glob("0*.py"))
_FIRST = _REVISIONS[0]


@pytest.fixture
def engine(empty_database_url: str) -> Iterator[Engine]:
    """A database at the first revision with rows in every table."""
    migration.upgrade(empty_database_url, _FIRST)
    made = create_engine(parse_url(empty_database_url))
    fill(made)
    yield made
    made.dispose()


def test_rows_of_the_first_revision_survive_each_step_up_and_each_step_down(
    engine: Engine, empty_database_url: str
) -> None:
    columns = columns_of(engine)
    before = contents(engine, columns)
    assert len(before["traces"]) == 2
    assert all(before.values()), "a table without rows proves nothing"

    for revision in _REVISIONS[1:]:
        assert migration.upgrade(empty_database_url, revision) == revision
        assert contents(engine, columns) == before, f"up to {revision}"
    for revision in reversed(_REVISIONS[:-1]):
        migration.downgrade(empty_database_url, revision)
        assert migration.current(empty_database_url) == revision
        assert contents(engine, columns) == before, f"down to {revision}"
    assert columns_of(engine) == columns


@pytest.mark.parametrize("start", _REVISIONS)
def test_this_release_works_on_what_any_earlier_one_left(
    engine: Engine, empty_database_url: str, start: str, clock: ManualClock
) -> None:
    migration.upgrade(empty_database_url, start)
    engine.dispose()
    migration.upgrade(empty_database_url)

    with Store.open(_options(empty_database_url), clock) as store:
        store.writer.start()
        assert _questions(store, "利率") == [QUESTION, QUESTION]
        assert store.traces.index_questions() == 2
        assert _questions(store, "利率") == [QUESTION, QUESTION]
        found = store.traces.search(
            TraceQuery(project="default", language=QuestionLanguage.CHINESE)
        )
        assert (len(found.items), found.indexed_since is None) == (0, False)
        assert store.traces.index_terms() == 2
        found = store.traces.search(
            TraceQuery(project="default", language=QuestionLanguage.CHINESE)
        )
        assert (len(found.items), found.indexed_since) == (2, None)
        stored = store.traces.get("default", TRACE)
        assert stored.scores[0].metric == "faithfulness"
        assert [document.content for document in stored.trace.contexts] == ["passages.content"]
        window = Window(EPOCH, EPOCH + timedelta(days=1))
        rows = store.rollups.load_sums(
            RollupQuery(project="default", window=window, app="test-app")
        )
        assert sum(row.count for row in rows) == 2
        clock.advance(timedelta(days=2))
        _fold(store, clock)
        folded = store.rollups.load_sums(
            RollupQuery(project="default", window=window, app="test-app")
        )
        assert (len(folded), sum(row.count for row in folded)) == (1, 2)
        assert ingest(store, make_trace("new", id="n"), at=clock.now()) == 1
        assert _questions(store, "new") == ["new"]


def test_what_this_release_wrote_survives_the_way_down(
    empty_database_url: str, clock: ManualClock
) -> None:
    migration.upgrade(empty_database_url)
    with Store.open(_options(empty_database_url), clock) as store:
        store.writer.start()
        ingest(store, make_trace(QUESTION))
    engine = create_engine(parse_url(empty_database_url))

    migration.downgrade(empty_database_url, _FIRST)

    kept = contents(engine, {"traces": ["question"], "spans": ["payload"], "passages": ["sha256"]})
    engine.dispose()
    assert kept["traces"] == [(QUESTION,)]
    assert all(len(rows) == 1 for rows in kept.values())
    assert migration.upgrade(empty_database_url) == migration.head()
    with Store.open(_options(empty_database_url), clock) as store:
        assert _questions(store, "贷款") == [QUESTION]


def test_a_revision_that_breaks_off_leaves_nothing_behind_and_can_be_run_again(
    engine: Engine, empty_database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = columns_of(engine)
    real = op.create_index

    def fail(name: str, *args: object, **options: object) -> None:
        if name == "ix_traces_search":
            raise StoreError("the power went away")
        real(name, *args, **options)

    monkeypatch.setattr(op, "create_index", fail)
    with pytest.raises(StoreError, match="power"):
        migration.upgrade(empty_database_url)
    monkeypatch.undo()

    assert migration.current(empty_database_url) == _FIRST
    assert columns_of(engine) == before
    assert migration.upgrade(empty_database_url) == migration.head()


def test_an_older_release_refuses_to_serve_and_to_migrate_and_says_why(
    database_url: str, tmp_path: Path
) -> None:
    older = _older_release(tmp_path)

    for command in (["serve", "--port", "0"], ["migrate"], ["migrate", "--check"], ["doctor"]):
        done = _run(older, database_url, tmp_path, command)
        said = done.stdout + done.stderr
        assert done.returncode not in (0, -9), (command, said)
        assert "newer rag-monitor" in said, command
        assert f"rag-monitor migrate --to {_REVISIONS[-2]}" in said, command
        assert "Traceback" not in said, command
    assert migration.current(database_url) == migration.head()


def test_this_release_asks_for_the_migration_of_an_older_schema(
    empty_database_url: str, tmp_path: Path
) -> None:
    migration.upgrade(empty_database_url, _FIRST)

    with pytest.raises(SchemaMismatch, match="run `rag-monitor migrate`"):
        Store.open(StoreOptions(url=empty_database_url, auto_migrate=False, ballast_bytes=0))
    done = _run(_ROOT, empty_database_url, tmp_path, ["migrate", "--check"])
    assert done.returncode == 1
    assert migration.head() in done.stdout


def test_the_way_back_for_an_older_release_keeps_the_rows(
    engine: Engine, empty_database_url: str, tmp_path: Path
) -> None:
    migration.upgrade(empty_database_url)
    target = _REVISIONS[-2]

    unsure = _run(_ROOT, empty_database_url, tmp_path, ["migrate", "--to", target])
    assert unsure.returncode == 1
    assert migration.current(empty_database_url) == migration.head()
    done = _run(_ROOT, empty_database_url, tmp_path, ["migrate", "--to", target, "--yes"])
    assert done.stdout.strip() == f"the schema is at {target} (was {_REVISIONS[-1]})"
    assert migration.current(empty_database_url) == target
    with engine.connect() as connection:
        assert connection.execute(text("SELECT count(*) FROM traces")).scalar_one() > 0

    older = _older_release(tmp_path)
    assert _run(older, empty_database_url, tmp_path, ["migrate", "--check"]).returncode == 0
    again = _run(_ROOT, empty_database_url, tmp_path, ["migrate", "--to", _REVISIONS[-1]])
    assert again.returncode == 0
    assert migration.current(empty_database_url) == migration.head()


def test_a_revision_nobody_knows_is_refused_with_those_there_are(
    database_url: str, tmp_path: Path
) -> None:
    done = _run(_ROOT, database_url, tmp_path, ["migrate", "--to", "0099", "--yes"])

    assert done.returncode != 0
    assert "there is no revision '0099'" in done.stderr
    assert ", ".join(_REVISIONS) in done.stderr


def test_there_is_no_way_back_below_a_running_server(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'm.db'}"
    with Store.open(StoreOptions(url=url, ballast_bytes=0)):
        done = _run(_ROOT, url, tmp_path, ["migrate", "--to", _FIRST, "--yes"])

    assert "in use by another rag-monitor process" in done.stderr
    assert migration.current(url) == migration.head()


def _older_release(folder: Path) -> Path:
    """This release without its newest revision: what stood there a release ago."""
    root = folder / "older"
    weights = shutil.ignore_patterns("__pycache__", "*.onnx", "*.npz", "*.safetensors")
    shutil.copytree(_ROOT / "rag_monitor", root / "rag_monitor", ignore=weights)
    shutil.copytree(_ROOT / "migrations", root / "migrations")
    shutil.copy(_ROOT / "pyproject.toml", root)
    (newest,) = (root / "migrations" / "versions").glob(f"{_REVISIONS[-1]}*.py")
    newest.unlink()
    scripts = ScriptDirectory(str(root / "migrations"))
    assert scripts.get_current_head() == _REVISIONS[-2]
    return root


def _run(
    root: Path, url: str, folder: Path, command: list[str]
) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PYTHONPATH": str(root), "RAG_MONITOR_DATABASE_URL": url}
    return subprocess.run(
        [sys.executable, "-m", "rag_monitor", *command],
        env=environment,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def _options(url: str) -> StoreOptions:
    return StoreOptions(url=url, ballast_bytes=0, partitions_ahead=1)


def _questions(store: Store, q: str) -> list[str | None]:
    page = store.traces.search(TraceQuery(project="default", q=q))
    return [item.question for item in page.items]


def _fold(store: Store, clock: ManualClock) -> None:
    while stale := store.rollups.stale(clock.now(), 1000):
        shortest = [block for block in stale if block.minutes == stale[0].minutes]
        store.rollups.put_blocks(
            [(block, merged(store.rollups.parts(block), block.minute)) for block in shortest]
        )
