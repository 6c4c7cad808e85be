"""CrewAI: a crew of one agent with a search tool, under OpenInference and under OpenLLMetry."""

from __future__ import annotations

from typing import Any

from crewai import LLM, Agent, Crew, Task
from crewai.tools import tool
from kit import main, provider
from texts import INSTRUCTIONS, MODEL, QUESTION, passages_json


@tool("search_faq")
def search_faq(query: str) -> str:
    """Search the questions of guests."""
    del query
    return passages_json()


def openinference() -> None:
    from openinference.instrumentation.crewai import CrewAIInstrumentor
    from openinference.instrumentation.openai import OpenAIInstrumentor

    made = provider()
    CrewAIInstrumentor().instrument(tracer_provider=made)
    OpenAIInstrumentor().instrument(tracer_provider=made)


def openllmetry() -> None:
    from opentelemetry.instrumentation.crewai import CrewAIInstrumentor
    from opentelemetry.instrumentation.openai import OpenAIInstrumentor

    made = provider()
    CrewAIInstrumentor().instrument(tracer_provider=made)
    OpenAIInstrumentor().instrument(tracer_provider=made)


def ask(*, stream: bool) -> None:
    agent = Agent(
        role="concierge",
        goal="Help guests",
        backstory=INSTRUCTIONS,
        tools=[search_faq],
        llm=LLM(model=MODEL, provider="openai", stream=stream),
    )
    task = Task(description="{question}", expected_output="A short answer", agent=agent)
    Crew(agents=[agent], tasks=[task]).kickoff(inputs={"question": QUESTION})


def case(instrument: Any, *, stream: bool) -> Any:
    def run() -> None:
        instrument()
        ask(stream=stream)

    return run


main(
    {
        f"{instrument.__name__}{'_stream' if stream else ''}": case(instrument, stream=stream)
        for instrument in (openinference, openllmetry)
        for stream in (False, True)
    }
)
