"""What the trace of every case must say: one table for captured and for fresh payloads."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from tests.frameworks.model_server import ANSWER_USAGE, SEARCH_USAGE
from tests.frameworks.scenarios.texts import ANSWER, QUESTION

BOTH_CALLS: Final = (SEARCH_USAGE[0] + ANSWER_USAGE[0], SEARCH_USAGE[1] + ANSWER_USAGE[1])
SEARCHED: Final = "plugin search_faq"


@dataclass(frozen=True, kw_only=True)
class Expected:
    """Facts of one trace. What the payload does not say is None or false: never guessed."""

    hits: tuple[str, ...]
    """Kind and name, in order."""
    tokens: tuple[int, int] | None = BOTH_CALLS
    streamed: bool | None = None
    first_byte: bool = False
    """Known."""
    whole: bool = True
    """The root was sent, so that the times of the request are known."""
    passages: bool = True
    question: str | None = QUESTION
    answer: str | None = ANSWER

    @property
    def calls(self) -> int:
        """How often the model was called."""
        return 2 if SEARCHED in self.hits else 1


def _agent(workflow: str, **other: object) -> Expected:
    """An agent that searches by a tool."""
    return replace(Expected(hits=(f"workflow {workflow}", SEARCHED)), **other)  # type: ignore[arg-type]


def _pipeline(*hits: str, **other: object) -> Expected:
    """An application that searches and then calls the model once."""
    return replace(Expected(hits=hits, tokens=ANSWER_USAGE), **other)  # type: ignore[arg-type]


_KNOWN: Final = {"streamed": False, "first_byte": True}
_STREAM: Final = {"streamed": True, "first_byte": True}
_NO_TEXT: Final = {"question": None, "answer": None, "passages": False}
_FAQ: Final = "knowledge_base faq"
_UNNAMED: Final = "knowledge_base unknown"
_LLM_ALONE: Final = _pipeline(passages=False)

EXPECTED: Final[dict[str, dict[str, Expected]]] = {
    "crewai": {
        "openinference": _agent("Crew.kickoff"),
        "openinference_stream": _agent("Crew.kickoff", **_STREAM),
        # OpenLLMetry writes no span for CrewAI's tools.
        "openllmetry": _pipeline(tokens=BOTH_CALLS, passages=False, **_KNOWN),
        "openllmetry_stream": _pipeline(tokens=BOTH_CALLS, passages=False, **_STREAM),
    },
    "google_adk": {
        "spans": _agent("concierge"),
        "spans_stream": _agent("concierge"),
        # What tools returned is not among the records.
        "events": _agent("concierge", passages=False),
        "events_stream": _agent("concierge", passages=False),
        "schema_1": _agent("concierge"),
        "schema_1_stream": _agent("concierge"),
        "silent": _agent("concierge", **_NO_TEXT),
        "silent_stream": _agent("concierge", **_NO_TEXT),
    },
    "haystack": {
        "openinference": _pipeline("workflow Pipeline.run", _UNNAMED),
        "openinference_stream": _pipeline("workflow Pipeline.run", _UNNAMED),
    },
    "haystack_2": {
        # OpenLLMetry writes no span for retrievers, and components' outputs stay inside.
        "openllmetry": _pipeline("workflow haystack_pipeline", passages=False, **_KNOWN),
        "openllmetry_stream": _pipeline("workflow haystack_pipeline", passages=False, **_STREAM),
    },
    "litellm": {
        "alone_chat": replace(_LLM_ALONE, streamed=False, first_byte=True),
        "alone_chat_stream": replace(_LLM_ALONE, streamed=True),
        "alone_responses": replace(_LLM_ALONE, streamed=False, first_byte=True),
        "alone_responses_stream": replace(_LLM_ALONE, streamed=True),
        "request_chat": _pipeline(_FAQ, **_KNOWN),
        "request_chat_stream": _pipeline(_FAQ, streamed=True),
        "request_responses": _pipeline(_FAQ, **_KNOWN),
        "request_responses_stream": _pipeline(_FAQ, streamed=True),
    },
    "llama_index": {
        "openinference_query": _pipeline("workflow RetrieverQueryEngine.query", _UNNAMED),
        "openinference_query_stream": _pipeline(
            "workflow RetrieverQueryEngine.query", _UNNAMED, tokens=None, **_STREAM
        ),
        "openinference_agent": _agent("FunctionAgent.run"),
        "openinference_agent_stream": _agent("FunctionAgent.run", tokens=None, **_STREAM),
        "openllmetry_query": _pipeline("workflow RetrieverQueryEngine", _UNNAMED),
        # The spans around a generator are never ended, and never sent.
        "openllmetry_query_stream": _pipeline(_UNNAMED, tokens=None, whole=False),
        "openllmetry_agent": _agent("FunctionAgent"),
        "openllmetry_agent_stream": _agent("FunctionAgent", tokens=None),
    },
    "logfire": {
        "whole": _pipeline(_FAQ, **_KNOWN),
        "stream": _pipeline(_FAQ, streamed=True),
        "responses": _pipeline(_FAQ, **_KNOWN),
        "responses_stream": _pipeline(_FAQ, streamed=True),
    },
    "openai_agents": {
        "openinference_chat_completions": _agent("Agent workflow"),
        "openinference_chat_completions_stream": _agent("Agent workflow", tokens=None),
        "openinference_responses": _agent("Agent workflow"),
        "openinference_responses_stream": _agent("Agent workflow"),
        # OpenLLMetry writes what the model was sent, and nothing of what it returned.
        "openllmetry_chat_completions": _agent("Agent Workflow", tokens=None, answer=None),
        "openllmetry_chat_completions_stream": _agent("Agent Workflow", tokens=None, answer=None),
        "openllmetry_responses": _agent("Agent Workflow"),
        "openllmetry_responses_stream": _agent("Agent Workflow"),
    },
    "pydantic_ai": {
        "whole": _agent("concierge", **_KNOWN),
        "stream": _agent("concierge", **_STREAM),
        "responses": _agent("concierge", **_KNOWN),
        "responses_stream": _agent("concierge", **_STREAM),
    },
    "smolagents": {
        name: replace(
            _agent("ToolCallingAgent.run"),
            hits=("workflow ToolCallingAgent.run", SEARCHED, "plugin final_answer"),
        )
        for name in ("whole", "stream")
    },
    "strands": {
        # It streams from the model in any case, and says when the first token came.
        name: _agent("concierge", first_byte=True)
        for name in ("whole", "stream", "latest", "latest_stream")
    },
}
