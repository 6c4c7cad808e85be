"""Notes beside a number are words in both languages, wherever they come from."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import rag_monitor
from rag_monitor.aggregation import keys
from rag_monitor.alerting.conditions.wording import NOTES, note_text, notes_text
from rag_monitor.alerting.messages import compose
from rag_monitor.domain.alert import Finding
from tests.unit.alerting.test_notifiers import notification

PACKAGE = Path(rag_monitor.__file__).parent
SAID = re.compile(r"[a-z]+(_[a-z]+)*")


def _notes_in(source: str) -> Iterator[str]:
    """Texts given as `notes=(...)`, and those appended to `notes`."""
    for node in ast.walk(ast.parse(source)):
        given: list[ast.expr] = []
        if isinstance(node, ast.keyword) and node.arg == "notes":
            given = [node.value]
        elif isinstance(node, ast.Call) and ast.unparse(node.func) == "notes.append":
            given = node.args
        for value in given:
            for part in ast.walk(value):
                if isinstance(part, ast.Constant) and isinstance(part.value, str):
                    yield part.value


def test_every_note_of_an_estimate_or_a_finding_has_words() -> None:
    found = {
        note
        for folder in ("aggregation", "alerting")
        for path in (PACKAGE / folder).rglob("*.py")
        for note in _notes_in(path.read_text(encoding="utf-8"))
        if SAID.fullmatch(note)
    }

    assert "few_judged" in found
    assert found - set(NOTES) == set()
    assert keys.CORRECTED in NOTES


@pytest.mark.parametrize(
    ("note", "language", "said"),
    [
        ("few_judged", "en", "few judged"),
        ("few_judged", "zh", "评审数少"),
        ("detector=12.5", "zh", "检测值 12.5"),
        ("alarm_at=1e+04", "en", "alarm at 1e+04"),
        ("gpt a day", "zh", "gpt a day"),
        ("also:plugin:search", "en", "also plugin search"),
        ("also:knowledge_base:loans: old", "zh", "另有知识库 loans: old"),
        ("x=1", "en", "x=1"),
    ],
)
def test_a_note_is_said_in_the_readers_language(note: str, language: str, said: str) -> None:
    assert note_text(note, language) == said


def test_a_chinese_message_says_its_notes_in_chinese() -> None:
    finding = Finding(active=None, summary="?", notes=("few_judged", "judge_failures"))
    message = compose([notification(finding=finding)], "zh")

    assert "备注：评审数少、评审失败较多" in message.items[0].lines
    assert notes_text(finding.notes, "en") == "few judged, many judge failures"
