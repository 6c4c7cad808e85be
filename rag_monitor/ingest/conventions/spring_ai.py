"""Spring AI's observations: `spring.ai.*`, and `db.vector.*` of its vector stores.

Prompts and completions are in its logs, not on its spans, unless an application adds them; the
model call itself is `gen_ai.*`. Every value is a string.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, Final

from rag_monitor.domain.span import Span
from rag_monitor.domain.trace import RetrievedDocument
from rag_monitor.ingest.conventions.base import Call, Convention, Identity, Role, Tool, text_of
from rag_monitor.ingest.conventions.openllmetry import queries_database
from rag_monitor.ingest.conventions.span_messages import bare_texts
from rag_monitor.ingest.documents import ranked
from rag_monitor.ingest.passages import documents_in
from rag_monitor.ingest.values import present, present_name, unwrapped

_KIND: Final = "spring.ai.kind"
_CONVERSATION: Final = "spring.ai.chat.client.conversation.id"
_TOOL_NAME: Final = "spring.ai.tool.definition.name"
_TOOL_ARGUMENTS: Final = "spring.ai.tool.call.arguments"
_TOOL_RESULT: Final = "spring.ai.tool.call.result"
_QUERY_TEXT: Final = "db.vector.query.content"
_QUERY_DOCUMENTS: Final = "db.vector.query.response.documents"
_RESPONSE_EVENT: Final = "db.vector.content.query.response"
_COLLECTION: Final = "db.collection.name"
_NONE: Final = "none"
"""What Micrometer writes where there is no value."""
_NOBODY: Final = "default"
"""The conversation id of an application that sets none."""


class SpringAI(Convention):
    """Vector stores and tools; conversations of the chat client."""

    name: ClassVar[str] = "spring_ai"
    marks: ClassVar[frozenset[str]] = frozenset({_KIND})

    def role(self, span: Span) -> Role | None:
        """A tool, or a vector store that is asked; the other kinds are GenAI's."""
        kind = span.attributes.get(_KIND)
        if kind == "vector_store":
            return Role.RETRIEVER if queries_database(span) else Role.OTHER
        return Role.TOOL if kind == "tool_call" else None

    def query(self, span: Span) -> str | None:
        """What the vector store was asked for."""
        query = present(span.attributes.get(_QUERY_TEXT))
        return None if query == _NONE else query

    def documents(self, span: Span) -> tuple[RetrievedDocument, ...] | None:
        """What the application adds, or an event of an older release has: texts, or objects."""
        for written in _responses(span):
            texts = bare_texts(written)
            if texts:
                return ranked(RetrievedDocument(content=text) for text in texts)
            documents = documents_in(written)
            if documents is not None:
                return documents
        return None

    def knowledge_base(self, span: Span) -> str | None:
        """The collection."""
        name = present_name(span.attributes.get(_COLLECTION))
        return None if name == _NONE else name

    def call(self, span: Span) -> Call | None:
        """Nothing of its own; the other attributes are GenAI's."""
        del span
        return None

    def tool(self, span: Span) -> Tool | None:
        """`spring.ai.tool.*`; arguments and result only where the application includes them."""
        attributes = span.attributes
        return Tool(
            name=text_of(attributes, _TOOL_NAME) or span.name,
            arguments=unwrapped(attributes.get(_TOOL_ARGUMENTS)),
            result=unwrapped(attributes.get(_TOOL_RESULT)),
        )

    def identity(self, span: Span) -> Identity | None:
        """The conversation."""
        conversation = text_of(span.attributes, _CONVERSATION)
        return Identity(session_id=None if conversation in (_NOBODY, _NONE) else conversation)


def _responses(span: Span) -> Iterator[object]:
    """What a vector store answered, wherever it stands."""
    if _QUERY_DOCUMENTS in span.attributes:
        yield span.attributes[_QUERY_DOCUMENTS]
    for event in span.events:
        if _QUERY_DOCUMENTS in event.attributes:
            yield event.attributes[_QUERY_DOCUMENTS]
        elif event.name == _RESPONSE_EVENT:
            yield event.attributes.get(_QUERY_TEXT)
