"""OpenTelemetry GenAI semantic conventions, generations A to C."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from typing import Any, ClassVar, Final

from rag_monitor import semconv
from rag_monitor.domain.span import Span
from rag_monitor.ingest.content import plain_text, question_in
from rag_monitor.ingest.conventions.base import (
    Call,
    Convention,
    Failure,
    Identity,
    Role,
    Tool,
    text_of,
)
from rag_monitor.ingest.conventions.span_messages import returned, sent
from rag_monitor.ingest.messages import Message, instructed_in, reply_in, text_in, user_messages_in
from rag_monitor.ingest.values import (
    first,
    flag,
    present,
    present_name,
    real,
    structured,
    unwrapped,
    whole,
)

_DAY_S: Final = 86_400
_LEAST_NS: Final = 100_000
"""No model answers within a tenth of a millisecond: a smaller number has another unit."""
_LEAST_MS_NS: Final = 1_000_000
"""Nobody writes parts of a millisecond: a span that was too short ended before its stream did."""
_TOLERANCE_NS: Final = 1_000_000
"""Between the clock of the wait and that of the span."""
_WAITS: Final = (
    semconv.GEN_AI_TIME_TO_FIRST_CHUNK,
    semconv.GEN_AI_CLIENT_WAIT,
    semconv.GEN_AI_SERVER_WAIT,
)
"""Seconds."""
_SAYS_WHEN_STREAMING: Final = frozenset(
    {"opentelemetry.instrumentation.genai.langchain", "pydantic-ai", "logfire.openai"}
)
"""Scopes. Logfire writes a record beside the call."""

_ROLES: Final = {
    "chat": Role.LLM,
    "generate_content": Role.LLM,
    "text_completion": Role.LLM,
    "completion": Role.LLM,
    "generate": Role.LLM,
    "responses": Role.LLM,
    "embeddings": Role.EMBEDDING,
    "embedding": Role.EMBEDDING,
    "retrieval": Role.RETRIEVER,
    "vector_db_retrieve": Role.RETRIEVER,
    "search_memory": Role.RETRIEVER,
    "rerank": Role.RERANKER,
    "execute_tool": Role.TOOL,
    "invoke_agent": Role.AGENT,
    "create_agent": Role.CREATE_AGENT,
    "invoke_workflow": Role.WORKFLOW,
    "workflow": Role.WORKFLOW,
    "execute_task": Role.CHAIN,
    "moderation": Role.GUARDRAIL,
    "create_memory": Role.ASIDE,
    "update_memory": Role.ASIDE,
    "upsert_memory": Role.ASIDE,
    "delete_memory": Role.ASIDE,
}
_NO_CHAT: Final = (
    ("embed", Role.EMBEDDING),
    ("rerank", Role.RERANKER),
    ("moderat", Role.GUARDRAIL),
)
"""In names of operations that no table has."""
_MODEL_KEYS: Final = (
    semconv.GEN_AI_REQUEST_MODEL,
    semconv.GEN_AI_RESPONSE_MODEL,
    semconv.OI_MODEL,
    semconv.LF_MODEL,
)
_CALL_KEYS: Final = (*_MODEL_KEYS, semconv.GEN_AI_OUTPUT_TOKENS)


class GenAI(Convention):
    """`gen_ai.*` attributes."""

    name: ClassVar[str] = "gen_ai"
    namespaces: ClassVar[frozenset[str]] = frozenset({"gen_ai"})
    marks: ClassVar[frozenset[str]] = frozenset(
        {*semconv.GEN_AI_REQUESTS, *semconv.GEN_AI_REPLIES, semconv.ADK_SESSION}
    )

    def speaks(self, span: Span, namespaces: Set[str]) -> bool:
        """Also where only an event has messages."""
        return super().speaks(span, namespaces) or any(
            event.name in semconv.GEN_AI_CONTENT_EVENTS for event in span.events
        )

    def role(self, span: Span) -> Role | None:
        """By the name of the operation.

        Those names are open: `aresponses`, `image_generation`, an application's own.
        """
        operation = str(span.attributes.get(semconv.GEN_AI_OPERATION) or "")
        if not operation:
            return None
        role = _ROLES.get(operation)
        if role is None:
            name = operation.lower()
            role = next((role for part, role in _NO_CHAT if part in name), None)
        if role is None and any(span.attributes.get(key) for key in _CALL_KEYS):
            return Role.LLM
        return role

    def likely_role(self, span: Span) -> Role | None:
        """What names a model or holds messages is a call of one."""
        if any(span.attributes.get(key) for key in _MODEL_KEYS):
            return Role.LLM
        spoke = any(event.name in semconv.GEN_AI_CONTENT_EVENTS for event in span.events)
        return Role.LLM if spoke else None

    def given(self, span: Span) -> object:
        """The last user message."""
        user_messages = user_messages_in(sent(span))
        return user_messages[-1] if user_messages else None

    def returned(self, span: Span) -> object:
        """`gen_ai.retrieval.documents`."""
        return span.attributes.get(semconv.GEN_AI_DOCUMENTS)

    def messages(self, span: Span) -> Sequence[Message] | None:
        """All that the model or agent was sent."""
        return sent(span) or None

    def question(self, span: Span) -> str | None:
        """The last user message. Of a chain it may be JSON of its arguments, as LangChain's is."""
        user_messages = user_messages_in(sent(span))
        return question_in(user_messages[-1]) if user_messages else None

    def agents_question(self, span: Span) -> str | None:
        """The last user message, as it is."""
        user_messages = user_messages_in(sent(span))
        return user_messages[-1] if user_messages else None

    def answer(self, span: Span) -> str | None:
        """The answer among the messages of the output; of a chain it may be JSON of its state."""
        return plain_text(reply_in(returned(span)))

    def query(self, span: Span) -> str | None:
        """`gen_ai.retrieval.query.text`; rerank spans carry a message."""
        return first(
            present(span.attributes.get(semconv.GEN_AI_QUERY_TEXT)),
            present(span.attributes.get("gen_ai.retrieval.query")),
            self.question(span),
        )

    def knowledge_base(self, span: Span) -> str | None:
        """`gen_ai.data_source.id`."""
        return present_name(span.attributes.get(semconv.GEN_AI_DATA_SOURCE_ID))

    def call(self, span: Span) -> Call | None:
        """Model, tokens, messages and time to the first chunk."""
        attributes = span.attributes
        messages = sent(span)
        user_messages = user_messages_in(messages)
        return Call(
            model=present_name(attributes.get(semconv.GEN_AI_RESPONSE_MODEL))
            or present_name(attributes.get(semconv.GEN_AI_REQUEST_MODEL)),
            input_tokens=tokens(
                attributes, semconv.GEN_AI_INPUT_TOKENS, semconv.GEN_AI_PROMPT_TOKENS_OLD
            ),
            output_tokens=tokens(
                attributes, semconv.GEN_AI_OUTPUT_TOKENS, semconv.GEN_AI_COMPLETION_TOKENS_OLD
            ),
            user_messages=user_messages,
            output=reply_in(returned(span)),
            system=instructed_in(messages)
            or text_in(unwrapped(attributes.get(semconv.GEN_AI_SYSTEM_INSTRUCTIONS))),
            context=prompt_context(attributes, user_messages[-1] if user_messages else None),
            streamed=self.streamed(span),
            first_token_ns=first_token_ns(span),
            response_id=text_of(attributes, semconv.GEN_AI_RESPONSE_ID),
        )

    def streamed(self, span: Span) -> bool | None:
        """As the span says it, under one of several names.

        The conventions have the attribute only where it is true, but many frameworks stream without
        it: silence means no only where the sender is known to speak.
        """
        flags = [flag(span.attributes.get(name)) for name in semconv.STREAM_FLAGS]
        if True in flags or semconv.GEN_AI_CLIENT_WAIT in span.attributes:
            return True
        return False if False in flags or span.scope in _SAYS_WHEN_STREAMING else None

    def tool(self, span: Span) -> Tool | None:
        """`gen_ai.tool.*`."""
        attributes = span.attributes
        return Tool(
            name=text_of(attributes, semconv.GEN_AI_TOOL_NAME)
            or span.name.removeprefix("execute_tool ").strip(),
            arguments=unwrapped(_given_to_tool(span)),
            result=unwrapped(_returned_by_tool(span)),
        )

    def workflow(self, span: Span) -> str | None:
        """`gen_ai.workflow.name`, or the agent's."""
        return text_of(span.attributes, semconv.GEN_AI_WORKFLOW_NAME, semconv.GEN_AI_AGENT_NAME)

    def identity(self, span: Span) -> Identity | None:
        """`gen_ai.conversation.id`, and the general `session.id` and `user.id`."""
        attributes = span.attributes
        return Identity(
            session_id=text_of(
                attributes,
                semconv.GEN_AI_CONVERSATION_ID,
                semconv.SESSION_ID,
                semconv.ADK_SESSION,
            ),
            user_id=text_of(attributes, semconv.USER_ID, semconv.GEN_AI_USER, semconv.END_USER_ID),
        )

    def failure(self, span: Span) -> Failure | None:
        """`gen_ai.task.status`."""
        if span.attributes.get(semconv.GEN_AI_TASK_STATUS) == "failure":
            return Failure()
        return None


