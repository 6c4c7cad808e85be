"""What `rag-monitor doctor` says of the database, of what waits in it, and of its rules."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from typer.testing import CliRunner

from rag_monitor.cli.application import app
from rag_monitor.domain.alert import AlertRule, RuleKind
from rag_monitor.errors import StoreFull
from rag_monitor.store.engine import Database
from rag_monitor.store.options import StoreOptions
from rag_monitor.store.store import Store
from rag_monitor.testing import ManualClock, make_trace
from tests.contract.evidence import claim, ingest
from tests.contract.test_store_rest import ALERT, NOTE
from tests.db import new_sqlite


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    url = new_sqlite(tmp_path / "m.db")
    monkeypatch.setenv("RAG_MONITOR_DATABASE_URL", url)
    monkeypatch.chdir(tmp_path)
    opened = Store.open(StoreOptions(url=url), ManualClock())
    opened.writer.start()
    return opened


def _said_of(name: str) -> tuple[bool, str]:
    result = CliRunner().invoke(app, ["doctor", "--json"])
    (check,) = [c for c in json.loads(result.stdout)["checks"] if c["name"] == name]
    return check["ok"], check["detail"]


def _queue() -> tuple[bool, str]:
    return _said_of("queue")


def _rules() -> tuple[bool, str]:
    return _said_of("rules")


def test_looking_makes_no_database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    result = CliRunner().invoke(app, ["doctor", "--json"])

    checks = {check["name"]: check for check in json.loads(result.stdout)["checks"]}
    assert list(tmp_path.iterdir()) == []
    assert checks["database"]["ok"]
    assert checks["database"]["detail"].startswith("no file rag_monitor.db yet")
    assert checks["queue"]["ok"]


def test_a_folder_that_is_not_there_is_still_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAG_MONITOR_DATABASE_URL", f"sqlite:///{tmp_path}/gone/m.db")

    ok, detail = _said_of("database")

    assert not ok
    assert "there is no folder" in detail
    assert not _queue()[0]


@pytest.mark.skipif(not Path("/proc/self").is_dir(), reason="no folder that nobody can write")
def test_a_folder_in_which_no_database_can_be_made_is_not_in_order(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("RAG_MONITOR_DATABASE_URL", "sqlite:////proc/self/m.db")

    result = CliRunner().invoke(app, ["doctor", "--json"])

    checks = {check["name"]: check for check in json.loads(result.stdout)["checks"]}
    assert not checks["database"]["ok"]
    assert "nothing can be written in /proc/self" in checks["database"]["detail"]


_ALL_WELL = (
    "1 in force, all with channels that are configured; "
    "no application has sent traces yet: nothing is watched"
)


def test_a_rule_whose_channel_is_gone_is_not_in_order(store: Store) -> None:
    store.rules.save(AlertRule(name="quiet", kind=RuleKind.NO_DATA, notifiers=("log",)))
    assert _rules() == (True, _ALL_WELL)
    store.rules.save(AlertRule(name="page", kind=RuleKind.NO_DATA, notifiers=("pager",)))
    store.close()

    ok, detail = _rules()

    assert not ok
    assert detail.startswith("default/page names pager, configured: log;")


def test_messages_for_a_channel_that_is_gone_are_named(store: Store) -> None:
    store.alerts.save([ALERT], [replace(NOTE, channel="pager"), replace(NOTE, channel="log")])
    ok, detail = _said_of("messages")
    assert not ok
    assert "1 for pager wait, which is not configured" in detail
    assert "configured: log" in detail

    now = datetime.now(UTC)
    for note in store.outbox.due(now):
        if note.channel == "log":
            store.outbox.sent(note)
        else:
            store.outbox.dead(note, "no channel 'pager' is configured")
    ok, detail = _said_of("messages")
    assert (ok, detail) == (
        True,
        "0 wait for their channels; 1 were given up, none of them in the last day",
    )

    late = replace(NOTE, channel="pager", dedup_key="k2", created_at=now)
    store.alerts.save([ALERT], [late])
    (note,) = store.outbox.due(now)
    store.outbox.dead(note, "no channel 'pager' is configured")
    ok, detail = _said_of("messages")
    assert not ok
    assert "2 for pager were given up (no channel 'pager' is configured)" in detail
    assert store.outbox.given_up() == 2


def test_a_rule_for_an_app_without_traces_is_named(store: Store) -> None:
    ingest(store, make_trace(app="bank-faq"))
    store.rules.save(AlertRule(name="gone", kind=RuleKind.NO_DATA, app="bank-faqs"))
    store.rules.save(AlertRule(name="fine", kind=RuleKind.NO_DATA, app="bank-faq"))
    store.close()

    ok, detail = _rules()

    assert ok
    assert "default/gone: app: no stored trace is of an application called 'bank-faqs'" in detail
    assert "did you mean 'bank-faq'?" in detail
    assert "default/fine" not in detail


def test_waiting_traces_are_counted(store: Store) -> None:
    ingest(store, make_trace())
    store.close()

    ok, detail = _queue()

    assert ok
    assert detail.startswith("1 traces wait")


def test_a_parked_trace_is_named_with_its_reason_and_the_way_to_mend(store: Store) -> None:
    ingest(store, make_trace())
    (task,) = claim(store)
    store.tasks.park(task, "unsavable")
    store.close()

    ok, detail = _queue()

    assert not ok
    assert f"default/{task.trace.trace_id} (unsavable)" in detail
    assert "rag-monitor tasks retry" in detail


def test_a_database_that_everybody_can_read_is_named(store: Store, tmp_path: Path) -> None:
    ok, detail = _said_of("database")
    assert (ok, "every user" in detail) == (True, False)

    (tmp_path / "m.db").chmod(0o644)
    ok, detail = _said_of("database")
    assert ok
    assert f"every user of this machine can read {tmp_path / 'm.db'}" in detail
    assert "chmod o-r" in detail


def test_a_full_disk_is_not_in_order(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: Store) -> None:
        raise StoreFull("the disk of the database is full (SQLite m.db: full); make room on it")

    assert _said_of("database")[0]
    monkeypatch.setattr(Store, "try_writing", full)

    ok, detail = _said_of("database")
    assert not ok
    assert "the disk of the database is full" in detail


def test_who_only_looks_leaves_the_log_of_the_database_alone(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process that owns the file folds it; on a full disk whoever looks only complained."""
    folded: list[object] = []
    monkeypatch.setattr(Database, "checkpoint", lambda one: folded.append(one))

    assert _queue()[0]

    assert folded == []
    store.close()
    assert len(folded) == 1


