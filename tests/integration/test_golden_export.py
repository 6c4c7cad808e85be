"""Sessions and traces out of a monitor as rows of a golden set, and read again."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from rag_monitor.cli.application import app as commands
from rag_monitor.domain.feedback import Feedback
from rag_monitor.ingest.trace_json import decode_trace
from rag_monitor.offline.golden import golden_rows
from rag_monitor.server.services import Services
from rag_monitor.store.options import StoreOptions
from rag_monitor.store.store import Store
from rag_monitor.testing import EPOCH, ManualClock, make_trace
from tests.contract.evidence import ingest
from tests.integration.server.test_client import serve
from tests.unit.server.conftest import open_client
from tests.unit.server.fakes import make_services
from tests.unit.server.test_pages import HTML

SESSION = "会话/7"
TURNS = (
    ("How long is the warranty of the lamp?", "24 months."),
    (None, "Withheld."),
    ("And of the bulb?", "Six months. <script>"),
)


def id_of(name: str) -> str:
    return make_trace(id=name, app="desk").trace_id


@pytest.fixture
def store(database_url: str, clock: ManualClock) -> Iterator[Store]:
    options = StoreOptions(url=database_url, ballast_bytes=0, partitions_ahead=1)
    with Store.open(options, clock) as opened:
        opened.writer.start()
        yield opened


@pytest.fixture
def services(store: Store, clock: ManualClock) -> Services:
    turns = [
        make_trace(
            id=f"turn-{place}",
            app="desk",
            session_id=SESSION,
            question=question,
            answer=answer,
            contexts=("Bulbs: six months.",),
            started_at=EPOCH + timedelta(minutes=place),
        )
        for place, (question, answer) in enumerate(TURNS)
    ]
    # Another session, a trace of none, and the same session of another project.
    others = [
        make_trace(id="x", app="desk", session_id="other", question="Hello?", started_at=EPOCH),
        make_trace(id="y", app="desk", question="What is it?", started_at=EPOCH),
        make_trace(id="z", app="desk", session_id=SESSION, project="p2", question="Not ours?"),
    ]
    ingest(store, *turns, *others)
    store.feedback.add_new(
        [
            Feedback(
                project="default",
                trace_id=turns[2].trace_id,
                value=0.0,
                corrected_answer="Twelve months.",
                correct_document_ids=("d1",),
                created_at=EPOCH,
            )
        ]
    )
    clock.advance(3600)
    return replace(
        make_services(),
        traces=store.traces,
        sessions=store.sessions,
        feedback=store.feedback,
        clock=clock,
    )


async def test_a_session_is_its_last_question_after_its_earlier_turns(services: Services) -> None:
    async with open_client(services) as client:
        told = await client.get("/api/v1/golden", params={"session_id": SESSION})
        file = await client.get("/api/v1/golden", params={"session_id": SESSION, "format": "jsonl"})

    (item,) = told.json()["items"]
    assert item["question"] == "And of the bulb?"
    assert item["history"] == [
        {"question": "How long is the warranty of the lamp?", "answer": "24 months."}
    ]
    assert (item["reference"], item["relevant_ids"]) == ("Twelve months.", ["d1"])
    assert item["answer"] == "Six months. <script>"
    assert [one["content"] for one in item["contexts"]] == ["Bulbs: six months."]
    assert "attachment" in file.headers["content-disposition"]
    assert json.loads(file.text)["id"] == item["id"]


async def test_a_trace_has_the_turns_before_it_and_none_after(services: Services) -> None:
    async with open_client(services) as client:

        async def item(name: str) -> dict[str, Any]:
            answer = await client.get("/api/v1/golden", params={"trace_id": id_of(name)})
            (found,) = answer.json()["items"]
            return dict(found)

        first, last, alone = await item("turn-0"), await item("turn-2"), await item("y")
        withheld = await client.get("/api/v1/golden", params={"trace_id": id_of("turn-1")})

    assert first["history"] is None
    assert [turn["question"] for turn in last["history"]] == [TURNS[0][0]]
    assert (alone["history"], alone["reference"]) == (None, None)
    assert withheld.json() == {"items": []}


@pytest.mark.parametrize(
    ("asked", "status"),
    [
        ({}, 422),
        ({"trace_id": "a" * 32, "session_id": "s"}, 422),
        ({"session_id": "nowhere"}, 404),
        ({"trace_id": "a" * 32}, 404),
        ({"session_id": SESSION, "format": "csv"}, 422),
    ],
)
async def test_what_cannot_be_exported_is_refused(
    services: Services, asked: dict[str, str], status: int
) -> None:
    async with open_client(services) as client:
        assert (await client.get("/api/v1/golden", params=asked)).status_code == status


async def test_the_pages_offer_the_file(services: Services) -> None:
    async with open_client(services, headers=HTML) as client:
        session = (await client.get("/session", params={"id": SESSION})).text
        trace = (await client.get(f"/traces/{id_of('turn-2')}")).text
        address = "/api/v1/golden?session_id=%E4%BC%9A%E8%AF%9D%2F7&amp;format=jsonl"
        assert f'href="{address}"' in session
        downloaded = await client.get(address.replace("&amp;", "&"))

    assert json.loads(downloaded.text)["question"] == "And of the bulb?"
    assert "How long is the warranty of the lamp?" in trace


def test_the_command_writes_what_golden_and_evaluate_read(
    services: Services, tmp_path: Path
) -> None:
    file, scores = tmp_path / "golden.jsonl", tmp_path / "scores.jsonl"
    with contextmanager(serve)(services) as url:

        def run(*arguments: str) -> Any:
            return CliRunner().invoke(commands, [*arguments])

        of_sessions = run(
            "export", "--golden", "sessions", "--app", "desk", "-o", str(file), "--url", url
        )
        assert of_sessions.exit_code == 0, of_sessions.output
        rows = [dict(row) for row in golden_rows(file)]  # type: ignore[arg-type]
        evaluated = run(
            "evaluate", str(file), "--judge", "embedded", "--output", str(scores), "--json"
        )
        of_traces = run("export", "--golden", "traces", "--session-id", SESSION, "--url", url)
        table = run("export", "--golden", "traces", "-o", str(tmp_path / "a.parquet"))

    by_question = {row["question"]: row for row in rows}
    assert set(by_question) == {"And of the bulb?", "Hello?"}
    trace = decode_trace({"app": "x", **by_question["And of the bulb?"]})
    assert [turn.question for turn in trace.history] == [TURNS[0][0]]
    assert trace.expected is not None
    assert trace.expected.references == ("Twelve months.",)
    assert evaluated.exit_code == 0, evaluated.output
    scored = [json.loads(line) for line in scores.read_text("utf-8").splitlines()]
    assert len(scored) == 2
    assert of_traces.exit_code == 0, of_traces.output
    lines = [json.loads(line) for line in of_traces.stdout.splitlines()]
    assert [line["question"] for line in lines] == ["And of the bulb?", TURNS[0][0]]
    assert table.exit_code != 0
