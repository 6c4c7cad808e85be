"""What judging one trace costs: calls, tokens and framework milliseconds, ours beside Ragas.

    python -m benchmarks.judge_cost [--ragas-python /path/to/python] [--traces 100]

Prints one JSON object. Tokens are those of the Tekken tokenizer (`pip install mistral-common`). The
worked trace has five passages of 218 tokens, a question of 24, an answer of 93 and five statements.
Published for Ragas 0.4.3 on that trace: 10 calls, 10,024 prompt and 855 output tokens; behind a
perfect prefix cache 3,091 prompt tokens remain to be computed. With `--ragas-python`, an
environment with ragas 0.4.3 installed (see benchmarks/README.md), Ragas judges the same traces with
the same stub in the same call: its tokens are counted in what it sends, those behind a perfect
prefix cache as what no earlier prompt began with. Replies are the stub's on both sides: fixed texts
of usual length, counted apart.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks.stub_server import Body, StubServer, obliging
from rag_monitor.domain.judgement import Aspect, JudgeRequest, Statement
from rag_monitor.judges.hardening import draw_boundary, fenced, gather_evidence
from rag_monitor.judges.openai_compatible import create
from rag_monitor.judges.prompts import PromptSet, prompts_for
from rag_monitor.judges.questions import ASKABLE, make_plan, question_text

SENTENCE = (
    "the rate for a first home loan is set by the bank each year and may be lowered for clients "
    "with long accounts while fees depend on term amount and region as the notice explains"
)
WORDS = SENTENCE.split()
RAGAS_ASPECTS = frozenset({Aspect.SUPPORT, Aspect.USEFULNESS, Aspect.GRADE})
LOGIT_ASPECTS = ASKABLE - {Aspect.QUESTION_SIMILARITY, Aspect.SUMMARY_QUESTION}
PUBLISHED = {"calls": 10, "prompt_tokens": 10_024, "output_tokens": 855, "cached_prompt": 3_091}
DRAWS = 25
TEMPLATE_HEAD, TEMPLATE_TAIL = 8, 5
"""Tokens a chat template puts around a system and a user message (Qwen: 8 and 5)."""


class Tokens:
    """Counts with Tekken when it is there, else by a rule that says so in the report."""

    def __init__(self) -> None:
        try:
            from mistral_common.tokens.tokenizers.tekken import Tekkenizer

            folder = Path(sys.modules["mistral_common"].__file__ or "").parent / "data"
            self._tokenizer: Any = Tekkenizer.from_file(str(folder / "tekken_240911.json"))
            self.name = "tekken_240911"
        except (ImportError, OSError):
            self._tokenizer, self.name = None, "one token per four characters (a guess)"

    def count(self, text: str) -> int:
        """Tokens of `text`."""
        if self._tokenizer is None:
            return (len(text) + 3) // 4
        return len(self._tokenizer.encode(text, bos=False, eos=False))

    def of_messages(self, body: Body) -> int:
        """Tokens of a chat request with the template around its messages."""
        return (
            TEMPLATE_HEAD + TEMPLATE_TAIL + sum(self.count(m["content"]) for m in body["messages"])
        )


def text_of(tokens: Tokens, length: int, draw: random.Random) -> str:
    """Sentences of exactly or just under `length` tokens."""
    words: list[str] = []
    while tokens.count(" ".join(words) + ".") < length:
        words.append(draw.choice(WORDS))
    return " ".join(words) + "."


def worked_trace(tokens: Tokens, seed: int, aspects: frozenset[Aspect]) -> JudgeRequest:
    """The trace of the published count."""
    draw = random.Random(seed)
    statements = [text_of(tokens, 23, draw) for _ in range(5)]
    answer = " ".join(text_of(tokens, 18, draw) for _ in range(5))
    return JudgeRequest(
        question=text_of(tokens, 24, draw),
        answer=answer,
        contexts=tuple(text_of(tokens, 218, draw) for _ in range(5)),
        aspects=aspects,
        statements=tuple(Statement(text=s, start=0, end=len(answer)) for s in statements),
        key=str(seed),
    )


def packed_cost(tokens: Tokens, request: JudgeRequest) -> dict[str, int]:
    """Tokens of the packed pass: the most of several draws, for the boundary differs in length."""
    return max((one_pass(tokens, request) for _ in range(DRAWS)), key=lambda cost: cost["tokens"])


def one_pass(tokens: Tokens, request: JudgeRequest) -> dict[str, int]:
    """Tokens of one packed pass, counted without a model: prefix once, then the branches."""
    prompts: PromptSet = prompts_for(request)
    plan = make_plan(request, LOGIT_ASPECTS)
    prefix = fenced(draw_boundary(), gather_evidence(request, 10**6).data)
    branches = [question_text(q, prompts, has_query=False) for q in plan.questions]
    shared = TEMPLATE_HEAD + tokens.count(prompts.verdict["system"]) + tokens.count(prefix)
    own = sum(tokens.count("\n" + branch) + TEMPLATE_TAIL for branch in branches)
    return {"passes": 1, "verdicts": len(branches), "tokens": shared + own, "prefix": shared}


async def structured_cost(
    tokens: Tokens, aspects: frozenset[Aspect], **options: Any
) -> dict[str, int]:
    """Calls and tokens of one trace by a counting server."""
    async with StubServer(obliging) as server:
        settings = {"base_url": server.url, "model": "stub", "probe_every": 0}
        judge = create(settings | options)
        await judge.judge(worked_trace(tokens, 1, aspects))
        await judge.close()
        chats = [body for path, body in server.requests if path.endswith("completions")]
        return {
            "calls": len(chats),
            "embedding_calls": len(server.requests) - len(chats),
            "prompt_tokens": sum(tokens.of_messages(body) for body in chats),
            "output_tokens": sum(
                tokens.count(
                    obliging("/chat/completions", body).payload["choices"][0]["message"]["content"]
                )
                for body in chats
            ),
        }


async def framework_ms(url: str, requests: list[JudgeRequest]) -> dict[str, float]:
    """CPU and wall milliseconds a trace, with a model that answers at once."""
    judge = create({"base_url": url, "model": "stub", "probe_every": 0})
    await judge.judge_many(requests[:16])
    wall, cpu = time.perf_counter(), time.process_time()
    results = await judge.judge_many(requests)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    await judge.close()
    assert not any(isinstance(result, Exception) for result in results)
    return {"cpu_ms": 1e3 * cpu / len(requests), "wall_ms": 1e3 * wall / len(requests)}


async def ragas_tokens_here(tokens: Tokens, python: str) -> dict[str, int]:
    """What Ragas sends for the worked trace after it has judged another one."""
    traces = [worked_trace(tokens, seed, RAGAS_ASPECTS) for seed in (2, 1)]
    samples = json.dumps([[t.question, t.answer, list(t.contexts or ())] for t in traces])
    async with StubServer(obliging) as server:
        process = await asyncio.create_subprocess_exec(
            python, str(Path(__file__).with_name("ragas_cost.py")), server.url, "--samples", samples
        )
        if await process.wait():
            raise SystemExit("Ragas failed; see above")
        chats = [body for path, body in server.requests if path.endswith("/chat/completions")]
    return prompt_costs(tokens, chats)


def prompt_costs(tokens: Tokens, chats: list[Body]) -> dict[str, int]:
    """Calls and tokens of the second half of `chats`; "computed" leaves out known beginnings."""
    half = len(chats) // 2
    prompts = ["\n".join(str(m["content"]) for m in body["messages"]) for body in chats]
    replies = [
        obliging("/chat/completions", body).payload["choices"][0]["message"]["content"]
        for body in chats[half:]
    ]
    computed = 0
    for place in range(half, len(prompts)):
        known = max(shared_length(prompts[place], other) for other in prompts[:place])
        computed += tokens.count(prompts[place][known:])
    return {
        "calls": len(chats) - half,
        "prompt_tokens": sum(tokens.of_messages(body) for body in chats[half:]),
        "output_tokens": sum(map(tokens.count, replies)),
        "computed_prompt_tokens": computed,
    }


def shared_length(one: str, other: str) -> int:
    """Characters both texts begin with."""
    pairs = zip(one, other, strict=False)
    return next((n for n, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))


def ragas_ms(python: str, url: str, traces: int) -> dict[str, float]:
    """The same figures for Ragas, run by an interpreter that has it."""
    script = Path(__file__).with_name("ragas_cost.py")
    done = subprocess.run(
        [python, str(script), url, str(traces)], capture_output=True, text=True, check=True
    )
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def main() -> None:
    """Count, time, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ragas-python", help="an interpreter with ragas 0.4.3")
    parser.add_argument("--traces", type=int, default=100)
    options = parser.parse_args()
    tokens = Tokens()
    core = packed_cost(tokens, worked_trace(tokens, 1, RAGAS_ASPECTS))
    everything = packed_cost(tokens, worked_trace(tokens, 1, LOGIT_ASPECTS))
    ragas_tokens = PUBLISHED["prompt_tokens"] + PUBLISHED["output_tokens"]
    report: dict[str, Any] = {
        "tokenizer": tokens.name,
        "packed_core": core,
        "packed_all_logit_aspects": everything,
        "structured_core": asyncio.run(structured_cost(tokens, RAGAS_ASPECTS)),
        "structured_all_logit_aspects": asyncio.run(structured_cost(tokens, LOGIT_ASPECTS)),
        "structured_live": asyncio.run(
            structured_cost(
                tokens, LOGIT_ASPECTS | {Aspect.QUESTION_SIMILARITY}, embedding_model="stub"
            )
        ),
        "exact_core": asyncio.run(structured_cost(tokens, RAGAS_ASPECTS, verdicts="exact")),
        "ragas_published": PUBLISHED,
        "fewer_tokens": round(ragas_tokens / core["tokens"], 2),
        "fewer_computed_tokens_than_cached_ragas": round(
            (PUBLISHED["cached_prompt"] + PUBLISHED["output_tokens"]) / core["tokens"], 2
        ),
    }
    if options.ragas_python:
        here = asyncio.run(ragas_tokens_here(tokens, options.ragas_python))
        report["ragas_here"] = here | {
            "times_packed": round(
                (here["prompt_tokens"] + here["output_tokens"]) / core["tokens"], 2
            ),
            "computed_times_packed": round(
                (here["computed_prompt_tokens"] + here["output_tokens"]) / core["tokens"], 2
            ),
        }
    requests = [worked_trace(tokens, seed, RAGAS_ASPECTS) for seed in range(options.traces)]
    with subprocess.Popen(
        [sys.executable, "-m", "benchmarks.stub_server"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as server:
        assert server.stdout is not None
        assert server.stdin is not None
        url = server.stdout.readline().strip()
        runs = [asyncio.run(framework_ms(url, requests)) for _ in range(3)]
        report["framework"] = min(runs, key=lambda run: run["cpu_ms"])
        if options.ragas_python:
            report["ragas_framework"] = ragas_ms(options.ragas_python, url, options.traces)
            report["less_framework_cpu"] = round(
                report["ragas_framework"]["cpu_ms"] / report["framework"]["cpu_ms"], 1
            )
        server.stdin.close()
    print(json.dumps(report, indent=2))


if __name__ == "__main__":
    main()
