"""OpenTelemetry GenAI semantic conventions, generations A to C."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Final

from rag_monitor import semconv
from rag_monitor.domain.span import Span
from rag_monitor.domain.trace import RetrievedDocument
from rag_monitor.ingest.conventions.base import Call, Convention, Failure, Identity, Tool, text_of
from rag_monitor.ingest.conventions.old_content import legacy_answer, legacy_question
from rag_monitor.ingest.documents import documents_in
from rag_monitor.ingest.values import (
    answer_in,
    assistant_text,
    first,
    known,
    present,
    real,
    system_text,
    unwrapped,
    user_text,
    whole,
)

_PREFIX: Final = "gen_ai."
_TRACELOOP_STREAMING: Final = "gen_ai.is_streaming"
_DAY_S: Final = 86_400
_LEAST_NS: Final = 100_000
"""No model answers within a tenth of a millisecond: a smaller number has another unit."""
_WAITS: Final = (
    semconv.GEN_AI_TIME_TO_FIRST_CHUNK,
    semconv.GEN_AI_CLIENT_WAIT,
    semconv.GEN_AI_SERVER_WAIT,
)
"""Seconds."""
_SILENT_SCOPE: Final = "opentelemetry.util.genai.handler"


class GenAI(Convention):
    """`gen_ai.*` attributes."""

    name: ClassVar[str] = "gen_ai"

    def speaks(self, span: Span) -> bool:
        """Any `gen_ai.*` attribute."""
        return any(key.startswith(_PREFIX) for key in span.attributes)

    def question(self, span: Span) -> str | None:
        """Last user message of the input."""
        return user_text(span.attributes.get(semconv.GEN_AI_INPUT_MESSAGES))

    def answer(self, span: Span) -> str | None:
        """Last assistant message of the output."""
        return assistant_text(span.attributes.get(semconv.GEN_AI_OUTPUT_MESSAGES))

    def query(self, span: Span) -> str | None:
        """`gen_ai.retrieval.query.text`; rerank spans carry a message."""
        return first(
            present(span.attributes.get(semconv.GEN_AI_QUERY_TEXT)),
            present(span.attributes.get("gen_ai.retrieval.query")),
            self.question(span),
        )

    def documents(self, span: Span) -> tuple[RetrievedDocument, ...] | None:
        """`gen_ai.retrieval.documents`, with text where it carries any."""
        value = span.attributes.get(semconv.GEN_AI_DOCUMENTS)
        return None if value is None else documents_in(value)

    def knowledge_base(self, span: Span) -> str | None:
        """`gen_ai.data_source.id`."""
        return known(span.attributes.get(semconv.GEN_AI_DATA_SOURCE_ID))

    def call(self, span: Span) -> Call | None:
        """Model, tokens, messages and time to the first chunk."""
        attributes = span.attributes
        question = self.question(span) or legacy_question(span)
        return Call(
            model=known(attributes.get(semconv.GEN_AI_RESPONSE_MODEL))
            or known(attributes.get(semconv.GEN_AI_REQUEST_MODEL)),
            input_tokens=tokens(
                attributes, semconv.GEN_AI_INPUT_TOKENS, semconv.GEN_AI_PROMPT_TOKENS_OLD
            ),
            output_tokens=tokens(
                attributes, semconv.GEN_AI_OUTPUT_TOKENS, semconv.GEN_AI_COMPLETION_TOKENS_OLD
            ),
            question=question,
            output=self.answer(span) or legacy_answer(span),
            system=system_text(attributes.get(semconv.GEN_AI_INPUT_MESSAGES))
            or system_instructions(attributes),
            context=prompt_context(attributes, question),
            streamed=self.streamed(span),
            first_token_ns=first_token_ns(span),
            response_id=text_of(attributes, semconv.GEN_AI_RESPONSE_ID),
        )

    def streamed(self, span: Span) -> bool | None:
        """The attribute is only set when true, so its absence means false from generation B on.

        Not where the span was written by the shared handler of the OpenAI instrumentation: it
        streams without saying so. OpenLLMetry says it under a name of its own.
        """
        said = span.attributes.get(_TRACELOOP_STREAMING)
        # Spring AI writes every value as a string.
        asked = span.attributes.get(semconv.GEN_AI_REQUEST_STREAM) in (True, "true")
        if asked or isinstance(said, bool):
            return said is not False
        if semconv.GEN_AI_CLIENT_WAIT in span.attributes:
            return True
        if span.scope == _SILENT_SCOPE or semconv.GEN_AI_PROVIDER not in span.attributes:
            return None
        return False

    def tool(self, span: Span) -> Tool | None:
        """`gen_ai.tool.*`."""
        attributes = span.attributes
        return Tool(
            name=text_of(attributes, semconv.GEN_AI_TOOL_NAME)
            or span.name.removeprefix("execute_tool ").strip(),
            arguments=unwrapped(attributes.get(semconv.GEN_AI_TOOL_ARGUMENTS)),
            result=unwrapped(attributes.get(semconv.GEN_AI_TOOL_RESULT)),
        )

    def workflow(self, span: Span) -> str | None:
        """`gen_ai.workflow.name`, or the agent's."""
        return text_of(span.attributes, semconv.GEN_AI_WORKFLOW_NAME, "gen_ai.agent.name")

    def identity(self, span: Span) -> Identity | None:
        """`gen_ai.conversation.id`, and the general `session.id` and `user.id`."""
        attributes = span.attributes
        return Identity(
            session_id=text_of(attributes, semconv.GEN_AI_CONVERSATION_ID, semconv.SESSION_ID),
            user_id=text_of(attributes, semconv.USER_ID, semconv.GEN_AI_USER, semconv.END_USER_ID),
        )

    def failure(self, span: Span) -> Failure | None:
        """`gen_ai.task.status`."""
        if span.attributes.get(semconv.GEN_AI_TASK_STATUS) == "failure":
            return Failure()
        return None


