"""Which statement of an answer cites which passages.

A citation belongs to the statement that it stands in or behind; in front of one at the beginning
of a line, to that. Clauses of one sentence share what stands at its end. A line of citations alone
is for everything above it, and those of a lead-in are for the list below it.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Final

from rag_monitor.language.citations import Mark, find_marks
from rag_monitor.language.claims import take_apart
from rag_monitor.language.references import References, find_references, without_citations
from rag_monitor.language.sentences import Span
from rag_monitor.language.sources import Source, Sources

_MOST_CHARACTERS: Final = 20_000
"""Of an answer; what stands behind is not looked at."""
_MOST_MARKS: Final = 300
"""Places that cite; further ones are not looked at."""
_COMMAS: Final = " \t，,"
_SENTENCE_ENDS: Final = tuple("。！？；.!?;\n")
_NAMED: Final = re.compile(
    r"(?:sources?|references?|来源|出处|参考|资料|引用|见)\s*(?=[:：\[(（]|\s|$)", re.I
)
_MARKERS: Final = " \t-*•·●>#0123456789.)、）(（|"


@dataclass(frozen=True, slots=True)
class Citation:
    """One source that one place of an answer cites."""

    label: str
    """What it calls the source."""
    start: int
    end: int
    passages: tuple[int, ...]
    """0-based; several where passages share a document, none where it points at nothing."""


@dataclass(frozen=True, slots=True)
class Attributed:
    """A statement with the numbers of its citations."""

    span: Span
    citations: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Attribution:
    """What an answer cites, and for what."""

    citations: tuple[Citation, ...]
    statements: tuple[Attributed, ...]
    """All of them, cited or not, in order."""


def attribute(answer: str, sources: Callable[[], Sequence[Source]]) -> Attribution | None:
    """The citations of an answer; None: it has none.

    Args:
        answer: What the user saw.
        sources: Gives the passages in the order of the model; asked only if it may cite.
    """
    answer = answer[:_MOST_CHARACTERS]
    marks = find_marks(answer)[:_MOST_MARKS]
    references = find_references(answer)
    if not (marks or references.entries):
        return None
    placed = _Placed(answer, marks, references, Sources(sources()))
    return placed.attribution() if placed.citations else None


class _Placed:
    """The citations of one answer beside its statements."""

    def __init__(
        self, answer: str, marks: Sequence[Mark], references: References, sources: Sources
    ) -> None:
        self.answer = answer
        self.bare = without_citations(answer)
        self.claims = take_apart(answer).claims
        self.citations: list[Citation] = []
        self.of: list[list[int]] = [[] for _ in self.claims]
        self._starts = [claim.start for claim in self.claims]
        self._blank = bytearray(len(answer))
        self._letters: list[int] = []
        listed = references.names
        inline = []
        for mark in marks:
            if any(start <= mark.start < end for start, end in references.spans):
                continue
            if len(self.citations) >= _MOST_MARKS:
                break
            numbers = [
                self._add(label.text, mark.start, mark.end, passages)
                for label in mark.labels
                if (passages := sources.resolve(label, listed)) is not None
            ]
            if numbers:
                inline.append((mark, numbers))
        if inline:
            self._attach_all(inline)
        else:
            self._attach_lists(references, sources, marks)

    def attribution(self) -> Attribution:
        """As the outside sees it."""
        return Attribution(
            tuple(self.citations),
            tuple(
                Attributed(claim, tuple(sorted(set(numbers))))
                for claim, numbers in zip(self.claims, self.of, strict=True)
            ),
        )

    def _add(self, label: str, start: int, end: int, passages: tuple[int, ...]) -> int:
        self.citations.append(Citation(label, start, end, passages))
        return len(self.citations) - 1

    def _attach_lists(
        self, references: References, sources: Sources, marks: Sequence[Mark]
    ) -> None:
        """A list of sources alone is for the whole answer."""
        citations: list[Citation] = []
        for mark in marks:  # all of them stand in lists
            citations += [
                Citation(label.text, mark.start, mark.end, passages)
                for label in mark.labels
                if (passages := sources.resolve(label, references.names)) is not None
            ]
        citations += [
            Citation(entry.names[0], entry.start, entry.end, passages)
            for entry in references.entries
            if not any(entry.start <= mark.start < entry.end for mark in marks)
            and (passages := sources.by_names(entry.names)) is not None
        ]
        self.citations = list({citation.passages: citation for citation in citations}.values())
        self.of = [list(range(len(self.citations))) for _ in self.claims]

    def _attach_all(self, inline: Sequence[tuple[Mark, list[int]]]) -> None:
        for mark, _ in inline:
            self._blank[mark.start : mark.end] = b"\1" * (mark.end - mark.start)
        text = _NAMED.sub(lambda match: " " * len(match[0]), self.bare)
        cited = map(str.isalnum, text)
        self._letters = list(
            accumulate((a and not b for a, b in zip(cited, self._blank, strict=True)), initial=0)
        )
        for mark, numbers in inline:
            for place in self._places(mark):
                self.of[place] += numbers
        self._share()

    def _places(self, mark: Mark) -> Iterator[int]:
        """The statements that a citation belongs to."""
        following = bisect_right(self._starts, mark.start)
        if following and mark.start < self.claims[following - 1].end:
            yield following - 1
            return
        before = following - 1 if following else None
        after = following if following < len(self.claims) else None
        line = self.answer.rfind("\n", 0, mark.start) + 1
        line_end = self.answer.find("\n", mark.end)
        line_end = len(self.answer) if line_end < 0 else line_end
        behind = before is not None and self.claims[before].end > line
        ahead = after is not None and self.claims[after].start < line_end
        if behind and before is not None and self._silent(self.claims[before].end, mark.start):
            yield (
                after if ahead and after is not None and self._leads(line, mark, before) else before
            )
        elif ahead and after is not None and self._silent(mark.end, self.claims[after].start):
            yield after
        elif self._silent(line, line_end):
            yield from self._above(line)
        elif self.bare[mark.end : line_end].rstrip().endswith((":", "：")):
            yield from self._below(line_end)

    def _leads(self, line: int, mark: Mark, before: int) -> bool:
        """Whether a citation between two statements of a line is the second one's."""
        first = self._visible(line)
        led = self._is_mark(first) and first < self.claims[before].start
        own = any(self.citations[n].start < self.claims[before].end for n in self.of[before])
        return led or (own and not self._is_mark(mark.start - 1))

    def _visible(self, at: int) -> int:
        """Where the first thing of a line stands that marks no member of a list."""
        while at < len(self.answer) and self.answer[at] in _MARKERS and not self._is_mark(at):
            at += 1
        return at

    def _is_mark(self, at: int) -> bool:
        return 0 <= at < len(self._blank) and bool(self._blank[at])

    def _silent(self, start: int, end: int) -> bool:
        """Whether nothing but citations, names of sources and marks stands between two places."""
        return self._letters[start] == self._letters[max(start, end)]

    def _above(self, line: int) -> Iterator[int]:
        """The statements above a line that have no citation of their own."""
        yield from (
            place
            for place, claim in enumerate(self.claims)
            if claim.end <= line and not self.of[place]
        )

    def _below(self, at: int) -> Iterator[int]:
        """The statements of the lines that follow a lead-in, up to a blank one."""
        end = self.answer.find("\n\n", at + 1)
        end = len(self.answer) if end < 0 else end
        yield from (place for place, claim in enumerate(self.claims) if at <= claim.start < end)

    def _share(self) -> None:
        """Clauses without a citation take that of their sentence."""
        for place in reversed(range(len(self.claims) - 1)):
            if not self.of[place] and self._one_sentence(place):
                self.of[place] += self.of[place + 1]
        for place in range(len(self.claims) - 1):
            if not self.of[place + 1] and self._one_sentence(place) and self._opens(place):
                self.of[place + 1] += self.of[place]

    def _one_sentence(self, place: int) -> bool:
        claim, following = self.claims[place : place + 2]
        between = self.bare[claim.end : following.start]
        return (
            not between.strip(_COMMAS)
            and "\n" not in between
            and not claim.text.endswith(_SENTENCE_ENDS)
        )

    def _opens(self, place: int) -> bool:
        """Whether what a clause cites stands at its beginning, for what follows as well."""
        claim = self.claims[place]
        return any(self.citations[n].start <= claim.start + 2 for n in self.of[place])
