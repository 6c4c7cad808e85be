"""Texts that are fields under markers, as DSPy's adapters write prompts and replies.

`[[ ## question ## ]]` stands on a line of its own before each field, and `[[ ## completed ## ]]`
after the last. A text without markers is what it is.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

_MARKER: Final = re.compile(r"^[ \t]*\[\[ ## (\w+) ## \]\][ \t]*", re.MULTILINE)
_START: Final = "[[ ## "
_COMPLETED: Final = "completed"
_BESIDE: Final = frozenset({"reasoning", "rationale", "thought", "next_thought", "trajectory",
                            "context", "contexts", "passages", "documents", "history"})  # fmt: skip
"""Fields that are neither question nor answer."""
_QUESTIONS: Final = ("question", "query", "user_query", "user_question", "user_input", "input",
                     "user_message", "message", "request", "问题")  # fmt: skip
_ANSWERS: Final = (
    "answer",
    "final_answer",
    "response",
    "reply",
    "output",
    "result",
    "回答",
    "答案",
)
_INSTRUCTIONS: Final = re.compile(
    r"\n\s*Respond with the corresponding output fields\b.*", re.DOTALL
)
"""What follows the last field of a prompt."""


def question_of(text: str) -> str | None:
    """The question in a prompt; None where fields say nothing of one."""
    return _of(text, _QUESTIONS)


def answer_of(text: str) -> str | None:
    """The answer in a reply; None where fields say nothing of one."""
    return _of(text, _ANSWERS)


def _of(text: str, names: Sequence[str]) -> str | None:
    fields = _fields_in(text)
    if fields is None:
        return text
    named = [fields[name] for name in names if fields.get(name)]
    if named:
        return named[0]
    values = [held for name, held in fields.items() if name not in _BESIDE]
    return values[0] if len(values) == 1 and values[0] else None


def _fields_in(text: str) -> dict[str, str] | None:
    """The fields by their names, in order; None: the text does not begin with a marker."""
    if not text.lstrip().startswith(_START):
        return None
    before, *parts = _MARKER.split(text)
    if before.strip() or not parts:
        return None
    named = zip(parts[::2], parts[1::2], strict=True)
    fields = {name: _INSTRUCTIONS.sub("", held).strip() for name, held in named}
    fields.pop(_COMPLETED, None)
    return fields
