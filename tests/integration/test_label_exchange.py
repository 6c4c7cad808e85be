"""Marks out of a monitor and into another: by the API, the client and the command line."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
from sqlalchemy import select, text
from typer.testing import CliRunner

from rag_monitor.cli.application import app as commands
from rag_monitor.client import Client, ClientError
from rag_monitor.domain.fault import Fault
from rag_monitor.domain.feedback import Feedback
from rag_monitor.server.routes import labels
from rag_monitor.server.services import Services
from rag_monitor.store.options import StoreOptions
from rag_monitor.store.store import Store
from rag_monitor.store.tables import audit
from rag_monitor.testing import EPOCH, ManualClock, make_trace
from tests.contract.evidence import ingest
from tests.integration.server.test_client import serve
from tests.unit.server.conftest import open_client
from tests.unit.server.fakes import make_services

FORMULA = '=HYPERLINK("http://evil")'
DAY = timedelta(days=1)


@pytest.fixture
def store(database_url: str, clock: ManualClock) -> Iterator[Store]:
    options = StoreOptions(url=database_url, ballast_bytes=0, partitions_ahead=1)
    with Store.open(options, clock) as opened:
        opened.writer.start()
        yield opened


@pytest.fixture
def services(store: Store, clock: ManualClock) -> Services:
    clock.advance(3600)
    return replace(
        make_services(),
        traces=store.traces,
        feedback=store.feedback,
        label_queue=store.label_queue,
        audit=store.audit,
        together=store.together,
        clock=clock,
    )


def marks_of(store: Store) -> list[Feedback]:
    return [one.mark for one in store.feedback.labels("default", EPOCH - DAY, EPOCH + DAY)]


@pytest.fixture
def marked(store: Store) -> list[Feedback]:
    """A mark of each kind on one trace, and one on a trace that is not there."""
    trace = make_trace(id="1", app="desk")
    ingest(store, trace)
    given: dict[str, Any] = {"project": "default", "trace_id": trace.trace_id}
    marks = [
        Feedback(**given, metric="faithfulness", value=1.0, author="amy", created_at=EPOCH),
        Feedback(
            **given, metric="faithfulness", value=0.5, author="梅", comment=FORMULA,
            created_at=EPOCH + timedelta(microseconds=7),
        ),
        Feedback(
            **given, value=0.0, fault=Fault.INVENTED, author=FORMULA,
            created_at=EPOCH + timedelta(seconds=1), corrected_answer="一\n二",
        ),
        Feedback(
            **given, metric="faithfulness", statement=2, value=0.0,
            created_at=EPOCH + timedelta(seconds=2),
        ),
        Feedback(
            **given | {"trace_id": "e" * 32}, value=0.25, metric="context_precision", author="bo",
            created_at=EPOCH + timedelta(seconds=3),
        ),
    ]  # fmt: skip
    store.feedback.add_new(marks)
    return marks


def emptied(store: Store) -> None:
    with store._database.write() as connection:
        connection.execute(text("DELETE FROM feedback"))


async def test_lines_that_were_exported_are_imported_once(
    services: Services, store: Store, marked: list[Feedback]
) -> None:
    async with open_client(services) as client:
        lines = (await client.get("/api/v1/labels", params={"format": "jsonl"})).text
        every = (await client.get("/api/v1/labels")).json()["labels"]
        emptied(store)
        given = {"labels": [json.loads(line) for line in lines.splitlines()]}
        first = await client.post("/api/v1/labels", json=given)
        again = await client.post("/api/v1/labels", json={"labels": every})

    assert first.json() == {"imported": 5, "unchanged": 0}
    assert again.json() == {"imported": 0, "unchanged": 5}
    assert marks_of(store) == marked
    assert [row["app"] for row in every] == ["desk"] * 4 + [None]
    assert (every[2]["value"], every[2]["fault"]) == (None, "invented")


async def test_only_what_was_asked_for_is_exported(
    services: Services, marked: list[Feedback]
) -> None:
    async def asked(**query: str) -> list[str]:
        async with open_client(services) as client:
            answer = await client.get("/api/v1/labels", params=query)
        return [row["created_at"] for row in answer.json()["labels"]]

    assert len(await asked(app="desk")) == 4
    assert await asked(app="shop") == []
    later = marked[3].created_at.isoformat()
    assert len(await asked(to=later)) == 3
    assert len(await asked(**{"from": later})) == 2


async def test_a_table_for_spreadsheets_runs_nothing(
    services: Services, marked: list[Feedback]
) -> None:
    async with open_client(services) as client:
        answer = await client.get("/api/v1/labels", params={"format": "csv"})

    assert answer.headers["content-type"] == "text/csv; charset=utf-8"
    rows = list(csv.DictReader(io.StringIO(answer.text.removeprefix("\ufeff"))))
    assert [row["comment"] for row in rows] == ["", "'" + FORMULA, "", "", ""]
    assert rows[2]["author"] == "'" + FORMULA
    assert rows[3]["statement"] == "2"


async def test_the_problem_of_each_mark_is_named_and_none_is_imported(
    services: Services, store: Store
) -> None:
    good = {"trace_id": "a" * 32, "metric": "faithfulness", "value": 1.0, "author": "amy"}
    future = (EPOCH + 3 * DAY).isoformat()
    async with open_client(services) as client:

        async def refused(*labels: dict[str, object]) -> Any:
            answer: httpx.Response = await client.post("/api/v1/labels", json={"labels": labels})
            assert answer.status_code == 422, answer.text
            return answer.json()

        bad = [good, good | {"value": 7}, good | {"metric": "faithfullness"}, good | {"vlaue": 1}]
        told = await refused(*bad)
        late = await refused(good, good | {"created_at": future})
        await refused()
        await refused(*[good] * 1001)

    places = [error["field"].split(".")[:2] for error in told["errors"]]
    assert places == [["labels", "1"], ["labels", "2"], ["labels", "3"]]
    assert "labels.1.created_at" in late["detail"]
    assert marks_of(store) == []


async def test_each_mark_that_is_imported_is_written_down_or_none_is_kept(
    services: Services, store: Store
) -> None:
    labels = [
        {"trace_id": "a" * 32, "metric": "faithfulness", "value": value, "author": author}
        for author, value in (("amy", 1.0), ("bo", 0.0))
    ]
    async with open_client(services) as client:
        await client.post("/api/v1/labels", json={"labels": labels})
        with store._database.read() as connection:
            rows = connection.execute(select(audit).order_by(audit.c.id)).all()
        with store._database.write() as connection:
            connection.execute(text("ALTER TABLE audit RENAME TO audit_gone"))
        labels[0]["author"] = "cy"
        lost = await client.post("/api/v1/labels", json={"labels": labels})
        alone = await client.post("/api/v1/feedback", json=labels[0])
        rated = await client.post("/api/v1/feedback", json={"trace_id": "a" * 32, "value": True})

    assert [(row.action, row.target, row.details["reviewer"]) for row in rows] == [
        ("label.mark", "a" * 32, "amy"),
        ("label.mark", "a" * 32, "bo"),
    ]
    assert (lost.status_code, alone.status_code, rated.status_code) == (503, 503, 201)
    assert {mark.author for mark in marks_of(store)} == {"amy", "bo"}


async def test_who_is_erased_is_no_longer_named_where_marks_are_written_down(
    services: Services, store: Store
) -> None:
    label = {"trace_id": "a" * 32, "metric": "faithfulness", "value": 1.0}
    async with open_client(services) as client:
        for author in ('mei"梅', "mei"):
            await client.post("/api/v1/feedback", json=label | {"author": author})

    store.traces.erase_user("default", 'mei"梅')

    with store._database.read() as connection:
        rows = connection.execute(select(audit.c.details).order_by(audit.c.id)).scalars().all()
    assert [row["reviewer"] for row in rows] == [None, "mei"]
    assert [mark.author for mark in marks_of(store)] == ["mei"]


def test_the_client_takes_marks_from_one_monitor_to_another(
    services: Services, store: Store, marked: list[Feedback], monkeypatch: pytest.MonkeyPatch
) -> None:
    pandas = pytest.importorskip("pandas")
    monkeypatch.setattr("rag_monitor.client.monitor_client._LABELS_AT_ONCE", 2)
    with contextmanager(serve)(services) as url, Client(url) as monitor:
        rows = monitor.labels(since=EPOCH)
        frame = monitor.labels(app="desk", as_frame="pandas")
        emptied(store)
        assert monitor.import_labels(rows) == {"imported": 5, "unchanged": 0}
        timed = [row | {"created_at": datetime.fromisoformat(row["created_at"])} for row in rows]
        assert monitor.import_labels(timed) == {"imported": 0, "unchanged": 5}
        with pytest.raises(ClientError, match=r"labels\.0"):
            monitor.import_labels([{"trace_id": "a" * 32, "metric": "faithfulness", "value": 9}])

    assert isinstance(frame, pandas.DataFrame)
    assert list(frame["author"].dropna()) == ["amy", "梅", FORMULA]
    assert marks_of(store) == marked


@pytest.mark.parametrize("suffix", [".jsonl", ".csv"])
def test_the_commands_export_a_file_that_they_import(
    services: Services, store: Store, marked: list[Feedback], tmp_path: Path, suffix: str
) -> None:
    file = tmp_path / f"labels{suffix}"
    with contextmanager(serve)(services) as url:

        def run(*arguments: str) -> Any:
            return CliRunner().invoke(commands, ["labels", *arguments, "--url", url])

        assert run("export", "--output", str(file)).exit_code == 0
        emptied(store)
        imported = run("import", str(file), "--json")
        again = run("import", str(file), "--json")
        shown = run("export", "--app", "desk", "--from", EPOCH.isoformat())

    assert json.loads(imported.stdout) == {"imported": 5, "unchanged": 0}
    assert json.loads(again.stdout) == {"imported": 0, "unchanged": 5}
    assert marks_of(store) == marked
    assert len(shown.stdout.splitlines()) == 4


def test_the_command_says_that_there_are_more_marks_than_it_writes(
    services: Services,
    marked: list[Feedback],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(labels, "MOST_EXPORTED", len(marked) - 1)
    file = tmp_path / "labels.jsonl"
    with contextmanager(serve)(services) as url:
        refused = CliRunner().invoke(
            commands, ["labels", "export", "--output", str(file), "--url", url]
        )

    assert refused.exit_code
    assert "There are more than 4 marks" in str(refused.exception)
    assert not file.exists()


def test_the_command_names_the_line_of_each_problem(
    services: Services, store: Store, tmp_path: Path
) -> None:
    good = {"trace_id": "a" * 32, "metric": "faithfulness", "value": 1.0, "author": "amy"}
    lines = tmp_path / "labels.jsonl"
    lines.write_text("\n".join(["", *map(json.dumps, (good, good | {"value": 3}))]), "utf-8")
    table = tmp_path / "labels.csv"
    table.write_text("trace_id,metric,value\n" + "a" * 32 + ",faithfulness,much\n", "utf-8")
    broken = tmp_path / "broken.jsonl"
    broken.write_text("[1]\n", "utf-8")
    empty = tmp_path / "empty.jsonl"
    empty.write_text("\n", "utf-8")
    with contextmanager(serve)(services) as url:
        found = {
            path: CliRunner().invoke(commands, ["labels", "import", str(path), "--url", url])
            for path in (lines, table, broken, empty)
        }

    assert all(result.exit_code for result in found.values())
    assert "labels.jsonl, line 3: a `value` above 1" in found[lines].stderr
    assert "nothing of the lines 2 to 3" in str(found[lines].exception)
    assert "labels.csv, line 2: " in found[table].stderr
    assert "line 1: not a JSON object" in str(found[broken].exception)
    assert "holds no marks" in str(found[empty].exception)
    assert marks_of(store) == []
