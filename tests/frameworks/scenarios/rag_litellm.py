"""LiteLLM's callback: a call of the model alone, and one in a web request that searched first."""

from __future__ import annotations

import os
import time
from typing import Any

import litellm
from kit import main, provider, searched
from texts import INSTRUCTIONS, MODEL, QUESTION, context, messages

NAME = f"openai/{MODEL}"
CALLBACK_S = 2.0
"""The callback runs in a thread of its own after the call."""


def chat(*, stream: bool, **options: Any) -> None:
    if stream:
        options |= {"stream": True, "stream_options": {"include_usage": True}}
    asked = litellm.completion(model=NAME, messages=messages(), **options)
    if stream:
        list(asked)


def responses(*, stream: bool, **options: Any) -> None:
    told = f"{INSTRUCTIONS}\n\n{context()}"
    asked = litellm.responses(
        model=NAME, instructions=told, input=QUESTION, stream=stream, **options
    )
    if stream:
        list(asked)


def alone(call: Any, *, stream: bool) -> None:
    provider()
    litellm.callbacks = ["otel"]
    call(stream=stream)


def request(call: Any, *, stream: bool) -> None:
    """As LiteLLM's pages have it for applications with spans of their own."""
    os.environ["USE_OTEL_LITELLM_REQUEST_SPAN"] = "true"
    tracer = provider().get_tracer("app")
    litellm.callbacks = ["otel"]
    with tracer.start_as_current_span("POST /answer") as span:
        searched(tracer)
        call(stream=stream, metadata={"litellm_parent_otel_span": span})


def case(way: Any, call: Any, *, stream: bool) -> Any:
    def run() -> None:
        way(call, stream=stream)
        time.sleep(CALLBACK_S)

    return run


main(
    {
        f"{way.__name__}_{call.__name__}{'_stream' if stream else ''}": case(
            way, call, stream=stream
        )
        for way in (alone, request)
        for call in (chat, responses)
        for stream in (False, True)
    }
)
