"""The turns before a question, from what the host holds of its chat: copied at once, never called.

Turns as Trace JSON has them, pairs of question and answer, or the messages of a chat.
"""

from __future__ import annotations

from itertools import islice
from typing import Any, Final

from rag_monitor.domain.conversation import LONGEST_ANSWER, LONGEST_QUESTION, MOST_TURNS
from rag_monitor.sdk.peek import first, getter, text_of

_MOST_ITEMS: Final = 100
"""Items looked at, the last ones: a chat may be long, and tools write many messages."""
_LOOKAHEAD: Final = 200
"""Characters kept beyond what a judge is shown: redaction may shorten what stands before."""
_ASKING: Final = frozenset({"user", "human"})
_ANSWERING: Final = frozenset({"assistant", "ai", "model"})

HistoryTurn = tuple[str, str]
"""Question and answer; the answer may be empty."""


def turns_in(history: Any) -> tuple[HistoryTurn, ...]:
    """The last turns of a history, in order; what is none of the known shapes is left out.

    >>> turns_in([{"question": "What do adults pay?", "answer": "14 euros."}])
    (('What do adults pay?', '14 euros.'),)
    >>> turns_in([{"role": "user", "content": "Hello?"}, {"role": "assistant", "content": "Hi."}])
    (('Hello?', 'Hi.'),)
    """
    if type(history) not in (list, tuple):
        return ()
    turns: list[HistoryTurn] = []
    for item in islice(history, max(0, len(history) - _MOST_ITEMS), None):
        if type(item) in (list, tuple):
            if len(item) == 2:
                _add(turns, item[0], item[1])
            continue
        get = getter(item)
        role = text_of(first(item, ("role", "type")))
        if get("question") is not None:
            _add(turns, get("question"), get("answer"))
        elif role in _ASKING:
            _add(turns, get("content"), None)
        elif role in _ANSWERING and turns:
            answer = _cut(get("content"), LONGEST_ANSWER)
            if answer:  # a message that calls tools says nothing
                turns[-1] = (turns[-1][0], answer)
    return tuple(turns[-MOST_TURNS:])


def _add(turns: list[HistoryTurn], question: Any, answer: Any) -> None:
    text = _cut(question, LONGEST_QUESTION)
    if text:
        turns.append((text, _cut(answer, LONGEST_ANSWER)))


def _cut(value: Any, longest: int) -> str:
    return (text_of(value) or "")[: longest + _LOOKAHEAD]
