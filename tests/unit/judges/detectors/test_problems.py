"""What is wrong with a detector is said in Chinese, too, with the sentences as they come."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from rag_monitor.judges import detectors
from rag_monitor.offline.detector_problems import FORMS
from rag_monitor.offline.problems import problem
from tests.unit.cli.test_setup_in_chinese import NAMES, WORDS

OF_PYDANTIC = "[judges.detector] ("


def raised() -> Iterator[str]:
    """Every message of a `ConfigurationError`, with `'x'` or `7` for what is filled in."""
    for path in Path(detectors.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            called = node.func if isinstance(node, ast.Call) else None
            if isinstance(called, ast.Name) and called.id == "ConfigurationError":
                assert isinstance(node, ast.Call)
                yield _filled(node.args[0])


def _filled(text: ast.expr) -> str:
    if isinstance(text, ast.Constant):
        return str(text.value)
    assert isinstance(text, ast.JoinedStr), ast.unparse(text)
    return "".join(_part(part) for part in text.values)


def _part(part: ast.expr) -> str:
    if isinstance(part, ast.Constant):
        return str(part.value)
    assert isinstance(part, ast.FormattedValue)
    said = ast.unparse(part.value)
    known = {"_WHERE": "judges.detector", "name": "max_tokens", "allow": "",
             "' and no '.join(_ONNX_FILES)": "model.onnx and no onnx/model.onnx",
             "' and no '": " and no "}  # fmt: skip
    if part.conversion == ord("r"):
        return "'x'"
    return known.get(said, "7")


@pytest.mark.parametrize("message", sorted(set(raised())))
def test_every_message_is_told_in_chinese(message: str) -> None:
    if message.startswith((OF_PYDANTIC, "[judges.detector] has no setting", "[judges.detector] 7")):
        return  # the forms of every judge's table

    said = problem(message, "zh")

    assert re.search(r"[\u4e00-\u9fff]", said), message
    assert not WORDS.findall(NAMES.sub("", said)), said


def test_the_forms_are_all_of_use() -> None:
    messages = set(raised()) | {
        "there is no folder 'x', and the hub gives no such model (y); set "
        "judges.detector.local_files_only = false once to fetch it"
    }

    assert [e for e, _ in FORMS if not any(re.fullmatch(e, m, re.DOTALL) for m in messages)] == []
