"""OpenLLMetry (Traceloop), and the events of its vector-database instrumentations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar, Final

from rag_monitor import semconv
from rag_monitor.domain.span import Span
from rag_monitor.domain.trace import RetrievedDocument
from rag_monitor.ingest.conventions.base import Call, Convention, Identity, Tool, text_of
from rag_monitor.ingest.conventions.genai import GenAI
from rag_monitor.ingest.documents import base_in, document_of, documents_in, ranked
from rag_monitor.ingest.values import (
    answer_in,
    first,
    known,
    members,
    question_in,
    real,
    unwrapped,
    user_text,
)

_EVENT_PREFIX: Final = {
    semconv.DB_QUERY_RESULT_EVENT: "db.query.result.",
    semconv.DB_SEARCH_RESULT_EVENT: "db.search.result.",
}
_COLLECTION_SUFFIXES: Final = ("collection_name", "collection.name", "index_name", "index.name")
_SESSION_KEYS: Final = ("session_id", "thread_id", "conversation_id")


class OpenLLMetry(Convention):
    """`traceloop.*` beside `gen_ai.*`, and `db.*` of vector databases."""

    name: ClassVar[str] = "openllmetry"

    def __init__(self) -> None:
        self._genai = GenAI()

    def speaks(self, span: Span) -> bool:
        """Any `traceloop.*` attribute, or a vector database's."""
        return any(key.startswith((semconv.TL_PREFIX, "db.")) for key in span.attributes)

    def question(self, span: Span) -> str | None:
        """`traceloop.entity.input`."""
        return first(
            question_in(span.attributes.get(semconv.TL_ENTITY_INPUT)), self._genai.question(span)
        )

    def answer(self, span: Span) -> str | None:
        """`traceloop.entity.output`."""
        value = unframed(span.attributes.get(semconv.TL_ENTITY_OUTPUT))
        return first(answer_in(value), self._genai.answer(span))

    def query(self, span: Span) -> str | None:
        """The query in the input; rerank spans carry it as a message."""
        return first(
            user_text(span.attributes.get(semconv.GEN_AI_INPUT_MESSAGES)),
            question_in(span.attributes.get(semconv.TL_ENTITY_INPUT)),
            known(span.attributes.get(semconv.GEN_AI_QUERY_TEXT)),
        )

    def documents(self, span: Span) -> tuple[RetrievedDocument, ...] | None:
        """The output, else one event per hit, in rank order."""
        found = documents_in(span.attributes.get(semconv.TL_ENTITY_OUTPUT))
        if found is not None:
            return found
        events = [event for event in span.events if event.name in _EVENT_PREFIX]
        if not events:
            return () if span.attributes.get("db.vector.query.result_count") == 0 else None
        return ranked(_hit(event.attributes, _EVENT_PREFIX[event.name]) for event in events)

    def knowledge_base(self, span: Span) -> str | None:
        """The collection of a vector database, or a name among the association properties."""
        for key, value in span.attributes.items():
            if key.startswith("db.") and key.endswith(_COLLECTION_SUFFIXES):
                return known(value)
        return base_in(associations(span))

    def call(self, span: Span) -> Call | None:
        """As GenAI; the model may only be among the association properties."""
        call = self._genai.call(span)
        if call is None:
            return None
        streaming = span.attributes.get(semconv.GEN_AI_IS_STREAMING)
        streamed: bool | None = streaming if isinstance(streaming, bool) else None
        if call.first_token_ns is not None:
            streamed = True
        model = call.model or known(associations(span).get("ls_model_name"))
        output = call.output or answer_in(unframed(span.attributes.get(semconv.TL_ENTITY_OUTPUT)))
        return replace(call, model=model, streamed=streamed, output=output)

    def tool(self, span: Span) -> Tool | None:
        """Arguments and result come wrapped in LangChain's run input and output."""
        attributes = span.attributes
        arguments = attributes.get(semconv.GEN_AI_TOOL_ARGUMENTS)
        result = attributes.get(semconv.GEN_AI_TOOL_RESULT)
        return Tool(
            name=text_of(attributes, semconv.GEN_AI_TOOL_NAME, semconv.TL_ENTITY_NAME) or span.name,
            arguments=unwrapped(arguments or attributes.get(semconv.TL_ENTITY_INPUT)),
            result=unwrapped(result or attributes.get(semconv.TL_ENTITY_OUTPUT)),
        )

    def workflow(self, span: Span) -> str | None:
        """The entity's name."""
        name = text_of(span.attributes, semconv.TL_ENTITY_NAME, semconv.TL_WORKFLOW_NAME)
        return None if name is None else name.removesuffix(".workflow")

    def identity(self, span: Span) -> Identity | None:
        """Association properties."""
        found = associations(span)
        return Identity(
            session_id=text_of(span.attributes, semconv.GEN_AI_CONVERSATION_ID)
            or text_of(found, *_SESSION_KEYS),
            user_id=text_of(found, "user_id") or text_of(span.attributes, semconv.GEN_AI_USER),
        )


def associations(span: Span) -> dict[str, object]:
    """`traceloop.association.properties.*` without the prefix."""
    prefix = semconv.TL_ASSOCIATION_PREFIX
    return {k[len(prefix) :]: v for k, v in span.attributes.items() if k.startswith(prefix)}


def unframed(value: object) -> object:
    """`outputs` of a LangChain run output; other values as they are."""
    found = members(value)
    return found.get("outputs", value)


def _hit(attributes: Mapping[str, object], prefix: str) -> RetrievedDocument:
    fields = {k.removeprefix(prefix): v for k, v in attributes.items()}
    fields["distance"] = real(fields.get("distance"))
    return document_of(fields, members(fields.get("metadata")))
