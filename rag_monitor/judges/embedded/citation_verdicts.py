"""What an answer cites, held against the passages that it cites.

As ALCE judges citations (Gao et al. 2023): a statement is to be supported by what it cites, taken
together; a citation counts where that is so, and either it supports the statement alone or the
others do not without it. A quotation must stand in what is cited with it, word for word.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Final, Protocol

from rag_monitor.domain.judgement import Aspect, Citations, CitedStatement, Verdict
from rag_monitor.judges.embedded.judging import Judging
from rag_monitor.judges.embedded.model import ClaimVerdict
from rag_monitor.judges.embedded.options import EmbeddedOptions
from rag_monitor.language.quotations import quotations
from rag_monitor.language.sentences import Span

_EVEN: Final = 0.5
_LITTLE: Final = 0.1
"""A citation is needed if without it support is less probable by more than this: half of a
statement, supported alone, may pass by a little."""
Places = tuple[int, ...]
"""Passages, 0-based, in order."""


class Check(Protocol):
    """Judges statements by some of the passages alone."""

    def __call__(
        self, judging: Judging, pairs: Sequence[tuple[Span, Sequence[int]]], window: int, /
    ) -> Sequence[ClaimVerdict]:
        """A verdict for each statement with its passages; an encoder reads `window` tokens."""
        ...


@dataclass(frozen=True, slots=True)
class _Support:
    """How probably something holds, and why."""

    probability: float
    reason: str

    @property
    def holds(self) -> bool:
        return self.probability >= _EVEN


def add_citation_verdicts(judging: Judging, check: Check, options: EmbeddedOptions) -> None:
    """Add the verdicts on what an answer cites, or why there are none."""
    wanted = [a for a in (Aspect.CITED_SUPPORT, Aspect.CITATION) if judging.asks(a)]
    citations = judging.request.citations
    reason = "no_citations" if citations is None or not citations.passages else judging.unsupported
    if judging.prepared.contexts is None:
        reason = "contexts_unknown"
    if citations is None or reason:
        judging.missing.update(dict.fromkeys(wanted, reason or ""))
        return
    checks = _CitationChecks(judging, check, options)
    statements = checks.statements(citations)
    judging.verdicts += [
        _verdict(Aspect.CITED_SUPPORT, index, statement, support, _first(citations, statement))
        for index, (statement, support) in enumerate(statements)
    ]
    judging.verdicts += checks.citations(citations, statements)


def _verdict(
    aspect: Aspect, index: int, statement: CitedStatement, support: _Support, passage: int | None
) -> Verdict:
    return Verdict(
        aspect=aspect,
        probability=support.probability,
        raw=support.probability,
        index=index,
        text=statement.text,
        start=statement.start,
        end=statement.end,
        evidence=passage,
        reason=support.reason,
    )


def _first(citations: Citations, statement: CitedStatement) -> int | None:
    cited = _cited(citations, statement)
    return cited[0] if cited else None


def _cited(citations: Citations, statement: CitedStatement) -> Places:
    """All passages that a statement cites."""
    return _union(citations.passages[number] for number in statement.citations)


def _union(passages: Iterable[Places]) -> Places:
    return tuple(sorted(set(chain.from_iterable(passages))))


class _CitationChecks:
    """Holds statements against passages, each pair once, so often as the options allow."""

    def __init__(self, judging: Judging, check: Check, options: EmbeddedOptions) -> None:
        self._judging = judging
        self._check = check
        self._left = options.max_citation_checks
        self._window = options.encoder_window
        self._whole = {
            (claim.span.start, claim.span.end): verdict
            for claim, verdict in zip(judging.claims, judging.claim_verdicts, strict=True)
        }
        self._quotations = quotations(judging.prepared.answer)
        self._checked: dict[tuple[int, Places], _Support] = {}

    def statements(self, citations: Citations) -> list[tuple[CitedStatement, _Support]]:
        """The statements that are judged, with whether what they cite supports them."""
        end = len(self._judging.prepared.answer)
        seen = [statement for statement in citations.statements if statement.end <= end]
        sure: dict[int, _Support] = {}
        pairs = []
        for place, statement in enumerate(seen):
            cited = _cited(citations, statement)
            at_sight = self._at_sight(statement, cited)
            if at_sight is not None:
                sure[place] = at_sight
            else:
                pairs.append((statement, cited))
        self._run(pairs, self._window // 2)
        judged = []
        for place, statement in enumerate(seen):
            verdict = sure.get(place) or self._of(statement, _cited(citations, statement))
            if verdict is None:
                break
            judged.append((statement, verdict))
        return judged

    def citations(
        self, citations: Citations, statements: Sequence[tuple[CitedStatement, _Support]]
    ) -> list[Verdict]:
        """Of each citation of these statements, whether it counts for any of them."""
        several = [
            (statement, sorted({citations.passages[n] for n in statement.citations} - {()}))
            for statement, support in statements
            if support.holds
        ]
        several = [(statement, sets) for statement, sets in several if len(sets) > 1]
        self._run([(s, own) for s, sets in several for own in sets], self._window // 4)
        self._run(
            [
                (statement, rest)
                for statement, sets in several
                for own in sets
                if not self._holds(statement, own) and (rest := _without(sets, own))
            ],
            self._window // 4,
        )
        best: dict[int, tuple[CitedStatement, _Support]] = {}
        for statement, support in statements:
            sets = sorted({citations.passages[n] for n in statement.citations} - {()})
            for number in statement.citations:
                counts = self._counts(statement, support, citations.passages[number], sets)
                if number not in best or counts.probability > best[number][1].probability:
                    best[number] = statement, counts
        return [
            _verdict(
                Aspect.CITATION, number, *best[number], next(iter(citations.passages[number]), None)
            )
            for number in sorted(best)
        ]

    def _at_sight(self, statement: CitedStatement, cited: Places) -> _Support | None:
        """What can be told without looking at the cited passages alone."""
        if not statement.citations:
            return _Support(0.0, "not_cited")
        if not cited:
            return _Support(0.0, "no_such_passage")
        if not self._quotes(statement, cited):
            return _Support(0.0, "misquoted")
        whole = self._whole.get((statement.start, statement.end))
        contexts = self._judging.prepared.contexts or ()
        if whole is not None and (whole.probability < _EVEN or len(cited) == len(contexts)):
            # What all passages together do not support, none of them does.
            return _Support(whole.probability, whole.reason)
        return None

    def _quotes(self, statement: CitedStatement, cited: Places) -> bool:
        """Whether every quotation stands in one of the cited passages, or in the question."""
        contexts = self._judging.prepared.contexts or ()
        texts = [*(contexts[place] for place in cited), self._judging.request.question]
        return all(
            any(quotation.stands_in(text) for text in texts)
            for quotation in self._quotations
            if statement.start <= quotation.start < statement.end
        )

    def _run(self, pairs: Sequence[tuple[CitedStatement, Places]], window: int) -> None:
        new = list({
            (statement.start, places): (statement, places)
            for statement, places in pairs
            if (statement.start, places) not in self._checked
        }.values())[: self._left]  # fmt: skip
        self._left -= len(new)
        spans = [(Span(s.text, s.start, s.end), places) for s, places in new]
        for (statement, places), verdict in zip(
            new, self._check(self._judging, spans, window), strict=True
        ):
            self._checked[statement.start, places] = _Support(verdict.probability, verdict.reason)

    def _of(self, statement: CitedStatement, places: Places) -> _Support | None:
        return self._checked.get((statement.start, places))

    def _holds(self, statement: CitedStatement, places: Places) -> bool:
        support = self._of(statement, places)
        return support is not None and support.holds

    def _counts(
        self, statement: CitedStatement, support: _Support, own: Places, sets: Sequence[Places]
    ) -> _Support:
        """Whether a citation counts for a statement; where it could not be held alone, it does."""
        if not own:
            return _Support(0.0, "no_such_passage")
        if not support.holds or len(sets) < 2:
            return support
        alone = self._of(statement, own)
        if alone is None or alone.holds:
            return alone or support
        rest = self._of(statement, _without(sets, own))
        if rest is None or not rest.holds or support.probability - rest.probability > _LITTLE:
            return support
        return _Support(1 - rest.probability, "not_needed")


def _without(sets: Sequence[Places], own: Places) -> Places:
    return _union(places for places in sets if places != own)
