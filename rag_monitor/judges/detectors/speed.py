"""How fast this machine runs detectors: measured for loaded ones, guessed for published ones.

A guess multiplies matrices for a moment and counts what a trace would take; it says which models
are worth fetching. Only a measurement says how fast one is.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import numpy as np

from rag_monitor.domain.judgement import Aspect, Judgement, JudgeRequest
from rag_monitor.judges.judge import Judge

_PASSAGES: Final = 5
_PASSAGE_SENTENCES: Final = 20
_STATEMENTS: Final = 10
_LEAST_S: Final = 2.0
_MOST_TRACES: Final = 64
_MULTIPLY_S: Final = 0.3
_TOKENS_A_WORD: Final = 1.3
_AROUND: Final = 40
"""Tokens of instructions around passages and statement."""
_SHARE: Final = 0.5
"""How much of the speed of large matrices a model reaches, roughly."""


@dataclass(frozen=True, slots=True)
class Machine:
    """What there is to run a detector on."""

    gpu: str
    """Its name; empty: it is the CPU."""
    memory: float
    """Bytes that are free on it."""
    operations: float
    """Multiplications and additions a second, of large matrices."""
    bytes_a_weight: int
    """Two on a GPU (bfloat16), four on the CPU (float32)."""


@dataclass(frozen=True, slots=True)
class Published:
    """A detector that users can fetch."""

    name: str
    weights: float
    """Parameters in all."""
    working: float
    """Parameters that every token is multiplied by: without the table of words."""
    window: int
    """Tokens of passages in one input."""
    statements: bool
    """Whether every statement is an input of its own."""
    whole: bool
    """Whether the answer is one, too."""


PUBLISHED: Final = (
    Published("vectara/hallucination_evaluation_model", 110e6, 85e6, 2048, True, True),
    Published("KRLabsOrg/lettucedect-base-modernbert-en-v1", 150e6, 110e6, 4096, False, True),
    Published("KRLabsOrg/lettucedect-large-modernbert-en-v1", 395e6, 345e6, 4096, False, True),
    Published("lytang/MiniCheck-RoBERTa-Large", 355e6, 302e6, 400, True, False),
    Published("lytang/MiniCheck-DeBERTa-v3-Large", 435e6, 302e6, 400, True, False),
    Published("lytang/MiniCheck-Flan-T5-Large", 783e6, 335e6, 660, True, False),
    Published("MoritzLaurer/mDeBERTa-v3-base-mnli-xnli", 279e6, 86e6, 440, True, False),
    Published("ibm-granite/granite-guardian-3.1-2b", 2.5e9, 2.4e9, 4096, True, True),
    Published("ibm-granite/granite-guardian-3.1-8b", 8.2e9, 8.0e9, 4096, True, True),
)
"""Sizes as their cards give them."""


@dataclass(frozen=True, slots=True)
class Speed:
    """What a measurement found."""

    traces: int
    seconds: float
    tokens: int
    """Tokens read, padding not included."""

    @property
    def seconds_a_trace(self) -> float:
        """Of traces of the sample's size, in batches."""
        return self.seconds / self.traces


def sample(number: int = 0) -> JudgeRequest:
    """A trace of five passages of 200 words and an answer of 100, another one for each number."""
    passages = tuple(
        " ".join(
            f"Part {number + p} of model {s} is covered for {s + 6} months."
            for s in range(_PASSAGE_SENTENCES)
        )
        for p in range(_PASSAGES)
    )
    answer = " ".join(
        f"Part {number} of model {s} is covered for {s + 6} months." for s in range(_STATEMENTS)
    )
    return JudgeRequest(
        question="How long is each model covered?",
        answer=answer,
        contexts=passages,
        aspects=frozenset({Aspect.SUPPORT, Aspect.ANSWER_SUPPORTED}),
    )


async def measure(judge: Judge) -> Speed:
    """Judge samples for some seconds, after one that warms up.

    Raises:
        JudgeError: The judge failed on a sample.
    """
    await judge.judge(sample())
    began = time.perf_counter()
    traces, tokens, batch = 0, 0, 1
    while traces < _MOST_TRACES and (traces == 0 or time.perf_counter() - began < _LEAST_S):
        results = await judge.judge_many([sample(traces + n) for n in range(batch)])
        for result in results:
            if not isinstance(result, Judgement):
                raise result
            tokens += result.usage.input_tokens
        traces += len(results)
        batch = min(batch * 2, _MOST_TRACES - traces or 1)
    return Speed(traces, time.perf_counter() - began, tokens)


def guess(model: Published, machine: Machine) -> float | None:
    """Seconds that `model` would take for a sample trace; None: it does not fit into memory."""
    if model.weights * machine.bytes_a_weight * 1.2 > machine.memory:
        return None
    return 2 * model.working * tokens_of(model) / (machine.operations * _SHARE)


def tokens_of(model: Published) -> float:
    """Tokens of all inputs of one sample trace."""
    request = sample()
    passages = sum(len(text.split()) for text in request.contexts or ()) * _TOKENS_A_WORD
    answer = len(request.answer.split()) * _TOKENS_A_WORD
    windows = math.ceil(passages / model.window)
    total = 0.0
    if model.statements:
        total += _STATEMENTS * (passages + windows * _AROUND) + windows * answer
    if model.whole:
        total += passages + answer + _AROUND
    return total


def look() -> Machine:
    """The first GPU where torch finds one, else the CPU; takes a moment to multiply matrices."""
    if find_spec("torch") is None:
        return _cpu(_numpy_multiplies())
    import torch

    if not torch.cuda.is_available():
        return _cpu(_torch_multiplies(torch, "cpu", torch.float32, 1024))
    free, _ = torch.cuda.mem_get_info()
    speed = _timed(*_torch_multiplies(torch, "cuda", torch.bfloat16, 8192))
    return Machine(torch.cuda.get_device_name(), float(free), speed, 2)


def _cpu(multiplies: tuple[Callable[[], object], float]) -> Machine:
    return Machine("", _free_memory(), _timed(*multiplies), 4)


def _numpy_multiplies() -> tuple[Callable[[], object], float]:
    matrix = np.random.default_rng(0).normal(size=(1024, 1024)).astype(np.float32)
    return lambda: matrix @ matrix, 2 * 1024**3


def _torch_multiplies(
    torch: Any, device: str, dtype: Any, size: int
) -> tuple[Callable[[], object], float]:
    matrix = torch.randn(size, size, device=device, dtype=dtype)

    def multiply() -> object:
        product = matrix @ matrix
        if device == "cuda":
            torch.cuda.synchronize()
        return product

    return multiply, 2.0 * size**3


def _timed(multiply: Callable[[], object], operations: float) -> float:
    multiply()
    began, done = time.perf_counter(), 0
    while time.perf_counter() - began < _MULTIPLY_S:
        multiply()
        done += 1
    return done * operations / (time.perf_counter() - began)


def _free_memory() -> float:
    """Bytes that a process may still take; infinite where the system does not say."""
    try:
        text = Path("/proc/meminfo").read_text(encoding="ascii")
        line = next(one for one in text.splitlines() if one.startswith("MemAvailable:"))
        return float(line.split()[1]) * 1024
    except (OSError, StopIteration, ValueError, IndexError):
        return math.inf
