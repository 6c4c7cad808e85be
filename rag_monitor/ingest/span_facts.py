"""What the spans of one trace say of its steps: passages, tools, errors, times."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from rag_monitor import semconv
from rag_monitor.domain.span import Span
from rag_monitor.domain.trace import Retrieval, RetrievedDocument, busy_ns
from rag_monitor.ingest.assembly import Assembly
from rag_monitor.ingest.conventions.base import Failure, Role, text_of
from rag_monitor.ingest.conventions.reading import ask
from rag_monitor.ingest.documents import ranked, with_ids_from, with_text_from, without_repeats
from rag_monitor.ingest.passages import Place, base_in
from rag_monitor.ingest.values import first, present

_NS_PER_MS: Final = 1e6


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """One outermost retriever or reranker span."""

    span: Span
    query: str | None
    documents: tuple[RetrievedDocument, ...] | None
    """None: the list was not sent."""
    knowledge_base: str | None
    failure: Failure | None

    def retrieval(self, question: str | None, *, reranked: bool) -> Retrieval:
        """As the domain has it."""
        error = None if self.failure is None else spelled(self.failure)
        return Retrieval(
            query=None if self.query == question else self.query,
            documents=self.documents or (),
            knowledge_base=self.knowledge_base,
            latency_ms=duration_ms(self.span),
            reranked=reranked,
            error=error,
        )


def duration_ms(span: Span) -> float | None:
    """How long the span took; None when its times do not say."""
    if not 0 < span.start_ns <= span.end_ns:
        return None
    return (span.end_ns - span.start_ns) / _NS_PER_MS


def searches(
    assembly: Assembly, role: Role, user_messages: Container[str | None] = ()
) -> list[Search]:
    """The outermost retriever or reranker calls, by start.

    Args:
        assembly: The trace.
        role: Which of the two.
        user_messages: What models were asked; a query that is one of these texts is kept as it is.
    """
    return [_search(span, user_messages) for span in assembly.retrievals(role)]


def _query(span: Span, user_messages: Container[str | None]) -> str | None:
    query = ask(span, lambda convention: convention.query(span))
    if query in user_messages:
        return query
    given = ask(span, lambda convention: convention.given(span))
    return given if isinstance(given, str) and given in user_messages else query


def _documents(span: Span) -> tuple[RetrievedDocument, ...] | None:
    """What was found; a list that is empty in one place does not hide what another place has."""
    documents = ask(span, lambda convention: convention.documents(span) or None)
    return documents or ask(span, lambda convention: convention.documents(span))


def _search(span: Span, user_messages: Container[str | None]) -> Search:
    documents = _documents(span)
    base = ask(span, lambda convention: convention.knowledge_base(span))
    if base is None and documents:
        bases = {document.knowledge_base for document in documents}
        base = bases.pop() if len(bases) == 1 else None
    if base is None:
        base = base_in(span.attributes)
    if base is not None and documents:
        documents = tuple(
            replace(d, knowledge_base=base) if d.knowledge_base is None else d for d in documents
        )
    return Search(
        span=span,
        query=_query(span, user_messages),
        documents=documents,
        knowledge_base=base,
        failure=failure_of(span),
    )


def rerankings(
    assembly: Assembly, retrieved: list[Search], user_messages: Container[str | None] = ()
) -> list[Search]:
    """The outermost rerankers by start, with what only the searches say of their passages.

    A list without texts whose ids nobody knows says nothing about passages that have texts.
    """
    candidates = [document for search in retrieved for document in search.documents or ()]
    before: Sequence[RetrievedDocument] = candidates
    results: list[Search] = []
    for search in searches(assembly, Role.RERANKER, user_messages):
        documents = _reranked(search, before, candidates)
        if documents is not None:
            before = documents
        results.append(replace(search, documents=documents))
    return results


def _reranked(
    search: Search, before: Sequence[RetrievedDocument], candidates: Sequence[RetrievedDocument]
) -> tuple[RetrievedDocument, ...] | None:
    span, documents = search.span, search.documents
    given = ask(span, lambda convention: convention.candidates(span)) or ()
    if documents is None:
        ranking = ask(span, lambda convention: convention.ranking(span))
        documents = None if ranking is None else placed(ranking, given or before)
    if documents is None:
        return None
    sources = [*given, *candidates]
    joined = with_ids_from(with_text_from(documents, sources), sources)
    named = {d.id for d in sources if d.content is not None}
    identified = not joined or any(d.content is not None or d.id in named for d in joined)
    return joined if identified or not named else None


def placed(
    ranking: Sequence[Place], given: Sequence[RetrievedDocument]
) -> tuple[RetrievedDocument, ...] | None:
    """The passages at these places, in their new order; None where there is no such place."""
    if any(place.index >= len(given) for place in ranking):
        return None
    return ranked(replace(given[place.index], score=place.score) for place in ranking)


def final_documents(
    retrieved: list[Search], reranked: list[Search]
) -> tuple[RetrievedDocument, ...] | None:
    """What reached the model: the last reranked list, else all retrieved passages once each."""
    for search in reversed(reranked):
        if search.documents is not None:
            return without_repeats(search.documents)
    if not any(search.documents is not None for search in retrieved):
        return None
    return without_repeats([d for s in retrieved for d in s.documents or ()])


def failure_of(span: Span) -> Failure | None:
    """Why the span failed; None when it did not."""
    marked = ask(span, lambda convention: convention.failure(span))
    if span.status_code != 2 and marked is None:
        return None
    raised = next((e.attributes for e in span.events if e.name == semconv.EXCEPTION_EVENT), {})
    return Failure(
        type=text_of(span.attributes, semconv.ERROR_TYPE)
        or text_of(raised, semconv.EXCEPTION_TYPE)
        or (marked.type if marked else None),
        message=first(
            present(raised.get(semconv.EXCEPTION_MESSAGE)),
            _first_line(span.status_message),
            marked.message if marked else None,
        ),
    )


def spelled(failure: Failure) -> str:
    """`Type: message`, as far as known."""
    return ": ".join(part for part in (failure.type, failure.message) if part) or "failed"


def _first_line(text: str) -> str | None:
    """Some instrumentations put a whole stack trace into the status message."""
    line = text.strip().partition("\n")[0].partition("Traceback (most recent call last)")[0]
    return line[:500] or None


def busy_ms(spans: Iterable[Span]) -> float | None:
    """Time during which at least one of the spans ran; None without spans that have times."""
    timed = [(s.start_ns, s.end_ns) for s in spans if duration_ms(s) is not None]
    return busy_ns(timed) / _NS_PER_MS if timed else None


def total(values: Iterable[int | None]) -> int | None:
    """The sum; None when there is nothing, or one part is unknown."""
    listed = list(values)
    counted = [value for value in listed if value is not None]
    return sum(counted) if listed and len(counted) == len(listed) else None
