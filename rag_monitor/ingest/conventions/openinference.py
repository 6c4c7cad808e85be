"""OpenInference (Arize Phoenix)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import ClassVar, Final

from rag_monitor import semconv
from rag_monitor.domain.span import Span
from rag_monitor.domain.trace import RetrievedDocument
from rag_monitor.ingest.content import question_in, reply_of, request_of
from rag_monitor.ingest.conventions.base import Call, Convention, Identity, Role, Tool, text_of
from rag_monitor.ingest.conventions.genai import first_token_ns
from rag_monitor.ingest.documents import indexed, ranked
from rag_monitor.ingest.messages import (
    Message,
    Speaker,
    instructed_in,
    messages_in,
    reply_in,
    user_messages_in,
)
from rag_monitor.ingest.passages import Place, base_in, documents_in, ranking_in
from rag_monitor.ingest.values import (
    first,
    members,
    present,
    present_name,
    structured,
    unwrapped,
    whole,
)

_DOCUMENT: Final = "document"
_MESSAGE: Final = "message."
_PART: Final = "message_content."
_TEMPLATE: Final = re.compile(r"\{\w+\}")

_ROLES: Final = {
    "LLM": Role.LLM,
    "CHAIN": Role.CHAIN,
    "RETRIEVER": Role.RETRIEVER,
    "RERANKER": Role.RERANKER,
    "EMBEDDING": Role.EMBEDDING,
    "TOOL": Role.TOOL,
    "AGENT": Role.AGENT,
    "EVALUATOR": Role.EVALUATOR,
    "GUARDRAIL": Role.GUARDRAIL,
    "PROMPT": Role.PROMPT,
    "DECISION": Role.ASIDE,
}
"""LoongSuite uses the same words."""
_PREPARES: Final = "._prepare_"
"""In names of methods: LlamaIndex marks all of a model, also what only puts a request together."""


class OpenInference(Convention):
    """`openinference.span.kind` and its flattened lists."""

    name: ClassVar[str] = "openinference"
    namespaces: ClassVar[frozenset[str]] = frozenset({"retrieval", "reranker"})
    marks: ClassVar[frozenset[str]] = frozenset({semconv.OI_SPAN_KIND, semconv.GEN_AI_SPAN_KIND})

    def role(self, span: Span) -> Role | None:
        """The span's kind, or LoongSuite's."""
        kind = span.attributes.get(semconv.OI_SPAN_KIND)
        if not kind:
            kind = span.attributes.get(semconv.GEN_AI_SPAN_KIND)
            return _ROLES.get(str(kind).upper()) if kind else None
        role = _ROLES.get(str(kind).upper(), Role.OTHER)
        return Role.ASIDE if role is Role.LLM and _PREPARES in span.name else role

    def likely_role(self, span: Span) -> Role | None:
        """A step that holds passages and answers nothing has looked for them."""
        held = any(key.startswith(semconv.OI_DOCUMENT) for key in span.attributes)
        steps = held and span.parent_span_id is not None and self.answer(span) is None
        return Role.RETRIEVER if steps else None

    def given(self, span: Span) -> object:
        """`input.value`."""
        return span.attributes.get(semconv.OI_INPUT)

    def returned(self, span: Span) -> object:
        """`output.value`."""
        return span.attributes.get(semconv.OI_OUTPUT)

    def messages(self, span: Span) -> Sequence[Message] | None:
        """Those of the model call, else those in `input.value`."""
        sent = _messages(span, semconv.OI_INPUT_MESSAGES, Speaker.USER)
        return sent or super().messages(span)

    def question(self, span: Span) -> str | None:
        """`input.value`; a crew that is given nothing is asked what its last task says."""
        question = question_in(self.given(span), lone=not span.parent_span_id)
        return question or _task(span.attributes.get(semconv.OI_CREW_TASKS))

    def query(self, span: Span) -> str | None:
        """`reranker.query`, else `input.value`."""
        return first(
            present(span.attributes.get(semconv.OI_RERANKER_QUERY)),
            question_in(self.given(span), lone=True),
        )

    def documents(self, span: Span) -> tuple[RetrievedDocument, ...] | None:
        """The lists of passages; ids that they lack are in `output.value`, matched by position."""
        attributes = span.attributes
        items = _items(attributes, semconv.OI_RERANKED) or _items(attributes, semconv.OI_DOCUMENTS)
        listed, whole_list = documents_in(items), documents_in(self.returned(span))
        if not listed:
            return whole_list or _single(attributes) or (whole_list if listed is None else listed)
        if whole_list is not None and isinstance(items, list) and len(whole_list) == len(items):
            listed = ranked(
                replace(own, id=other.id) if other.id and _lacks_id(item) else own
                for item, own, other in zip(items, listed, whole_list, strict=True)
            )
        return listed

    def candidates(self, span: Span) -> tuple[RetrievedDocument, ...] | None:
        """`reranker.input_documents`, else in `input.value`."""
        listed = documents_in(_items(span.attributes, semconv.OI_RERANKER_INPUT))
        return documents_in(self.given(span)) if listed is None else listed

    def ranking(self, span: Span) -> tuple[Place, ...] | None:
        """Of the reranked list, else of `output.value`."""
        places = ranking_in(_items(span.attributes, semconv.OI_RERANKED))
        return ranking_in(self.returned(span)) if places is None else places

    def knowledge_base(self, span: Span) -> str | None:
        """A name in the span's metadata."""
        return base_in(members(span.attributes.get(semconv.OI_METADATA)))

    def call(self, span: Span) -> Call | None:
        """`llm.*`."""
        attributes = span.attributes
        sent = _messages(span, semconv.OI_INPUT_MESSAGES, Speaker.USER)
        returned = _messages(span, semconv.OI_OUTPUT_MESSAGES, Speaker.ASSISTANT)
        events = [e.time_ns for e in span.events if e.name == semconv.OI_FIRST_TOKEN_EVENT]
        first_ns = min(events, default=None) or first_token_ns(span)
        return Call(
            model=first(
                *(
                    present_name(attributes.get(name))
                    for name in (
                        semconv.OI_RESPONSE_MODEL,
                        semconv.OI_MODEL,
                        semconv.OI_REQUEST_MODEL,
                    )
                )
            ),
            input_tokens=whole(attributes.get(semconv.OI_PROMPT_TOKENS)),
            output_tokens=whole(attributes.get(semconv.OI_COMPLETION_TOKENS)),
            user_messages=user_messages_in(sent) or request_of(self.given(span))[0],
            output=_reply(returned, self.returned(span)),
            system=instructed_in(sent),
            streamed=True if first_ns is not None else None,
            first_token_ns=first_ns,
            response_id=text_of(attributes, semconv.GEN_AI_RESPONSE_ID),
        )

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


