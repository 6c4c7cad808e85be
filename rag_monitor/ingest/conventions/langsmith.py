"""LangSmith's SDK over OpenTelemetry: `langsmith.*` beside a run's inputs and outputs as JSON.

The exporter calls a retriever's operation `embeddings` and a prompt's `chat`: the kind of the run
says what it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Final

from rag_monitor import semconv
from rag_monitor.domain.span import Span
from rag_monitor.ingest.content import reply_of, request_of
from rag_monitor.ingest.conventions.base import Call, Convention, Identity, Role, Tool, text_of
from rag_monitor.ingest.passages import base_in
from rag_monitor.ingest.values import present_name, structured, unwrapped

_KIND: Final = "langsmith.span.kind"
_METADATA: Final = "langsmith.metadata."
_INPUTS: Final = ("gen_ai.prompt", "langsmith.inputs", "inputs")
_OUTPUTS: Final = ("gen_ai.completion", "langsmith.outputs", "outputs")
_ROLES: Final = {
    "llm": Role.LLM,
    "chat": Role.LLM,
    "chain": Role.CHAIN,
    "retriever": Role.RETRIEVER,
    "tool": Role.TOOL,
    "embedding": Role.EMBEDDING,
    "prompt": Role.PROMPT,
    "parser": Role.ASIDE,
}
_SESSIONS: Final = ("session_id", "thread_id", "conversation_id")


class LangSmith(Convention):
    """`langsmith.span.kind`, `gen_ai.prompt` and `gen_ai.completion`."""

    name: ClassVar[str] = "langsmith"
    namespaces: ClassVar[frozenset[str]] = frozenset({"langsmith"})

    def role(self, span: Span) -> Role | None:
        """The kind of the run."""
        kind = span.attributes.get(_KIND)
        return _ROLES.get(str(kind).lower(), Role.OTHER) if kind else None

    def given(self, span: Span) -> object:
        """The run's inputs."""
        return _first(span, _INPUTS)

    def returned(self, span: Span) -> object:
        """The run's outputs: of a retriever `documents`, `output`, or a list."""
        return _first(span, _OUTPUTS)

    def knowledge_base(self, span: Span) -> str | None:
        """A name in the run's metadata."""
        return base_in(_metadata(span)) or present_name(_metadata(span).get("ls_retriever_name"))

    def call(self, span: Span) -> Call | None:
        """A run of kind `llm`; model and tokens are `gen_ai.*`."""
        user_messages, system = request_of(self.given(span))
        return Call(
            model=present_name(_metadata(span).get("ls_model_name")),
            user_messages=user_messages,
            output=reply_of(self.returned(span)),
            system=system,
        )

    def tool(self, span: Span) -> Tool | None:
        """A run of kind `tool`."""
        return Tool(
            name=text_of(span.attributes, "langsmith.trace.name") or span.name,
            arguments=unwrapped(self.given(span)),
            result=unwrapped(self.returned(span)),
        )

    def workflow(self, span: Span) -> str | None:
        """A chain has no name but the run's."""
        return text_of(span.attributes, "langsmith.trace.name") or span.name or None

    def identity(self, span: Span) -> Identity | None:
        """Session and user in the metadata; tags."""
        metadata = _metadata(span)
        tags = structured(span.attributes.get("langsmith.span.tags"))
        if isinstance(tags, str):
            tags = [tag.strip() for tag in tags.split(",") if tag.strip()]
        return Identity(
            session_id=text_of(metadata, *_SESSIONS)
            or text_of(span.attributes, semconv.SESSION_ID),
            user_id=text_of(metadata, "user_id") or text_of(span.attributes, semconv.USER_ID),
            tags=tuple(str(tag) for tag in tags) if isinstance(tags, list) else (),
        )


def _first(span: Span, names: tuple[str, ...]) -> object:
    return next((value for name in names if (value := span.attributes.get(name))), None)


def _metadata(span: Span) -> Mapping[str, object]:
    prefix = _METADATA
    return {k.removeprefix(prefix): v for k, v in span.attributes.items() if k.startswith(prefix)}
