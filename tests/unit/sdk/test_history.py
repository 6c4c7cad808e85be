"""The turns before a question that a host gives with its trace."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

import rag_monitor as rm
from rag_monitor.domain.conversation import EarlierTurn
from rag_monitor.ingest.trace_json import decode_trace
from rag_monitor.sdk.history import turns_in
from rag_monitor.testing import EPOCH, InMemoryExporter

MESSAGES = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "What do adults pay?"},
    {"role": "assistant", "content": None, "tool_calls": [{}]},
    {"role": "tool", "content": "14"},
    {"role": "assistant", "content": "14 euros."},
]
TURN = ("What do adults pay?", "14 euros.")


@dataclass
class Message:
    """As LangChain's: `type` says who speaks."""

    type: str
    content: str


@pytest.mark.parametrize(
    "history",
    [
        [{"question": TURN[0], "answer": TURN[1]}],
        [TURN],
        (list(TURN),),
        MESSAGES,
        [Message("human", TURN[0]), Message("ai", TURN[1])],
    ],
)
def test_every_form_of_a_chat_is_read(history: Any) -> None:
    assert turns_in(history) == (TURN,)


@pytest.mark.parametrize("nothing", [None, "Hello?", 3, {}, [None, 3, "x"], [{"role": "user"}]])
def test_what_is_no_history_is_none(nothing: Any) -> None:
    assert turns_in(nothing) == ()


def test_the_last_turns_are_kept() -> None:
    turns = [{"question": f"{n}?", "answer": "x" * 9_000} for n in range(500)]

    kept = turns_in(turns)

    assert [question for question, _ in kept] == ["497?", "498?", "499?"]
    assert {len(answer) for _, answer in kept} == {1_200}


def test_turns_reach_the_trace_redacted() -> None:
    with InMemoryExporter(redact="mask") as exporter, rm.trace("chat", question="And students?"):
        rm.current().set(history=[("Who is a@b.example?", "14 euros.")])
    record = exporter.records[0]

    assert "a@b.example" not in repr(record)
    trace = decode_trace(record, project="p", trace_id="a" * 32, received_at=EPOCH)
    (turn,) = trace.history
    assert isinstance(turn, EarlierTurn)
    assert (turn.question.startswith("Who is "), turn.answer) == (True, "14 euros.")


def test_without_content_no_turn_is_sent() -> None:
    with InMemoryExporter(capture_content=False) as exporter, rm.trace("chat", question="And?"):
        rm.current().set(history=[TURN])

    assert "history" not in exporter.records[0]


def test_a_host_that_changes_its_list_later_changes_nothing() -> None:
    messages = list(MESSAGES)
    with InMemoryExporter() as exporter, rm.trace("chat", question="And students?") as live:
        live.set(history=messages)
        messages.clear()

    assert exporter.records[0]["history"] == [{"question": TURN[0], "answer": TURN[1]}]
