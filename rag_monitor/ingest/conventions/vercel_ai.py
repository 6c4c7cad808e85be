"""The Vercel AI SDK, versions 3.3 to 6, and 7 with its older telemetry.

Its calls come in pairs, `ai.streamText` around `ai.streamText.doStream`: the outer one has what the
application asked, the inner one is the model call. Version 7 writes `gen_ai.*` instead.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import ClassVar, Final

from rag_monitor.domain.span import Span
from rag_monitor.domain.trace import RetrievedDocument
from rag_monitor.ingest.content import answer_in, question_in, request_of
from rag_monitor.ingest.conventions.base import Call, Convention, Identity, Role, Tool, text_of
from rag_monitor.ingest.conventions.genai import tokens
from rag_monitor.ingest.documents import ranked
from rag_monitor.ingest.messages import Message, Speaker, messages_in
from rag_monitor.ingest.passages import document_of
from rag_monitor.ingest.values import (
    first,
    members,
    present,
    present_name,
    real,
    structured,
    unwrapped,
    whole,
)

_OPERATION: Final = "ai.operationId"
_FUNCTION: Final = "ai.telemetry.functionId"
_METADATA_PREFIX: Final = "ai.telemetry.metadata."
_CONTEXT_PREFIX: Final = "ai.settings.context."
"""What version 7 has in the place of the metadata."""
_PROMPT: Final = "ai.prompt"
_MESSAGES: Final = "ai.prompt.messages"
_TEXTS: Final = ("ai.response.text", "ai.result.text")
_OBJECTS: Final = ("ai.response.object", "ai.result.object")
_MODELS: Final = ("ai.response.model", "ai.model.id")
_INPUT_TOKENS: Final = ("ai.usage.inputTokens", "ai.usage.promptTokens")
_OUTPUT_TOKENS: Final = ("ai.usage.outputTokens", "ai.usage.completionTokens")
_FIRST_CHUNK_MS: Final = ("ai.response.msToFirstChunk", "ai.stream.msToFirstChunk")
_RESPONSE_ID: Final = "ai.response.id"
_TOOL_NAME: Final = "ai.toolCall.name"
_TOOL_ARGUMENTS: Final = "ai.toolCall.args"
_TOOL_RESULT: Final = "ai.toolCall.result"
_DOCUMENTS: Final = "ai.documents"
_RANKING: Final = "ai.ranking"
_ROLES: Final = {
    "ai.generateText": Role.AGENT,
    "ai.streamText": Role.AGENT,
    "ai.generateObject": Role.AGENT,
    "ai.streamObject": Role.AGENT,
    "ai.generateText.doGenerate": Role.LLM,
    "ai.streamText.doStream": Role.LLM,
    "ai.generateObject.doGenerate": Role.LLM,
    "ai.streamObject.doStream": Role.LLM,
    "ai.toolCall": Role.TOOL,
    "ai.embed": Role.EMBEDDING,
    "ai.embed.doEmbed": Role.EMBEDDING,
    "ai.embedMany": Role.EMBEDDING,
    "ai.embedMany.doEmbed": Role.EMBEDDING,
    "ai.rerank.doRerank": Role.RERANKER,
}
"""`ai.rerank` is missing: it has only what its inner span has, and less."""
_DAY_MS: Final = 86_400_000
_SESSIONS: Final = ("sessionId", "session_id", "session.id")
_USERS: Final = ("userId", "user_id", "user.id")


class VercelAI(Convention):
    """`ai.*` attributes, told by `ai.operationId`."""

    name: ClassVar[str] = "vercel_ai"
    marks: ClassVar[frozenset[str]] = frozenset({_OPERATION})

    def role(self, span: Span) -> Role | None:
        """By the name of the operation."""
        operation = span.attributes.get(_OPERATION)
        return _ROLES.get(str(operation), Role.OTHER) if operation else None

    def given(self, span: Span) -> object:
        """The prompt of the call."""
        return span.attributes.get(_PROMPT)

    def messages(self, span: Span) -> Sequence[Message] | None:
        """Those of the call, else those in the prompt."""
        sent = messages_in(span.attributes.get(_MESSAGES), Speaker.USER)
        return sent or super().messages(span)

    def question(self, span: Span) -> str | None:
        """The prompt of the call, or its last user message."""
        return question_in(span.attributes.get(_PROMPT))

    def query(self, span: Span) -> str | None:
        """None: a prompt is no query."""

    def answer(self, span: Span) -> str | None:
        """The text of the reply, or the object it is: its JSON is what was asked for."""
        attributes = span.attributes
        return first(
            *(answer_in(attributes.get(name)) for name in _TEXTS),
            *(present(attributes.get(name)) for name in _OBJECTS),
        )

    def documents(self, span: Span) -> tuple[RetrievedDocument, ...] | None:
        """The documents of a reranking in the order of its ranking, which has their places."""
        ranking = span.attributes.get(_RANKING)
        documents = span.attributes.get(_DOCUMENTS)
        if not isinstance(ranking, list) or not isinstance(documents, list):
            return None
        ranked_documents = []
        for entry in map(members, ranking):
            place = whole(entry.get("index"))
            if place is not None and place < len(documents):
                document = _passage(documents[place])
                ranked_documents.append(replace(document, score=real(entry.get("relevanceScore"))))
        return ranked(ranked_documents)

    def call(self, span: Span) -> Call | None:
        """A `doGenerate` or `doStream`."""
        attributes = span.attributes
        user_messages, system = request_of(attributes.get(_MESSAGES))
        streamed = str(attributes.get(_OPERATION)).endswith(".doStream")
        return Call(
            model=first(*(present_name(attributes.get(name)) for name in _MODELS)),
            input_tokens=tokens(attributes, *_INPUT_TOKENS),
            output_tokens=tokens(attributes, *_OUTPUT_TOKENS),
            user_messages=user_messages,
            output=self.answer(span),
            system=system,
            streamed=streamed,
            first_token_ns=_first_chunk_ns(span) if streamed else None,
            response_id=text_of(attributes, _RESPONSE_ID),
        )

    def tool(self, span: Span) -> Tool | None:
        """`ai.toolCall.*`."""
        attributes = span.attributes
        return Tool(
            name=text_of(attributes, _TOOL_NAME) or span.name,
            arguments=unwrapped(attributes.get(_TOOL_ARGUMENTS)),
            result=unwrapped(attributes.get(_TOOL_RESULT)),
        )

    def workflow(self, span: Span) -> str | None:
        """What the application calls the function; without a name it is no workflow."""
        return text_of(span.attributes, _FUNCTION)

    def identity(self, span: Span) -> Identity | None:
        """Metadata (in version 7 the runtime context) under the names that its users agree on."""
        metadata = _metadata(span.attributes)
        tags = metadata.get("tags")
        return Identity(
            session_id=text_of(metadata, *_SESSIONS),
            user_id=text_of(metadata, *_USERS),
            tags=tuple(str(tag) for tag in tags) if isinstance(tags, list) else (),
        )


def _passage(written: object) -> RetrievedDocument:
    """A document: a text, or an object with one."""
    document = structured(written)
    if isinstance(document, Mapping):
        return document_of(document)
    return RetrievedDocument(content=document if isinstance(document, str) else None)


def _first_chunk_ns(span: Span) -> int | None:
    for name in _FIRST_CHUNK_MS:
        waited = real(span.attributes.get(name))
        if waited is not None and 0 <= waited < _DAY_MS:
            return span.start_ns + round(waited * 1e6)
    return None


def _metadata(attributes: Mapping[str, object]) -> dict[str, object]:
    metadata: dict[str, object] = {}
    for prefix in (_CONTEXT_PREFIX, _METADATA_PREFIX):
        metadata |= {k[len(prefix) :]: v for k, v in attributes.items() if k.startswith(prefix)}
    return metadata
