"""What every wire convention can be asked about one span."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from rag_monitor.domain.span import Span
from rag_monitor.domain.trace import RetrievedDocument


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One call of a language model."""

    model: str | None = None
    input_tokens: int | None = None
    """Cached tokens included."""
    output_tokens: int | None = None
    question: str | None = None
    """The last user message."""
    output: str | None = None
    system: str | None = None
    context: str | None = None
    """The undivided context text, where it is sent as a prompt variable."""
    streamed: bool | None = None
    first_token_ns: int | None = None
    response_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """One call of a tool."""

    name: str
    arguments: object = None
    result: object = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """Who and where, as far as one span says it."""

    app: str | None = None
    environment: str | None = None
    release: str | None = None
    session_id: str | None = None
    user_id: str | None = None
    user_fallback: str | None = None
    """A user id found in free metadata, not in the attribute meant for it."""
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """Why a step failed."""

    type: str | None = None
    message: str | None = None


class Convention:
    """A way of naming things on spans. Every answer may be None: not said here."""

    name: ClassVar[str] = ""

    def speaks(self, span: Span) -> bool:
        """Whether the span carries attributes of this convention."""
        del span
        return False

    def question(self, span: Span) -> str | None:
        """The user's question in the input of a request, chain or agent."""

    def answer(self, span: Span) -> str | None:
        """The answer in the output of a request, chain or agent."""

    def query(self, span: Span) -> str | None:
        """What a retriever or reranker was asked."""

    def documents(self, span: Span) -> tuple[RetrievedDocument, ...] | None:
        """What a retriever or reranker returned; empty: nothing found; None: not sent."""

    def knowledge_base(self, span: Span) -> str | None:
        """Which knowledge base a retriever searched."""

    def call(self, span: Span) -> Call | None:
        """The facts of a model call."""

    def tool(self, span: Span) -> Tool | None:
        """The facts of a tool call."""

    def workflow(self, span: Span) -> str | None:
        """The name of the workflow the span runs."""

    def identity(self, span: Span) -> Identity | None:
        """Session, user, tags."""

    def failure(self, span: Span) -> Failure | None:
        """An error this convention marks in its own way, beside the span status."""


def text_of(attributes: Mapping[str, object], *names: str) -> str | None:
    """The first of the attributes that is a non-empty string (numbers are spelled out)."""
    for name in names:
        value = attributes.get(name)
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
        if isinstance(value, str) and value.strip():
            return value
    return None
