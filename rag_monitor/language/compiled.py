"""What reads text one character at a time, where the package was built with a C compiler.

Where it was not, the patterns of `normalise`, `sentences` and `vocabulary` do the same (ADR 13).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from importlib import import_module
from types import ModuleType
from typing import Any, Final, NamedTuple, Protocol


class Folding(Protocol):
    """Folds text by what each of its characters becomes."""

    def fold(self, text: str) -> str | None:
        """The folded text, None when what one of its characters becomes depends on others."""


class Cut(Protocol):
    """Cuts a text into sentences, each with the place where it begins."""

    def __call__(
        self,
        text: str,
        protected: Callable[[str, int, int], bool],
        marker: Callable[[str], int],
        marks: Collection[str],
        abbreviated: Mapping[str, bool],
    ) -> list[tuple[str, int]]:
        """See `_reading.pyx`."""


class Hinted(Protocol):
    """Several hints."""

    def found(self, text: str) -> bool:
        """Whether any of them stands in a text."""


class Compiled(NamedTuple):
    """The compiled parts."""

    folding: Callable[[Callable[[str], str | None]], Folding]
    pieces: Cut
    letters_apart: Callable[[str], bool]
    hints: Callable[[Iterable[str]], Hinted]
    holds_digit: Callable[[str], bool]
    digit_runs: Callable[[str], list[tuple[int, int]]]
    vocabulary: Callable[..., Any]


INTERFACE: Final = 3
"""Grows when a compiled module takes or gives other things than before; each of them tells its own,
so that one compiled from older sources is not taken for these."""


def compiled_module(name: str) -> ModuleType | None:
    """A module that may not have been compiled, or from other sources than these."""
    try:
        module = import_module(name)
    except ImportError:
        return None
    return module if getattr(module, "INTERFACE", 0) == INTERFACE else None


def _load() -> Compiled | None:
    reading = compiled_module("rag_monitor.language._reading")
    words = compiled_module("rag_monitor.language._vocabulary")
    if reading is None or words is None:
        return None
    return Compiled(
        reading.Folding,
        reading.pieces,
        reading.letters_apart,
        reading.Hints,
        reading.holds_digit,
        reading.digit_runs,
        words.Vocabulary,
    )


COMPILED: Final = _load()