def system_instructions(attributes: Mapping[str, object]) -> str | None:
    """The text of `gen_ai.system_instructions`, a list of parts."""
    parts = unwrapped(attributes.get(semconv.GEN_AI_SYSTEM_INSTRUCTIONS))
    if not isinstance(parts, list):
        return None
    return answer_in([{"role": "assistant", "parts": parts}])


def tokens(attributes: Mapping[str, object], *names: str) -> int | None:
    """The first token count that is there."""
    return next((n for name in names if (n := whole(attributes.get(name))) is not None), None)


def first_token_ns(span: Span) -> int | None:
    """When the first token came, Unix nanoseconds.

    From `gen_ai.response.time_to_first_chunk` and what others call it, else from the earliest chunk
    event. Chunk events count only when the span lost nothing: SDKs evict the oldest events first.
    """
    waited_ns = _waited_ns(span.attributes)
    if waited_ns is not None:
        return span.start_ns + waited_ns
    if span.dropped:
        return None
    times = [e.time_ns for e in span.events if e.name in semconv.GEN_AI_CHUNK_EVENTS]
    return min(times, default=None)


def _waited_ns(attributes: Mapping[str, object]) -> int | None:
    for name in _WAITS:
        seconds = real(attributes.get(name))
        if seconds is not None and 0 <= seconds < _DAY_S:
            return round(seconds * 1e9)
    nanoseconds = real(attributes.get(semconv.GEN_AI_RESPONSE_WAIT))
    if nanoseconds is not None and _LEAST_NS <= nanoseconds < _DAY_S * 1e9:
        return round(nanoseconds)
    return None


def prompt_context(attributes: Mapping[str, object], question: str | None) -> str | None:
    """The largest prompt variable that is not the question."""
    texts = [
        text
        for key, value in attributes.items()
        if key.startswith(semconv.GEN_AI_PROMPT_VARIABLE_PREFIX)
        and (text := present(value)) is not None
        and text != question
    ]
    return max(texts, key=len, default=None)