def test_what_waits_for_the_judge_it_was_drawn_for_is_told_apart(store: Store) -> None:
    ingest(store, make_trace(), make_trace(id="b"))
    drawn, _ = claim(store)
    store.tasks.complete_many([(drawn, [], [])], {drawn.id})
    store.close()

    ok, detail = _queue()

    assert ok
    first, second = detail.split("; ")
    assert first.startswith("1 traces wait to be judged, the oldest for ")
    assert second.startswith("1 traces wait for the judge they were drawn for, the oldest for ")


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_cause_of_a_database_that_is_down_is_told_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, language: str
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RAG_MONITOR_DATABASE_URL", "postgresql+psycopg://n@127.0.0.1:9/x")
    monkeypatch.setenv("RAG_MONITOR_LANGUAGE", language)

    result = CliRunner().invoke(app, ["doctor"])
    as_json = CliRunner().invoke(app, ["doctor", "--json"])

    assert result.exit_code == 1
    assert result.stdout.count("PostgreSQL") == 1
    assert sum(line.startswith("--") for line in result.stdout.splitlines()) == 4
    checks = {check["name"]: check for check in json.loads(as_json.stdout)["checks"]}
    unseen = {name for name, check in checks.items() if not check["looked_at"]}
    assert unseen == {"queue", "names", "messages", "rules"}
    assert not any(checks[name]["ok"] for name in unseen)
    assert checks["judge"]["ok"]


def test_a_database_that_takes_nothing_in_is_still_read(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.close()

    def full(_: Store) -> None:
        raise StoreFull

    monkeypatch.setattr(Store, "try_writing", full)
    assert not _said_of("database")[0]
    assert _queue() == (True, "nothing waits to be judged")
