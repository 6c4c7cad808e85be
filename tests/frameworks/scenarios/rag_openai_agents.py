"""OpenAI Agents SDK: an agent with a search tool, under OpenInference and under OpenLLMetry."""

from __future__ import annotations

import asyncio
from typing import Any

from agents import Agent, Runner, function_tool, set_default_openai_api, set_trace_processors
from kit import main, provider
from texts import INSTRUCTIONS, MODEL, QUESTION, passages


@function_tool
def search_faq(query: str) -> list[dict[str, Any]]:
    """Search the questions of guests."""
    del query
    return passages()


def openinference() -> None:
    from openinference.instrumentation.openai_agents import OpenAIAgentsInstrumentor

    OpenAIAgentsInstrumentor().instrument(tracer_provider=provider())


def openllmetry() -> None:
    from opentelemetry.instrumentation.openai_agents import OpenAIAgentsInstrumentor

    set_trace_processors([])
    OpenAIAgentsInstrumentor().instrument(tracer_provider=provider())


async def ask(api: str, *, stream: bool) -> None:
    set_default_openai_api(api)
    agent = Agent(name="concierge", instructions=INSTRUCTIONS, model=MODEL, tools=[search_faq])
    if not stream:
        await Runner.run(agent, QUESTION)
        return
    async for _ in Runner.run_streamed(agent, QUESTION).stream_events():
        pass


def case(instrument: Any, api: str, *, stream: bool) -> Any:
    def run() -> None:
        instrument()
        asyncio.run(ask(api, stream=stream))

    return run


main(
    {
        f"{instrument.__name__}_{api}{'_stream' if stream else ''}": case(
            instrument, api, stream=stream
        )
        for instrument in (openinference, openllmetry)
        for api in ("chat_completions", "responses")
        for stream in (False, True)
    }
)
