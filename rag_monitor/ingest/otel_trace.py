"""A trace of any convention but our own record, from its assembled spans."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from rag_monitor import semconv
from rag_monitor.domain.conversation import EarlierTurn
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
from rag_monitor.ingest.calls import (
    SpanCall,
    ToolCall,
    calls_of,
    final_answer,
    searches_by_tools,
    tools_of,
    undivided_text,
)
from rag_monitor.ingest.conventions.base import Identity, Role, text_of
from rag_monitor.ingest.conventions.reading import (
    ask,
    identity_of,
    merge_identities,
    speakers,
)
from rag_monitor.ingest.earlier_turns import earlier_turns_of
from rag_monitor.ingest.request import SourcedText, request_of
from rag_monitor.ingest.span_facts import (
    Search,
    busy_ms,
    duration_ms,
    failure_of,
    final_documents,
    rerankings,
    searches,
    spelled,
    total,
)
from rag_monitor.ingest.timing import Times, times_of
from rag_monitor.ingest.values import clean_name, is_cut

UNKNOWN: Final = "unknown"
_UUID: Final = re.compile(r"[\W_]*[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
"""In a workflow's name it is that of one run: CrewAI calls it `Crew_<id>.kickoff`."""
_CANCELLED: Final = frozenset({"CancelledError", "ClientDisconnect"})
"""Names of exceptions without their modules, which only some instrumentations write."""
_ALONE: Final = {
    Role.CREATE_AGENT: "agent_created",
    Role.TOOL: "lone_tool",
    Role.EMBEDDING: "lone_embedding",
    Role.GUARDRAIL: "lone_guardrail",
    Role.PROMPT: "lone_prompt",
    Role.ASIDE: "lone_step",
}
"""What is no request by itself, and how it is counted."""
_MAY_FAIL_SILENTLY: Final = frozenset({Role.WORKFLOW, Role.AGENT, Role.CHAIN})


@dataclass(frozen=True, slots=True, kw_only=True)
class _Facts:
    """Everything the spans said, before it is put into a `Trace`."""

    assembly: Assembly
    retrieved: list[Search]
    reranked: list[Search]
    contexts: tuple[RetrievedDocument, ...] | None
    calls: list[SpanCall]
    tools: list[ToolCall]
    by_tools: list[Search]
    """Those of them that found passages."""
    question: SourcedText
    answer: SourcedText
    last: SpanCall | None
    times: Times
    identity: Identity

    @property
    def searches(self) -> list[Search]:
        """Whatever looked for passages."""
        return self.retrieved + self.by_tools + self.reranked


@dataclass(frozen=True, slots=True)
class NoRequest:
    """Spans that are no request of a user: there is nothing to store, and nothing is lost."""

    reason: str
    """Which kind of work they are, for the count; from a fixed list."""


