"""What every wire convention can be asked about one span, and the parts that spans play."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar, Final

from rag_monitor.domain.span import Span
from rag_monitor.domain.trace import RetrievedDocument
from rag_monitor.ingest.content import answer_in, question_in
from rag_monitor.ingest.messages import Message, Speaker, messages_in
from rag_monitor.ingest.passages import Place, documents_in, ranking_in
from rag_monitor.ingest.values import is_nothing


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One call of a language model."""

    model: str | None = None
    input_tokens: int | None = None
    """Cached tokens included."""
    output_tokens: int | None = None
    user_messages: tuple[str, ...] = ()
    """What the user said, in order."""
    output: str | None = None
    system: str | None = None
    context: str | None = None
    """The undivided context text, where it is sent as a prompt variable."""
    streamed: bool | None = None
    first_token_ns: int | None = None
    response_id: str | None = None

    @property
    def question(self) -> str | None:
        """The last user message."""
        return self.user_messages[-1] if self.user_messages else None


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
    """A way of naming things on spans. Every answer may be None: not said here.

    A convention of one product is a class like this, in a file of its own:

        >>> class Acme(Convention):
        ...     name = "acme"
        ...     namespaces = frozenset({"acme"})
        ...
        ...     def query(self, span):
        ...         return text_of(span.attributes, "acme.query")
        >>> span = Span(trace_id="7" * 32, span_id="1" * 16, parent_span_id=None, name="search",
        ...             start_ns=1, end_ns=2, attributes={"acme.query": "warranty"})
        >>> Acme().speaks(span, {"acme"}), Acme().query(span), Acme().answer(span)
        (True, 'warranty', None)
    """

    name: ClassVar[str] = ""
    namespaces: ClassVar[frozenset[str]] = frozenset()
    """What stands before the first dot in names of attributes that only this convention has."""
    marks: ClassVar[frozenset[str]] = frozenset()
    """Attributes by which it is known among others with the same namespace."""

    def speaks(self, span: Span, namespaces: Set[str]) -> bool:
        """Whether the span carries attributes of this convention.

        Args:
            span: The span.
            namespaces: Those of its attributes.
        """
        return not (
            self.namespaces.isdisjoint(namespaces) and self.marks.isdisjoint(span.attributes)
        )

    def role(self, span: Span) -> Role | None:
        """The part that the span says it plays. The first convention of all with an answer decides.

        Asked of every span, whether it carries this convention or not.
        """

    def likely_role(self, span: Span) -> Role | None:
        """The part it seems to play by what it holds, where no convention has it said."""

    def given(self, span: Span) -> object:
        """The input of the span, as it is written."""

    def returned(self, span: Span) -> object:
        """The output of the span, as it is written."""

    def messages(self, span: Span) -> Sequence[Message] | None:
        """The chat messages in the input of the span; None: there are none."""
        return messages_in(self.given(span), Speaker.USER) or None

    def question(self, span: Span) -> str | None:
        """The user's question in the input of a request, chain or agent."""
        return question_in(self.given(span), lone=not span.parent_span_id)

    def agents_question(self, span: Span) -> str | None:
        """The same, of an agent."""
        return self.question(span)

    def answer(self, span: Span) -> str | None:
        """The answer in the output of a request, chain or agent."""
        return answer_in(self.returned(span))

    def query(self, span: Span) -> str | None:
        """What a retriever or reranker was asked."""
        return question_in(self.given(span), lone=True)

    def documents(self, span: Span) -> tuple[RetrievedDocument, ...] | None:
        """What a retriever or reranker returned; empty: nothing found; None: not sent."""
        return documents_in(self.returned(span))

    def candidates(self, span: Span) -> tuple[RetrievedDocument, ...] | None:
        """What a reranker was given to put in order."""
        return documents_in(self.given(span))

    def ranking(self, span: Span) -> tuple[Place, ...] | None:
        """The order a reranker put its candidates in, where it names them by their places only."""
        return ranking_in(self.returned(span))

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
    """The first of the attributes that is a string and says something; numbers are spelled out."""
    for name in names:
        value = attributes.get(name)
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
        if isinstance(value, str) and value.strip() and not is_nothing(value):
            return value
    return None
