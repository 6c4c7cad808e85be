"""Reading what LlamaIndex passes around: questions, answers, models, tokens."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.schema import QueryBundle
from llama_index.core.workflow import Event

_QUESTIONS: Final = ("str_or_query_bundle", "query", "message", "user_msg", "query_str", "input")

_ANSWERS: Final = ("response", "answer", "result", "output", "text")


def question_in(arguments: Mapping[str, Any]) -> str | None:
    """The question among a method's arguments, or in a workflow's start event."""
    for source in (arguments, arguments.get("kwargs"), arguments.get("start_event")):
        for name in _QUESTIONS:
            text = text_of(_get(source, name))
            if text:
                return text
    return None


def text_of(value: object) -> str | None:
    """The text of a question, a message or a tool's output; None for other things."""
    if isinstance(value, str):
        return value
    if isinstance(value, QueryBundle):
        return value.query_str
    if isinstance(value, ChatMessage):
        return value.content
    return None


def answer_in(result: Any) -> str | None:
    """The answer in what a query engine, chat engine or workflow returned."""
    text = text_of(result)
    if text is not None:
        return text
    response = getattr(result, "response", None)
    if response is None:
        return _stopped_with(getattr(result, "result", None))
    dump = getattr(response, "model_dump_json", None)
    return text_of(response) or (dump() if callable(dump) else None)


def _stopped_with(result: object) -> str | None:
    """The answer a workflow stopped with: text, a field of a dict or event, an agent's output."""
    if not isinstance(result, Mapping | Event):
        return text_of(result)
    for name in _ANSWERS:
        value = _get(result, name)
        text = text_of(value)
        if text:
            return text
    return None


def response_text(response: Any) -> str:
    """What a model said in a completion or chat response; empty when it called tools only."""
    message = getattr(response, "message", None)
    text = message.content if message is not None else getattr(response, "text", "")
    return text if isinstance(text, str) else ""


def model_in(model_dict: Mapping[str, Any]) -> str | None:
    """The name of the model, else of its class."""
    name = model_dict.get("model") or model_dict.get("model_name") or model_dict.get("class_name")
    return name if isinstance(name, str) else None


def usage_in(response: Any) -> tuple[int | None, int | None]:
    """Tokens in and out, as the provider's reply says."""
    raw = getattr(response, "raw", None)
    usage = _get(raw, "usage") or getattr(response, "additional_kwargs", None)
    tokens_in = _get(usage, "prompt_tokens") or _get(usage, "input_tokens")
    tokens_out = _get(usage, "completion_tokens") or _get(usage, "output_tokens")
    return _whole(tokens_in), _whole(tokens_out)


def _get(source: Any, name: str) -> Any:
    return source.get(name) if isinstance(source, Mapping) else getattr(source, name, None)


def _whole(value: Any) -> int | None:
    return value if isinstance(value, int) else None
