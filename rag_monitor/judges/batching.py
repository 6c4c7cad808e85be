"""Inputs of like lengths in batches of a bounded size, smaller ones where memory runs out."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from rag_monitor import telemetry
from rag_monitor.errors import JudgeUnavailable

_log = logging.getLogger(__name__)

Input = TypeVar("Input")
Output = TypeVar("Output")


def batches(sizes: Sequence[int], budget: int) -> Iterator[list[int]]:
    """Places of inputs, neighbours in length together, at least one a batch.

    Args:
        sizes: Tokens of each input.
        budget: Tokens of one batch, padding included.
    """
    batch: list[int] = []
    for place in sorted(range(len(sizes)), key=lambda n: sizes[n]):
        if batch and sizes[place] * (len(batch) + 1) > budget:
            yield batch
            batch = []
        batch.append(place)
    if batch:
        yield batch


class DeviceBatches:
    """Runs inputs in batches that fit into the memory of a device.

    Args:
        budget: Tokens of one batch, padding included; halved whenever memory runs out.
        exhausted: What is raised when memory does not suffice.
        release: Gives back what the device holds for later.
        noun: What one input is called.
    """

    def __init__(
        self,
        budget: int,
        *,
        exhausted: type[Exception],
        release: Callable[[], None],
        noun: str,
    ) -> None:
        self._budget = budget
        self._exhausted = exhausted
        self._release = release
        self._noun = noun

    def run(
        self,
        together: Callable[[Sequence[Input]], Sequence[Output]],
        inputs: Sequence[Input],
        sizes: Sequence[int],
    ) -> list[Output]:
        """The output of each input, in order.

        Args:
            together: The outputs of inputs that are read together, in order.
            inputs: What to read.
            sizes: Tokens of each input.

        Raises:
            JudgeUnavailable: Not even one input at a time fits into memory.
        """
        by_index: dict[int, Output] = {}
        for places in batches(sizes, self._budget):
            outputs = self._within_memory(together, [inputs[place] for place in places])
            by_index.update(zip(places, outputs, strict=True))
        return [by_index[place] for place in range(len(inputs))]

    def _within_memory(
        self, together: Callable[[Sequence[Input]], Sequence[Output]], inputs: Sequence[Input]
    ) -> list[Output]:
        try:
            return list(together(inputs))
        except self._exhausted:
            _log.warning("out of memory on a batch of %d %ss; halving it", len(inputs), self._noun)
            telemetry.dropped("judges", "out_of_memory")
        self._release()
        if len(inputs) == 1:
            raise JudgeUnavailable(
                "one {noun} alone does not fit into the device's memory", noun=self._noun
            )
        self._budget = max(1, self._budget // 2)
        half = len(inputs) // 2
        return [
            *self._within_memory(together, inputs[:half]),
            *self._within_memory(together, inputs[half:]),
        ]
