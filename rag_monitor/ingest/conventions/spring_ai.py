"""Spring AI's observations: `spring.ai.*`, and `db.vector.*` of its vector stores.

Prompts and completions are in its logs, not on its spans, unless an application adds them; the
model call itself is `gen_ai.*`. Every value is a string.
"""

from __future__ import annotations

from typing import ClassVar, Final

from rag_monitor import semconv
from rag_monitor.domain.span import Span
from rag_monitor.domain.trace import RetrievedDocument
from rag_monitor.ingest.conventions.base import Call, Convention, Identity, Tool, text_of
from rag_monitor.ingest.conventions.old_content import bare_texts
from rag_monitor.ingest.documents import ranked
from rag_monitor.ingest.values import known, present, unwrapped

_NONE: Final = "none"
"""What Micrometer writes where there is no value."""
_NOBODY: Final = "default"
"""The conversation id of an application that sets none."""


class SpringAI(Convention):
    """Vector stores and tools; conversations of the chat client."""

    name: ClassVar[str] = "spring_ai"

    def speaks(self, span: Span) -> bool:
        """All but the model calls say what kind they are."""
        return semconv.SPRING_KIND in span.attributes

    def query(self, span: Span) -> str | None:
        """What the vector store was asked for."""
        asked = present(span.attributes.get(semconv.DB_QUERY_TEXT))
        return None if asked == _NONE else asked

    def documents(self, span: Span) -> tuple[RetrievedDocument, ...] | None:
        """Texts, where the application adds them; ids and scores are not among them."""
        texts = bare_texts(span.attributes.get(semconv.DB_QUERY_DOCUMENTS))
        return ranked(RetrievedDocument(content=text) for text in texts) if texts else None

    def knowledge_base(self, span: Span) -> str | None:
        """The collection."""
        name = known(span.attributes.get(semconv.DB_COLLECTION))
        return None if name == _NONE else name

    def call(self, span: Span) -> Call | None:
        """Nothing of its own; the other attributes are GenAI's."""
        del span
        return None

    def tool(self, span: Span) -> Tool | None:
        """`spring.ai.tool.*`; arguments and result only where the application includes them."""
        attributes = span.attributes
        return Tool(
            name=text_of(attributes, semconv.SPRING_TOOL_NAME) or span.name,
            arguments=unwrapped(attributes.get(semconv.SPRING_TOOL_ARGUMENTS)),
            result=unwrapped(attributes.get(semconv.SPRING_TOOL_RESULT)),
        )

    def identity(self, span: Span) -> Identity | None:
        """The conversation."""
        conversation = text_of(span.attributes, semconv.SPRING_CONVERSATION)
        return Identity(session_id=None if conversation in (_NOBODY, _NONE) else conversation)
