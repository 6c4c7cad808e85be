"""Ragas' metrics against a misbehaving server; run by `judge_faults`.

Takes the server's URL, the number of traces, the timeout of a request and which of Ragas' two
interfaces (`collections` or `legacy`); prints one JSON line. Needs ragas 0.4.3 and, for `legacy`,
langchain-openai.
"""

from __future__ import annotations

import asyncio
import json
import math
import os
import sys

os.environ.setdefault("RAGAS_DO_NOT_TRACK", "true")

from openai import AsyncOpenAI
from ragas.embeddings.base import embedding_factory  # type: ignore[import-not-found,unused-ignore]
from ragas.llms import llm_factory  # type: ignore[import-not-found,unused-ignore]
from ragas.metrics.collections import (  # type: ignore[import-not-found,unused-ignore]
    AnswerRelevancy,
    ContextPrecisionWithoutReference,
    ContextRelevance,
    Faithfulness,
)


def texts(number: int) -> tuple[str, str, list[str]]:
    """Question, answer and passages of a trace, as `judge_faults` has them."""
    return (
        f"Trace {number}: how long is the warranty?",
        f"For Trace {number} the warranty lasts 24 months. It covers parts.",
        [f"Passage {k} of Trace {number} says the warranty lasts {k} months." for k in range(5)],
    )


async def by_collections(url: str, traces: int, timeout_s: float) -> dict[str, int]:
    """Lost results of four metrics, each awaited for itself, 16 at once."""
    client = AsyncOpenAI(base_url=url, api_key="none", timeout=timeout_s)
    llm = llm_factory("stub", client=client)
    embeddings = embedding_factory("openai", model="stub", client=client, interface="modern")
    faithful, relevant = Faithfulness(llm=llm), AnswerRelevancy(llm=llm, embeddings=embeddings)
    precise, related = ContextPrecisionWithoutReference(llm=llm), ContextRelevance(llm=llm)
    gate = asyncio.Semaphore(16)

    async def lost(metric: object, **fields: object) -> bool:
        async with gate:
            try:
                result = await metric.ascore(**fields)  # type: ignore[attr-defined]
            except Exception:  # noqa: BLE001 - counted and reported
                return True
            return result.value is None or math.isnan(float(result.value))

    async def trace(number: int) -> int:
        question, answer, contexts = texts(number)
        asked = {"user_input": question, "response": answer}
        found = await asyncio.gather(
            lost(faithful, **asked, retrieved_contexts=contexts),
            lost(relevant, **asked),
            lost(precise, **asked, retrieved_contexts=contexts),
            lost(related, user_input=question, retrieved_contexts=contexts),
        )
        return sum(found)

    counts = await asyncio.gather(*(trace(number) for number in range(traces)))
    await client.close()
    return {"lost": sum(counts), "traces_hit": sum(count > 0 for count in counts)}


def by_evaluate(url: str, traces: int, timeout_s: float) -> dict[str, int]:
    """Lost results of the same four metrics of one `evaluate()`, 16 workers."""
    os.environ.setdefault("OPENAI_API_KEY", "none")
    from langchain_openai import (  # type: ignore[import-not-found,unused-ignore]
        ChatOpenAI,
        OpenAIEmbeddings,
    )
    from ragas import (  # type: ignore[import-not-found,unused-ignore]
        EvaluationDataset,
        RunConfig,
        SingleTurnSample,
        evaluate,
    )
    from ragas.embeddings import (  # type: ignore[import-not-found,unused-ignore]
        LangchainEmbeddingsWrapper,
    )
    from ragas.llms import LangchainLLMWrapper  # type: ignore[import-not-found,unused-ignore]
    from ragas.metrics import (  # type: ignore[import-not-found,unused-ignore]
        ContextRelevance as LegacyContextRelevance,
    )
    from ragas.metrics import (  # type: ignore[import-not-found,unused-ignore]
        Faithfulness as LegacyFaithfulness,
    )
    from ragas.metrics import (  # type: ignore[import-not-found,unused-ignore]
        LLMContextPrecisionWithoutReference,
        ResponseRelevancy,
    )

    samples = []
    for number in range(traces):
        question, answer, contexts = texts(number)
        samples.append(
            SingleTurnSample(user_input=question, response=answer, retrieved_contexts=contexts)
        )
    metrics = [
        LegacyFaithfulness(),
        ResponseRelevancy(),
        LLMContextPrecisionWithoutReference(),
        LegacyContextRelevance(),
    ]
    result = evaluate(
        dataset=EvaluationDataset(samples=samples),
        metrics=metrics,
        llm=LangchainLLMWrapper(ChatOpenAI(model="stub", base_url=url, timeout=timeout_s)),
        embeddings=LangchainEmbeddingsWrapper(
            OpenAIEmbeddings(
                model="stub", base_url=url, check_embedding_ctx_length=False, timeout=timeout_s
            )
        ),
        run_config=RunConfig(max_workers=16, timeout=timeout_s),
        raise_exceptions=False,
        show_progress=False,
    )
    counts = [sum(math.isnan(float(value)) for value in row.values()) for row in result.scores]
    return {"lost": sum(counts), "traces_hit": sum(count > 0 for count in counts)}


if __name__ == "__main__":
    given = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
    legacy = sys.argv[4] == "legacy"
    print(json.dumps(by_evaluate(*given) if legacy else asyncio.run(by_collections(*given))))
