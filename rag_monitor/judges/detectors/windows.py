"""Passages in windows that a model can read, and which of them are read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from rag_monitor.judges.detectors.texts import Texts
from rag_monitor.language.normalise import fold
from rag_monitor.language.tokens import term_set

_JOINT: Final = 8
"""Tokens set aside for what stands between two passages: a line break, a number."""


@dataclass(frozen=True, slots=True)
class Window:
    """Passages, or stretches of them, that are read together."""

    passages: tuple[str, ...]
    indexes: tuple[int, ...]
    """Which passage each of them is from."""

    def evidence(self, statement: str) -> int | None:
        """The passage of this window that shares most words with a statement."""
        if len(set(self.indexes)) == 1:
            return self.indexes[0]
        wanted = term_set(fold(statement))
        shared = [len(wanted & term_set(fold(text))) for text in self.passages]
        best = max(shared, default=0)
        return self.indexes[shared.index(best)] if best else None


def windows_of(passages: Sequence[str], texts: Texts, most: int) -> list[Window]:
    """All of the passages, in order, in windows of at most `most` tokens.

    Neighbours share a window while they fit, for a statement may rest on several. A passage that is
    too long for one is cut where a sentence ends.
    """
    windows: list[Window] = []
    held: list[tuple[str, int]] = []
    used = 0
    longest = max(1, most - _JOINT)
    for index, passage in enumerate(passages):
        for start, end, tokens in texts.stretches(passage, longest):
            if held and used + tokens + _JOINT > most:
                windows.append(_window(held))
                held, used = [], 0
            held.append((passage[start:end], index))
            used += tokens + _JOINT
    if held:
        windows.append(_window(held))
    return windows


def nearest(windows: Sequence[Window], text: str, most: int) -> list[int]:
    """The `most` windows that share most words with a statement or answer, in their order."""
    if len(windows) <= most:
        return list(range(len(windows)))
    wanted = term_set(fold(text))
    shared = [len(wanted & term_set(fold("\n".join(w.passages)))) for w in windows]
    return sorted(sorted(range(len(windows)), key=lambda n: -shared[n])[:most])


def share_of(windows: Sequence[Window], read: Iterable[int]) -> float:
    """The share of all text that the windows of these numbers hold."""
    sizes = [sum(map(len, window.passages)) for window in windows]
    return sum(sizes[number] for number in read) / sum(sizes) if any(sizes) else 1.0


def _window(held: Sequence[tuple[str, int]]) -> Window:
    return Window(tuple(text for text, _ in held), tuple(index for _, index in held))
