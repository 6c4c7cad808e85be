"""OpenLLMetry (Traceloop), and the events of its vector-database instrumentations."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import ClassVar, Final

from rag_monitor import semconv
from rag_monitor.domain.span import Span
from rag_monitor.domain.trace import RetrievedDocument
from rag_monitor.ingest.content import answer_in, question_in, reply_of
from rag_monitor.ingest.conventions.base import Call, Convention, Identity, Role, Tool, text_of
from rag_monitor.ingest.conventions.genai import GenAI
from rag_monitor.ingest.documents import ranked
from rag_monitor.ingest.passages import base_in, document_of, documents_in
from rag_monitor.ingest.values import first, members, present, present_name, unwrapped

_SPAN_KIND: Final = "traceloop.span.kind"
_ENTITY_NAME: Final = "traceloop.entity.name"
_ENTITY_INPUT: Final = "traceloop.entity.input"
_TOOL_ARGUMENTS: Final = "tool.arguments"
_CREW_TASK: Final = "crewai.task.description"
_ENTITY_OUTPUT: Final = "traceloop.entity.output"
_WORKFLOW_NAME: Final = "traceloop.workflow.name"
_ASSOCIATION_PREFIX: Final = "traceloop.association.properties."
_DB_SYSTEM: Final = "db.system"
_DB_OPERATION: Final = "db.operation"
_DB_QUERY_RESULT_EVENT: Final = "db.query.result"
_DB_SEARCH_RESULT_EVENT: Final = "db.search.result"
_DB_OPERATION_NAME: Final = "db.operation.name"
_EVENT_PREFIX: Final = {
    _DB_QUERY_RESULT_EVENT: "db.query.result.",
    _DB_SEARCH_RESULT_EVENT: "db.search.result.",
}
_COLLECTION_SUFFIXES: Final = ("collection_name", "collection.name", "index_name", "index.name")
_SESSION_KEYS: Final = ("session_id", "thread_id", "conversation_id")

_STRONG_OPERATIONS: Final = frozenset(
    {"vector_db_retrieve", "rerank", "embeddings", "execute_tool"}
)
"""What is believed of a span that is called a workflow. Others are not: every chain of LangChain is
said to be `invoke_agent`."""
_RETRIEVER_NAME: Final = re.compile(r"retriever(\.task)?$", re.IGNORECASE)
_RERANKER_NAME: Final = re.compile(r"rerank(er)?(\.task)?$", re.IGNORECASE)
_VECTOR_STORES: Final = ("db.vector.", "db.chroma.", "db.milvus.", "pinecone.", "qdrant.")
"""What names of attributes begin with that only vector stores have."""


class OpenLLMetry(Convention):
    """`traceloop.*` beside `gen_ai.*`, and `db.*` of vector databases."""

    name: ClassVar[str] = "openllmetry"
    namespaces: ClassVar[frozenset[str]] = frozenset({"traceloop", "db"})

    def __init__(self) -> None:
        self._genai = GenAI()

    def role(self, span: Span) -> Role | None:
        """A workflow; a tool or an agent where no operation is named."""
        kind = str(span.attributes.get(_SPAN_KIND) or "")
        operation = str(span.attributes.get(semconv.GEN_AI_OPERATION) or "")
        if kind == "workflow" and operation not in _STRONG_OPERATIONS:
            return Role.WORKFLOW
        return None if operation else {"tool": Role.TOOL, "agent": Role.AGENT}.get(kind)

    def likely_role(self, span: Span) -> Role | None:
        """A vector store that is asked, or a task by the name of its class."""
        if any(event.name in _EVENT_PREFIX for event in span.events) or _is_vector_query(span):
            return Role.RETRIEVER
        if span.attributes.get(_SPAN_KIND) != "task":
            return None
        spoke = semconv.GEN_AI_OUTPUT_MESSAGES in span.attributes
        return _role_of_task(span) or (Role.LLM if spoke else None)

    def given(self, span: Span) -> object:
        """`traceloop.entity.input`."""
        return span.attributes.get(_ENTITY_INPUT)

    def returned(self, span: Span) -> object:
        """`traceloop.entity.output`."""
        return span.attributes.get(_ENTITY_OUTPUT)

    def question(self, span: Span) -> str | None:
        """`traceloop.entity.input`, or what a crew was told to do."""
        return self._question(span, self._genai.question)

    def agents_question(self, span: Span) -> str | None:
        """The same; a message to an agent is taken as it is."""
        return self._question(span, self._genai.agents_question)

    def _question(self, span: Span, question: Callable[[Span], str | None]) -> str | None:
        return first(
            question_in(span.attributes.get(_ENTITY_INPUT)),
            question(span),
            present(span.attributes.get(_CREW_TASK)),
        )

    def answer(self, span: Span) -> str | None:
        """`traceloop.entity.output`."""
        value = unframed(span.attributes.get(_ENTITY_OUTPUT))
        return first(answer_in(value), self._genai.answer(span))

    def query(self, span: Span) -> str | None:
        """The query in the input; rerank spans carry it as a message."""
        return first(
            present(self._genai.given(span)),
            question_in(span.attributes.get(_ENTITY_INPUT)),
            present_name(span.attributes.get(semconv.GEN_AI_QUERY_TEXT)),
        )

    def documents(self, span: Span) -> tuple[RetrievedDocument, ...] | None:
        """The output, else one event per hit, in rank order."""
        documents = documents_in(self.returned(span))
        if documents is not None:
            return documents
        events = [event for event in span.events if event.name in _EVENT_PREFIX]
        if not events:
            return () if span.attributes.get("db.vector.query.result_count") == 0 else None
        return ranked(_hit(event.attributes, _EVENT_PREFIX[event.name]) for event in events)

    def knowledge_base(self, span: Span) -> str | None:
        """The collection of a vector database, or a name among the association properties."""
        for key, value in span.attributes.items():
            if key.startswith("db.") and key.endswith(_COLLECTION_SUFFIXES):
                return present_name(value)
        return base_in(associations(span))

    def call(self, span: Span) -> Call | None:
        """As GenAI; the model may only be among the association properties."""
        call = self._genai.call(span)
        if call is None:
            return None
        streamed = True if call.first_token_ns is not None else call.streamed
        model = call.model or present_name(associations(span).get("ls_model_name"))
        output = call.output or reply_of(unframed(self.returned(span)))
        return replace(call, model=model, streamed=streamed, output=output)

    def tool(self, span: Span) -> Tool | None:
        """Arguments and result come wrapped in LangChain's run input and output."""
        attributes = span.attributes
        arguments = attributes.get(semconv.GEN_AI_TOOL_ARGUMENTS)
        result = attributes.get(semconv.GEN_AI_TOOL_RESULT)
        return Tool(
            name=text_of(
                attributes,
                semconv.GEN_AI_TOOL_NAME,
                semconv.OI_TOOL_NAME,
                _ENTITY_NAME,
            )
            or span.name,
            arguments=unwrapped(
                arguments or attributes.get(_TOOL_ARGUMENTS) or attributes.get(_ENTITY_INPUT)
            ),
            result=unwrapped(result or attributes.get(_ENTITY_OUTPUT)),
        )

    def workflow(self, span: Span) -> str | None:
        """The entity's name."""
        name = text_of(span.attributes, _ENTITY_NAME, _WORKFLOW_NAME)
        return None if name is None else name.removesuffix(".workflow")

    def identity(self, span: Span) -> Identity | None:
        """Association properties."""
        properties = associations(span)
        return Identity(
            session_id=text_of(span.attributes, semconv.GEN_AI_CONVERSATION_ID)
            or text_of(properties, *_SESSION_KEYS),
            user_id=text_of(properties, "user_id") or text_of(span.attributes, semconv.GEN_AI_USER),
        )


