"""The turns before a question, in the messages that a model or a chain was sent."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rag_monitor.domain.conversation import MOST_TURNS, EarlierTurn
from rag_monitor.domain.span import Span
from rag_monitor.ingest.conventions.reading import ask
from rag_monitor.ingest.messages import Message, Speaker, user_messages_in


def earlier_turns_of(spans: Iterable[Span], question: str | None) -> tuple[EarlierTurn, ...]:
    """What was said before a question, from the first of some spans that was sent any of it."""
    if question is None:
        return ()
    for span in spans:
        messages = ask(span, lambda convention, span=span: convention.messages(span))  # type: ignore[misc]
        turns = earlier_turns(messages or (), question)
        if turns:
            return turns
    return ()


def earlier_turns(messages: Sequence[Message], question: str) -> tuple[EarlierTurn, ...]:
    """The turns before the last message of a user's that holds a question; empty: none holds it.

        >>> from rag_monitor.ingest.messages import messages_in
        >>> sent = [
        ...     {"role": "user", "content": "What do adults pay?"},
        ...     {"role": "assistant", "content": "14 euros."},
        ...     {"role": "user", "content": "And students?"},
        ... ]
        >>> [turn] = earlier_turns(messages_in(sent, Speaker.USER), "And students?")
        >>> turn.question, turn.answer
        ('What do adults pay?', '14 euros.')

    A turn is what the user said and the last that was answered to it.
    """
    turns: list[tuple[str, str]] = []
    current: int | None = None
    for message in messages:
        for text in user_messages_in([message]):
            if question in text:
                current = len(turns)
            turns.append((text, ""))
        if message.speaker is Speaker.ASSISTANT and message.text is not None and turns:
            turns[-1] = (turns[-1][0], message.text)
    before = turns[:current] if current is not None else []
    # They are cut once they are redacted.
    return tuple(EarlierTurn(question=text, answer=answer) for text, answer in before[-MOST_TURNS:])
