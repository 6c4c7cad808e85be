"""OpenInference (Arize Phoenix)."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar, Final

from rag_monitor import semconv
from rag_monitor.domain.span import Span
from rag_monitor.domain.trace import RetrievedDocument
from rag_monitor.ingest.conventions.base import Call, Convention, Identity, Tool, text_of
from rag_monitor.ingest.conventions.genai import first_token_ns
from rag_monitor.ingest.documents import base_in, document_of, documents_in, indexed, ranked
from rag_monitor.ingest.values import (
    answer_in,
    assistant_text,
    first,
    known,
    members,
    present,
    question_in,
    system_text,
    unwrapped,
    user_text,
    whole,
)

_DOCUMENT: Final = "document."
_MESSAGE: Final = "message."


class OpenInference(Convention):
    """`openinference.span.kind` and its flattened lists."""

    name: ClassVar[str] = "openinference"

    def speaks(self, span: Span) -> bool:
        """The span kind is required."""
        return semconv.OI_SPAN_KIND in span.attributes

    def question(self, span: Span) -> str | None:
        """`input.value`."""
        return question_in(span.attributes.get(semconv.OI_INPUT), lone=not span.parent_span_id)

    def answer(self, span: Span) -> str | None:
        """`output.value`."""
        return answer_in(span.attributes.get(semconv.OI_OUTPUT))

    def query(self, span: Span) -> str | None:
        """`reranker.query`, else `input.value`."""
        return first(
            present(span.attributes.get(semconv.OI_RERANKER_QUERY)),
            question_in(span.attributes.get(semconv.OI_INPUT), lone=True),
        )

    def documents(self, span: Span) -> tuple[RetrievedDocument, ...] | None:
        """The flattened lists; ids that they lack are in `output.value`, matched by position."""
        attributes = span.attributes
        flat = indexed(attributes, semconv.OI_RERANKED_PREFIX) or indexed(
            attributes, semconv.OI_DOCUMENTS_PREFIX
        )
        whole_list = documents_in(attributes.get(semconv.OI_OUTPUT))
        if not flat:
            if whole_list is not None:
                return whole_list
            return documents_in(attributes.get("retrieval.document"))
        found = [_flattened(fields) for fields in flat]
        if whole_list is not None and len(whole_list) == len(found):
            found = [
                replace(own, id=other.id) if other.id and "document.id" not in fields else own
                for fields, own, other in zip(flat, found, whole_list, strict=True)
            ]
        return ranked(found)

    def knowledge_base(self, span: Span) -> str | None:
        """A name in the span's metadata."""
        return base_in(members(span.attributes.get(semconv.OI_METADATA)))

    def call(self, span: Span) -> Call | None:
        """`llm.*`."""
        attributes = span.attributes
        sent = _messages(span, semconv.OI_INPUT_MESSAGES_PREFIX)
        returned = _messages(span, semconv.OI_OUTPUT_MESSAGES_PREFIX)
        events = [e.time_ns for e in span.events if e.name == semconv.OI_FIRST_TOKEN_EVENT]
        first_ns = min(events, default=None) or first_token_ns(span)
        return Call(
            model=first(
                *(
                    known(attributes.get(name))
                    for name in (
                        semconv.OI_RESPONSE_MODEL,
                        semconv.OI_MODEL,
                        semconv.OI_REQUEST_MODEL,
                    )
                )
            ),
            input_tokens=whole(attributes.get(semconv.OI_PROMPT_TOKENS)),
            output_tokens=whole(attributes.get(semconv.OI_COMPLETION_TOKENS)),
            question=user_text(sent),
            output=assistant_text(returned) or self._completion(span, bool(returned)),
            system=system_text(sent),
            streamed=True if first_ns is not None else None,
            first_token_ns=first_ns,
            response_id=text_of(attributes, semconv.GEN_AI_RESPONSE_ID),
        )

    def _completion(self, span: Span, has_messages: bool) -> str | None:
        """`output.value`, unless output messages say that the model only called tools."""
        return None if has_messages else self.answer(span)

    def tool(self, span: Span) -> Tool | None:
        """`tool.name`, input and output."""
        attributes = span.attributes
        return Tool(
            name=text_of(attributes, semconv.OI_TOOL_NAME) or span.name,
            arguments=unwrapped(attributes.get(semconv.OI_INPUT)),
            result=unwrapped(attributes.get(semconv.OI_OUTPUT)),
        )

    def workflow(self, span: Span) -> str | None:
        """A chain has no name but the span's."""
        return span.name or None

    def identity(self, span: Span) -> Identity | None:
        """`session.id`, `user.id`, tags; the project is the app."""
        attributes = span.attributes
        metadata = members(attributes.get(semconv.OI_METADATA))
        tags = attributes.get(semconv.OI_TAGS)
        return Identity(
            app=text_of(span.resource, semconv.OI_PROJECT),
            session_id=text_of(attributes, semconv.SESSION_ID),
            user_id=text_of(attributes, semconv.USER_ID),
            user_fallback=text_of(metadata, "user_id"),
            tags=tuple(str(tag) for tag in tags) if isinstance(tags, list) else (),
        )


def _flattened(fields: dict[str, object]) -> RetrievedDocument:
    plain = {key.removeprefix(_DOCUMENT): value for key, value in fields.items()}
    document = document_of(plain, members(plain.get("metadata")))
    if document.content in semconv.WITHHELD:
        return replace(document, content=None)
    return document


def _messages(span: Span, prefix: str) -> list[dict[str, object]]:
    found: list[dict[str, object]] = []
    for fields in indexed(span.attributes, prefix):
        message = {key.removeprefix(_MESSAGE): value for key, value in fields.items()}
        if "content" not in message:
            parts = indexed(message, "contents.")
            message["content"] = [
                {"type": "text", "content": part.get("message_content.text")} for part in parts
            ]
        found.append(message)
    return found
