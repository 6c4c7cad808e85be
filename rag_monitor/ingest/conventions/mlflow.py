"""MLflow tracing sent by OTLP. Every value is JSON, strings too."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, ClassVar, Final

from rag_monitor import semconv
from rag_monitor.domain.span import Span
from rag_monitor.ingest.content import answer_in, question_in, reply_of, request_of
from rag_monitor.ingest.conventions.base import Call, Convention, Identity, Role, Tool, text_of
from rag_monitor.ingest.messages import text_in
from rag_monitor.ingest.passages import base_in
from rag_monitor.ingest.values import (
    first,
    members,
    present,
    present_name,
    structured,
    unwrapped,
    whole,
)

_TYPE: Final = "mlflow.spanType"
_INPUTS: Final = "mlflow.spanInputs"
_OUTPUTS: Final = "mlflow.spanOutputs"
_MODEL: Final = "mlflow.llm.model"
_USAGE: Final = "mlflow.chat.tokenUsage"
_CHUNK_PREFIX: Final = "mlflow.chunk.item."
_FIRST_CHUNK_EVENT: Final = "mlflow.chunk.item.0"
_TOKEN_EVENT: Final = "new_token"  # noqa: S105 - an event name
"""Of its LangChain autologging, once a token."""
_ROLES: Final = {
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
    "GUARDRAIL": Role.GUARDRAIL,
    "PARSER": Role.ASIDE,
    "MEMORY": Role.ASIDE,
}


class MLflow(Convention):
    """`mlflow.spanInputs`, `mlflow.spanOutputs` and what stands beside them."""

    name: ClassVar[str] = "mlflow"
    marks: ClassVar[frozenset[str]] = frozenset({_TYPE})

    def role(self, span: Span) -> Role | None:
        """The span's type."""
        written = span.attributes.get(_TYPE)
        kind = structured(written) if written else None
        return _ROLES.get(str(kind).upper(), Role.OTHER) if kind else None

    def given(self, span: Span) -> object:
        """The arguments of the traced function."""
        return _value(span.attributes.get(_INPUTS))

    def returned(self, span: Span) -> object:
        """What the function returned: of a retriever MLflow's documents or other passages."""
        return _value(span.attributes.get(_OUTPUTS))

    def question(self, span: Span) -> str | None:
        """Among the arguments of the traced function."""
        inputs = span.attributes.get(_INPUTS)
        return question_in(inputs, lone=not span.parent_span_id)

    def answer(self, span: Span) -> str | None:
        """What the function returned; of a generator all it yielded, in one."""
        streamed = self._streamed_text(span)
        return answer_in(self.returned(span)) if streamed is None else streamed

    def _streamed_text(self, span: Span) -> str | None:
        pieces = self.returned(span)
        return _joined(pieces) if _streamed(span) and isinstance(pieces, list) else None

    def query(self, span: Span) -> str | None:
        """Among the arguments of the retriever."""
        return question_in(span.attributes.get(_INPUTS), lone=True)

    def knowledge_base(self, span: Span) -> str | None:
        """An argument that names one."""
        return base_in(members(span.attributes.get(_INPUTS)))

    def call(self, span: Span) -> Call | None:
        """A span of type `LLM` or `CHAT_MODEL`."""
        attributes = span.attributes
        sent = attributes.get(_INPUTS)
        user_messages, system = request_of(sent)
        usage = members(attributes.get(_USAGE))
        tokens = any(event.name == _TOKEN_EVENT for event in span.events)
        return Call(
            model=first(
                present_name(structured(attributes.get(_MODEL))),
                present_name(members(sent).get("model")),
            ),
            input_tokens=whole(usage.get("input_tokens")),
            output_tokens=whole(usage.get("output_tokens")),
            user_messages=user_messages,
            output=self._streamed_text(span) or reply_of(self.returned(span)),
            system=system,
            streamed=True if tokens or _streamed(span) else None,
            first_token_ns=_first_chunk_ns(span),
        )

    def tool(self, span: Span) -> Tool | None:
        """The traced function."""
        attributes = span.attributes
        return Tool(
            name=span.name,
            arguments=unwrapped(attributes.get(_INPUTS)),
            result=unwrapped(attributes.get(_OUTPUTS)),
        )

    def workflow(self, span: Span) -> str | None:
        """A chain has no name but the span's."""
        return span.name or None

    def identity(self, span: Span) -> Identity | None:
        """`session.id` and `user.id`, which its newer releases copy onto the root span."""
        attributes = span.attributes
        return Identity(
            session_id=text_of(attributes, semconv.SESSION_ID),
            user_id=text_of(attributes, semconv.USER_ID),
        )


def _value(written: object) -> object:
    """What the JSON stands for: a text may be JSON in turn, which somebody wrote."""
    try:
        return json.loads(written) if isinstance(written, str) else written
    except (ValueError, RecursionError):
        return written


def _streamed(span: Span) -> bool:
    """Whether the function was a generator: each thing it yielded is an event."""
    return any(event.name.startswith(_CHUNK_PREFIX) for event in span.events)


def _first_chunk_ns(span: Span) -> int | None:
    """When the first chunk came; unknown where its event was evicted by later ones.

    Chunks are numbered; tokens are not, so they count only when the span lost nothing.
    """
    names = {_FIRST_CHUNK_EVENT}
    if not span.dropped:
        names.add(_TOKEN_EVENT)
    return min((e.time_ns for e in span.events if e.name in names), default=None)


def _joined(pieces: list[Any]) -> str | None:
    """The pieces as one text; None where one is of a shape that nobody knows."""
    texts = [_piece(structured(piece)) for piece in pieces]
    present_texts = [text for text in texts if text is not None]
    return present("".join(present_texts)) if len(present_texts) == len(texts) else None


def _piece(piece: object) -> str | None:
    """The text of one chunk: a string, a LangChain chunk or one of OpenAI's."""
    if isinstance(piece, str):
        return piece
    if not isinstance(piece, Mapping):
        return None
    if isinstance(choices := piece.get("choices"), list):
        deltas = [members(members(choice).get("delta")).get("content") for choice in choices]
        return "".join(text for text in deltas if isinstance(text, str))
    return (text_in(piece["content"]) or "") if "content" in piece else None
