"""Attributes of one step's span, in both name sets (reference: wire-conventions section 7)."""

from __future__ import annotations

from rag_monitor import semconv
from rag_monitor.sdk.encoding import EncodedTrace, shared_attributes
from rag_monitor.sdk.sanitise import whole
from rag_monitor.sdk.step import Step
from rag_monitor.sdk.steps import GenerationStep, RetrievalStep
from rag_monitor.sdk.wire import AttributeValue


def step_name(step: Step, encoded: EncodedTrace) -> str:
    """The span name: the operation, then what it works on."""
    name = (
        encoded.sanitiser.label(step.model if isinstance(step, GenerationStep) else step.name) or ""
    )
    verb = {"retrieval": "retrieval", "generation": "chat", "plugin": "execute_tool"}
    return f"{verb.get(step.kind, 'invoke_workflow')} {name}".strip()


def step_attributes(step: Step, encoded: EncodedTrace) -> dict[str, AttributeValue]:
    """Everything a backend needs to read the step without its root."""
    attributes = shared_attributes(encoded.record)
    if isinstance(step, RetrievalStep):
        attributes.update(_retrieval(step, encoded))
    elif isinstance(step, GenerationStep):
        attributes.update(_generation(step, encoded))
    else:
        attributes.update(_hit(step, encoded))
    if step.reason is not None:
        attributes[semconv.ERROR_TYPE] = encoded.sanitiser.error(step.reason, 200) or "error"
    return attributes


def _retrieval(step: RetrievalStep, encoded: EncodedTrace) -> dict[str, AttributeValue]:
    attributes: dict[str, AttributeValue] = {
        semconv.GEN_AI_OPERATION: "retrieval",
        semconv.OI_SPAN_KIND: "RERANKER" if step.reranked is True else "RETRIEVER",
    }
    base = encoded.sanitiser.label(step.knowledge_base)
    if base is not None:
        attributes[semconv.GEN_AI_DATA_SOURCE_ID] = base
    question = encoded.record.get("question")
    query = encoded.sanitiser.content("query", step.query) or question
    if isinstance(query, str):
        attributes[semconv.GEN_AI_QUERY_TEXT] = query
        attributes[semconv.OI_INPUT] = query
        attributes[semconv.OI_INPUT_MIME] = semconv.TEXT_PLAIN
    documents = encoded.documents.get(id(step))
    if documents is not None:
        attributes[semconv.GEN_AI_DOCUMENTS] = documents
    return attributes


def _generation(step: GenerationStep, encoded: EncodedTrace) -> dict[str, AttributeValue]:
    attributes: dict[str, AttributeValue] = {
        semconv.GEN_AI_OPERATION: "chat",
        semconv.OI_SPAN_KIND: "LLM",
    }
    model = encoded.sanitiser.label(step.model)
    if model is not None:
        attributes[semconv.GEN_AI_REQUEST_MODEL] = model
        attributes[semconv.OI_MODEL] = model
    tokens_in, tokens_out = whole(step.input_tokens), whole(step.output_tokens)
    if tokens_in is not None:
        attributes[semconv.GEN_AI_INPUT_TOKENS] = tokens_in
    if tokens_out is not None:
        attributes[semconv.GEN_AI_OUTPUT_TOKENS] = tokens_out
    if step.token_ns is not None:
        attributes[semconv.GEN_AI_REQUEST_STREAM] = True
        attributes[semconv.GEN_AI_TIME_TO_FIRST_CHUNK] = (step.token_ns - step.started) / 1e9
    return attributes


def _hit(step: Step, encoded: EncodedTrace) -> dict[str, AttributeValue]:
    name = encoded.sanitiser.label(step.name) or "unknown"
    if step.kind == "plugin":
        return {
            semconv.GEN_AI_OPERATION: "execute_tool",
            semconv.OI_SPAN_KIND: "TOOL",
            semconv.GEN_AI_TOOL_NAME: name,
            semconv.OI_TOOL_NAME: name,
        }
    return {
        semconv.GEN_AI_OPERATION: "invoke_workflow",
        semconv.OI_SPAN_KIND: "CHAIN",
        semconv.GEN_AI_WORKFLOW_NAME: name,
    }
