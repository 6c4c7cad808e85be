"""A trace of any convention but our own record, from its assembled spans."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from rag_monitor import semconv
from rag_monitor.domain.hit import Hit, HitKind
from rag_monitor.domain.span import Span
from rag_monitor.domain.trace import (
    RetrievedDocument,
    Timings,
    Trace,
    TraceStatus,
    Usage,
    utc_from_ns,
)
from rag_monitor.ingest.assembly import Assembly
from rag_monitor.ingest.conventions.base import Call, Identity, Tool, text_of
from rag_monitor.ingest.conventions.reading import (
    ask,
    identity_of,
    merge_identities,
    speakers,
)
from rag_monitor.ingest.conventions.roles import Role
from rag_monitor.ingest.cut_json import is_cut
from rag_monitor.ingest.facts import (
    Found,
    Search,
    answer_of,
    busy_ms,
    calls_of,
    duration_ms,
    failure_of,
    final_call,
    final_documents,
    question_of,
    searches,
    spelled,
    tools_of,
    total,
)
from rag_monitor.ingest.text import clean_name
from rag_monitor.ingest.timing import Times, times_of

UNKNOWN: Final = "unknown"
_CANCELLED: Final = frozenset({"CancelledError", "ClientDisconnect"})
"""Names of exceptions without their modules, which only some instrumentations write."""
_NEVER_A_REQUEST: Final = frozenset({Role.CREATE_AGENT, Role.EVALUATOR})
_ALONE_NOT_A_REQUEST: Final = frozenset({Role.TOOL, Role.EMBEDDING})
_MAY_FAIL_SILENTLY: Final = frozenset({Role.WORKFLOW, Role.AGENT, Role.CHAIN})


@dataclass(frozen=True, slots=True, kw_only=True)
class _Facts:
    """Everything the spans said, before it is put into a `Trace`."""

    assembly: Assembly
    retrieved: list[Search]
    reranked: list[Search]
    calls: list[tuple[Span, Call]]
    tools: list[tuple[Span, Tool]]
    question: Found
    answer: Found
    last: tuple[Span, Call] | None
    times: Times
    identity: Identity


def read_trace(project: str, assembly: Assembly, received_at: datetime) -> Trace | None:
    """The trace, or None when the spans are not a request of a user.

    A lone tool call, the making of an agent, an evaluation, or work that has nothing to do with
    language models is not one.
    """
    facts = _gather(assembly)
    if not _counts(facts):
        return None
    root = assembly.root
    failure = failure_of(root)
    contexts = final_documents(facts.retrieved, facts.reranked)
    identity = facts.identity
    resource = root.resource
    started = utc_from_ns(root.start_ns) if root.start_ns else received_at
    return Trace(
        trace_id=root.trace_id,
        project=project,
        app=_app(identity, root),
        question=facts.question.text,
        answer=facts.answer.text,
        started_at=started,
        environment=identity.environment
        or text_of(resource, semconv.DEPLOYMENT_ENVIRONMENT, semconv.DEPLOYMENT_ENVIRONMENT_OLD),
        release=identity.release or text_of(resource, semconv.SERVICE_VERSION),
        session_id=identity.session_id,
        user_id=identity.user_id or identity.user_fallback,
        tags=identity.tags,
        status=_status(failure.type if failure else None, failed=failure is not None),
        error=None if failure is None else spelled(failure),
        retrievals=tuple(
            [s.retrieval(facts.question.text, reranked=False) for s in facts.retrieved]
            + [s.retrieval(facts.question.text, reranked=True) for s in facts.reranked]
        ),
        contexts=contexts,
        context_block=_context_block(facts, contexts),
        timings=Timings(
            first_byte_ms=facts.times.first_byte_ms,
            generation_ms=facts.times.generation_ms,
            end_to_end_ms=facts.times.end_to_end_ms,
            retrieval_ms=busy_ms(s.span for s in facts.retrieved + facts.reranked),
            first_token_ms=facts.times.first_token_ms,
        ),
        hits=_hits(facts),
        model=_model(facts),
        usage=Usage(
            input_tokens=total(call.input_tokens for _, call in facts.calls),
            output_tokens=total(call.output_tokens for _, call in facts.calls),
        ),
        streamed=facts.last[1].streamed if facts.last else None,
        truncated=any(is_cut(v) for span in assembly.spans for v in span.attributes.values()),
        convention=_convention(assembly),
        attributes=_attributes(facts, contexts),
    )


def _gather(assembly: Assembly) -> _Facts:
    retrieved = searches(assembly, Role.RETRIEVER)
    reranked = searches(assembly, Role.RERANKER)
    calls = calls_of(assembly)
    answer = answer_of(assembly, calls)
    last = final_call(calls, answer.text)
    return _Facts(
        assembly=assembly,
        retrieved=retrieved,
        reranked=reranked,
        calls=calls,
        tools=tools_of(assembly),
        question=question_of(assembly, retrieved + reranked, calls),
        answer=answer,
        last=last,
        times=times_of(assembly, [s.span for s in retrieved + reranked], last),
        identity=merge_identities(identity_of(span) for span in (*assembly.below, *assembly.spans)),
    )


def _counts(facts: _Facts) -> bool:
    role = facts.assembly.role(facts.assembly.root)
    works = bool(facts.calls or facts.retrieved or facts.reranked)
    if role in _NEVER_A_REQUEST:
        return False
    if role in _ALONE_NOT_A_REQUEST:
        return works
    if works or facts.question.text is not None:
        return True
    # A failing GenAI chain is one span without any message: dropping it would hide the error.
    return role in _MAY_FAIL_SILENTLY and failure_of(facts.assembly.root) is not None


def _app(identity: Identity, root: Span) -> str:
    service = text_of(root.resource, semconv.SERVICE_NAME)
    if service is not None and service.startswith("unknown_service"):
        service = None
    return clean_name(identity.app or service or "") or UNKNOWN


def _status(error_type: str | None, *, failed: bool) -> TraceStatus:
    if not failed:
        return TraceStatus.OK
    name = (error_type or "").rpartition(".")[2]
    return TraceStatus.CANCELLED if name in _CANCELLED else TraceStatus.ERROR


def _context_block(facts: _Facts, contexts: tuple[RetrievedDocument, ...] | None) -> str | None:
    """The undivided context text, only where passages were retrieved without their text."""
    searched = bool(facts.retrieved or facts.reranked)
    if not searched or (contexts is not None and all(d.content is not None for d in contexts)):
        return None
    calls = [facts.last[1]] if facts.last else []
    calls += [call for _, call in reversed(facts.calls)]
    for call in calls:
        if call.context is not None:
            return call.context
    return next((call.system for call in calls if call.system is not None), None)


def _hits(facts: _Facts) -> tuple[Hit, ...]:
    timed = [(search.span, _search_hit(search)) for search in facts.retrieved]
    for span, tool in facts.tools:
        items = len(tool.result) if isinstance(tool.result, list) else None
        timed.append((span, _hit(HitKind.PLUGIN, tool.name, span, items)))
    for span in facts.assembly.workflows():
        name = ask(span, lambda convention, span=span: convention.workflow(span))  # type: ignore[misc]
        if name is not None:
            timed.append((span, _hit(HitKind.WORKFLOW, name, span, None)))
    timed.sort(key=lambda item: (item[0].start_ns, item[0].span_id))
    return tuple(hit for _, hit in timed)


def _search_hit(search: Search) -> Hit:
    items = None if search.documents is None else len(search.documents)
    return _hit(HitKind.KNOWLEDGE_BASE, search.knowledge_base, search.span, items)


def _hit(kind: HitKind, name: str | None, span: Span, items: int | None) -> Hit:
    return Hit(
        kind=kind,
        name=clean_name(name or "") or UNKNOWN,
        ok=failure_of(span) is None,
        items=items,
        latency_ms=duration_ms(span),
    )


def _model(facts: _Facts) -> str | None:
    calls = ([facts.last[1]] if facts.last else []) + [call for _, call in reversed(facts.calls)]
    return next((call.model for call in calls if call.model is not None), None)


def _convention(assembly: Assembly) -> str:
    names: list[str] = []
    for span in assembly.below:
        for speaker in speakers(span):
            if speaker.name not in names:
                names.append(speaker.name)
        if names:
            break
    return names[0] if names else UNKNOWN


def _attributes(facts: _Facts, contexts: tuple[RetrievedDocument, ...] | None) -> dict[str, object]:
    times = facts.times
    found: dict[str, object] = {
        "root_name": facts.assembly.root.name,
        "span_count": len(facts.assembly.spans),
        "question_source": facts.question.source,
        "answer_source": facts.answer.source,
        "first_token_unix_nano": times.first_token_ns,
        "retrieval_end_ms": times.retrieval_end_ms,
        "first_token_ms_estimate": times.first_token_estimate_ms,
        "streamed_estimate": True if times.first_token_estimate_ms is not None else None,
    }
    if facts.assembly.roots > 1:
        found["root_count"] = facts.assembly.roots
    if facts.retrieved or facts.reranked:
        found["retrieval_status"] = "unknown" if contexts is None else "ok" if contexts else "empty"
    if facts.reranked:
        found["retrieved_before_rerank"] = [
            {"id": d.id, "score": d.score} for s in facts.retrieved for d in s.documents or ()
        ]
    if facts.identity.user_id is None and facts.identity.user_fallback is not None:
        found["user_id_source"] = "metadata"
    found["tools"] = [
        {"name": tool.name, "arguments": tool.arguments, "result": tool.result}
        for _, tool in facts.tools
    ]
    found["errors"] = [
        {"span": span.name, "type": failure.type, "message": failure.message}
        for span in facts.assembly.spans
        if (failure := failure_of(span)) is not None
    ]
    found["dropped"] = sum(span.dropped for span in facts.assembly.spans)
    return {key: value for key, value in found.items() if value not in (None, [], 0)}
