"""Logfire: a search by hand, the model under `logfire.instrument_openai`."""

from __future__ import annotations

import logfire
from kit import main, searched
from openai import OpenAI
from opentelemetry import trace
from texts import INSTRUCTIONS, MODEL, QUESTION, SERVICE, context, messages


def client() -> OpenAI:
    # It exports to what OTEL_EXPORTER_OTLP_ENDPOINT names.
    logfire.configure(
        service_name=SERVICE, service_version="1", send_to_logfire=False, console=False
    )
    logfire.instrument_openai()
    return OpenAI()


def chat(*, stream: bool) -> None:
    model = client()
    with logfire.span("answer a guest"):
        searched(trace.get_tracer("app"))
        asked = model.chat.completions.create(
            model=MODEL,
            messages=messages(),
            stream=stream,
            **({"stream_options": {"include_usage": True}} if stream else {}),
        )
        if stream:
            list(asked)


def responses(*, stream: bool) -> None:
    model = client()
    with logfire.span("answer a guest"):
        searched(trace.get_tracer("app"))
        asked = model.responses.create(
            model=MODEL,
            instructions=f"{INSTRUCTIONS}\n\n{context()}",
            input=QUESTION,
            stream=stream,
        )
        if stream:
            list(asked)


main(
    {
        "whole": lambda: chat(stream=False),
        "stream": lambda: chat(stream=True),
        "responses": lambda: responses(stream=False),
        "responses_stream": lambda: responses(stream=True),
    }
)
