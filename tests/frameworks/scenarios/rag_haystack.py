"""Haystack: a retrieval pipeline, under OpenInference, OpenLLMetry and its own tracing."""

from __future__ import annotations

import importlib.util
from typing import Any

from haystack import Document, Pipeline, component
from haystack.components.builders import ChatPromptBuilder
from haystack.components.generators.chat import OpenAIChatGenerator
from haystack.dataclasses import ChatMessage
from kit import main, provider
from texts import INSTRUCTIONS, MODEL, PASSAGES, QUESTION


@component
class FaqRetriever:
    @component.output_types(documents=list[Document])
    def run(self, query: str) -> dict[str, Any]:
        del query
        return {
            "documents": [
                Document(id=id_, content=text, score=score) for id_, text, score in PASSAGES
            ]
        }


def openinference() -> None:
    from openinference.instrumentation.haystack import HaystackInstrumentor

    HaystackInstrumentor().instrument(tracer_provider=provider())


def openllmetry() -> None:
    from opentelemetry.instrumentation.haystack import HaystackInstrumentor
    from opentelemetry.instrumentation.openai import OpenAIInstrumentor

    made = provider()
    HaystackInstrumentor().instrument(tracer_provider=made)
    OpenAIInstrumentor().instrument(tracer_provider=made)


def ask(*, stream: bool) -> None:
    template = [
        ChatMessage.from_system(
            INSTRUCTIONS + "\n\n{% for d in documents %}{{ d.content }}\n{% endfor %}"
        ),
        ChatMessage.from_user("{{ query }}"),
    ]
    pipeline = Pipeline()
    pipeline.add_component("retriever", FaqRetriever())
    pipeline.add_component("prompt_builder", ChatPromptBuilder(template, required_variables="*"))
    pipeline.add_component(
        "llm",
        OpenAIChatGenerator(
            model=MODEL,
            streaming_callback=(lambda _: None) if stream else None,
            generation_kwargs={"stream_options": {"include_usage": True}} if stream else None,
        ),
    )
    pipeline.connect("retriever.documents", "prompt_builder.documents")
    pipeline.connect("prompt_builder.prompt", "llm.messages")
    pipeline.run({"retriever": {"query": QUESTION}, "prompt_builder": {"query": QUESTION}})


def case(instrument: Any, *, stream: bool) -> Any:
    def run() -> None:
        instrument()
        ask(stream=stream)

    return run


INSTRUMENTS = {
    openinference: "openinference",
    openllmetry: "opentelemetry.instrumentation.haystack",
}

main(
    {
        f"{instrument.__name__}{'_stream' if stream else ''}": case(instrument, stream=stream)
        for instrument, package in INSTRUMENTS.items()
        if importlib.util.find_spec(package)
        for stream in (False, True)
    }
)
