"""What the statements of an answer cite, and what the judge says of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rag_monitor.domain.judgement import Aspect, Verdict
from rag_monitor.domain.score import Score
from rag_monitor.domain.trace import Trace
from rag_monitor.metrics.rag import citations_of


@dataclass(frozen=True, slots=True, kw_only=True)
class CitationView:
    """One citation of a statement."""

    label: str
    """As the answer writes it."""
    passages: tuple[int, ...]
    """From 1; empty: there is no such passage."""
    verdict: Verdict | None
    """Whether it counts; None: not judged."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CitedView:
    """A statement that cites."""

    text: str
    verdict: Verdict | None
    """Whether what it cites supports it; None: not judged."""
    citations: tuple[CitationView, ...]


def cited_views(trace: Trace, scores: Sequence[Score]) -> list[CitedView]:
    """The statements with citations, in order."""
    citations = citations_of(trace)
    if citations is None:
        return []
    verdicts = _verdicts(scores)
    return [
        CitedView(
            text=statement.text,
            verdict=verdicts.get((Aspect.CITED_SUPPORT, index)),
            citations=tuple(
                CitationView(
                    label=citations.labels[number],
                    passages=tuple(passage + 1 for passage in citations.passages[number]),
                    verdict=verdicts.get((Aspect.CITATION, number)),
                )
                for number in statement.citations
            ),
        )
        for index, statement in enumerate(citations.statements)
        if statement.citations
    ]


def _verdicts(scores: Sequence[Score]) -> Mapping[tuple[Aspect, int], Verdict]:
    """By aspect and index, of the judge whose scores come first."""
    by_place: dict[tuple[Aspect, int], Verdict] = {}
    for score in scores:
        for verdict in score.verdicts:
            if verdict.aspect in {Aspect.CITED_SUPPORT, Aspect.CITATION}:
                by_place.setdefault((verdict.aspect, verdict.index), verdict)
    return by_place
