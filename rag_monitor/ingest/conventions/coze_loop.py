"""coze-loop (扣子罗盘): `cozeloop.*` on OpenTelemetry spans, beside `gen_ai.*`."""

from __future__ import annotations

from typing import ClassVar, Final

from rag_monitor import semconv
from rag_monitor.domain.span import Span
from rag_monitor.ingest.content import reply_of, request_of
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
from rag_monitor.ingest.values import first, unwrapped, whole

_TYPE: Final = "cozeloop.span_type"
_INPUT: Final = "cozeloop.input"
_OUTPUT: Final = "cozeloop.output"
_STREAM: Final = "cozeloop.stream"
_FIRST_TOKEN: Final = "cozeloop.time_to_first_token"  # noqa: S105 - an attribute name
"""Unix microseconds, whatever the name says."""
_STATUS: Final = "cozeloop.status_code"
_STORES: Final = ("vikingdb_name", "es_index", "es_name")
_ROLES: Final = {
    "model": Role.LLM,
    "retriever": Role.RETRIEVER,
    "vector_retriever": Role.RETRIEVER,
    "tool": Role.TOOL,
    "plugin": Role.TOOL,
    "embedding": Role.EMBEDDING,
    "agent": Role.AGENT,
    "graph": Role.WORKFLOW,
    "prompt": Role.PROMPT,
    "parser": Role.ASIDE,
}
"""Other types are the application's own, and say nothing."""
_DAY_NS: Final = 86_400 * 10**9


class CozeLoop(Convention):
    """`cozeloop.input`, `cozeloop.output` and what stands beside them."""

    name: ClassVar[str] = "coze_loop"
    marks: ClassVar[frozenset[str]] = frozenset({_TYPE, _INPUT, _OUTPUT})

    def role(self, span: Span) -> Role | None:
        """The span's type, where it is one of the SDK's own."""
        kind = span.attributes.get(_TYPE)
        return _ROLES.get(str(kind).lower()) if kind else None

    def given(self, span: Span) -> object:
        """The input."""
        return span.attributes.get(_INPUT)

    def returned(self, span: Span) -> object:
        """The output; a retriever's has `documents` with `id`, `content` and `score`."""
        return span.attributes.get(_OUTPUT)

    def knowledge_base(self, span: Span) -> str | None:
        """The store, as the SDK's tags name it."""
        return first(text_of(span.attributes, *_STORES), base_in(span.attributes))

    def call(self, span: Span) -> Call | None:
        """A span of type `model`; its name and tokens are `gen_ai.*`."""
        attributes = span.attributes
        user_messages, system = request_of(attributes.get(_INPUT))
        stream = attributes.get(_STREAM)
        first_ns = _first_token_ns(span)
        return Call(
            user_messages=user_messages,
            output=reply_of(attributes.get(_OUTPUT)),
            system=system,
            streamed=stream if isinstance(stream, bool) else True if first_ns is not None else None,
            first_token_ns=first_ns,
        )

    def tool(self, span: Span) -> Tool | None:
        """Input and output of a tool."""
        attributes = span.attributes
        return Tool(
            name=text_of(attributes, semconv.GEN_AI_TOOL_NAME) or span.name,
            arguments=unwrapped(attributes.get(_INPUT)),
            result=unwrapped(attributes.get(_OUTPUT)),
        )

    def workflow(self, span: Span) -> str | None:
        """An agent or graph has no name but the span's."""
        return span.name or None

    def identity(self, span: Span) -> Identity | None:
        """`session.id` and `user.id`."""
        attributes = span.attributes
        return Identity(
            session_id=text_of(attributes, semconv.SESSION_ID),
            user_id=text_of(attributes, semconv.USER_ID),
        )

    def failure(self, span: Span) -> Failure | None:
        """A status code other than 0."""
        code = span.attributes.get(_STATUS)
        if not isinstance(code, int) or isinstance(code, bool) or code == 0:
            return None
        message = text_of(span.attributes, "error.message", "error")
        return Failure(message=message or f"{_STATUS} {code}")


def _first_token_ns(span: Span) -> int | None:
    """A moment, in microseconds. One outside the day of the call is a number of another kind."""
    microseconds = whole(span.attributes.get(_FIRST_TOKEN))
    if microseconds is None:
        return None
    moment = microseconds * 1000
    # The start of the span is cut to microseconds before it is compared.
    return moment if 0 <= moment - span.start_ns // 1000 * 1000 < _DAY_NS else None
