"""coze-loop (扣子罗盘): `cozeloop.*` on OpenTelemetry spans, beside `gen_ai.*`."""

from __future__ import annotations

from typing import ClassVar, Final

from rag_monitor import semconv
from rag_monitor.domain.span import Span
from rag_monitor.domain.trace import RetrievedDocument
from rag_monitor.ingest.conventions.base import Call, Convention, Failure, Identity, Tool, text_of
from rag_monitor.ingest.documents import base_in, documents_in
from rag_monitor.ingest.values import (
    answer_in,
    first,
    question_in,
    system_text,
    unwrapped,
    user_text,
    whole,
)

_PROMPT: Final = "prompt"
_SPOKEN: Final = frozenset({semconv.COZE_TYPE, semconv.COZE_INPUT, semconv.COZE_OUTPUT})
_DAY_NS: Final = 86_400 * 10**9


class CozeLoop(Convention):
    """`cozeloop.input`, `cozeloop.output` and what stands beside them."""

    name: ClassVar[str] = "coze_loop"

    def speaks(self, span: Span) -> bool:
        """A type, an input or an output of coze-loop."""
        return not _SPOKEN.isdisjoint(span.attributes)

    def question(self, span: Span) -> str | None:
        """The input; that of a prompt is a template."""
        if span.attributes.get(semconv.COZE_TYPE) == _PROMPT:
            return None
        return question_in(span.attributes.get(semconv.COZE_INPUT), lone=not span.parent_span_id)

    def answer(self, span: Span) -> str | None:
        """The output."""
        if span.attributes.get(semconv.COZE_TYPE) == _PROMPT:
            return None
        return answer_in(span.attributes.get(semconv.COZE_OUTPUT))

    def query(self, span: Span) -> str | None:
        """The input of a retriever."""
        return question_in(span.attributes.get(semconv.COZE_INPUT), lone=True)

    def documents(self, span: Span) -> tuple[RetrievedDocument, ...] | None:
        """The output of a retriever: `documents` with `id`, `content` and `score`."""
        return documents_in(span.attributes.get(semconv.COZE_OUTPUT))

    def knowledge_base(self, span: Span) -> str | None:
        """The store, as the SDK's tags name it."""
        return first(text_of(span.attributes, *semconv.COZE_STORES), base_in(span.attributes))

    def call(self, span: Span) -> Call | None:
        """A span of type `model`; its name and tokens are `gen_ai.*`."""
        attributes = span.attributes
        sent = attributes.get(semconv.COZE_INPUT)
        said = attributes.get(semconv.COZE_STREAM)
        first_ns = _first_token_ns(span)
        return Call(
            question=user_text(sent) or question_in(sent),
            output=answer_in(attributes.get(semconv.COZE_OUTPUT)),
            system=system_text(sent),
            streamed=said if isinstance(said, bool) else True if first_ns is not None else None,
            first_token_ns=first_ns,
        )

    def tool(self, span: Span) -> Tool | None:
        """Input and output of a tool."""
        attributes = span.attributes
        return Tool(
            name=text_of(attributes, semconv.GEN_AI_TOOL_NAME) or span.name,
            arguments=unwrapped(attributes.get(semconv.COZE_INPUT)),
            result=unwrapped(attributes.get(semconv.COZE_OUTPUT)),
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
        code = span.attributes.get(semconv.COZE_STATUS)
        if not isinstance(code, int) or isinstance(code, bool) or code == 0:
            return None
        message = text_of(span.attributes, "error.message", "error")
        return Failure(message=message or f"{semconv.COZE_STATUS} {code}")


def _first_token_ns(span: Span) -> int | None:
    """A moment, in microseconds. One outside the day of the call is a number of another kind."""
    microseconds = whole(span.attributes.get(semconv.COZE_FIRST_TOKEN))
    if microseconds is None:
        return None
    moment = microseconds * 1000
    # The start of the span is cut to microseconds before it is compared.
    return moment if 0 <= moment - span.start_ns // 1000 * 1000 < _DAY_NS else None
