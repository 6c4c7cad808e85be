"""MLflow tracing sent by OTLP. Every value is JSON, strings too."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from rag_monitor import semconv
from rag_monitor.domain.span import Span
from rag_monitor.domain.trace import RetrievedDocument
from rag_monitor.ingest.conventions.base import Call, Convention, Identity, Tool, text_of
from rag_monitor.ingest.documents import base_in, documents_in
from rag_monitor.ingest.values import (
    answer_in,
    first,
    known,
    members,
    message_text,
    present,
    question_in,
    structured,
    system_text,
    unwrapped,
    user_text,
    whole,
)


class MLflow(Convention):
    """`mlflow.spanInputs`, `mlflow.spanOutputs` and what stands beside them."""

    name: ClassVar[str] = "mlflow"

    def speaks(self, span: Span) -> bool:
        """MLflow gives every span a type."""
        return semconv.MLFLOW_TYPE in span.attributes

    def question(self, span: Span) -> str | None:
        """Among the arguments of the traced function."""
        inputs = span.attributes.get(semconv.MLFLOW_INPUTS)
        return question_in(inputs, lone=not span.parent_span_id)

    def answer(self, span: Span) -> str | None:
        """What the function returned; of a generator all it yielded, in one."""
        outputs = span.attributes.get(semconv.MLFLOW_OUTPUTS)
        if _streamed(span):
            pieces = structured(outputs)
            if isinstance(pieces, list):
                return _joined(pieces)
        return answer_in(outputs)

    def query(self, span: Span) -> str | None:
        """Among the arguments of the retriever."""
        return question_in(span.attributes.get(semconv.MLFLOW_INPUTS), lone=True)

    def documents(self, span: Span) -> tuple[RetrievedDocument, ...] | None:
        """What the retriever returned: MLflow's documents or any other list of passages."""
        return documents_in(span.attributes.get(semconv.MLFLOW_OUTPUTS))

    def knowledge_base(self, span: Span) -> str | None:
        """An argument that names one."""
        return base_in(members(span.attributes.get(semconv.MLFLOW_INPUTS)))

    def call(self, span: Span) -> Call | None:
        """A span of type `LLM` or `CHAT_MODEL`."""
        attributes = span.attributes
        sent = attributes.get(semconv.MLFLOW_INPUTS)
        usage = members(attributes.get(semconv.MLFLOW_USAGE))
        tokens = any(event.name == semconv.MLFLOW_TOKEN_EVENT for event in span.events)
        return Call(
            model=first(
                known(structured(attributes.get(semconv.MLFLOW_MODEL))),
                known(members(sent).get("model")),
            ),
            input_tokens=whole(usage.get("input_tokens")),
            output_tokens=whole(usage.get("output_tokens")),
            question=user_text(sent) or question_in(sent),
            output=self.answer(span),
            system=system_text(sent),
            streamed=True if tokens or _streamed(span) else None,
            first_token_ns=_first_chunk_ns(span),
        )

    def tool(self, span: Span) -> Tool | None:
        """The traced function."""
        attributes = span.attributes
        return Tool(
            name=span.name,
            arguments=unwrapped(attributes.get(semconv.MLFLOW_INPUTS)),
            result=unwrapped(attributes.get(semconv.MLFLOW_OUTPUTS)),
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


def _streamed(span: Span) -> bool:
    """Whether the function was a generator: each thing it yielded is an event."""
    return any(event.name.startswith(semconv.MLFLOW_CHUNK_PREFIX) for event in span.events)


def _first_chunk_ns(span: Span) -> int | None:
    """When the first chunk came; unknown where its event was evicted by later ones.

    Chunks are numbered; tokens are not, so they count only when the span lost nothing.
    """
    names = {semconv.MLFLOW_FIRST_CHUNK_EVENT}
    if not span.dropped:
        names.add(semconv.MLFLOW_TOKEN_EVENT)
    return min((e.time_ns for e in span.events if e.name in names), default=None)


def _joined(pieces: list[Any]) -> str | None:
    """The pieces as one text; None where one is of a shape that nobody knows."""
    texts = [_piece(structured(piece)) for piece in pieces]
    known_texts = [text for text in texts if text is not None]
    return present("".join(known_texts)) if len(known_texts) == len(texts) else None


def _piece(piece: object) -> str | None:
    """The text of one chunk: a string, a LangChain chunk or one of OpenAI's."""
    if isinstance(piece, str):
        return piece
    if not isinstance(piece, Mapping):
        return None
    if isinstance(choices := piece.get("choices"), list):
        deltas = [members(members(choice).get("delta")).get("content") for choice in choices]
        return "".join(text for text in deltas if isinstance(text, str))
    return (message_text(piece) or "") if "content" in piece else None
