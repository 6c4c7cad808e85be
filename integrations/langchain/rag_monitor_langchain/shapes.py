"""Reading what LangChain passes to callbacks: inputs, outputs, messages, models, tokens."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from langchain_core.messages import BaseMessage
from langchain_core.outputs import LLMResult

_BUILT_IN: Final = re.compile(r"Runnable\w*(<.*>)?|LangGraph|ChatPromptTemplate|\w+OutputParser")
_QUESTION_KEYS: Final = ("question", "query", "input", "prompt", "user_input", "messages")
_ANSWER_KEYS: Final = ("answer", "output", "response", "result", "generation", "text", "messages")
_SESSION_KEYS: Final = ("session_id", "conversation_id", "thread_id")
_OURS: Final = ("seq:step:", "map:key:", "graph:step:", "langsmith:")


def is_named(name: str) -> bool:
    """Whether somebody gave this name, rather than LangChain."""
    return bool(name) and _BUILT_IN.fullmatch(name) is None


def is_graph_node(name: str, tags: Sequence[str], metadata: Mapping[str, Any]) -> bool:
    """Whether a chain run is a node of a LangGraph graph, not something inside one."""
    return metadata.get("langgraph_node") == name and any(t.startswith("graph:step") for t in tags)


def is_graph_signal(error: BaseException | None) -> bool:
    """Whether LangGraph raised this to go on elsewhere: it asks a person, or hands over."""
    return any(kind.__name__ == "GraphBubbleUp" for kind in type(error).__mro__)


def question_in(inputs: object, key: str | None = None) -> str | None:
    """The question in a run's inputs: text, the last human message, or a field."""
    if isinstance(inputs, str):
        return inputs or None
    if isinstance(inputs, BaseMessage):
        return message_text(inputs) if inputs.type == "human" else None
    if isinstance(inputs, list | tuple):
        return _last_human(inputs)
    if type(inputs).__name__ == "Command":  # what a person says to a graph that waits
        return question_in(getattr(inputs, "resume", None), key)
    if not isinstance(inputs, Mapping):
        to_messages = getattr(inputs, "to_messages", None)
        return _last_human(to_messages()) if callable(to_messages) else None
    for name in (key,) if key else _QUESTION_KEYS:
        question = question_in(inputs.get(name))
        if question:
            return question
    return None


def answer_in(outputs: object, key: str | None = None) -> str | None:
    """The answer in a run's outputs; None when there is none we know."""
    if isinstance(outputs, str):
        return outputs
    if isinstance(outputs, BaseMessage):
        return message_text(outputs) if outputs.type not in ("human", "system") else None
    if isinstance(outputs, list) and outputs and isinstance(outputs[-1], BaseMessage):
        return answer_in(outputs[-1])
    if isinstance(outputs, Mapping):
        for name in (key,) if key else _ANSWER_KEYS:
            answer = answer_in(outputs.get(name))
            if answer is not None:
                return answer
    return None


def message_text(message: BaseMessage) -> str:
    """The text of a message, without images, reasoning or tool calls."""
    content = message.content
    if isinstance(content, str):
        return content
    parts = (p if isinstance(p, str) else p.get("text") for p in content)
    return "".join(part for part in parts if isinstance(part, str))


def _last_human(messages: Sequence[Any]) -> str | None:
    for message in reversed(messages):
        if isinstance(message, BaseMessage):
            if message.type == "human":
                return message_text(message)
        elif isinstance(message, list):
            return _last_human(message)
        else:
            text = _pair_or_dict(message)
            if text is not None:
                return text
    return None


def _pair_or_dict(message: Any) -> str | None:
    role, text = None, None
    if isinstance(message, Mapping):
        role, text = message.get("role") or message.get("type"), message.get("content")
    elif isinstance(message, tuple) and len(message) == 2:
        role, text = message
    return text if role in ("user", "human") and isinstance(text, str) else None


def answer_text(result: LLMResult) -> str:
    """The text a model wrote; empty when it only called tools."""
    generation = _first(result)
    message = getattr(generation, "message", None)
    if isinstance(message, BaseMessage):
        return message_text(message)
    return getattr(generation, "text", "") or ""


def usage_of(result: LLMResult) -> tuple[int | None, int | None]:
    """Tokens in and out, as the message or the provider's output says."""
    usage = getattr(getattr(_first(result), "message", None), "usage_metadata", None)
    if not usage:
        output = result.llm_output or {}
        usage = output.get("token_usage") or output.get("usage") or {}
    read = usage.get
    tokens_in = read("input_tokens", read("prompt_tokens"))
    tokens_out = read("output_tokens", read("completion_tokens"))
    return _whole(tokens_in), _whole(tokens_out)


def model_of(result: LLMResult) -> str | None:
    """The model that answered, when the provider says so."""
    metadata = getattr(getattr(_first(result), "message", None), "response_metadata", None) or {}
    output = result.llm_output or {}
    name = metadata.get("model_name") or metadata.get("model") or output.get("model_name")
    return name if isinstance(name, str) else None


def requested_model(metadata: Mapping[str, Any], parameters: Mapping[str, Any]) -> str | None:
    """The model a run asked for."""
    for source, key in ((metadata, "ls_model_name"), (parameters, "model_name"),
                        (parameters, "model"), (parameters, "_type")):  # fmt: skip
        name = source.get(key)
        if isinstance(name, str) and name:
            return name
    return None


def identity_of(metadata: Mapping[str, Any], tags: Sequence[str]) -> dict[str, Any]:
    """Session, user and tags of a root run, as `current().set` takes them."""
    fields: dict[str, Any] = {}
    for key in _SESSION_KEYS:
        if metadata.get(key) is not None:
            fields["session_id"] = str(metadata[key])
            break
    if metadata.get("user_id") is not None:
        fields["user_id"] = str(metadata["user_id"])
    own = [tag for tag in tags if not tag.startswith(_OURS)]
    if own:
        fields["tags"] = own
    return fields


def _first(result: LLMResult) -> Any:
    for generations in result.generations:
        if generations:
            return generations[0]
    return None


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) else None
