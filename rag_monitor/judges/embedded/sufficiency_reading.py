"""Whether passages answer a question, as the encoder sees it.

The encoder learnt whether evidence supports a statement. Given a question for a statement, its
states in a middle layer tell whether the evidence answers it: a linear probe was learnt on them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import fsum
from typing import TYPE_CHECKING, Final, NamedTuple

from rag_monitor.judges.embedded.combination import ReadSufficiency, read_sufficiency
from rag_monitor.judges.embedded.evidence_index import EvidenceIndex
from rag_monitor.judges.embedded.packing import LIMITS, joined, legible, units
from rag_monitor.judges.embedded.relevance import qualifiers_of, query_weights
from rag_monitor.judges.embedded.segments import IndexedPassage, Segment

if TYPE_CHECKING:
    from rag_monitor.judges.embedded.encoder import Encoder, Reading

MOST: Final = 2
"""Windows of all passages that are read."""
_ROUNDED: Final = 6
"""Digits of weights that are compared: which of two equals is read must not hang on the last bit
of a sum."""


class _Window(NamedTuple):
    """Neighbouring sentences of a passage; of two, the one that sorts first is read first."""

    unheld: float
    """Minus the weight of the question that they hold."""
    place: int
    start: int
    stop: int

    def overlaps(self, other: _Window) -> bool:
        return self.place == other.place and self.start < other.stop and other.start < self.stop


@dataclass(frozen=True, slots=True)
class SufficiencyReader:
    """An encoder with what was learnt on its states."""

    encoder: Encoder
    learnt: ReadSufficiency

    def probability(
        self,
        evidence: EvidenceIndex,
        question: Segment,
        places: Sequence[int],
        features: Sequence[float],
    ) -> float:
        """That the passages in some places suffice, given what their words say."""
        states = self.encoder.states(readings(evidence, question, places))
        read = max(self.learnt.probe.log_odds(vector.tolist()) for vector in states)
        return self.learnt.weights(question.text).probability([*features, read])


def reader_of(encoder: Encoder | None) -> SufficiencyReader | None:
    """A reader with this encoder; None where the probe was not learnt with it."""
    learnt = read_sufficiency()
    if encoder is None or encoder.version != learnt.encoder:
        return None
    return SufficiencyReader(encoder, learnt)


def readings(evidence: EvidenceIndex, question: Segment, places: Sequence[int]) -> list[Reading]:
    """The question beside each of the windows that hold most of it, which do not overlap.

    One at least: beside nothing where the passages are empty.
    """
    weights = query_weights(question, evidence, qualifiers_of(question))
    best: list[_Window] = []
    for whole, place in sorted((-_held(weights, evidence.passages[p].terms), p) for p in places):
        if len(best) == MOST and whole >= best[-1].unheld:
            break  # no window of this passage or of those behind it can hold more
        best = _best([*best, *_windows(evidence.passages[place], place, weights)])
    texts = [
        joined([segment.text for segment in evidence.passages[place].sentences[start:stop]])
        for _, place, start, stop in best
    ]
    return [(legible(question.text), legible(text)) for text in texts or [""]]


def _best(windows: Sequence[_Window]) -> list[_Window]:
    chosen: list[_Window] = []
    for window in sorted(windows):
        if len(chosen) < MOST and not any(window.overlaps(other) for other in chosen):
            chosen.append(window)
    return chosen


def _windows(
    passage: IndexedPassage, place: int, weights: Mapping[str, float]
) -> Iterator[_Window]:
    """From each sentence on as many as are read at once; the first whatever its length."""
    sentences = passage.sentences
    sizes = [units(sentence.text) for sentence in sentences]
    sought = frozenset(weights) & passage.terms
    terms = [sought & sentence.terms for sentence in sentences]
    stop = size = 0
    for start in range(len(sentences)):
        while stop < len(sentences) and (stop <= start or size + sizes[stop] <= LIMITS.units):
            size += sizes[stop]
            stop += 1
        held = _held(weights, frozenset[str]().union(*terms[start:stop]))
        yield _Window(-held, place, start, stop)
        if stop == len(sentences):
            break
        size -= sizes[start]


def _held(weights: Mapping[str, float], terms: frozenset[str]) -> float:
    return round(fsum([weights[term] for term in weights.keys() & terms]), _ROUNDED)
