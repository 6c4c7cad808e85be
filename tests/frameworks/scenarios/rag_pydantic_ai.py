"""Pydantic AI: an agent with a search tool, under its own instrumentation."""

from __future__ import annotations

import asyncio
from typing import Any

from kit import main, provider
from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from texts import INSTRUCTIONS, MODEL, QUESTION, passages


def agent(model: Any) -> Any:
    provider()
    Agent.instrument_all()
    made = Agent(model(MODEL), instructions=INSTRUCTIONS, name="concierge")

    @made.tool_plain
    def search_faq(query: str) -> list[dict[str, Any]]:
        """Search the questions of guests."""
        del query
        return passages()

    return made


async def streamed(model: Any) -> None:
    async with agent(model).run_stream(QUESTION) as result:
        async for _ in result.stream_text(delta=True):
            pass


main(
    {
        "whole": lambda: agent(OpenAIChatModel).run_sync(QUESTION),
        "stream": lambda: asyncio.run(streamed(OpenAIChatModel)),
        "responses": lambda: agent(OpenAIResponsesModel).run_sync(QUESTION),
        "responses_stream": lambda: asyncio.run(streamed(OpenAIResponsesModel)),
    }
)
