"""LlamaIndex: a query engine and a FunctionAgent, under OpenInference and under OpenLLMetry."""

from __future__ import annotations

import asyncio
import os
from typing import Any

from kit import main, provider
from llama_index.core import QueryBundle
from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.response_synthesizers import get_response_synthesizer
from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import NodeWithScore, TextNode
from llama_index.llms.openai_like import OpenAILike
from texts import INSTRUCTIONS, MODEL, PASSAGES, QUESTION, passages_json


class HotelFaq(BaseRetriever):
    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        del query_bundle
        return [
            NodeWithScore(node=TextNode(id_=id_, text=text), score=score)
            for id_, text, score in PASSAGES
        ]


def model() -> OpenAILike:
    return OpenAILike(
        model=MODEL,
        api_base=os.environ["OPENAI_BASE_URL"],
        api_key=os.environ["OPENAI_API_KEY"],
        is_chat_model=True,
        is_function_calling_model=True,
        context_window=8192,
        additional_kwargs={},
    )


def openinference() -> None:
    from openinference.instrumentation.llama_index import LlamaIndexInstrumentor

    LlamaIndexInstrumentor().instrument(tracer_provider=provider())


def openllmetry() -> None:
    from opentelemetry.instrumentation.llamaindex import LlamaIndexInstrumentor

    LlamaIndexInstrumentor().instrument(tracer_provider=provider())


def query(*, stream: bool) -> None:
    synthesizer = get_response_synthesizer(llm=model(), streaming=stream)
    asked: Any = RetrieverQueryEngine(HotelFaq(), synthesizer).query(QUESTION)
    if stream:
        list(asked.response_gen)


def search_faq(query: str) -> str:
    """Search the questions of guests."""
    del query
    return passages_json()


async def converse(*, stream: bool) -> None:
    agent = FunctionAgent(
        name="concierge",
        tools=[search_faq],
        llm=model(),
        system_prompt=INSTRUCTIONS,
        streaming=stream,
    )
    handler = agent.run(QUESTION)
    if stream:
        async for _ in handler.stream_events():
            pass
    await handler


def case(instrument: Any, application: str, *, stream: bool) -> Any:
    def run() -> None:
        instrument()
        if application == "query":
            query(stream=stream)
        else:
            asyncio.run(converse(stream=stream))

    return run


main(
    {
        f"{instrument.__name__}_{application}{'_stream' if stream else ''}": case(
            instrument, application, stream=stream
        )
        for instrument in (openinference, openllmetry)
        for application in ("query", "agent")
        for stream in (False, True)
    }
)
