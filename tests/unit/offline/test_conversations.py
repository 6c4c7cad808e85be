"""Multi-turn samples are judged by their last turn."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from rag_monitor.cli.replay import read_rows as rows_to_import
from rag_monitor.domain.judgement import Aspect
from rag_monitor.evaluation.request import build_request
from rag_monitor.offline.conversations import last_turn
from rag_monitor.offline.labelled import read_labelled

HUMAN = {"type": "human", "content": "保修多久?"}
CALLS = {"type": "ai", "content": "", "tool_calls": [{"name": "search", "args": {"q": "保修"}}]}
TOOL = {"type": "tool", "content": "标准保修期为24个月。"}
AI = {"type": "ai", "content": "保修期为24个月。"}
AGAIN = {"type": "human", "content": "And batteries?"}
LATER = {"type": "ai", "content": "12 months."}


@pytest.mark.parametrize(
    ("messages", "question", "answer", "contexts"),
    [
        ([HUMAN, AI], "保修多久?", "保修期为24个月。", None),
        ([HUMAN, CALLS, TOOL, AI], "保修多久?", "保修期为24个月。", ["标准保修期为24个月。"]),
        ([HUMAN, CALLS, TOOL, AI, AGAIN, LATER], "And batteries?", "12 months.", None),
        ([HUMAN, AI, AGAIN], "保修多久?", "保修期为24个月。", None),
        ([HUMAN], "保修多久?", None, None),
        (
            [{"role": "user", "content": [{"type": "text", "text": "q"}]},
             {"role": "assistant", "content": "a"}],
            "q", "a", None,
        ),
    ],
)  # fmt: skip
def test_the_last_turn_is_the_question_and_the_answer(
    messages: list[Any], question: str, answer: str | None, contexts: list[str] | None
) -> None:
    turn = last_turn({"question": messages, "id": "r"})

    assert (turn["question"], turn.get("answer"), turn.get("contexts")) == (
        question,
        answer,
        contexts,
    )
    assert turn["id"] == "r"


def test_what_the_row_says_itself_stands() -> None:
    own = {"answer": "twelve", "contexts": ["p"]}
    turn = last_turn({"question": [HUMAN, CALLS, TOOL, AI, AGAIN], **own})

    history = [{"question": "保修多久?", "answer": "保修期为24个月。"}]
    assert turn == {"question": "And batteries?", "history": history, **own}


def test_a_row_may_tell_of_the_turns_before_itself() -> None:
    own = {"history": [{"question": "And before?"}]}

    assert last_turn({"question": [HUMAN, AI, AGAIN, LATER], **own})["history"] == own["history"]


@pytest.mark.parametrize(
    "question",
    [
        "How long?",
        '[{"content": "a list that a user pasted"}]',
        "[content] of a page",
        ["a", "b"],
        [{"type": "image", "content": "x"}],
        [AI],
        [],
        None,
    ],
)
def test_what_is_no_conversation_stays_as_it_is(question: object) -> None:
    fields = {"question": question}

    assert last_turn(fields) == fields


@pytest.mark.parametrize("written", [json.dumps, repr], ids=["json", "python"])
def test_a_table_may_hold_conversations(tmp_path: Path, written: Any) -> None:
    path = tmp_path / "rows.csv"
    with path.open("w", encoding="utf-8", newline="") as stream:
        table = csv.DictWriter(stream, ["user_input", "reference"])
        table.writeheader()
        table.writerow({"user_input": written([HUMAN, CALLS, TOOL, AI]), "reference": "24"})

    (labelled,) = read_labelled(path)
    trace = labelled.row.trace

    assert trace is not None
    assert (trace.question, trace.answer) == (HUMAN["content"], AI["content"])
    assert trace.contexts is not None
    assert [context.content for context in trace.contexts] == [TOOL["content"]]


def test_conversations_are_imported_by_their_last_turn(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps({"user_input": [HUMAN, AI, AGAIN, LATER]}), encoding="utf-8")

    ((number, row),) = rows_to_import(path)  # type: ignore[misc]

    assert number == 1
    assert (row["question"], row["answer"]) == (AGAIN["content"], LATER["content"])


def test_rows_are_judged_with_the_turns_before_them(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps({"user_input": [HUMAN, AI, AGAIN, LATER]}), encoding="utf-8")

    (labelled,) = read_labelled(path)
    trace = labelled.row.trace

    assert trace is not None
    [turn] = build_request(trace, {Aspect.GRADE}).history
    assert (turn.question, turn.answer) == (HUMAN["content"], AI["content"])
