"""The parts that spans play; `reading.role_of` says which one a span plays."""

from __future__ import annotations

from enum import StrEnum
from typing import Final


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
    GUARDRAIL = "guardrail"
    PROMPT = "prompt"
    ASIDE = "aside"
    """Something else that is no request: an event, a parser, a routing decision."""
    OTHER = "other"
    """Nobody says what."""


REQUEST_ROLES: Final = frozenset({Role.WORKFLOW, Role.AGENT, Role.CHAIN, Role.OTHER})
"""Spans whose input may be the question and whose output may be the answer."""
NOT_ANSWERING: Final = frozenset(
    {
        Role.RETRIEVER,
        Role.RERANKER,
        Role.EMBEDDING,
        Role.EVALUATOR,
        Role.GUARDRAIL,
        Role.PROMPT,
        Role.ASIDE,
    }
)
"""What runs below one of them helps it, and answers nobody."""