def read_trace(project: str, assembly: Assembly, received_at: datetime) -> Trace | NoRequest:
    """The trace, or why the spans are not a request of a user.

    Whatever has a model call, an answer or passages is one, unless all of it is an evaluation.
    """
    facts = _gather(assembly)
    reason = _why_not(facts)
    if reason is not None:
        return NoRequest(reason)
    root = assembly.root
    failure = failure_of(root)
    contexts = facts.contexts
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
            [
                s.retrieval(facts.question.text, reranked=False)
                for s in (*facts.retrieved, *facts.by_tools)
            ]
            + [s.retrieval(facts.question.text, reranked=True) for s in facts.reranked]
        ),
        contexts=contexts,
        context_block=_context_block(facts, contexts),
        history=_history(facts),
        timings=Timings(
            first_byte_ms=facts.times.first_byte_ms,
            generation_ms=facts.times.generation_ms,
            end_to_end_ms=facts.times.end_to_end_ms,
            retrieval_ms=busy_ms(s.span for s in facts.searches),
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
    calls = calls_of(assembly)
    user_messages = frozenset(text for _, call in calls for text in call.user_messages)
    retrieved = searches(assembly, Role.RETRIEVER, user_messages)
    reranked = rerankings(assembly, retrieved, user_messages)
    tools = tools_of(assembly)
    by_tools = searches_by_tools(assembly, tools, retrieved + reranked)
    contexts = final_documents(retrieved + by_tools, reranked)
    request = request_of(assembly, calls, retrieved + reranked, contexts or (), final_answer(tools))
    return _Facts(
        assembly=assembly,
        retrieved=retrieved,
        reranked=reranked,
        contexts=contexts,
        calls=calls,
        tools=tools,
        by_tools=by_tools,
        question=request.question,
        answer=request.answer,
        last=request.call,
        times=times_of(assembly, [s.span for s in retrieved + by_tools + reranked], request.call),
        identity=_identity(assembly),
    )


def _identity(assembly: Assembly) -> Identity:
    """Each fact as the outermost span below the root has it, else any other."""
    below = {span.span_id for span in assembly.below}
    others = (span for span in assembly.spans if span.span_id not in below)
    return merge_identities(identity_of(span) for span in (*assembly.below, *others))


def _why_not(facts: _Facts) -> str | None:
    """Why the spans are no request; None when they are one."""
    root = facts.assembly.root
    role = facts.assembly.role(root)
    if role is Role.EVALUATOR:
        return "evaluation"
    if facts.calls or facts.retrieved or facts.reranked or facts.answer.text is not None:
        return None
    if role in _ALONE:
        return _ALONE[role]
    if facts.question.text is not None:
        return None
    # A failing GenAI chain is one span without any message: dropping it would hide the error.
    if role in _MAY_FAIL_SILENTLY and failure_of(root) is not None:
        return None
    if any(facts.assembly.role(span) is Role.EVALUATOR for span in facts.assembly.spans):
        return "evaluation"
    return "nothing_said" if role in _MAY_FAIL_SILENTLY else "no_model_call"


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
    """The undivided context text, only where what was found is not known passage by passage."""
    if contexts is not None and all(d.content is not None for d in contexts):
        return None
    if contexts is None and (text := undivided_text(facts.tools)) is not None:
        return text
    if not facts.retrieved and not facts.reranked:
        return None
    calls = [facts.last[1]] if facts.last else []
    calls += [call for _, call in reversed(facts.calls)]
    for call in calls:
        if call.context is not None:
            return call.context
    return next((call.system for call in calls if call.system is not None), None)


def _history(facts: _Facts) -> tuple[EarlierTurn, ...]:
    """The turns before the question, where no session tells of them: they are not kept twice."""
    if facts.identity.session_id is not None:
        return ()
    spans = [facts.assembly.root, *([facts.last[0]] if facts.last else [])]
    return earlier_turns_of(spans, facts.question.text)


def _hits(facts: _Facts) -> tuple[Hit, ...]:
    timed = [(search.span, _search_hit(search)) for search in facts.retrieved]
    timed += [
        (call.span, _hit(HitKind.PLUGIN, call.tool.name, call.span, call.items))
        for call in facts.tools
    ]
    for span in facts.assembly.workflows():
        name = ask(span, lambda convention, span=span: convention.workflow(span))  # type: ignore[misc]
        if name is not None:
            timed.append((span, _hit(HitKind.WORKFLOW, _UUID.sub("", name), span, None)))
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
    attributes: dict[str, object] = {
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
        attributes["root_count"] = facts.assembly.roots
    if facts.searches:
        attributes["retrieval_status"] = (
            "unknown" if contexts is None else "ok" if contexts else "empty"
        )
    if facts.reranked:
        attributes["retrieved_before_rerank"] = [
            {"id": d.id, "score": d.score} for s in facts.retrieved for d in s.documents or ()
        ]
    if facts.identity.user_id is None and facts.identity.user_fallback is not None:
        attributes["user_id_source"] = "metadata"
    attributes["tools"] = [
        {"name": c.tool.name, "arguments": c.tool.arguments, "result": c.tool.result}
        for c in facts.tools
    ]
    attributes["errors"] = [
        {"span": span.name, "type": failure.type, "message": failure.message}
        for span in facts.assembly.spans
        if (failure := failure_of(span)) is not None
    ]
    attributes["dropped"] = sum(span.dropped for span in facts.assembly.spans)
    return {key: value for key, value in attributes.items() if value not in (None, [], 0)}