def tokens(attributes: Mapping[str, object], *names: str) -> int | None:
    """The first token count that is there."""
    return next((n for name in names if (n := whole(attributes.get(name))) is not None), None)


def first_token_ns(span: Span) -> int | None:
    """When the first token came, Unix nanoseconds.

    From `gen_ai.response.time_to_first_chunk` and what others call it, else from the earliest chunk
    event. Chunk events count only when the span lost nothing: SDKs evict the oldest events first.
    """
    waited_ns = _waited_ns(span)
    if waited_ns is not None:
        return span.start_ns + waited_ns
    if span.dropped:
        return None
    times = [e.time_ns for e in span.events if e.name in semconv.GEN_AI_CHUNK_EVENTS]
    return min(times, default=None)


def _waited_ns(span: Span) -> int | None:
    for name in _WAITS:
        seconds = real(span.attributes.get(name))
        if seconds is not None and 0 <= seconds < _DAY_S * 1e6:
            return _within(span, round(seconds * 1e9))
    nanoseconds = real(span.attributes.get(semconv.GEN_AI_RESPONSE_WAIT))
    if nanoseconds is not None and _LEAST_NS <= nanoseconds < _DAY_S * 1e9:
        return round(nanoseconds)
    return None


def _within(span: Span, waited_ns: int) -> int | None:
    """A wait in seconds; in a smaller unit where no call of that length can have waited so long.

    The names are those of metrics in seconds, but some frameworks write milliseconds.
    """
    length_ns = span.end_ns - span.start_ns
    if span.start_ns <= 0 or length_ns <= 0:
        return waited_ns if waited_ns < _DAY_S * 1e9 else None
    longest = length_ns + _TOLERANCE_NS
    if waited_ns <= longest:
        return waited_ns
    smaller = (waited_ns // 1_000, waited_ns // 1_000_000)
    return next((wait for wait in smaller if _LEAST_MS_NS <= wait <= longest), None)


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


_RESPONSES: Final = ("response", "result")


def _given_to_tool(span: Span) -> object:
    """The arguments; None where they were not sent.

    They stand on the span, under the names of the conventions or of Google's ADK; in the event that
    has the operation's details, as parts of messages; or in an event of their own (Strands).
    """
    attributes = span.attributes
    for name in (semconv.GEN_AI_TOOL_ARGUMENTS, semconv.ADK_TOOL_ARGUMENTS):
        if attributes.get(name):
            return attributes[name]
    for part in _parts(span, semconv.GEN_AI_INPUT_MESSAGES):
        if part.get("arguments"):
            return part["arguments"]
    return _event(span, semconv.GEN_AI_TOOL_EVENT, "content")


def _returned_by_tool(span: Span) -> object:
    """The result, in the same places; None where it was not sent."""
    attributes = span.attributes
    for name in (semconv.GEN_AI_TOOL_RESULT, semconv.ADK_TOOL_RESULT):
        if attributes.get(name):
            return attributes[name]
    for part in _parts(span, semconv.GEN_AI_OUTPUT_MESSAGES):
        for key in _RESPONSES:
            if part.get(key):
                return part[key]
    return _event(span, semconv.GEN_AI_CHOICE_EVENT, "message")


def _parts(span: Span, name: str) -> Iterator[Mapping[str, Any]]:
    values = [e.attributes.get(name) for e in span.events if e.name == semconv.GEN_AI_DETAILS_EVENT]
    for value in (span.attributes.get(name), *values):
        messages = structured(value)
        for message in messages if isinstance(messages, list) else []:
            parts = message.get("parts") if isinstance(message, Mapping) else None
            yield from (p for p in parts or [] if isinstance(p, Mapping))


def _event(span: Span, name: str, key: str) -> object:
    values = (event.attributes.get(key) for event in span.events if event.name == name)
    return next((value for value in values if value), None)
