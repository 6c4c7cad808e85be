"""The Vercel AI SDK, versions 3.3 to 6, and 7 with its older telemetry.

Its calls come in pairs, `ai.streamText` around `ai.streamText.doStream`: the outer one has what the
application asked, the inner one is the model call. Version 7 writes `gen_ai.*` instead.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar, Final

from rag_monitor import semconv
from rag_monitor.domain.span import Span
from rag_monitor.domain.trace import RetrievedDocument
from rag_monitor.ingest.conventions.base import Call, Convention, Identity, Tool, text_of
from rag_monitor.ingest.conventions.genai import tokens
from rag_monitor.ingest.documents import document_of, ranked
from rag_monitor.ingest.values import (
    answer_in,
    first,
    known,
    members,
    question_in,
    real,
    structured,
    system_text,
    unwrapped,
    user_text,
    whole,
)

_DAY_MS: Final = 86_400_000
_SESSIONS: Final = ("sessionId", "session_id", "session.id")
_USERS: Final = ("userId", "user_id", "user.id")


class VercelAI(Convention):
    """`ai.*` attributes, told by `ai.operationId`."""

    name: ClassVar[str] = "vercel_ai"

    def speaks(self, span: Span) -> bool:
        """Every span of the SDK names its operation."""
        return semconv.AI_OPERATION in span.attributes

    def question(self, span: Span) -> str | None:
        """The prompt of the call, or its last user message."""
        return question_in(span.attributes.get(semconv.AI_PROMPT))

    def answer(self, span: Span) -> str | None:
        """The text of the reply, or the object it is."""
        return first(*(answer_in(span.attributes.get(name)) for name in semconv.AI_TEXTS))

    def documents(self, span: Span) -> tuple[RetrievedDocument, ...] | None:
        """The documents of a reranking in the order of its ranking, which has their places."""
        ranking = span.attributes.get(semconv.AI_RANKING)
        documents = span.attributes.get(semconv.AI_DOCUMENTS)
        if not isinstance(ranking, list) or not isinstance(documents, list):
            return None
        found = []
        for entry in map(members, ranking):
            place = whole(entry.get("index"))
            if place is not None and place < len(documents):
                document = _passage(documents[place])
                found.append(replace(document, score=real(entry.get("relevanceScore"))))
        return ranked(found)

    def call(self, span: Span) -> Call | None:
        """A `doGenerate` or `doStream`."""
        attributes = span.attributes
        sent = attributes.get(semconv.AI_MESSAGES)
        streamed = str(attributes.get(semconv.AI_OPERATION)).endswith(".doStream")
        return Call(
            model=first(*(known(attributes.get(name)) for name in semconv.AI_MODELS)),
            input_tokens=tokens(attributes, *semconv.AI_INPUT_TOKENS),
            output_tokens=tokens(attributes, *semconv.AI_OUTPUT_TOKENS),
            question=user_text(sent),
            output=self.answer(span),
            system=system_text(sent),
            streamed=streamed,
            first_token_ns=_first_chunk_ns(span) if streamed else None,
            response_id=text_of(attributes, semconv.AI_RESPONSE_ID),
        )

    def tool(self, span: Span) -> Tool | None:
        """`ai.toolCall.*`."""
        attributes = span.attributes
        return Tool(
            name=text_of(attributes, semconv.AI_TOOL_NAME) or span.name,
            arguments=unwrapped(attributes.get(semconv.AI_TOOL_ARGUMENTS)),
            result=unwrapped(attributes.get(semconv.AI_TOOL_RESULT)),
        )

    def workflow(self, span: Span) -> str | None:
        """What the application calls the function; without a name it is no workflow."""
        return text_of(span.attributes, semconv.AI_FUNCTION)

    def identity(self, span: Span) -> Identity | None:
        """Metadata (in version 7 the runtime context) under the names that its users agree on."""
        found = _metadata(span.attributes)
        tags = found.get("tags")
        return Identity(
            session_id=text_of(found, *_SESSIONS),
            user_id=text_of(found, *_USERS),
            tags=tuple(str(tag) for tag in tags) if isinstance(tags, list) else (),
        )


def _passage(written: object) -> RetrievedDocument:
    """A document: a text, or an object with one."""
    document = structured(written)
    if isinstance(document, Mapping):
        return document_of(document, members(document.get("metadata")))
    return RetrievedDocument(content=document if isinstance(document, str) else None)


def _first_chunk_ns(span: Span) -> int | None:
    for name in semconv.AI_FIRST_CHUNK_MS:
        waited = real(span.attributes.get(name))
        if waited is not None and 0 <= waited < _DAY_MS:
            return span.start_ns + round(waited * 1e6)
    return None


def _metadata(attributes: Mapping[str, object]) -> dict[str, object]:
    found: dict[str, object] = {}
    for prefix in (semconv.AI_CONTEXT_PREFIX, semconv.AI_METADATA_PREFIX):
        found |= {k[len(prefix) :]: v for k, v in attributes.items() if k.startswith(prefix)}
    return found
