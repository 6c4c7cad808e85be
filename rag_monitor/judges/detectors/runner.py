"""What runs a detector: from encoded inputs to the numbers its format reads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from rag_monitor.judges.detectors.formats import Format, Reads

Numbers = NDArray[np.float32]


class Runner(Protocol):
    """A loaded model. Used by one thread at a time."""

    @property
    def place(self) -> str:
        """Where it runs and how, such as `onnxruntime, CPU` or `transformers, cuda:0, bfloat16`."""
        ...

    @property
    def kind(self) -> str:
        """What makes its numbers differ from those of another, such as `float32` or `onnx`."""
        ...

    @property
    def on_gpu(self) -> bool:
        """Whether its time is GPU time."""
        ...

    def run(self, encodings: Sequence[Any]) -> list[Numbers]:
        """The numbers of each input, in order: (classes,), or (tokens, classes) for `TOKENS`.

        Raises:
            JudgeUnavailable: Not even one input at a time fits into memory.
        """
        ...


def picked(output: Numbers, lengths: Sequence[int], form: Format) -> list[Numbers]:
    """What the format reads of a batch's output.

    Args:
        output: (rows, classes), or (rows, places, classes).
        lengths: Tokens of each row, without padding.
        form: Says where the verdict stands.
    """
    if form.reads is Reads.TOKENS:
        return [row[:length] for row, length in zip(output, lengths, strict=True)]
    rows = output[:, 0] if output.ndim == 3 else output
    if form.classes:
        rows = rows[:, list(form.classes)]
    return list(rows)
