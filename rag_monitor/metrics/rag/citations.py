"""Citations: do they point at passages, and do these say what they are cited for?

Precision and recall as ALCE defines them (Gao et al. 2023, "Enabling Large Language Models to
Generate Text with Citations").
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from rag_monitor.domain.judgement import (
    Aspect,
    Citations,
    CitedStatement,
    Judgement,
    Verdict,
)
from rag_monitor.domain.trace import RetrievedDocument, Trace
from rag_monitor.language.attribution import Attribution, attribute
from rag_monitor.language.sources import Source
from rag_monitor.metrics.rag.outcome import Outcome, not_applicable, read, scored
from rag_monitor.metrics.rag.passages import is_blank

SHOWN_AS: Final = "citation"
"""Key in the metadata of a passage: what the model was shown for it, where that is not its place
among the passages, from 1."""
NO_CITATIONS: Final = "no_citations"
"""Why there is no score of an answer that cites nothing."""
_NAMES: Final = (
    "title", "name", "url", "uri", "link", "href", "source", "file", "filename", "file_name",
    "path", "doc_id", "document_id", "chunk_id", "标题", "来源", "链接",
)  # fmt: skip
"""Metadata by which an answer may call a passage."""


def citations_of(trace: Trace) -> Citations | None:
    """What the answer of a trace cites; None where it cites nothing, or passages are unknown."""
    if trace.contexts is None or not trace.answer:
        return None
    contexts = trace.contexts
    attribution = attribute(trace.answer, lambda: [_source(document) for document in contexts])
    return None if attribution is None else _numbered(attribution)


def _source(document: RetrievedDocument) -> Source:
    metadata = document.metadata
    shown = metadata.get(SHOWN_AS)
    named = (document.id, *(metadata.get(name) for name in _NAMES))
    return Source(
        label=str(shown) if isinstance(shown, str | int) and not isinstance(shown, bool) else None,
        names=tuple(name for name in named if isinstance(name, str) and name.strip()),
        text=document.content or "",
    )


def _numbered(attribution: Attribution) -> Citations:
    """With citations in the order of their statements."""
    order = dict.fromkeys(n for statement in attribution.statements for n in statement.citations)
    places = {number: place for place, number in enumerate(order)}
    return Citations(
        statements=tuple(
            CitedStatement(
                text=statement.span.text,
                start=statement.span.start,
                end=statement.span.end,
                citations=tuple(places[number] for number in statement.citations),
            )
            for statement in attribution.statements
        ),
        passages=tuple(attribution.citations[number].passages for number in order),
        labels=tuple(attribution.citations[number].label for number in order),
        loose=tuple(
            citation.passages
            for number, citation in enumerate(attribution.citations)
            if number not in places
        ),
    )


def citation_recall(trace: Trace, judgement: Judgement) -> Outcome:
    """Statements that the passages they cite support, taken together / statements.

    A statement that cites nothing is not supported so.
    """
    return _share(trace, judgement, Aspect.CITED_SUPPORT)


def citation_precision(trace: Trace, judgement: Judgement) -> Outcome:
    """Citations that count / citations.

    One counts when what is cited with it supports the statement, and it supports the statement
    alone or the others do not without it.
    """
    return _share(trace, judgement, Aspect.CITATION)


def citation_validity(trace: Trace, judgement: Judgement) -> Outcome:
    """Citations of a passage that exists / citations; needs no judge."""
    blocked = _blocked(trace)
    if blocked is not None:
        return blocked
    uncited = NO_CITATIONS in judgement.missing.values()  # need not be looked for twice
    citations = None if uncited else citations_of(trace)
    if citations is None:
        return not_applicable(NO_CITATIONS)
    cited = (*citations.passages, *citations.loose)
    return scored(sum(bool(passages) for passages in cited) / len(cited))


def _share(trace: Trace, judgement: Judgement, aspect: Aspect) -> Outcome:
    blocked = _blocked(trace)
    if blocked is not None:
        return blocked
    verdicts: Sequence[Verdict] | Outcome = read(judgement, aspect)
    if isinstance(verdicts, Outcome):
        return verdicts
    return scored(sum(verdict.holds for verdict in verdicts) / len(verdicts), tuple(verdicts))


def _blocked(trace: Trace) -> Outcome | None:
    if is_blank(trace.answer):
        return not_applicable("empty_answer")
    return not_applicable("contexts_unknown") if trace.contexts is None else None
