"""Reading what Haystack passes between components: questions, replies, answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from haystack.dataclasses import ChatMessage, Document

_QUESTIONS: Final = ("question", "query", "text", "prompt", "messages")


def question_in(data: object) -> str | None:
    """The question in a pipeline's input: `{component: {input: value}}` or `{input: value}`."""
    if not isinstance(data, Mapping):
        return None
    groups = [data, *(value for value in data.values() if isinstance(value, Mapping))]
    for name in _QUESTIONS:
        for group in groups:
            text = _question(group.get(name))
            if text:
                return text
    return None


def _question(value: object) -> str | None:
    if isinstance(value, str):
        return value
    if isinstance(value, Sequence):
        for message in reversed(value):
            if isinstance(message, ChatMessage) and message.is_from("user"):
                return message.text
    return None


def answer_in(data: object) -> str | None:
    """The answer in a pipeline's output: of an answer builder, else the replies of a model."""
    if not isinstance(data, Mapping):
        return None
    groups = [value for value in data.values() if isinstance(value, Mapping)]
    for group in groups:
        answers = group.get("answers")
        if isinstance(answers, Sequence) and answers:
            text = getattr(answers[0], "data", None)
            if isinstance(text, str):
                return text
    for group in reversed(groups):
        text = reply_in(group)
        if text is not None:
            return text
    return None


def reply_in(output: object) -> str | None:
    """The first reply of a generator, or an agent's last message."""
    if not isinstance(output, Mapping):
        return None
    for reply in (_first(output.get("replies")), output.get("last_message")):
        text = reply.text if isinstance(reply, ChatMessage) else reply
        if isinstance(text, str):
            return text
    return None


def details_of(output: Mapping[str, Any]) -> tuple[str | None, int | None, int | None]:
    """Model, tokens in and tokens out, as the first reply's metadata says."""
    reply = _first(output.get("replies"))
    meta = reply.meta if isinstance(reply, ChatMessage) else _first(output.get("meta"))
    meta = meta if isinstance(meta, Mapping) else {}
    usage = meta.get("usage")
    usage = usage if isinstance(usage, Mapping) else {}
    model = meta.get("model")
    return (
        model if isinstance(model, str) else None,
        _whole(usage.get("prompt_tokens", usage.get("input_tokens"))),
        _whole(usage.get("completion_tokens", usage.get("output_tokens"))),
    )


def documents_in(inputs: Mapping[str, Any]) -> Sequence[Document] | None:
    """The documents that go into a prompt; None where none do, as in one that rewrites a query."""
    for value in inputs.values():
        if isinstance(value, list) and value and all(isinstance(d, Document) for d in value):
            return value
    return [] if inputs.get("documents") == [] else None


def tool_results(output: Mapping[str, Any]) -> list[tuple[str, bool]]:
    """Name and success of the tools an invoker component ran."""
    return [
        (result.origin.tool_name, not result.error)
        for message in output.get("tool_messages") or ()
        for result in getattr(message, "tool_call_results", ())
    ]


def _first(values: object) -> Any:
    return values[0] if isinstance(values, Sequence) and values else None


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) else None
