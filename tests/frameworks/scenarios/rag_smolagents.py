"""smolagents: an agent that calls tools, under OpenInference."""

from __future__ import annotations

import os
from typing import Any

from kit import main, provider
from openinference.instrumentation.smolagents import SmolagentsInstrumentor
from smolagents import OpenAIServerModel, ToolCallingAgent, tool
from texts import MODEL, QUESTION, passages_json


@tool
def search_faq(query: str) -> str:
    """Search the questions of guests.

    Args:
        query: What to look for.
    """
    del query
    return passages_json()


def ask(*, stream: bool) -> None:
    SmolagentsInstrumentor().instrument(tracer_provider=provider())
    model: Any = OpenAIServerModel(
        MODEL, api_base=os.environ["OPENAI_BASE_URL"], api_key=os.environ["OPENAI_API_KEY"]
    )
    agent = ToolCallingAgent(
        tools=[search_faq], model=model, stream_outputs=stream, verbosity_level=0
    )
    asked = agent.run(QUESTION, stream=stream)
    if stream:
        list(asked)


main({"whole": lambda: ask(stream=False), "stream": lambda: ask(stream=True)})
