"""The answer in pieces, each with what the judge said about it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rag_monitor.domain.judgement import Aspect, Verdict
from rag_monitor.domain.score import Score


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """A stretch of the answer."""

    text: str
    verdict: Verdict | None = None
    """None: nothing was said about it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PassageView:
    """What the verdicts say about one passage; None: not asked."""

    relevant: Verdict | None = None
    useful: Verdict | None = None
    used: Verdict | None = None
    supports: tuple[int, ...] = ()
    """0-based statements that rest on it."""


def support_verdicts(scores: Sequence[Score]) -> tuple[Verdict, ...]:
    """The support verdicts to show: of the judge that is not embedded, where there is one."""
    with_support = [
        (score.judge.name if score.judge else "", found)
        for score in scores
        if (found := tuple(v for v in score.verdicts if v.aspect is Aspect.SUPPORT))
    ]
    with_support.sort(key=lambda pair: pair[0].startswith("embedded"))
    return with_support[0][1] if with_support else ()


def answer_pieces(answer: str, verdicts: Sequence[Verdict]) -> list[Piece]:
    """The whole answer in order; offsets that make no sense are passed over."""
    pieces: list[Piece] = []
    at = 0
    placed = [(v.start, v.end, v) for v in verdicts if v.start is not None and v.end is not None]
    for start, end, verdict in sorted(placed, key=lambda item: item[:2]):
        if start < at or not start < end <= len(answer):
            continue
        if start > at:
            pieces.append(Piece(text=answer[at:start]))
        pieces.append(Piece(text=answer[start:end], verdict=verdict))
        at = end
    if at < len(answer):
        pieces.append(Piece(text=answer[at:]))
    return pieces


def passage_views(scores: Sequence[Score], count: int) -> list[PassageView]:
    """Per passage, the verdicts on its relevance, usefulness and use."""
    support = support_verdicts(scores)
    by_aspect: dict[tuple[Aspect, int], Verdict] = {}
    for score in sorted(
        scores, key=lambda s: bool(s.judge and s.judge.name.startswith("embedded"))
    ):
        for verdict in score.verdicts:
            by_aspect.setdefault((verdict.aspect, verdict.index), verdict)
    return [
        PassageView(
            relevant=by_aspect.get((Aspect.RELEVANCE, n)),
            useful=by_aspect.get((Aspect.USEFULNESS, n)),
            used=by_aspect.get((Aspect.USE, n)),
            supports=tuple(v.index for v in support if v.holds and v.evidence == n),
        )
        for n in range(count)
    ]
