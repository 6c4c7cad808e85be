"""Ragas' collections metrics against a misbehaving server; run by `judge_faults`.

Takes the server's URL, the number of traces and the client's timeout; prints one JSON line. Needs
ragas 0.4.3 only.
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


async def measure(url: str, traces: int, timeout_s: float) -> dict[str, int]:
    """Lost results of four metrics, 16 at once."""
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
        question = f"Trace {number}: how long is the warranty?"
        answer = f"For Trace {number} the warranty lasts 24 months. It covers parts."
        contexts = [
            f"Passage {k} of Trace {number} says the warranty lasts {k} months." for k in range(5)
        ]
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


if __name__ == "__main__":
    print(json.dumps(asyncio.run(measure(sys.argv[1], int(sys.argv[2]), float(sys.argv[3])))))
