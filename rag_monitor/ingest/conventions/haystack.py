"""Haystack's own tracer: `haystack.*` tags, also as attributes of OpenTelemetry.

Inputs and outputs are there where the application traces contents, as JSON. The root is the
pipeline; each component is a span that names its type.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, ClassVar, Final

from rag_monitor.domain.span import Span
from rag_monitor.domain.trace import RetrievedDocument
from rag_monitor.ingest.content import reply_of, request_of
from rag_monitor.ingest.conventions.base import Call, Convention, Role, Tool, text_of
from rag_monitor.ingest.passages import documents_in
from rag_monitor.ingest.values import first, members, present_name, structured, unwrapped, whole

_COMPONENT: Final = "haystack.component.name"
_TYPE: Final = "haystack.component.type"
_INPUTS: Final = (
    "haystack.component.input", "haystack.pipeline.input_data", "haystack.agent.input",
    "haystack.pipeline.input", "haystack.tool.input",
)  # fmt: skip
_OUTPUTS: Final = (
    "haystack.component.output", "haystack.pipeline.output_data", "haystack.agent.output",
    "haystack.pipeline.output", "haystack.tool.output",
)  # fmt: skip
_PIPELINE: Final = ("haystack.pipeline.", "haystack.async_pipeline.")
_AGENT: Final = "haystack.agent."
_TOOL: Final = "haystack.tool."
_ROLES: Final = (
    (re.compile(r"Retriever$|WebSearch$"), Role.RETRIEVER),
    (re.compile(r"Ranker$|Reranker$"), Role.RERANKER),
    (re.compile(r"Generator$"), Role.LLM),
    (re.compile(r"Embedder$"), Role.EMBEDDING),
    (re.compile(r"PromptBuilder$"), Role.PROMPT),
    (re.compile(r"Agent$"), Role.AGENT),
    (re.compile(r"Evaluator$"), Role.EVALUATOR),
    (re.compile(r"Invoker$"), Role.TOOL),
    (re.compile(r"Guard(?:rail)?$|Checker$|Classifier$"), Role.GUARDRAIL),
    (re.compile(r"(?:Builder|Joiner|Router|Splitter|Cleaner|Converter|Fetcher|Parser|Writer"
                r"|Adapter|Validator)$"), Role.ASIDE),
)  # fmt: skip
"""By the ends of names of classes."""
_DEPTH: Final = 8


class Haystack(Convention):
    """`haystack.pipeline.*` and `haystack.component.*`."""

    name: ClassVar[str] = "haystack"
    namespaces: ClassVar[frozenset[str]] = frozenset({"haystack"})

    def role(self, span: Span) -> Role | None:
        """By the type of the component; the pipeline is the workflow."""
        kind = text_of(span.attributes, _TYPE)
        if kind is not None:
            name = kind.rpartition(".")[2]
            return next((role for ends, role in _ROLES if ends.search(name)), Role.OTHER)
        if any(key.startswith(_PIPELINE) for key in span.attributes) and not span.attributes.get(
            _COMPONENT
        ):
            return Role.WORKFLOW
        if span.name.startswith(_AGENT):
            return Role.AGENT
        return Role.TOOL if span.name.startswith(_TOOL) else None

    def given(self, span: Span) -> object:
        """The inputs by the names of components, or those of one."""
        return _value(span, _INPUTS)

    def returned(self, span: Span) -> object:
        """The outputs in the same way."""
        return _value(span, _OUTPUTS)

    def candidates(self, span: Span) -> tuple[RetrievedDocument, ...] | None:
        """The documents in the input of a ranker."""
        return documents_in(members(self.given(span)).get("documents"))

    def call(self, span: Span) -> Call | None:
        """A generator."""
        user_messages, system = request_of(self.given(span))
        output = self.returned(span)
        replies = members(output).get("replies")
        meta = _meta(members(output))
        usage = members(meta.get("usage"))
        return Call(
            model=present_name(meta.get("model")),
            input_tokens=whole(usage.get("prompt_tokens")),
            output_tokens=whole(usage.get("completion_tokens")),
            user_messages=user_messages,
            output=reply_of(replies[:1] if isinstance(replies, list) else output),
            system=system,
        )

    def tool(self, span: Span) -> Tool | None:
        """What a component or a tool was given and returned."""
        return Tool(
            name=text_of(span.attributes, "haystack.tool.name", _COMPONENT) or span.name,
            arguments=unwrapped(self.given(span)),
            result=unwrapped(self.returned(span)),
        )

    def workflow(self, span: Span) -> str | None:
        """A pipeline has no name but the span's."""
        return first(text_of(span.attributes, "haystack.pipeline.name"), span.name or None)


def _value(span: Span, names: tuple[str, ...]) -> object:
    written = next((value for name in names if (value := span.attributes.get(name))), None)
    return _plain(structured(written), 0)


def _plain(value: object, depth: int) -> object:
    """Data classes as they are serialised, by what they hold; an answer's `data` is its text."""
    if depth > _DEPTH:
        return None
    if isinstance(value, list):
        return [_plain(item, depth + 1) for item in value]
    if not isinstance(value, Mapping):
        return value
    inner = value.get("init_parameters")
    fields: Mapping[str, Any] = inner if isinstance(inner, Mapping) else value
    if "query" in fields and "data" in fields:
        fields = {**fields, "answer": fields["data"]}
    return {key: _plain(item, depth + 1) for key, item in fields.items()}


def _meta(output: Mapping[str, Any]) -> Mapping[str, Any]:
    """What a generator says of its first reply: beside the replies, or in the message."""
    listed = output.get("meta")
    if isinstance(listed, list) and listed:
        return members(listed[0])
    replies = output.get("replies")
    message = members(replies[0]) if isinstance(replies, list) and replies else {}
    return members(message.get("meta", message.get("_meta")))
