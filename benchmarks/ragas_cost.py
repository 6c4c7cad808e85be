"""Ragas' collections metrics against a model server; run by `judge_cost` in Ragas' environment.

Takes the server's URL and the number of traces, prints one JSON line; with `--samples` and a list
of [question, answer, passages] it judges those one after the other and prints nothing. Needs ragas
0.4.3 only.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import sys
import time
from collections.abc import Awaitable, Callable

os.environ.setdefault("RAGAS_DO_NOT_TRACK", "true")

from openai import AsyncOpenAI
from ragas.embeddings.base import embedding_factory  # type: ignore[import-not-found,unused-ignore]
from ragas.llms import llm_factory  # type: ignore[import-not-found,unused-ignore]
from ragas.metrics.collections import (  # type: ignore[import-not-found,unused-ignore]
    AnswerRelevancy,
    ContextPrecisionWithoutReference,
    Faithfulness,
)


class Suite:
    """The three metrics of the published count over one client."""

    def __init__(self, url: str) -> None:
        self.client = AsyncOpenAI(base_url=url, api_key="none")
        llm = llm_factory("stub", client=self.client)
        embeddings = embedding_factory(
            "openai", model="stub", client=self.client, interface="modern"
        )
        self._faithful = Faithfulness(llm=llm)
        self._relevant = AnswerRelevancy(llm=llm, embeddings=embeddings)
        self._precise = ContextPrecisionWithoutReference(llm=llm)

    def calls(
        self, question: str, answer: str, contexts: list[str]
    ) -> list[Callable[[], Awaitable[object]]]:
        """One call per metric, not yet made."""
        asked = {"user_input": question, "response": answer}
        return [
            lambda: self._faithful.ascore(**asked, retrieved_contexts=contexts),
            lambda: self._relevant.ascore(**asked),
            lambda: self._precise.ascore(**asked, retrieved_contexts=contexts),
        ]


async def judge_in_order(url: str, samples: list[tuple[str, str, list[str]]]) -> None:
    """Every metric of every sample, one after the other; a failure ends the run."""
    suite = Suite(url)
    for sample in samples:
        for call in suite.calls(*sample):
            await call()
    await suite.client.close()


async def measure(url: str, traces: int) -> dict[str, float]:
    """CPU and wall milliseconds a trace over three metrics, 16 jobs at once."""
    suite = Suite(url)
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
        for call in suite.calls(question, answer, contexts):
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
    await suite.client.close()
    return {
        "cpu_ms": 1e3 * cpu / traces,
        "wall_ms": 1e3 * wall / traces,
        "failed": failures,
    }


if __name__ == "__main__":
    if sys.argv[2] == "--samples":
        asyncio.run(judge_in_order(sys.argv[1], [tuple(s) for s in json.loads(sys.argv[3])]))
    else:
        print(json.dumps(asyncio.run(measure(sys.argv[1], int(sys.argv[2])))))
