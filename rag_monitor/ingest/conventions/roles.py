"""What a span is: the first rule that fits decides, across all conventions."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Final

from rag_monitor import semconv
from rag_monitor.domain.span import Span
from rag_monitor.ingest.values import structured


class Role(StrEnum):
    """The part a span plays in answering a question."""

    RETRIEVER = "retriever"
    RERANKER = "reranker"
    LLM = "llm"
    TOOL = "tool"
    EMBEDDING = "embedding"
    WORKFLOW = "workflow"
    AGENT = "agent"
    CHAIN = "chain"
    CREATE_AGENT = "create_agent"
    EVALUATOR = "evaluator"
    OTHER = "other"


REQUEST_ROLES: Final = frozenset({Role.WORKFLOW, Role.AGENT, Role.CHAIN, Role.OTHER})
"""Spans whose input may be the question and whose output may be the answer."""

_OPENINFERENCE: Final = {
    "LLM": Role.LLM,
    "CHAIN": Role.CHAIN,
    "RETRIEVER": Role.RETRIEVER,
    "RERANKER": Role.RERANKER,
    "EMBEDDING": Role.EMBEDDING,
    "TOOL": Role.TOOL,
    "AGENT": Role.AGENT,
    "EVALUATOR": Role.EVALUATOR,
}
_LANGFUSE: Final = {
    "generation": Role.LLM,
    "embedding": Role.EMBEDDING,
    "agent": Role.AGENT,
    "tool": Role.TOOL,
    "chain": Role.CHAIN,
    "retriever": Role.RETRIEVER,
    "evaluator": Role.EVALUATOR,
}
_VERCEL: Final = {
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
"""`ai.rerank` has only what its inner span has, and less."""
_MLFLOW: Final = {
    "LLM": Role.LLM,
    "CHAT_MODEL": Role.LLM,
    "CHAIN": Role.CHAIN,
    "AGENT": Role.AGENT,
    "WORKFLOW": Role.WORKFLOW,
    "TOOL": Role.TOOL,
    "RETRIEVER": Role.RETRIEVER,
    "RERANKER": Role.RERANKER,
    "EMBEDDING": Role.EMBEDDING,
    "EVALUATOR": Role.EVALUATOR,
}
_COZE_LOOP: Final = {
    "model": Role.LLM,
    "retriever": Role.RETRIEVER,
    "vector_retriever": Role.RETRIEVER,
    "tool": Role.TOOL,
    "plugin": Role.TOOL,
    "embedding": Role.EMBEDDING,
    "agent": Role.AGENT,
    "graph": Role.WORKFLOW,
    "prompt": Role.OTHER,
}
"""Other types are the application's own, and say nothing."""
_OPERATION: Final = {
    "chat": Role.LLM,
    "generate_content": Role.LLM,
    "text_completion": Role.LLM,
    "completion": Role.LLM,
    "generate": Role.LLM,
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
}
_STRONG_OPERATIONS: Final = frozenset(
    {"vector_db_retrieve", "rerank", "embeddings", "execute_tool"}
)
_RETRIEVER_NAME: Final = re.compile(r"retriever(\.task)?$", re.IGNORECASE)
_RERANKER_NAME: Final = re.compile(r"rerank(er)?(\.task)?$", re.IGNORECASE)
_RESULT_EVENTS: Final = frozenset({semconv.DB_QUERY_RESULT_EVENT, semconv.DB_SEARCH_RESULT_EVENT})
_MODEL_KEYS: Final = (
    semconv.GEN_AI_REQUEST_MODEL,
    semconv.GEN_AI_RESPONSE_MODEL,
    semconv.OI_MODEL,
    semconv.LF_MODEL,
)


def role_of(span: Span) -> Role:
    """The span's role."""
    attributes = span.attributes
    kind = attributes.get(semconv.OI_SPAN_KIND)
    if kind:
        return _OPENINFERENCE.get(str(kind).upper(), Role.OTHER)
    kind = attributes.get(semconv.LF_TYPE)
    if kind:
        return _LANGFUSE.get(str(kind).lower(), Role.OTHER)
    return _by_product(span) or _by_operation(span) or _by_evidence(span)


def _by_product(span: Span) -> Role | None:
    """As products say it that have attributes of their own for it."""
    attributes = span.attributes
    operation = attributes.get(semconv.AI_OPERATION)
    if operation:
        return _VERCEL.get(str(operation), Role.OTHER)
    kind = structured(attributes.get(semconv.MLFLOW_TYPE))
    if kind:
        return _MLFLOW.get(str(kind).upper(), Role.OTHER)
    kind = attributes.get(semconv.COZE_TYPE)
    if kind and str(kind).lower() in _COZE_LOOP:
        return _COZE_LOOP[str(kind).lower()]
    return {
        "tool_call": Role.TOOL,
        "vector_store": Role.RETRIEVER if _queries(span) else Role.OTHER,
    }.get(str(attributes.get(semconv.SPRING_KIND)))


def _by_operation(span: Span) -> Role | None:
    kind = str(span.attributes.get(semconv.TL_SPAN_KIND) or "")
    operation = str(span.attributes.get(semconv.GEN_AI_OPERATION) or "")
    if kind == "workflow" and operation not in _STRONG_OPERATIONS:
        # OpenLLMetry calls every LangChain chain `invoke_agent`.
        return Role.WORKFLOW
    if operation:
        return _OPERATION.get(operation, Role.OTHER)
    return {"tool": Role.TOOL, "agent": Role.AGENT}.get(kind)


def _by_evidence(span: Span) -> Role:
    attributes = span.attributes
    if any(event.name in _RESULT_EVENTS for event in span.events) or _is_vector_query(span):
        return Role.RETRIEVER
    task = attributes.get(semconv.TL_SPAN_KIND) == "task"
    if task:
        name = str(attributes.get(semconv.TL_ENTITY_NAME) or "")
        if _RERANKER_NAME.search(name):
            return Role.RERANKER
        if _RETRIEVER_NAME.search(name):
            return Role.RETRIEVER
    if any(attributes.get(key) for key in _MODEL_KEYS):
        return Role.LLM
    if task and semconv.GEN_AI_OUTPUT_MESSAGES in attributes:
        return Role.LLM
    return Role.OTHER


def _queries(span: Span) -> bool:
    """Whether a database is asked; the second name is the newer one."""
    names = (semconv.DB_OPERATION, semconv.DB_OPERATION_NAME)
    operations = [str(span.attributes.get(name) or "").lower() for name in names]
    return any(o in ("query", "search") or o.endswith((".query", ".search")) for o in operations)


def _is_vector_query(span: Span) -> bool:
    vector = any(
        key.startswith(("db.vector.", "db.chroma.", "db.milvus.", "pinecone.", "qdrant."))
        for key in span.attributes
    )
    return bool(span.attributes.get(semconv.DB_SYSTEM)) and vector and _queries(span)
