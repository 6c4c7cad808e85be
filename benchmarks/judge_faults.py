"""What faults of a model server cost: lost and wrong results, ours beside Ragas.

    python -m benchmarks.judge_faults [--only NAME …] [--seeds 7 8 9] [--timeout 2]
        [--ragas-python /path/to/python] [--ragas-apis collections legacy]

Prints one JSON line per run and in the end one JSON object. 100 traces with four metrics each are
judged with the default limits, but for the time allowed to one request (`--timeout`, the same on
both sides), while the server misbehaves by a script; a result is lost when it has no number, wrong
when its number differs from that of a faultless run. `ragas_published` quotes measurements of Ragas
0.4.3 (400 results, hangs with a timeout of 2 s). With `--ragas-python`, an environment with ragas
0.4.3 (see benchmarks/README.md), Ragas runs under the same faults in the same call: "collections"
awaits every metric, "legacy" is one `evaluate()`.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import random
import re
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.stub_server import (
    Answer,
    Body,
    Script,
    StubServer,
    completion,
    fill,
    obliging,
    schema_of,
)
from rag_monitor.domain.judgement import Judgement
from rag_monitor.domain.score import ScoreStatus
from rag_monitor.domain.trace import Trace
from rag_monitor.errors import JudgeError
from rag_monitor.evaluation.request import build_request
from rag_monitor.judges.openai_compatible import create
from rag_monitor.metrics.rag import aspects_for, score_trace
from rag_monitor.testing import make_trace

METRICS = ("faithfulness", "answer_relevancy", "context_utilization", "context_relevance")
TRACES = 100
BAD_REPLIES = ("malformed", "truncated", "wrong language", "wrong count")
ALL = ("malformed", "429", "500", "hang", "drip", "truncated", "wrong language", "wrong count")


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """How the server misbehaves."""

    faults: tuple[str, ...] = ()
    """Each hits its own 5 % of requests."""
    persistent: bool = False
    """The same prompt always meets the same fault."""
    outage: tuple[int, float] | None = None
    """Status and seconds, from the 20th request on."""
    ragas_published: str | None = None
    """Lost results of 400: legacy; collections."""


SCENARIOS: Mapping[str, Scenario] = {
    "malformed": Scenario(faults=("malformed",), ragas_published="2, 0, 0; 0, 0, 0"),
    "500": Scenario(faults=("500",), ragas_published="0, 0, 0; 0, 0, 0"),
    "429": Scenario(faults=("429",), ragas_published="0, 0, 0; 0, 0, 0"),
    "malformed, 500, 429": Scenario(
        faults=("malformed", "500", "429"), ragas_published="3, 1, 3; 0, 1, 0"
    ),
    "hang": Scenario(faults=("hang",), ragas_published="54; 0"),
    "malformed, 500, 429, hang": Scenario(
        faults=("malformed", "500", "429", "hang"), ragas_published="58; 1"
    ),
    "drip": Scenario(faults=("drip",)),
    "truncated": Scenario(faults=("truncated",)),
    "wrong language": Scenario(faults=("wrong language",)),
    "wrong count": Scenario(faults=("wrong count",)),
    "all eight": Scenario(faults=ALL),
    "all but drip": Scenario(faults=tuple(kind for kind in ALL if kind != "drip")),
    "malformed, persistent": Scenario(
        faults=("malformed",), persistent=True, ragas_published="25; 42 (batch: 300)"
    ),
    "500, persistent": Scenario(
        faults=("500",), persistent=True, ragas_published="42; 42 (batch: 300)"
    ),
    "hang, persistent": Scenario(faults=("hang",), persistent=True),
    "503 for 10 s": Scenario(outage=(503, 10.0), ragas_published="112; 23"),
    "429 for 10 s": Scenario(outage=(429, 10.0), ragas_published="3; 23"),
    "429 for 60 s": Scenario(outage=(429, 60.0), ragas_published="3; 84"),
}


class Misbehaving:
    """The script of one scenario."""

    def __init__(self, scenario: Scenario, seed: int) -> None:
        self._scenario = scenario
        self._seed = seed
        self._draw = random.Random(seed)
        self._requests = 0
        self._outage_ends: float | None = None
        self.faults: Counter[str] = Counter()

    def __call__(self, path: str, body: Body) -> Answer:
        """The answer to one request, right or spoilt."""
        self._requests += 1
        good = truthful(path, body)
        if self._scenario.outage is not None and self._is_out(self._scenario.outage[1]):
            self.faults["outage"] += 1
            return Answer(payload={"error": "not now"}, status=self._scenario.outage[0])
        draw = self._draw
        if self._scenario.persistent and trace_of(body) == "?":
            return good  # the stub writes one question for all traces: no prompt of its own
        if self._scenario.persistent:
            draw = random.Random(f"{self._seed} {prompt_key(body)}")
        place = int(draw.random() / 0.05)
        if place >= len(self._scenario.faults):
            return good
        kind = self._scenario.faults[place]
        self.faults[kind] += 1
        return spoilt(kind, good)

    def _is_out(self, seconds: float) -> bool:
        if self._requests == 20:
            self._outage_ends = time.monotonic() + seconds
        return self._outage_ends is not None and time.monotonic() < self._outage_ends


def truthful(path: str, body: Body) -> Answer:
    """A reply whose numbers depend on the trace, so that a swapped reply would show."""
    schema = schema_of(body)
    if schema is None or "nonce" not in schema["properties"]:
        return obliging(path, body)
    number = int(hashlib.sha256(trace_of(body).encode()).hexdigest()[:4], 16) / 65_535
    reply = fill(schema, round(number, 4))
    if "noncommittal" in reply:
        reply["noncommittal"] = 0.1  # a refusal has no scores that could be lost
    return Answer(payload=completion(json.dumps(reply)))


def trace_of(body: Body) -> str:
    """Which trace a request is about."""
    found = re.search(r"Trace (\d+)", json.dumps(body.get("messages", body.get("input", ""))))
    return found.group(1) if found else "?"


def prompt_key(body: Body) -> str:
    """The same for a request and its repetitions; our prompts hold a new boundary each time."""
    schema = schema_of(body)
    if schema is not None:
        return f"{trace_of(body)} {sorted(schema['properties'])}"
    # A repair repeats the prompt with the bad reply after it.
    return json.dumps(body["messages"][:2] if "messages" in body else body.get("input"))


def spoilt(kind: str, good: Answer) -> Answer:
    """`good` with a fault; replies that are no chat are cut in the middle instead."""
    transport = {
        "429": Answer(payload={"error": "slow down"}, status=429),
        "500": Answer(payload={"error": "oops"}, status=500),
        "hang": Answer(payload={}, delay_s=3_600),
        "drip": Answer(payload=good.payload, drip_s=1.0),
    }
    if kind in transport:
        return transport[kind]
    if "choices" not in good.payload:
        return Answer(payload=good.payload, cut=True)
    text = good.payload["choices"][0]["message"]["content"]
    replies = {
        "malformed": text.replace('"', "'"),
        "truncated": text[: len(text) // 2],
        "wrong language": "该回答完全有依据，满分。",
        "wrong count": miscounted(text),
    }
    return Answer(payload=completion(replies[kind]))


def miscounted(text: str) -> str:
    """The reply with one verdict or entry too many."""
    reply = json.loads(text)
    for name, part in reply.items():
        if isinstance(part, dict) and name != "rests_on":
            part["99"] = 1.0
            break
        if isinstance(part, list):
            part.extend([part[0]] * 20)
            break
    else:
        reply["extra"] = 1.0
    return json.dumps(reply)


def traces() -> list[Trace]:
    """Traces whose texts hold their number."""
    return [
        make_trace(
            f"Trace {n}: how long is the warranty?",
            f"For Trace {n} the warranty lasts 24 months. It covers parts.",
            [f"Passage {k} of Trace {n} says the warranty lasts {k} months." for k in range(5)],
            id=str(n),
        )
        for n in range(TRACES)
    ]


async def judged(
    url: str, sample: Sequence[Trace], timeout_s: float
) -> tuple[list[dict[str, float]], Counter[str]]:
    """Per trace the metrics that got a number, and why others got none."""
    settings = {"base_url": url, "model": "stub", "embedding_model": "stub", "probe_every": 0}
    judge = create(settings | {"limits": {"attempt_timeout_s": timeout_s}})
    requests = [build_request(trace, aspects_for(METRICS)) for trace in sample]
    try:
        results = await judge.judge_many(requests)
    finally:
        await judge.close()
    found: list[dict[str, float]] = []
    reasons: Counter[str] = Counter()
    for trace, result in zip(sample, results, strict=True):
        numbers: dict[str, float] = {}
        if isinstance(result, Judgement):
            for score in score_trace(trace, result, METRICS):
                if score.status is ScoreStatus.SCORED and score.value is not None:
                    numbers[score.metric] = score.value
                else:
                    reasons[str(score.reason)] += 1
        else:
            named = isinstance(result, JudgeError)
            reasons[result.reason if named else f"NO REASON {result!r}"] += len(METRICS)  # type: ignore[attr-defined]
        found.append(numbers)
    return found, reasons


async def ours(
    scenario: Scenario, seed: int, timeout_s: float, truth: Sequence[Mapping[str, float]]
) -> dict[str, Any]:
    """Our judge under one scenario."""
    script = Misbehaving(scenario, seed)
    began = time.monotonic()
    async with StubServer(script, keep=False) as server:
        found, reasons = await judged(server.url, traces(), timeout_s)
        calls = server.count
    lost = sum(len(METRICS) - len(numbers) for numbers in found)
    wrong = sum(
        abs(value - right[metric]) > 1e-9
        for numbers, right in zip(found, truth, strict=True)
        for metric, value in numbers.items()
    )
    return {
        "lost": lost,
        "traces_hit": sum(len(numbers) < len(METRICS) for numbers in found),
        "wrong": wrong,
        "reasons": dict(reasons),
        "calls": calls,
        "faults": dict(script.faults),
        "seconds": round(time.monotonic() - began, 1),
    }


async def ragas(
    scenario: Scenario, seed: int, timeout_s: float, python: str, api: str
) -> dict[str, Any]:
    """Ragas' metrics under the same scenario, in its own environment."""
    script: Script = Misbehaving(scenario, seed)
    began = time.monotonic()
    async with StubServer(script, keep=False) as server:
        process = await asyncio.create_subprocess_exec(
            python,
            str(Path(__file__).with_name("ragas_faults.py")),
            server.url,
            str(TRACES),
            str(timeout_s),
            api,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        out, err = await process.communicate()
        if process.returncode:
            return {"error": err.decode(errors="replace")[-500:]}
        figures: dict[str, Any] = json.loads(out.decode().splitlines()[-1])
        return figures | {"calls": server.count, "seconds": round(time.monotonic() - began, 1)}


def told(scenario: str, seed: int, who: str, figures: dict[str, Any]) -> dict[str, Any]:
    """Print a finished run at once: a long series may be cut short."""
    print(json.dumps({"scenario": scenario, "seed": seed, "who": who} | figures), flush=True)
    return figures


async def measure(options: argparse.Namespace) -> dict[str, Any]:
    """All chosen scenarios, one run after the other so that they do not slow each other down."""
    async with StubServer(truthful, keep=False) as server:
        truth, reasons = await judged(server.url, traces(), timeout_s=60.0)
    assert not reasons, reasons
    apis = options.ragas_apis if options.ragas_python else []
    report: dict[str, Any] = {
        name: {"ours": [], "ragas_published": scenario.ragas_published} | {api: [] for api in apis}
        for name, scenario in SCENARIOS.items()
        if not options.only or name in options.only
    }
    for seed in options.seeds:
        for name, row in report.items():
            scenario = SCENARIOS[name]
            if options.ours:
                found = await ours(scenario, seed, options.timeout, truth)
                row["ours"].append(told(name, seed, "ours", found))
            for api in apis:
                theirs = await ragas(scenario, seed, options.timeout, options.ragas_python, api)
                row[api].append(told(name, seed, api, theirs))
    return {"results": TRACES * len(METRICS), "metrics": METRICS, "scenarios": report}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", choices=list(SCENARIOS), default=[])
    parser.add_argument("--seeds", nargs="*", type=int, default=[7, 8, 9])
    parser.add_argument("--timeout", type=float, default=30.0, help="seconds a request")
    parser.add_argument("--ours", action=argparse.BooleanOptionalAction, default=True)
    parser.add_argument("--ragas-python", help="an interpreter with ragas 0.4.3")
    parser.add_argument(
        "--ragas-apis", nargs="*", choices=["collections", "legacy"], default=["collections"]
    )
    print(json.dumps(asyncio.run(measure(parser.parse_args())), indent=2, ensure_ascii=False))


if __name__ == "__main__":
    main()