def _items(attributes: Mapping[str, object], prefix: str) -> object:
    """A list of passages: flattened into indexed attributes, one JSON text each, or all in one."""
    flat = indexed(attributes, f"{prefix}.")
    if flat:
        return [fields.get("") or fields.get(_DOCUMENT) or fields for fields in flat]
    return structured(attributes.get(prefix))


def _single(attributes: Mapping[str, object]) -> tuple[RetrievedDocument, ...] | None:
    """What stands under the name for a single passage: it, its fields, or a list after all."""
    prefix = f"{semconv.OI_DOCUMENT}."
    fields = {k.removeprefix(prefix): v for k, v in attributes.items() if k.startswith(prefix)}
    written = structured(attributes.get(semconv.OI_DOCUMENT)) or fields
    return documents_in([written] if written and isinstance(written, Mapping) else written)


def _lacks_id(item: object) -> bool:
    """Whether a flattened passage was sent without an id, as LangChain's are."""
    return (
        isinstance(item, Mapping)
        and f"{_DOCUMENT}.content" in item
        and (f"{_DOCUMENT}.id" not in item)
    )


def _messages(span: Span, prefix: str, speaker: Speaker) -> list[Message]:
    """Messages flattened into indexed attributes."""
    items: list[object] = []
    for fields in indexed(span.attributes, f"{prefix}."):
        plain = fields.get("") or fields.get(_MESSAGE.rstrip("."))
        items.append(plain if plain else _unflattened(fields))
    return messages_in(items or span.attributes.get(prefix), speaker)


def _unflattened(fields: Mapping[str, object]) -> dict[str, object]:
    message = {key.removeprefix(_MESSAGE): value for key, value in fields.items()}
    parts = [
        {key.removeprefix(_PART): value for key, value in part.items()}
        for part in indexed(message, "contents.")
    ]
    if parts and not message.get("content"):
        message["content"] = parts
    if any(key.startswith("tool_calls.") for key in message):
        message["tool_calls"] = True
    return {"content": None, **message}


def _task(value: object) -> str | None:
    """The description of the last task of a crew, unless it is a template yet to be filled."""
    tasks = structured(value)
    last = members(tasks[-1]) if isinstance(tasks, list) and tasks else {}
    question = question_in(last.get("description"))
    return None if question is None or _TEMPLATE.search(question) else question


def _reply(returned: Sequence[Message], raw: object) -> str | None:
    """The answer among the messages; a refusal stands in the raw reply alone."""
    if not returned:
        return reply_of(raw)
    return reply_in(returned) or reply_in(messages_in(raw, Speaker.ASSISTANT))
