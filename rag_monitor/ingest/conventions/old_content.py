"""Where older generations of the GenAI conventions put text: events, indexed names, one attribute.

Spring AI's texts come this way too: in its releases before 1.0, and where an application adds them
itself. They are lists whose strings are not escaped.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final

from rag_monitor import semconv
from rag_monitor.domain.span import Span, SpanEvent
from rag_monitor.ingest.documents import indexed
from rag_monitor.ingest.values import (
    answer_in,
    assistant_text,
    members,
    present,
    question_in,
    structured,
    user_text,
)

_OPEN: Final = '["'
_CLOSE: Final = '"]'
_BETWEEN: Final = '", "'


def legacy_question(span: Span) -> str | None:
    """The last user message in message events, a prompt event, or prompt attributes."""
    for event in reversed(span.events):
        if event.name == semconv.GEN_AI_USER_EVENT:
            said = present(event.attributes.get("content"))
            return said or user_text([{"role": "user", **_whole_message(event)}])
        if event.name == semconv.GEN_AI_LEGACY_PROMPT_EVENT:
            return _asked(event.attributes.get(semconv.GEN_AI_LEGACY_PROMPT))
    prompts = indexed(span.attributes, semconv.GEN_AI_LEGACY_PROMPT_PREFIX)
    found = user_text([dict(prompt) for prompt in prompts])
    return found or _asked(span.attributes.get(semconv.GEN_AI_LEGACY_PROMPT))


def legacy_answer(span: Span) -> str | None:
    """The answer in a choice event, a completion event, or completion attributes."""
    for event in reversed(span.events):
        if event.name == semconv.GEN_AI_CHOICE_EVENT:
            message = structured(event.attributes.get("message"))
            found = message.get("content") if isinstance(message, Mapping) else message
            said = present(found) or present(event.attributes.get("content"))
            message = members(_whole_message(event).get("message"))
            return said or assistant_text([{"role": "assistant", **message}])
        if event.name == semconv.GEN_AI_LEGACY_COMPLETION_EVENT:
            return _said(event.attributes.get(semconv.GEN_AI_LEGACY_COMPLETION))
    completions = indexed(span.attributes, semconv.GEN_AI_LEGACY_COMPLETION_PREFIX)
    found = assistant_text([{"role": "assistant", **c} for c in completions])
    return found or _said(span.attributes.get(semconv.GEN_AI_LEGACY_COMPLETION))


def _whole_message(event: SpanEvent) -> Mapping[str, object]:
    return members(event.attributes.get(semconv.GEN_AI_EVENT_CONTENT))


def _asked(value: object) -> str | None:
    """The last user message, of bare texts the last one that is not empty."""
    texts = bare_texts(value)
    return question_in(texts[-1]) if texts else user_text(value)


def _said(value: object) -> str | None:
    """The last assistant message, or the first of bare texts: each is another generation."""
    texts = bare_texts(value)
    if texts:
        return answer_in(texts[0])
    written = value.strip() if isinstance(value, str) else ""
    if written.startswith(_OPEN) and written.endswith(_CLOSE):
        # A list of one generation, which is the rule, whose quotation marks are its own.
        return present(written[len(_OPEN) : -len(_CLOSE)])
    return assistant_text(value)


def bare_texts(value: object) -> list[str]:
    """The texts of a list of strings, or of a string; empty: the value is neither.

    `["one", "two"]` may hold line breaks, as nothing in it is escaped. With quotation marks inside
    nobody can tell where a string of several ends: then it is read only when there is one.
    """
    if isinstance(value, str):
        written = value.strip()
        if not written.startswith("["):
            return [written] if written and not written.startswith("{") else []
        try:
            value = json.loads(written, strict=False)
        except (ValueError, RecursionError):
            framed = written.startswith(_OPEN) and written.endswith(_CLOSE)
            one = framed and _BETWEEN not in written
            value = [written[len(_OPEN) : -len(_CLOSE)]] if one else []
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        return []
    return [text for item in value if (text := present(item)) is not None]
