"""Random traces with all that filters ask about, and whether one fits, worked out plainly."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Any, Final

from rag_monitor.domain.clean_text import clean_text
from rag_monitor.domain.fault import Diagnosis, Fault
from rag_monitor.domain.feedback import Feedback, satisfaction_of
from rag_monitor.domain.hit import Hit, HitKind
from rag_monitor.domain.judgement import JudgeIdentity
from rag_monitor.domain.rating import rating_of
from rag_monitor.domain.score import Score, ScoreStatus
from rag_monitor.domain.stored import StoredTrace, TraceQuery
from rag_monitor.domain.trace import Retrieval, RetrievedDocument, Timings, Trace, TraceStatus
from rag_monitor.language.script import detect_script
from rag_monitor.store.store import Store
from rag_monitor.testing import EPOCH
from tests.contract.evidence import claim, ingest

BATCH: Final = 500
SECONDS: Final = 86_400.0
APPS: Final = ("shop", "bank", "手册")
TAGS: Final = ("vip", "VIP", 'a"b', 'x","vip', "back\\slash", "会员", "[vip]", "50%", "_")
MODELS: Final = ("gpt", "qwen-max", None)
BASES: Final = ("loans", "cards@home", "手册库")
PLUGINS: Final = ("maps", "weather")
WORKFLOWS: Final = ("refund", "退款")
METRICS: Final = ("faithfulness", "context_precision", "refusal_rate")
JUDGES: Final = tuple(JudgeIdentity(name=n, model="m", prompts="1") for n in ("first", "second"))
FAULTS: Final = (Fault.NONE, Fault.INVENTED, Fault.KNOWLEDGE_GAP, Fault.STALE_SOURCE)
ASKED: Final = ("where is it", "利率是多少", "what is 利率 of a 贷款 now then", "", "12345")


class Population:
    """Traces of a store."""

    def __init__(self, store: Store, chance: random.Random, count: int) -> None:
        self._store = store
        self._chance = chance
        self._count = count

    def fill(self) -> list[StoredTrace]:
        """Send, judge and rate all of them; returns them as they are stored."""
        kept: list[StoredTrace] = []
        for start in range(0, self._count, BATCH):
            numbers = range(start, min(start + BATCH, self._count))
            sent = [self._trace(number) for number in numbers]
            ingest(self._store, *sent)
            self._judge()
            for trace in sent:
                for mark in self._marks(trace.trace_id):
                    self._store.feedback.add(mark)
        for start in range(self._count):
            kept.append(self._store.traces.get("default", _id(start)))
        return kept

    def _trace(self, number: int) -> Trace:
        chance = self._chance
        # Many begin at the same moment, take as long, or took a time nobody knows.
        begun = EPOCH - timedelta(seconds=round(chance.uniform(0, SECONDS), -1))
        latency = chance.choice((None, 100.0, round(chance.lognormvariate(6, 1)), 2500.5))
        return Trace(
            trace_id=_id(number),
            question=f"{chance.choice(ASKED)} {number}" if chance.random() < 0.95 else None,
            answer=chance.choice(("an answer", None)),
            app=chance.choices(APPS, (90, 9, 1))[0],
            started_at=begun,
            release=chance.choice(("v1", "v2", None)),
            environment=chance.choices(("production", "test", None), (90, 1, 9))[0],
            session_id=None if chance.random() < 0.5 else f"s-{number % (self._count // 5)}",
            user_id=chance.choice((None, f"u-{number % 97}")),
            tags=tuple(chance.sample(TAGS, chance.randint(0, 3))),
            model=chance.choice(MODELS),
            status=chance.choices(tuple(TraceStatus), (95, 3, 1, 1))[0],
            timings=Timings(end_to_end_ms=latency),
            retrievals=tuple(self._retrieval() for _ in range(chance.randint(0, 2))),
            contexts=chance.choice((None, (self._document(),))),
            hits=tuple(self._hit() for _ in range(chance.randint(0, 3))),
        )

    def _retrieval(self) -> Retrieval:
        chance = self._chance
        return Retrieval(
            knowledge_base=chance.choice((None, *BASES)),
            documents=tuple(self._document() for _ in range(chance.randint(0, 3))),
        )

    def _document(self) -> RetrievedDocument:
        chance = self._chance
        return RetrievedDocument(
            id=chance.choice((None, f"doc-{int(chance.paretovariate(1)) % 5000}")),
            content="a passage",
            knowledge_base=chance.choice((None, None, "loans")),
            metadata={"id": "doc-in-metadata", "parts": [{"id": "doc-inside"}]},
        )

    def _hit(self) -> Hit:
        chance = self._chance
        named = [(HitKind.PLUGIN, name) for name in PLUGINS]
        named += [(HitKind.WORKFLOW, name) for name in WORKFLOWS]
        named += [(HitKind.KNOWLEDGE_BASE, name) for name in BASES]
        kind, name = chance.choice(named)
        return Hit(
            kind=kind, name=name, ok=chance.random() < 0.9, items=chance.choice((None, 0, 3))
        )

    def _judge(self) -> None:
        chance = self._chance
        while tasks := claim(self._store):
            done, found = [], {}
            for task in tasks:
                scores = [
                    self._score(metric, judge)
                    for judge in chance.sample(JUDGES, chance.randint(0, 2))
                    for metric in METRICS
                    if chance.random() < 0.9
                ]
                done.append((task, scores, ()))
                if chance.random() < 0.8:
                    first, second = chance.sample(FAULTS, 2)
                    found[task.id] = Diagnosis(
                        judge=str(JUDGES[0]), probabilities={first: 0.75, second: 0.25}
                    )
            self._store.tasks.complete_many(done, diagnoses=found)

    def _score(self, metric: str, judge: JudgeIdentity) -> Score:
        chance = self._chance
        status = chance.choices(tuple(ScoreStatus), (8, 1, 1, 1))[0]
        value = None
        if status is ScoreStatus.SCORED:
            value = round(chance.betavariate(6, 1), 2)
            if metric == "refusal_rate":
                value = float(chance.random() < 0.05)
        reason = None if value is not None else "a_reason"
        return Score(metric=metric, status=status, value=value, reason=reason, judge=judge)

    def _marks(self, trace_id: str) -> Iterator[Feedback]:
        chance = self._chance
        if chance.random() > 0.15:
            return
        for place in range(chance.randint(1, 3)):
            given = {
                "project": "default",
                "trace_id": trace_id,
                "author": chance.choice((None, "ann", "bob")),
                # Two of one moment: the one that came later replaces the other.
                "created_at": EPOCH + timedelta(seconds=place // 2),
            }
            if chance.random() < 0.2:
                yield Feedback(metric="faithfulness", value=1.0, **given)  # type: ignore[arg-type]
                continue
            raw, scale = chance.choice(((True, None), (False, None), (3, 5), (5, 5), (0.25, None)))
            rated = rating_of(raw, scale)
            yield Feedback(value=rated.value, kind=rated.kind, raw_value=raw, scale=scale, **given)  # type: ignore[arg-type]


def _id(number: int) -> str:
    return f"{number * 2_654_435_761 % 2**128:032x}" if number else "f" * 32


def fits(stored: StoredTrace, query: TraceQuery) -> bool:
    """Whether every filter of a query holds."""
    trace = stored.trace
    plain = ("app", "release", "environment", "session_id", "user_id", "model")
    wanted = {name: getattr(query, name) for name in plain}
    rated = satisfaction_of(stored.feedback)
    declines = [s.value for s in stored.scores if s.metric == "refusal_rate"]
    refused = {value for value in declines if value is not None}
    latency = trace.timings.end_to_end_ms
    return all(
        (
            all(value in {None, getattr(trace, name)} for name, value in wanted.items()),
            query.status in {None, trace.status},
            query.tag is None or query.tag in trace.tags,
            query.knowledge_base is None or query.knowledge_base in _bases(trace),
            query.document is None or query.document in {d.id for d in _documents(trace)},
            _called(trace, query),
            query.language is None
            or (
                trace.question is not None
                and detect_script(trace.question).value == query.language.value
            ),
            query.latency_above is None or (latency is not None and latency > query.latency_above),
            query.metric is None or bool(_values(stored, query)),
            query.fault is None or query.fault in {one.fault for one in stored.faults},
            query.rating is None or rated == {"up": 1.0, "down": 0.0}[query.rating.value],
            query.refused is None or (bool(refused) and (1.0 in refused) is query.refused),
            query.since is None or trace.started_at >= query.since,
            query.until is None or trace.started_at < query.until,
            query.q is None or clean_text(query.q).lower() in (trace.question or "").lower(),
        )
    )


def place_of(stored: StoredTrace, query: TraceQuery) -> tuple[Any, ...]:
    """Where a trace stands in the order of a query; smaller is earlier."""
    trace = stored.trace
    sign = 1 if query.order.value == "asc" else -1
    begun = sign * (trace.started_at - EPOCH).total_seconds()
    value: float | None = 0.0
    if query.sort.value == "latency":
        value = trace.timings.end_to_end_ms
    if query.sort.value == "score":
        known = [one for one in _values(stored, query) if one is not None]
        value = (min(known) if sign > 0 else max(known)) if known else None
    return value is None, sign * (value or 0.0), begun, sign * int(trace.trace_id, 16)


def _values(stored: StoredTrace, query: TraceQuery) -> Sequence[float | None]:
    values = [score.value for score in stored.scores if score.metric == query.metric]
    if query.below is None and query.above is None:
        return values
    low = -1.0 if query.above is None else query.above
    high = 2.0 if query.below is None else query.below
    return [value for value in values if value is not None and low < value < high]


def _documents(trace: Trace) -> list[RetrievedDocument]:
    retrieved = [d for retrieval in trace.retrievals for d in retrieval.documents]
    return [*retrieved, *(trace.contexts or ())]


def _bases(trace: Trace) -> set[str | None]:
    found = {hit.name for hit in trace.hits if hit.kind is HitKind.KNOWLEDGE_BASE}
    return (
        found
        | {one.knowledge_base for one in trace.retrievals}  # type: ignore[operator]
        | {one.knowledge_base for one in _documents(trace)}
    )


def _called(trace: Trace, query: TraceQuery) -> bool:
    calls = [hit for hit in trace.hits if hit.kind is not HitKind.KNOWLEDGE_BASE]
    if query.outcome is not None:
        ended = {"failed": (False,), "empty": (True, True), "ok": (True, False)}
        want = ended[query.outcome.value]
        calls = [h for h in calls if (h.ok, h.items == 0)[: len(want)] == want]
        if query.plugin is None and query.workflow is None:
            return bool(calls)
    named = {(hit.kind, hit.name) for hit in calls}
    return all(
        name is None or (kind, name) in named
        for kind, name in ((HitKind.PLUGIN, query.plugin), (HitKind.WORKFLOW, query.workflow))
    )
