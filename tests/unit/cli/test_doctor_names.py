"""What `rag-monitor doctor` says of the names that applications send."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from typer.testing import CliRunner

from rag_monitor.cli.application import app
from rag_monitor.store.options import StoreOptions
from rag_monitor.store.store import Store
from rag_monitor.testing import ManualClock, make_trace
from tests.contract.evidence import ingest
from tests.db import new_sqlite


@pytest.fixture
def send(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    url = new_sqlite(tmp_path / "m.db")
    monkeypatch.setenv("RAG_MONITOR_DATABASE_URL", url)
    monkeypatch.chdir(tmp_path)
    now = datetime.now(UTC)

    def ingested(*names: str) -> None:
        with Store.open(StoreOptions(url=url), ManualClock(now)) as store:
            store.writer.start()
            traces = [make_trace(id=name, app=name, started_at=now) for name in names]
            ingest(store, *traces, at=now)

    return ingested


def said(language: str = "en") -> tuple[bool, str]:
    result = CliRunner().invoke(app, ["doctor", "--json", "--language", language])
    (check,) = [c for c in json.loads(result.stdout)["checks"] if c["name"] == "names"]
    return check["ok"], check["detail"]


def test_ordinary_names_are_in_order(send) -> None:
    send("bank-faq", "hr-desk")

    assert said() == (True, "room for more; 2 apps")


@pytest.mark.parametrize("language", ["en", "zh"])
def test_an_app_that_is_named_after_its_pods_is_told_with_a_rule_that_helps(
    send, language: str
) -> None:
    send(*(f"bank-faq-7d9f8b6c5d-x2x4{c}" for c in "zvk"))

    ok, detail = said(language)

    assert ok
    assert "`service.name`" in detail
    assert "bank-faq-7d9f8b6c5d-x2x4" in detail
    assert "`app=`" in detail
    assert "[apps] rewrite = [['-[0-9a-f]{6,10}-[bcdf" in detail


def test_a_project_without_room_is_not_in_order(send, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAG_MONITOR_NAMES_APP", "2")
    send("bank-faq", "hr-desk")

    ok, detail = said()

    assert not ok
    assert "project default has 2 names of kind app" in detail
    assert "raise `app` in [names]" in detail
