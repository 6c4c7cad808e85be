"""Langfuse SDK observations."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import ClassVar, Final

from rag_monitor import semconv
from rag_monitor.domain.span import Span
from rag_monitor.ingest.content import answer_in, question_in, reply_of, request_of
from rag_monitor.ingest.conventions.base import (
    Call,
    Convention,
    Failure,
    Identity,
    Role,
    Tool,
    text_of,
)
from rag_monitor.ingest.passages import base_in
from rag_monitor.ingest.values import (
    first,
    members,
    present,
    present_name,
    structured,
    unwrapped,
    whole,
)

_ROLES: Final = {
    "generation": Role.LLM,
    "embedding": Role.EMBEDDING,
    "agent": Role.AGENT,
    "tool": Role.TOOL,
    "chain": Role.CHAIN,
    "retriever": Role.RETRIEVER,
    "evaluator": Role.EVALUATOR,
    "guardrail": Role.GUARDRAIL,
    "event": Role.ASIDE,
}


class Langfuse(Convention):
    """`langfuse.*` attributes."""

    name: ClassVar[str] = "langfuse"
    namespaces: ClassVar[frozenset[str]] = frozenset({"langfuse"})

    def role(self, span: Span) -> Role | None:
        """The observation's type."""
        kind = span.attributes.get(semconv.LF_TYPE)
        return _ROLES.get(str(kind).lower(), Role.OTHER) if kind else None

    def given(self, span: Span) -> object:
        """The trace's input, else the observation's."""
        attributes = span.attributes
        return attributes.get(semconv.LF_TRACE_INPUT) or attributes.get(semconv.LF_INPUT)

    def returned(self, span: Span) -> object:
        """The observation's output."""
        return span.attributes.get(semconv.LF_OUTPUT)

    def question(self, span: Span) -> str | None:
        """The trace's input, else the observation's."""
        return first(
            question_in(span.attributes.get(semconv.LF_TRACE_INPUT), lone=True),
            question_in(span.attributes.get(semconv.LF_INPUT), lone=not span.parent_span_id),
        )

    def answer(self, span: Span) -> str | None:
        """The trace's output, else the observation's."""
        return first(
            answer_in(span.attributes.get(semconv.LF_TRACE_OUTPUT)),
            answer_in(span.attributes.get(semconv.LF_OUTPUT)),
        )

    def query(self, span: Span) -> str | None:
        """The observation's input."""
        return question_in(span.attributes.get(semconv.LF_INPUT), lone=True)

    def knowledge_base(self, span: Span) -> str | None:
        """A name in the observation's metadata."""
        prefix = semconv.LF_METADATA_PREFIX
        fields = {k[len(prefix) :]: v for k, v in span.attributes.items() if k.startswith(prefix)}
        return base_in(fields)

    def call(self, span: Span) -> Call | None:
        """A generation. Its `input` tokens exclude what came from a cache."""
        attributes = span.attributes
        usage = members(attributes.get(semconv.LF_USAGE))
        first_ns = _moment_ns(attributes.get(semconv.LF_COMPLETION_START))
        user_messages, system = request_of(attributes.get(semconv.LF_INPUT))
        return Call(
            model=present_name(attributes.get(semconv.LF_MODEL)),
            input_tokens=_input_tokens(usage),
            output_tokens=whole(usage.get("output", usage.get("completion_tokens"))),
            user_messages=user_messages,
            output=reply_of(attributes.get(semconv.LF_OUTPUT)),
            system=system,
            streamed=True if first_ns is not None else None,
            first_token_ns=first_ns,
        )

    def tool(self, span: Span) -> Tool | None:
        """An observation of type tool."""
        return Tool(
            name=span.name,
            arguments=unwrapped(span.attributes.get(semconv.LF_INPUT)),
            result=unwrapped(span.attributes.get(semconv.LF_OUTPUT)),
        )

    def workflow(self, span: Span) -> str | None:
        """A chain has no name but the span's."""
        return span.name or None

    def identity(self, span: Span) -> Identity | None:
        """Session, user, tags, environment, release."""
        attributes = {**span.resource, **span.attributes}
        tags = structured(attributes.get(semconv.LF_TRACE_TAGS))
        return Identity(
            environment=text_of(attributes, semconv.LF_ENVIRONMENT),
            release=text_of(attributes, semconv.LF_RELEASE),
            session_id=text_of(attributes, semconv.LF_SESSION, semconv.SESSION_ID),
            user_id=text_of(attributes, semconv.LF_USER, semconv.USER_ID),
            tags=tuple(str(tag) for tag in tags) if isinstance(tags, list) else (),
        )

    def failure(self, span: Span) -> Failure | None:
        """Level ERROR."""
        if span.attributes.get(semconv.LF_LEVEL) != "ERROR":
            return None
        return Failure(message=present(span.attributes.get(semconv.LF_STATUS_MESSAGE)))


def _input_tokens(usage: Mapping[str, object]) -> int | None:
    plain = whole(usage.get("input"))
    if plain is None:  # the drop-in OpenAI client passes on what OpenAI said: all, cached or not
        return whole(usage.get("prompt_tokens"))
    parts = (whole(value) for key, value in usage.items() if key.startswith("input_"))
    return plain + sum(part for part in parts if part is not None)


def _moment_ns(value: object) -> int | None:
    """Unix nanoseconds of an ISO time, which arrives JSON-quoted."""
    text = structured(value)
    if not isinstance(text, str):
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    elapsed = moment - datetime(1970, 1, 1, tzinfo=UTC)
    return (elapsed.days * 86_400 + elapsed.seconds) * 1_000_000_000 + elapsed.microseconds * 1000
