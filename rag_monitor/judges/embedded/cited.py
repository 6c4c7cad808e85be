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
from rag_monitor.judges.embedded.case import Case
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
        self, case: Case, asked: Sequence[tuple[Span, Sequence[int]]], window: int, /
    ) -> Sequence[ClaimVerdict]:
        """A verdict for each statement with its passages; an encoder reads `window` tokens."""
        ...


@dataclass(frozen=True, slots=True)
class _Found:
    """How probably something holds, and why."""

    probability: float
    reason: str

    @property
    def holds(self) -> bool:
        return self.probability >= _EVEN


def settle_citations(case: Case, check: Check, options: EmbeddedOptions) -> None:
    """Add the verdicts on what an answer cites, or why there are none."""
    wanted = [a for a in (Aspect.CITED_SUPPORT, Aspect.CITATION) if case.asks(a)]
    citations = case.request.citations
    reason = "no_citations" if citations is None or not citations.passages else case.unsupported
    if case.opened.contexts is None:
        reason = "contexts_unknown"
    if citations is None or reason:
        case.missing.update(dict.fromkeys(wanted, reason or ""))
        return
    asking = _Asking(case, check, options)
    statements = asking.statements(citations)
    case.verdicts += [
        _verdict(Aspect.CITED_SUPPORT, index, statement, found, _first(citations, statement))
        for index, (statement, found) in enumerate(statements)
    ]
    case.verdicts += asking.citations(citations, statements)


def _verdict(
    aspect: Aspect, index: int, statement: CitedStatement, found: _Found, passage: int | None
) -> Verdict:
    return Verdict(
        aspect=aspect,
        probability=found.probability,
        raw=found.probability,
        index=index,
        text=statement.text,
        start=statement.start,
        end=statement.end,
        evidence=passage,
        reason=found.reason,
    )


def _first(citations: Citations, statement: CitedStatement) -> int | None:
    cited = _cited(citations, statement)
    return cited[0] if cited else None


def _cited(citations: Citations, statement: CitedStatement) -> Places:
    """All passages that a statement cites."""
    return _union(citations.passages[number] for number in statement.citations)


def _union(passages: Iterable[Places]) -> Places:
    return tuple(sorted(set(chain.from_iterable(passages))))


class _Asking:
    """Holds statements against passages, each pair once, so often as the options allow."""

    def __init__(self, case: Case, check: Check, options: EmbeddedOptions) -> None:
        self._case = case
        self._check = check
        self._left = options.max_citation_checks
        self._window = options.encoder_window
        self._whole = {
            (claim.span.start, claim.span.end): verdict
            for claim, verdict in zip(case.claims, case.settled, strict=True)
        }
        self._quotations = quotations(case.opened.answer)
        self._known: dict[tuple[int, Places], _Found] = {}

    def statements(self, citations: Citations) -> list[tuple[CitedStatement, _Found]]:
        """The statements that are judged, with whether what they cite supports them."""
        end = len(self._case.opened.answer)
        seen = [statement for statement in citations.statements if statement.end <= end]
        sure: dict[int, _Found] = {}
        asked = []
        for place, statement in enumerate(seen):
            cited = _cited(citations, statement)
            known = self._at_sight(statement, cited)
            if known is not None:
                sure[place] = known
            else:
                asked.append((statement, cited))
        self._ask(asked, self._window // 2)
        found = []
        for place, statement in enumerate(seen):
            verdict = sure.get(place) or self._of(statement, _cited(citations, statement))
            if verdict is None:
                break
            found.append((statement, verdict))
        return found

    def citations(
        self, citations: Citations, statements: Sequence[tuple[CitedStatement, _Found]]
    ) -> list[Verdict]:
        """Of each citation of these statements, whether it counts for any of them."""
        several = [
            (statement, sorted({citations.passages[n] for n in statement.citations} - {()}))
            for statement, found in statements
            if found.holds
        ]
        several = [(statement, sets) for statement, sets in several if len(sets) > 1]
        self._ask([(s, own) for s, sets in several for own in sets], self._window // 4)
        self._ask(
            [
                (statement, rest)
                for statement, sets in several
                for own in sets
                if not self._holds(statement, own) and (rest := _without(sets, own))
            ],
            self._window // 4,
        )
        best: dict[int, tuple[CitedStatement, _Found]] = {}
        for statement, found in statements:
            sets = sorted({citations.passages[n] for n in statement.citations} - {()})
            for number in statement.citations:
                counts = self._counts(statement, found, citations.passages[number], sets)
                if number not in best or counts.probability > best[number][1].probability:
                    best[number] = statement, counts
        return [
            _verdict(
                Aspect.CITATION, number, *best[number], next(iter(citations.passages[number]), None)
            )
            for number in sorted(best)
        ]

    def _at_sight(self, statement: CitedStatement, cited: Places) -> _Found | None:
        """What is known without looking at the cited passages alone."""
        if not statement.citations:
            return _Found(0.0, "not_cited")
        if not cited:
            return _Found(0.0, "no_such_passage")
        if not self._quotes(statement, cited):
            return _Found(0.0, "misquoted")
        whole = self._whole.get((statement.start, statement.end))
        contexts = self._case.opened.contexts or ()
        if whole is not None and (whole.probability < _EVEN or len(cited) == len(contexts)):
            # What all passages together do not support, none of them does.
            return _Found(whole.probability, whole.reason)
        return None

    def _quotes(self, statement: CitedStatement, cited: Places) -> bool:
        """Whether every quotation stands in one of the cited passages, or in the question."""
        contexts = self._case.opened.contexts or ()
        texts = [*(contexts[place] for place in cited), self._case.request.question]
        return all(
            any(quotation.stands_in(text) for text in texts)
            for quotation in self._quotations
            if statement.start <= quotation.start < statement.end
        )

    def _ask(self, asked: Sequence[tuple[CitedStatement, Places]], window: int) -> None:
        new = list({
            (statement.start, places): (statement, places)
            for statement, places in asked
            if (statement.start, places) not in self._known
        }.values())[: self._left]  # fmt: skip
        self._left -= len(new)
        spans = [(Span(s.text, s.start, s.end), places) for s, places in new]
        for (statement, places), told in zip(
            new, self._check(self._case, spans, window), strict=True
        ):
            self._known[statement.start, places] = _Found(told.probability, told.reason)

    def _of(self, statement: CitedStatement, places: Places) -> _Found | None:
        return self._known.get((statement.start, places))

    def _holds(self, statement: CitedStatement, places: Places) -> bool:
        found = self._of(statement, places)
        return found is not None and found.holds

    def _counts(
        self, statement: CitedStatement, found: _Found, own: Places, sets: Sequence[Places]
    ) -> _Found:
        """Whether a citation counts for a statement; where it could not be held alone, it does."""
        if not own:
            return _Found(0.0, "no_such_passage")
        if not found.holds or len(sets) < 2:
            return found
        alone = self._of(statement, own)
        if alone is None or alone.holds:
            return alone or found
        rest = self._of(statement, _without(sets, own))
        if rest is None or not rest.holds or found.probability - rest.probability > _LITTLE:
            return found
        return _Found(1 - rest.probability, "not_needed")


def _without(sets: Sequence[Places], own: Places) -> Places:
    return _union(places for places in sets if places != own)