def associations(span: Span) -> dict[str, object]:
    """`traceloop.association.properties.*` without the prefix."""
    prefix = _ASSOCIATION_PREFIX
    return {k[len(prefix) :]: v for k, v in span.attributes.items() if k.startswith(prefix)}


def unframed(value: object) -> object:
    """`outputs` of a LangChain run output; other values as they are."""
    fields = members(value)
    return fields.get("outputs", value)


def _hit(attributes: Mapping[str, object], prefix: str) -> RetrievedDocument:
    return document_of({k.removeprefix(prefix): v for k, v in attributes.items()})


def _role_of_task(span: Span) -> Role | None:
    """OpenLLMetry calls most steps of LlamaIndex and LangChain tasks, by the names of classes."""
    attributes = span.attributes
    if attributes.get(semconv.OI_TOOL_NAME):
        return Role.TOOL
    name = str(attributes.get(_ENTITY_NAME) or "")
    if _RERANKER_NAME.search(name):
        return Role.RERANKER
    if _RETRIEVER_NAME.search(name):
        return Role.RETRIEVER
    given = str(attributes.get(_ENTITY_INPUT) or "")
    output = str(attributes.get(_ENTITY_OUTPUT) or "").lstrip()
    if 'query_bundle"' not in given or not output.startswith("["):
        return None
    return Role.RERANKER if '"nodes"' in given else Role.RETRIEVER


def queries_database(span: Span) -> bool:
    """Whether a database is asked; the second name is the newer one."""
    names = (_DB_OPERATION, _DB_OPERATION_NAME)
    operations = [str(span.attributes.get(name) or "").lower() for name in names]
    return any(o in ("query", "search") or o.endswith((".query", ".search")) for o in operations)


def _is_vector_query(span: Span) -> bool:
    vector = any(key.startswith(_VECTOR_STORES) for key in span.attributes)
    return bool(span.attributes.get(_DB_SYSTEM)) and vector and queries_database(span)
