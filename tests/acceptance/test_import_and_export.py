"""Traces of other products come in by `rag-monitor import`; their scores go out as log events."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.acceptance.running import eventually, monitor
from tests.log_sink import LogSink
from tests.unit.cli.test_foreign_exports import ANSWER, LANGFUSE, PHOENIX, QUESTION, TRACE_ID
from tests.unit.cli.test_langfuse_scores import SCORE

SCORED = LANGFUSE | {"scores": [SCORE]}

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


@pytest.mark.parametrize(("form", "rows"), [("langfuse", [SCORED]), ("phoenix", PHOENIX)])
def test_an_imported_trace_is_scored_and_its_scores_are_passed_on(
    tmp_path: Path, form: str, rows: list[dict[str, object]]
) -> None:
    file = tmp_path / "export.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    settings = {
        "RAG_MONITOR_STORE_ROOT_DELAY_S": "1",
        "RAG_MONITOR_STORE_ROOTLESS_DELAY_S": "2",
        "RAG_MONITOR_EXPORT_ALLOW_PRIVATE": "true",
        "RAG_MONITOR_EXPORT_SETTLE_S": "0.5",
        "RAG_MONITOR_EXPORT_EVERY_S": "0.5",
    }
    with (
        LogSink() as sink,
        monitor(
            tmp_path,
            f"sqlite:///{tmp_path / 'monitor.db'}",
            RAG_MONITOR_EXPORT_ENDPOINT=sink.url,
            **settings,
        ) as running,
    ):
        command = ("import", str(file), "--format", form, "--app", "shop", "--json")
        done = running.command(*command, "--url", running.url)

        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["accepted"] == len(rows)
        eventually(lambda: len(running.traces(app="shop")) == 1, 30)
        found = running.get(f"/api/v1/traces/{TRACE_ID}").json
        assert (found["question"], found["answer"]) == (QUESTION, ANSWER)
        reported = [(score["source"], score["value"]) for score in found["reported_scores"]]
        assert reported == ([("langfuse / EVAL", 0.5)] if form == "langfuse" else [])
        events = eventually(
            lambda: [event for event in sink.events if event.trace_id.hex() == TRACE_ID], 30
        )
        assert {event.event_name for event in events} == {"gen_ai.evaluation.result"}
