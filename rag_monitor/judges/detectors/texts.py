"""Text as tokens: counted, encoded, and cut into windows that a model can read.

No text of a trace forms special tokens of its own.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from rag_monitor.language.normalise import fold
from rag_monitor.language.sentences import split_sentences
from rag_monitor.language.tokens import term_set

_HALVES: Final = re.compile("[\ud800-\udfff]")
"""Halves of pairs, which no tokenizer takes."""


class Texts:
    """A tokenizer of the `tokenizers` library.

    Args:
        tokenizer: Its own settings for padding and cutting are switched off.
        special_tokens: Whether `encode` adds the tokens that begin and end a text.
    """

    def __init__(self, tokenizer: Any, *, special_tokens: bool = True) -> None:
        tokenizer.no_padding()
        tokenizer.no_truncation()
        self._tokenizer = tokenizer
        self._special_tokens = special_tokens
        specials = [
            token.content
            for token in tokenizer.get_added_tokens_decoder().values()
            if token.special and token.content.strip()
        ]
        specials.sort(key=len, reverse=True)
        self._specials = re.compile("|".join(map(re.escape, specials))) if specials else None

    def plain(self, text: str) -> str:
        """`text`, as long as before, in which nothing is a special token of the model.

        A passage that holds `</s>` or `[SEP]` would otherwise end where it likes.
        """
        text = _HALVES.sub(" ", text)
        while self._specials is not None and self._specials.search(text):
            text = self._specials.sub(lambda match: " " + match[0][1:], text)
        return text

    def encode(self, first: str, second: str | None = None) -> Any:
        """The encoding of a text or a pair, as the model reads it."""
        return self._tokenizer.encode(first, second, add_special_tokens=self._special_tokens)

    def count(self, text: str) -> int:
        """Tokens of a piece of text."""
        return len(self._tokenizer.encode(text, add_special_tokens=False).ids)

    def stretches(self, text: str, most: int) -> list[tuple[int, int, int]]:
        """`text` in stretches of at most `most` tokens: start, end, tokens.

        They end where sentences end, where one ends in reach. Together they are the whole text.
        """
        offsets = self._tokenizer.encode(text, add_special_tokens=False).offsets
        if len(offsets) <= most:
            return [(0, len(text), len(offsets))]
        ends = [span.end for span in split_sentences(text)]
        stretches = []
        first, start = 0, 0
        while first < len(offsets):
            last = _reach(offsets, ends, first, most)
            end = offsets[last][0] if last < len(offsets) else len(text)
            stretches.append((start, end, last - first))
            first, start = last, end
        return stretches

    def cut(self, text: str, most: int) -> str:
        """The beginning of `text`, at most `most` tokens."""
        return text[: self.stretches(text, most)[0][1]]


def _reach(offsets: list[tuple[int, int]], ends: list[int], first: int, most: int) -> int:
    """The token before which a stretch that begins with `first` ends."""
    last = min(first + most, len(offsets))
    if last == len(offsets):
        return last
    place = bisect_right(ends, offsets[last][0]) - 1
    if place >= 0 and ends[place] > offsets[first][0]:
        while offsets[last - 1][0] >= ends[place]:
            last -= 1
        return last
    while last > first + 1 and offsets[last][0] < offsets[last - 1][1]:
        last -= 1  # tokens of one character stay together
    return last


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
