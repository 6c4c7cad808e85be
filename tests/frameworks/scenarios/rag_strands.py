"""Strands: an agent with a search tool, under its own tracing, in both forms of the conventions."""

from __future__ import annotations

import asyncio
import os
from typing import Any

LATEST = "gen_ai_latest_experimental"


def agent(*, latest: bool) -> Any:
    if latest:
        os.environ["OTEL_SEMCONV_STABILITY_OPT_IN"] = LATEST
    from strands import Agent, tool
    from strands.models.openai import OpenAIModel

    @tool
    def search_faq(query: str) -> dict[str, Any]:
        """Search the questions of guests.

        Args:
            query: What to look for.
        """
        del query
        return {"status": "success", "content": [{"text": passages_json()}]}

    provider()
    return Agent(
        model=OpenAIModel(model_id=MODEL),
        tools=[search_faq],
        system_prompt=INSTRUCTIONS,
        callback_handler=None,
        name="concierge",
    )


async def streamed(*, latest: bool) -> None:
    async for _ in agent(latest=latest).stream_async(QUESTION):
        pass


from kit import main, provider  # noqa: E402
from texts import INSTRUCTIONS, MODEL, QUESTION, passages_json  # noqa: E402

main(
    {
        "whole": lambda: agent(latest=False)(QUESTION),
        "stream": lambda: asyncio.run(streamed(latest=False)),
        "latest": lambda: agent(latest=True)(QUESTION),
        "latest_stream": lambda: asyncio.run(streamed(latest=True)),
    }
)
