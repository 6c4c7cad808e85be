"""Sums per bucket of clusters that are worked out when somebody looks at them.

A page reads thousands of rows, of which few are asked how much alike the traces of a session are:
charts of traffic and latency never ask.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

Sums = Mapping[str, Sequence[float]]
"""By quantity: one sum per bucket."""


class BucketSums(Mapping[str, Sequence[float]]):
    """`Rollup.clusters` of a row that has some.

    Args:
        add_up: Gives the sums, of one quantity at least; is called once, or twice by two threads.
    """

    __slots__ = ("_add_up", "_sums")

    def __init__(self, add_up: Callable[[], Sums]) -> None:
        self._add_up: Callable[[], Sums] | None = add_up
        self._sums: Sums = {}

    def _added_up(self) -> Sums:
        add_up = self._add_up
        if add_up is not None:
            self._sums = add_up()
            self._add_up = None  # last: whoever finds it gone finds the sums
        return self._sums

    def __getitem__(self, name: str) -> Sequence[float]:
        return self._added_up()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._added_up())

    def __len__(self) -> int:
        return len(self._added_up())

    def __bool__(self) -> bool:
        """There are some: to ask takes no work."""
        return True
