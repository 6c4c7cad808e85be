"""Steps where no trace is current."""

from __future__ import annotations

import contextvars
from concurrent.futures import ThreadPoolExecutor

import pytest

import rag_monitor as rm
from rag_monitor.sdk.counters import OUTSIDE
from rag_monitor.testing import InMemoryExporter


@pytest.fixture(autouse=True)
def _first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(OUTSIDE, "_warned", False)
    monkeypatch.setattr(OUTSIDE, "steps", 0)


def search(base: str) -> None:
    with rm.retrieval(knowledge_base=base) as found:
        found.documents = ["passage"]


def test_steps_in_a_plain_thread_pool_are_counted_and_told_once(
    captured: InMemoryExporter, caplog: pytest.LogCaptureFixture
) -> None:
    @rm.trace
    def answer(question: str) -> str:
        with ThreadPoolExecutor(1) as pool:
            pool.submit(search, "lost").result()
            pool.submit(search, "lost").result()
            pool.submit(contextvars.copy_context().run, search, "kept").result()
        return "24 months"

    answer("How long?")

    (record,) = captured.records
    assert [step["knowledge_base"] for step in record["retrievals"]] == ["kept"]
    assert rm.stats()["outside"] == 2
    (told,) = [line for line in caplog.messages if "no trace is current" in line]
    assert "rag_monitor.retrieval(...)" in told
    assert "copy_context" in told


def test_steps_while_the_sdk_is_off_are_nobodys_business(caplog: pytest.LogCaptureFixture) -> None:
    rm.configure(app="off", enabled=False)
    search("manuals")

    assert OUTSIDE.steps == 0
    assert caplog.messages == []
