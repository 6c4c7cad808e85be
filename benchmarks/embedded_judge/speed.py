"""Time the embedded judge and print one JSON object.

Usage: `python -m benchmarks.embedded_judge.speed DATA_FOLDER [--lexical] [--threads N]
[--default-collector]`
Traces are five passages of about 200 words and an answer of about 100, cut from CLAPNQ and
ExpertQA (English), and five passages of about 300 characters with an answer of about 150 from
UHGEval (Chinese). `cold`: no passage was seen before; `warm`: every passage was, as in traffic
that keeps recalling the same ones; `recurring`: begun with nothing seen, 2,000 traces whose
passages are drawn from all of these by Zipf's law, as a retriever recalls some more often than
others; `reworded`: the English answers with one word in eight left out, so that nothing stands word
for word and the encoder reads every statement. Each trace is timed on its own, by the clock and by
the processor time it took, in several rounds; `quiet` is of the least time that each took in any
round, which a busy machine distorts least. `loop_s` is how long the machine takes for three million
additions in Python. Garbage is looked for as seldom as in a process that serves, or with
`--default-collector` as Python does. `judging_mb`: what the process holds more once it has judged
the English traces (Linux).
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import random
import resource
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.embedded_judge.corpora import load
from rag_monitor.domain.judgement import Aspect, JudgeRequest
from rag_monitor.judges.embedded import EmbeddedJudge, create, create_lexical
from rag_monitor.judges.embedded.judge import ASPECTS
from rag_monitor.language.compiled import COMPILED
from rag_monitor.language.sentences import split_sentences
from rag_monitor.server.process import tune_interpreter

Times = NDArray[np.float64]
"""One row a trace: milliseconds by the clock, and of the processor."""
SUPPORT = frozenset({Aspect.SUPPORT, Aspect.ANSWER_SUPPORTED})
TRACES = 400
RECURRING = 2000
ROUNDS = 5
ADDITIONS = 3_000_000
PASSAGES = 5
REWORDED = 100
LEFT_OUT = 8
"""Of so many words of a reworded answer one is left out."""


def english(folder: Path) -> list[JudgeRequest]:
    """Traces of 5 x about 200 words and an answer of about 100 words."""
    texts = [row["contexts"][0] for row in load(folder, "clapnq_dev")]
    texts += [text for row in load(folder, "expertqa_claims") for text in row["contexts"]]
    questions = [row["question"] for row in load(folder, "clapnq_dev")]
    return _traces(list(dict.fromkeys(texts)), questions, 200, 100, words)


def words(text: str) -> int:
    """How many words a text has."""
    return len(text.split())


def chinese(folder: Path) -> list[JudgeRequest]:
    """Traces of 5 x about 300 characters and an answer of about 150 characters."""
    rows = load(folder, "uhgeval_zh")
    texts = [context for row in rows for context in row["contexts"]]
    questions = ["今年该项目的投资总额是多少？"]
    return _traces(list(dict.fromkeys(texts)), questions, 300, 150, len)


def _traces(
    texts: list[str], questions: list[str], passage: int, answer: int, size: Callable[[str], int]
) -> list[JudgeRequest]:
    """Sentences in their order packed into passages; answers mix theirs with foreign ones."""
    draw = random.Random(17)
    packed: list[list[str]] = [[]]
    for text in texts:
        for span in split_sentences(text):
            if packed[-1] and sum(map(size, packed[-1])) + size(span.text) / 2 > passage:
                packed.append([])
            packed[-1].append(span.text)
    draw.shuffle(packed)
    found = []
    for number in range(0, len(packed) - PASSAGES, PASSAGES):
        chosen = packed[number : number + PASSAGES]
        pool = [s for sentences in chosen for s in sentences]
        pool += packed[number - 1][:2]
        draw.shuffle(pool)
        said: list[str] = []
        while pool and sum(map(size, said)) + size(pool[-1]) / 2 <= answer:
            said.append(pool.pop())
        found.append(
            JudgeRequest(
                question=draw.choice(questions) or "",
                answer=" ".join(said),
                contexts=tuple(" ".join(sentences) for sentences in chosen),
                aspects=SUPPORT,
            )
        )
    return found[:TRACES]


def recurring(
    traces: list[JudgeRequest], answer: int, size: Callable[[str], int]
) -> list[JudgeRequest]:
    """Traces on the same passages, the n-th drawn with weight 1/n; answers repeat theirs."""
    draw = random.Random(19)
    known = [text for trace in traces for text in trace.contexts or ()]
    weights = [1 / rank for rank in range(1, len(known) + 1)]
    found = []
    for number in range(RECURRING):
        chosen: dict[str, None] = {}
        while len(chosen) < PASSAGES:
            chosen.update(dict.fromkeys(draw.choices(known, weights)))
        pool = [span.text for text in chosen for span in split_sentences(text)]
        draw.shuffle(pool)
        said: list[str] = []
        while pool and sum(map(size, said)) + size(pool[-1]) / 2 <= answer:
            said.append(pool.pop())
        question = traces[number % len(traces)].question
        found.append(
            JudgeRequest(
                question=question,
                answer=" ".join(said),
                contexts=tuple(chosen),
                aspects=SUPPORT,
            )
        )
    return found


def reworded(traces: list[JudgeRequest]) -> list[JudgeRequest]:
    """The same traces with answers none of whose sentences stand word for word."""
    found = []
    for trace in traces:
        said = []
        for span in split_sentences(trace.answer):
            kept = [w for n, w in enumerate(span.text.split()) if n % LEFT_OUT != LEFT_OUT // 2]
            said.append(" ".join(kept))
        found.append(replace(trace, answer=" ".join(said)))
    return found


def timed(engine: EmbeddedJudge, traces: list[JudgeRequest]) -> Times:
    """Milliseconds of each trace, by the clock and of the processor."""
    found = []
    for trace in traces:
        started, worked = time.perf_counter(), time.thread_time()
        engine.judge_one(trace)
        busy = time.thread_time() - worked
        found.append((1000 * (time.perf_counter() - started), 1000 * busy))
    return np.array(found)


def told(rounds: list[Times]) -> dict[str, float]:
    """What several rounds of the same traces took, in milliseconds and traces a second."""
    spent, busy = np.concatenate(rounds).T
    least = np.min([times[:, 0] for times in rounds], axis=0)
    return {
        "p50_ms": round(float(np.quantile(spent, 0.5)), 3),
        "p99_ms": round(float(np.quantile(spent, 0.99)), 3),
        "traces_per_second": round(1000 / float(np.mean(spent)), 1),
        "cpu_p50_ms": round(float(np.quantile(busy, 0.5)), 3),
        "traces_per_cpu_second": round(1000 / float(np.mean(busy)), 1),
        "quiet_p50_ms": round(float(np.quantile(least, 0.5)), 3),
        "quiet_traces_per_second": round(1000 / float(np.mean(least)), 1),
    }


def resident_mb() -> float:
    """What the process holds in memory; 0 where the system does not say."""
    told = Path("/proc/self/statm")
    pages = int(told.read_text().split()[1]) if told.exists() else 0
    return pages * resource.getpagesize() / 2**20


def loop_s() -> float:
    """How fast the machine is at its best: seconds for a loop of additions."""
    best = float("inf")
    for _ in range(ROUNDS):
        started, total = time.perf_counter(), 0
        for number in range(ADDITIONS):
            total += number
        best = min(best, time.perf_counter() - started)
    return round(best, 3)


def measure(
    traces: list[JudgeRequest], aspects: frozenset[Aspect], make: Callable[[], EmbeddedJudge]
) -> dict[str, object]:
    """Cold and warm figures of one kind of trace."""
    asked = [
        JudgeRequest(question=t.question, answer=t.answer, contexts=t.contexts, aspects=aspects)
        for t in traces
    ]
    cold, warm = [], []
    for _ in range(ROUNDS):
        engine = make()
        cold.append(timed(engine, asked))
        warm.append(timed(engine, asked))
    return {"traces": len(asked), "cold": told(cold), "warm": told(warm)}


def main(folder: Path, make: Callable[[], EmbeddedJudge]) -> None:
    """Measure and print."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    traces = english(folder)
    held = resident_mb()
    timed(make(), traces)
    judging = resident_mb() - held
    report: dict[str, object] = {
        "judge": str(make().identity),
        "compiled": COMPILED is not None,
        "collector": "default" if gc.get_freeze_count() == 0 else "as served",
        "load_average": round(os.getloadavg()[0], 2),
        "loop_s": loop_s(),
        "judging_mb": round(judging, 1),
    }
    kinds: tuple[tuple[str, list[JudgeRequest], int, Callable[[str], int]], ...] = (
        ("en", traces, 100, words),
        ("zh", chinese(folder), 150, len),
    )
    for name, traces, answer, size in kinds:
        timed(make(), traces[:50])
        again = recurring(traces, answer, size)
        own: dict[str, object] = {
            "words" if name == "en" else "characters": round(
                sum(
                    len(c.split()) if name == "en" else len(c)
                    for t in traces
                    for c in t.contexts or ()
                )
                / len(traces)
            ),
            "support": measure(traces, SUPPORT, make),
            "all_aspects": measure(traces, ASPECTS, make),
            "recurring": told([timed(make(), again) for _ in range(2)]),
        }
        if name == "en":
            own["reworded"] = measure(reworded(traces[:REWORDED]), SUPPORT, make)
        report[name] = own
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    report["memory_grown_mb"] = round((after - before) / 1024, 1)
    print(json.dumps(report, indent=1))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("data", type=Path)
    parser.add_argument("--lexical", action="store_true")
    parser.add_argument("--threads", type=int, default=1, help="what the encoder may take")
    parser.add_argument("--default-collector", action="store_true")
    given = parser.parse_args()
    if not given.default_collector:
        tune_interpreter()
    options = {"encoder_threads": given.threads}
    main(given.data, lambda: create_lexical({}) if given.lexical else create(options))
