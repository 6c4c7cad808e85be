"""Where a span of the GenAI conventions holds messages: attributes, events, older names of both.

Messages stand in `gen_ai.input.messages` and `gen_ai.output.messages`, on the span or on an event
of it; in one event for each message; in indexed attributes; or as a whole request and reply of an
API under a framework's own names. The first place that says anything is believed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from rag_monitor import semconv
from rag_monitor.domain.span import Span
from rag_monitor.ingest.documents import indexed
from rag_monitor.ingest.messages import (
    Message,
    Speaker,
    message_of,
    messages_in,
    reply_in,
    user_messages_in,
)
from rag_monitor.ingest.values import members, present, structured, whole

_OPEN: Final = '["'
_CLOSE: Final = '"]'
_BETWEEN: Final = '", "'
_SPEAKERS: Final = {
    semconv.GEN_AI_SYSTEM_EVENT: "system",
    semconv.GEN_AI_USER_EVENT: "user",
    semconv.GEN_AI_ASSISTANT_EVENT: "assistant",
    semconv.GEN_AI_TOOL_EVENT: "tool",
    semconv.GEN_AI_CHOICE_EVENT: "assistant",
}
"""Whose message an event is."""


def sent(span: Span) -> Sequence[Message]:
    """What the model or agent was sent."""
    return _first(_sent(span), lambda messages: bool(user_messages_in(messages)))


def returned(span: Span) -> Sequence[Message]:
    """What it returned."""
    return _first(_returned(span), lambda messages: reply_in(messages) is not None)


def _first(
    places: Iterator[Sequence[Message]], says: Callable[[Sequence[Message]], bool]
) -> Sequence[Message]:
    """The first place that says what is looked for, else the first with any message."""
    first: Sequence[Message] = ()
    for messages in places:
        if says(messages):
            return messages
        first = first or messages
    return first


def _sent(span: Span) -> Iterator[Sequence[Message]]:
    attributes = span.attributes
    for value in _values(span, semconv.GEN_AI_INPUT_MESSAGES):
        yield messages_in(value, Speaker.USER)
    events = [(name, fields) for name, fields in _message_events(span) if name != _CHOICE]
    yield [_event_message(name, fields) for name, fields in events]
    for event in reversed(span.events):
        if event.name == semconv.GEN_AI_LEGACY_PROMPT_EVENT:
            yield _prompt(event.attributes.get(semconv.GEN_AI_LEGACY_PROMPT))
    prompts = indexed(attributes, semconv.GEN_AI_LEGACY_PROMPT_PREFIX)
    yield messages_in([_whole(prompt, "user") for prompt in prompts], Speaker.USER)
    if semconv.GEN_AI_LEGACY_PROMPT in attributes:
        yield _prompt(attributes[semconv.GEN_AI_LEGACY_PROMPT])
    for name in semconv.GEN_AI_REQUESTS:
        if name in attributes:
            yield messages_in(attributes[name], Speaker.USER)


def _returned(span: Span) -> Iterator[Sequence[Message]]:
    attributes = span.attributes
    for value in _values(span, semconv.GEN_AI_OUTPUT_MESSAGES):
        yield messages_in(value, Speaker.ASSISTANT)
    choices = [fields for name, fields in _message_events(span) if name == _CHOICE]
    choices.sort(key=lambda fields: whole(fields.get("index")) or 0)
    yield [_event_message(_CHOICE, fields) for fields in choices]
    for event in reversed(span.events):
        if event.name == semconv.GEN_AI_LEGACY_COMPLETION_EVENT:
            yield _completion(event.attributes.get(semconv.GEN_AI_LEGACY_COMPLETION))
    completions = indexed(attributes, semconv.GEN_AI_LEGACY_COMPLETION_PREFIX)
    yield messages_in([_whole(c, "assistant") for c in completions], Speaker.ASSISTANT)
    if semconv.GEN_AI_LEGACY_COMPLETION in attributes:
        yield _completion(attributes[semconv.GEN_AI_LEGACY_COMPLETION])
    for name in semconv.GEN_AI_REPLIES:
        if name in attributes:
            yield messages_in(attributes[name], Speaker.ASSISTANT)


_CHOICE: Final = semconv.GEN_AI_CHOICE_EVENT


def _values(span: Span, name: str) -> Iterator[object]:
    """The attribute of the span, then of the event that has the operation's details."""
    if name in span.attributes:
        yield span.attributes[name]
    for event in reversed(span.events):
        if event.name == semconv.GEN_AI_DETAILS_EVENT and name in event.attributes:
            yield event.attributes[name]


def _message_events(span: Span) -> list[tuple[str, Mapping[str, object]]]:
    """Name and fields of each message that is an event of its own, or one of a list of such."""
    events = [(event.name, event.attributes) for event in span.events if event.name in _SPEAKERS]
    listed = structured(span.attributes.get(semconv.GEN_AI_LISTED_EVENTS))
    for item in listed if isinstance(listed, list) else []:
        name = item.get(semconv.EVENT_NAME) if isinstance(item, Mapping) else None
        if name in _SPEAKERS:
            events.append((str(name), item))
    return events


def _event_message(name: str, fields: Mapping[str, object]) -> Message:
    written = {**fields, **members(fields.get(semconv.GEN_AI_EVENT_CONTENT))}
    inner = structured(written.get("message"))
    if name == _CHOICE and inner is not None:
        written = dict(inner) if isinstance(inner, Mapping) else {"content": inner}
    return message_of(written, _SPEAKERS[name])


def _whole(fields: Mapping[str, object], role: str) -> dict[str, Any]:
    """An indexed message; its role may be missing, its calls of tools are indexed in turn."""
    calls = any(key.startswith("tool_calls.") for key in fields)
    calling = {"tool_calls": True} if calls else {}
    return {"role": role, "content": fields.get(""), **fields, **calling}


def _prompt(value: object) -> Sequence[Message]:
    """Messages, or bare texts of which the last is the user's."""
    texts = bare_texts(value)
    if texts or _framed(value):
        return [Message(Speaker.USER, text) for text in texts]
    return messages_in(value, Speaker.USER)


def _framed(value: object) -> str | None:
    """What stands between the brackets of a list of texts, escaped or not."""
    written = value.strip() if isinstance(value, str) else ""
    if written.startswith(_OPEN) and written.endswith(_CLOSE):
        return written[len(_OPEN) : -len(_CLOSE)]
    return None


def _completion(value: object) -> Sequence[Message]:
    """Messages, or bare texts: each is another generation."""
    texts = bare_texts(value)
    if not texts and (one := _framed(value)) is not None:
        texts = [one]  # one generation is the rule; the quotation marks in it are its own
    if texts:
        return [Message(Speaker.ASSISTANT, present(text)) for text in texts]
    return messages_in(value, Speaker.ASSISTANT)


def bare_texts(value: object) -> list[str]:
    """The texts of a list of strings, or of a string; empty: the value is neither.

    Spring AI's lists are not escaped: `["one", "two"]` may hold line breaks. With quotation marks
    inside nobody can tell where a string of several ends: then it is read only when there is one.
    """
    if isinstance(value, str):
        written = value.strip()
        if not written.startswith("["):
            return [written] if written and not written.startswith("{") else []
        try:
            value = json.loads(written, strict=False)
        except (ValueError, RecursionError):
            one = _framed(written)
            value = [] if one is None or _BETWEEN in written else [one]
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        return []
    return [text for item in value if (text := present(item)) is not None]
