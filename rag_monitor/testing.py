"""Public fakes: test your own code, rules and integrations with the ones we test with.

Nothing in the package imports this module.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final, Self

from opentelemetry.proto.trace.v1.trace_pb2 import TracesData

from rag_monitor.domain.judgement import (
    Aspect,
    JudgeIdentity,
    Judgement,
    JudgeRequest,
    JudgeUsage,
    Verdict,
)
from rag_monitor.domain.record import resolve_contexts
from rag_monitor.domain.stored import EvaluationTask
from rag_monitor.domain.trace import Retrieval, RetrievedDocument, Timings, Trace, derive_trace_id
from rag_monitor.sdk.client import install
from rag_monitor.sdk.options import Options
from rag_monitor.sdk.outcome import Outcome
from rag_monitor.sdk.recorder import Recorder

_FLUSH_S: Final = 30.0
"""Long enough for a machine that is busy with other tests; a flush ends when all is out."""

EPOCH = datetime(2026, 1, 5, 12, 0, tzinfo=UTC)
"""Where manual clocks start: a Monday, noon UTC."""


class ManualClock:
    """A clock that moves only when told to."""

    def __init__(self, start: datetime = EPOCH) -> None:
        self._now = start
        self._elapsed = 0.0

    def now(self) -> datetime:
        """The present moment of the test."""
        return self._now

    def monotonic(self) -> float:
        """Seconds since the clock was made."""
        return self._elapsed

    def advance(self, step: timedelta | float) -> datetime:
        """Move forward by a timedelta or by seconds; returns the new time."""
        delta = step if isinstance(step, timedelta) else timedelta(seconds=step)
        if delta < timedelta(0):
            raise ValueError("a manual clock only moves forward; use `set` to jump")
        self._now += delta
        self._elapsed += delta.total_seconds()
        return self._now

    def set(self, moment: datetime) -> None:
        """Jump the wall clock, also backwards; the monotonic clock does not notice."""
        self._now = moment


def make_trace(
    question: str = "How long is the warranty?",
    answer: str | None = "The warranty lasts 24 months.",
    contexts: Sequence[str] | None = ("The standard warranty lasts 24 months.",),
    *,
    id: str = "t-1",
    app: str = "test-app",
    project: str = "default",
    started_at: datetime = EPOCH,
    **fields: Any,
) -> Trace:
    """A valid trace; any field of `Trace` can be given by keyword."""
    documents = (
        None
        if contexts is None
        else tuple(
            RetrievedDocument(id=f"doc-{rank}", content=text, score=1.0 / rank, rank=rank)
            for rank, text in enumerate(contexts, start=1)
        )
    )
    fields.setdefault(
        "timings", Timings(first_byte_ms=120.0, generation_ms=400.0, end_to_end_ms=600.0)
    )
    fields.setdefault("contexts", documents)
    if documents is not None:
        fields.setdefault("retrievals", (Retrieval(documents=documents, latency_ms=20.0),))
    return Trace(
        trace_id=derive_trace_id(project, app, id),
        project=project,
        app=app,
        question=question,
        answer=answer,
        started_at=started_at,
        **fields,
    )


_task_ids = itertools.count(1)


def make_task(trace: Trace | None = None, **fields: Any) -> EvaluationTask:
    """A claimed task for a trace, on its first try; any field of `EvaluationTask` by keyword."""
    trace = trace or make_trace()
    given: dict[str, Any] = {
        "id": next(_task_ids),
        "project": trace.project,
        "token": 1,
        "attempts": 1,
    }
    return EvaluationTask(trace=trace, **(given | fields))


Answerer = Callable[[JudgeRequest], "Judgement | Exception"]


class ScriptedJudge:
    """A judge that answers what the test says, and remembers what it was asked.

    Args:
        script: A function from request to judgement (or an exception to raise), or a mapping from
            aspect to the probability given for every verdict of it.
        name: Judge name in the identity.
    """

    def __init__(
        self, script: Answerer | Mapping[Aspect, float] | None = None, *, name: str = "scripted"
    ) -> None:
        self._identity = JudgeIdentity(name=name, model="script", prompts="1")
        self._script = script if script is not None else dict.fromkeys(Aspect, 0.9)
        self.requests: list[JudgeRequest] = []
        """Every request so far, in order."""

    @property
    def identity(self) -> JudgeIdentity:
        """Fixed, so that scores of one test share a series."""
        return self._identity

    @property
    def aspects(self) -> frozenset[Aspect]:
        """All of them, or those in the mapping."""
        return frozenset(self._script) if isinstance(self._script, Mapping) else frozenset(Aspect)

    async def judge(self, request: JudgeRequest) -> Judgement:
        """Answer by the script."""
        self.requests.append(request)
        if not isinstance(self._script, Mapping):
            outcome = self._script(request)
            if isinstance(outcome, Exception):
                raise outcome
            return outcome
        verdicts = tuple(
            verdict
            for aspect in sorted(request.aspects & self.aspects)
            for verdict in _uniform_verdicts(request, aspect, self._script[aspect])
        )
        return Judgement(
            identity=self._identity,
            verdicts=verdicts,
            missing=self._missing(request),
            usage=JudgeUsage(calls=1, input_tokens=100, output_tokens=len(verdicts)),
        )

    def _missing(self, request: JudgeRequest) -> dict[Aspect, str]:
        uncited = _OF_CITATIONS if request.citations is None else frozenset[Aspect]()
        return dict.fromkeys(request.aspects & uncited, "no_citations") | dict.fromkeys(
            request.aspects - self.aspects, "unsupported_aspect"
        )

    async def judge_many(self, requests: Sequence[JudgeRequest]) -> Sequence[Judgement | Exception]:
        """One after the other."""
        results: list[Judgement | Exception] = []
        for request in requests:
            try:
                results.append(await self.judge(request))
            except Exception as error:  # noqa: BLE001 - the protocol returns failures as values
                results.append(error)
        return results

    async def close(self) -> None:
        """Nothing to release."""


_OF_CITATIONS = frozenset({Aspect.CITED_SUPPORT, Aspect.CITATION})
_PER_PASSAGE = frozenset({Aspect.RELEVANCE, Aspect.USEFULNESS, Aspect.USE})


def _uniform_verdicts(
    request: JudgeRequest, aspect: Aspect, probability: float
) -> tuple[Verdict, ...]:
    texts: Sequence[str]
    if aspect in _PER_PASSAGE:
        texts = request.contexts or ()
    elif aspect is Aspect.COVERAGE:
        texts = [point.text for point in request.key_points or ()]
    elif aspect is Aspect.CITED_SUPPORT:
        texts = [s.text for s in request.citations.statements] if request.citations else ()
    elif aspect is Aspect.CITATION:
        texts = [""] * len(request.citations.passages) if request.citations else ()
    elif aspect is Aspect.SUPPORT and request.statements is not None:
        texts = [statement.text for statement in request.statements]
    else:
        texts = [request.answer]
    return tuple(
        Verdict(aspect=aspect, probability=probability, raw=probability, index=i, text=text)
        for i, text in enumerate(texts)
    )


class InMemoryExporter:
    """Keeps what the SDK would send; enter it to capture your own handlers in a test.

        with InMemoryExporter() as captured:
            answer("How long is the warranty?")
        assert captured.records[0]["answer"]

    Args:
        **settings: Fields of `rag_monitor.sdk.options.Options`.
    """

    def __init__(self, **settings: Any) -> None:
        self.client = Recorder(Options(**settings), transport=self)
        self.client.prepare()
        self._bodies: list[tuple[str, bytes]] = []

    def __enter__(self) -> Self:
        install(self.client)
        return self

    def __exit__(self, *_: object) -> None:
        self.client.close(5.0)
        install(None)

    def post(self, path: str, body: bytes, content_type: str) -> Outcome:
        """Keep one request body; the SDK's sender calls this."""
        del content_type
        self._bodies.append((path, body))
        return Outcome(200)

    def close(self) -> None:
        """Nothing to release."""

    def clear(self) -> None:
        """Forget what was captured."""
        self._bodies.clear()

    def bodies(self, path: str) -> list[bytes]:
        """Every request body so far for one path, as it would go over the wire."""
        return [body for to, body in self._bodies if to == path]

    @property
    def spans(self) -> list[Any]:
        """Every protobuf span so far, after a flush."""
        self.client.flush(_FLUSH_S)
        return [
            span
            for body in self.bodies("/v1/traces")
            for resource in TracesData.FromString(body).resource_spans
            for scope in resource.scope_spans
            for span in scope.spans
        ]

    @property
    def records(self) -> list[dict[str, Any]]:
        """Every trace so far as Trace JSON, after a flush."""
        return [
            dict(resolve_contexts(json.loads(attribute.value.string_value)))
            for span in self.spans
            for attribute in span.attributes
            if attribute.key == "rag_monitor.record"
        ]

    @property
    def feedback(self) -> list[dict[str, Any]]:
        """Every annotation so far, after a flush."""
        self.client.flush(_FLUSH_S)
        return [json.loads(body) for path, body in self._bodies if path == "/api/v1/feedback"]
