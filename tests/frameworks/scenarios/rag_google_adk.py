"""Google ADK: an agent with a search tool, under its own tracing, its model through LiteLLM."""

from __future__ import annotations

import asyncio
import os
from typing import Any

from google.adk.agents import Agent
from google.adk.agents.run_config import RunConfig, StreamingMode
from google.adk.models.lite_llm import LiteLlm
from google.adk.runners import InMemoryRunner
from google.genai import types
from kit import log_provider, main, provider
from texts import INSTRUCTIONS, MODEL, QUESTION, passages


def search_faq(query: str) -> dict[str, Any]:
    """Search the questions of guests.

    Args:
        query: What to look for.
    """
    del query
    return {"results": passages()}


async def ask(*, stream: bool) -> None:
    provider()
    logs = log_provider()
    agent = Agent(
        name="concierge",
        model=LiteLlm(model=f"openai/{MODEL}"),
        instruction=INSTRUCTIONS,
        tools=[search_faq],
    )
    runner = InMemoryRunner(agent=agent, app_name="hotel")
    session = await runner.session_service.create_session(app_name="hotel", user_id="u-3")
    mode = StreamingMode.SSE if stream else StreamingMode.NONE
    async for _ in runner.run_async(
        user_id="u-3",
        session_id=session.id,
        new_message=types.Content(role="user", parts=[types.Part(text=QUESTION)]),
        run_config=RunConfig(streaming_mode=mode),
    ):
        pass
    logs.force_flush()


def case(variables: dict[str, str], *, stream: bool) -> Any:
    def run() -> None:
        os.environ.update(variables)
        asyncio.run(ask(stream=stream))

    return run


FORMS: dict[str, dict[str, str]] = {
    "spans": {"OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "SPAN_ONLY"},
    "events": {"OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "EVENT_ONLY"},
    "schema_1": {"ADK_TELEMETRY_SCHEMA_VERSION_OPT_IN": "1"},
    "silent": {},
}
"""How ADK writes texts: on spans, in log records, in attributes of its own, not at all."""

main(
    {
        f"{form}{'_stream' if stream else ''}": case(variables, stream=stream)
        for form, variables in FORMS.items()
        for stream in (False, True)
    }
)
