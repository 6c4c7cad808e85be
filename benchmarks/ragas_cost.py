"""Ragas' collections metrics against a model server; run by `judge_cost` in Ragas' environment.

Takes the server's URL and the number of traces, prints one JSON line. Needs ragas 0.4.3 only.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import sys
import time

os.environ.setdefault("RAGAS_DO_NOT_TRACK", "true")

from openai import AsyncOpenAI
from ragas.embeddings.base import embedding_factory  # type: ignore[import-not-found,unused-ignore]
from ragas.llms import llm_factory  # type: ignore[import-not-found,unused-ignore]
from ragas.metrics.collections import (  # type: ignore[import-not-found,unused-ignore]
    AnswerRelevancy,
    ContextPrecisionWithoutReference,
    Faithfulness,
)


async def measure(url: str, traces: int) -> dict[str, float]:
    """CPU and wall milliseconds a trace over three metrics, 16 jobs at once."""
    client = AsyncOpenAI(base_url=url, api_key="none")
    llm = llm_factory("stub", client=client)
    embeddings = embedding_factory("openai", model="stub", client=client, interface="modern")
    faithful, relevant = Faithfulness(llm=llm), AnswerRelevancy(llm=llm, embeddings=embeddings)
    precise = ContextPrecisionWithoutReference(llm=llm)
    gate = asyncio.Semaphore(16)
    draw = random.Random(1)

    def text(words: int) -> str:
        return " ".join(draw.choice(["rate", "loan", "bank", "year", "home"]) for _ in range(words))

    samples = []
    for _ in range(traces):
        answer = ". ".join(text(15) for _ in range(5)) + "."
        samples.append((text(18), answer, [text(170) for _ in range(5)]))

    async def job(question: str, answer: str, contexts: list[str]) -> int:
        failed = 0
        calls = (
            lambda: faithful.ascore(
                user_input=question, response=answer, retrieved_contexts=contexts
            ),
            lambda: relevant.ascore(user_input=question, response=answer),
            lambda: precise.ascore(
                user_input=question, response=answer, retrieved_contexts=contexts
            ),
        )
        for call in calls:
            async with gate:
                try:
                    await call()
                except Exception:  # noqa: BLE001 - counted and reported
                    failed += 1
        return failed

    await asyncio.gather(*(job(*sample) for sample in samples[:4]))
    wall, cpu = time.perf_counter(), time.process_time()
    failures = sum(await asyncio.gather(*(job(*sample) for sample in samples)))
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    await client.close()
    return {
        "cpu_ms": 1e3 * cpu / traces,
        "wall_ms": 1e3 * wall / traces,
        "failed": failures,
    }


if __name__ == "__main__":
    print(json.dumps(asyncio.run(measure(sys.argv[1], int(sys.argv[2])))))
