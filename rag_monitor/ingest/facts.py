"""What the spans of one trace say: question, answer, passages, calls, tools, errors, times."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

from rag_monitor import semconv
from rag_monitor.domain.span import Span
from rag_monitor.domain.trace import Retrieval, RetrievedDocument
from rag_monitor.ingest.assembly import Assembly
from rag_monitor.ingest.conventions.base import Call, Failure, Tool, text_of
from rag_monitor.ingest.conventions.reading import ask, call_of, speakers
from rag_monitor.ingest.conventions.roles import REQUEST_ROLES, Role
from rag_monitor.ingest.documents import base_in, with_text_from, without_repeats
from rag_monitor.ingest.values import first, present

_NS_PER_MS: Final = 1e6


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A text, and where it was found."""

    text: str | None = None
    source: str | None = None


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


def searches(assembly: Assembly, role: Role) -> list[Search]:
    """The outermost retriever or reranker calls, by start."""
    return [_search(span) for span in assembly.retrievals(role)]


def _search(span: Span) -> Search:
    documents = ask(span, lambda convention: convention.documents(span))
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
        query=ask(span, lambda convention: convention.query(span)),
        documents=documents,
        knowledge_base=base,
        failure=failure_of(span),
    )


def final_documents(
    retrieved: list[Search], reranked: list[Search]
) -> tuple[RetrievedDocument, ...] | None:
    """What reached the model: the last reranked list, else all retrieved passages once each."""
    known = [d for s in retrieved for d in s.documents or ()]
    for search in reversed(reranked):
        if search.documents is not None:
            return without_repeats(with_text_from(search.documents, known))
    if not any(search.documents is not None for search in retrieved):
        return None
    return without_repeats(known)


def calls_of(assembly: Assembly) -> list[tuple[Span, Call]]:
    """The model calls, each once even when two instrumentations report it."""
    kept: list[tuple[Span, Call]] = []
    seen: set[str] = set()
    for span in assembly.calls():
        call = call_of(span)
        if call.response_id is not None:
            if call.response_id in seen:
                continue
            seen.add(call.response_id)
        kept.append((span, call))
    return kept


def final_call(calls: list[tuple[Span, Call]], answer: str | None) -> tuple[Span, Call] | None:
    """The call that wrote the answer: the last whose text it is, else the last with any text."""
    for matches in (
        [item for item in calls if answer is not None and item[1].output == answer],
        [item for item in calls if item[1].output is not None],
        calls,
    ):
        if matches:
            return matches[-1]
    return None


def total(values: Iterable[int | None]) -> int | None:
    """The sum; None when there is nothing, or one part is unknown."""
    listed = list(values)
    known = [value for value in listed if value is not None]
    return sum(known) if listed and len(known) == len(listed) else None


def question_of(assembly: Assembly, found: list[Search], calls: list[tuple[Span, Call]]) -> Found:
    """The question, looked for from the outside in.

    The request's input, what runs inside it, the retriever's query, the last user message of the
    last model call.
    """
    last = _last_agent(assembly)
    for span in (last, *assembly.below) if last is not None else assembly.below:
        if assembly.role(span) in REQUEST_ROLES:
            text = ask(span, lambda convention, span=span: convention.question(span))  # type: ignore[misc]
            if text is not None:
                return Found(text=text, source="root" if span is assembly.root else "outer")
    for search in found:
        if search.query is not None:
            return Found(text=search.query, source="retriever")
    for _, call in reversed(calls):
        if call.question is not None:
            return Found(text=call.question, source="llm")
    return Found()


def answer_of(assembly: Assembly, calls: list[tuple[Span, Call]]) -> Found:
    """The answer, only from the request itself or from a model call.

    A chain inside would also have an output, but on a failed request that is what was passed
    through, not what the user saw.
    """
    request = _last_agent(assembly) or request_span(assembly)
    if request is not None:
        text = ask(request, lambda convention: convention.answer(request))
        if text is not None:
            return Found(text=text, source="root")
    if failure_of(assembly.root) is not None:
        return Found()
    last = final_call(calls, None)
    if last is not None and last[1].output is not None:
        return Found(text=last[1].output, source="llm")
    return Found()


def request_span(assembly: Assembly) -> Span | None:
    """The outermost span that a convention describes, when it may be a request.

    The root itself can be a web framework's span that says nothing about questions.
    """
    for span in assembly.below:
        if ask(span, lambda convention: convention.name):
            return span if assembly.role(span) in REQUEST_ROLES else None
    return None


def _last_agent(assembly: Assembly) -> Span | None:
    """Of the agents right below a request that says nothing, the one that was done last.

    An application that rewrites the question first, or names the conversation beside, calls the
    Vercel AI SDK several times below the span of its web framework; the answer takes longest.
    """
    request = request_span(assembly)
    if speakers(assembly.root) or (request and assembly.role(request) is not Role.AGENT):
        return None
    agents = [span for span in assembly.below if assembly.role(span) is Role.AGENT]
    answered = [
        span
        for span in agents
        if span.parent_span_id == agents[0].parent_span_id
        and ask(span, lambda convention, span=span: convention.answer(span)) is not None  # type: ignore[misc]
    ]
    return max(answered, key=lambda span: span.end_ns, default=None)


def tools_of(assembly: Assembly) -> list[tuple[Span, Tool]]:
    """The outermost tool calls."""
    found = []
    for span in assembly.tools():
        tool = ask(span, lambda convention, span=span: convention.tool(span))  # type: ignore[misc]
        found.append((span, tool or Tool(name=span.name)))
    return found


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
    busy, until = 0, 0
    timed = sorted((s.start_ns, s.end_ns) for s in spans if duration_ms(s) is not None)
    for start, end in timed:
        busy += max(0, end - max(start, until))
        until = max(until, end)
    return busy / _NS_PER_MS if timed else None
