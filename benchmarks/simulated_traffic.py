"""Simulated traffic: drawn by the sampler, judged, with sessions and a fall in quality."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from rag_monitor.domain.judgement import Aspect, Judgement, JudgeRequest, Verdict
from rag_monitor.domain.rollup import TraceFacts
from rag_monitor.domain.trace import Timings, Trace, TraceStatus
from rag_monitor.evaluation.request import build_request
from rag_monitor.metrics.rag import aspects_for, score_trace
from rag_monitor.sampling.options import SamplingOptions
from rag_monitor.sampling.sampler import Sampler
from rag_monitor.testing import ScriptedJudge, make_trace

APPS = tuple(f"app-{number:02d}" for number in range(20))
METRICS = {
    "faithfulness": Aspect.SUPPORT,
    "answer_supported": Aspect.ANSWER_SUPPORTED,
    "answer_relevance": Aspect.GRADE,
    "context_relevance": Aspect.RELEVANCE,
    "context_precision": Aspect.USEFULNESS,
    "context_utilization": Aspect.USE,
}
"""Each metric rests on one aspect, so each stream can get better or worse alone."""
PER_MINUTE = 10
MINUTE = timedelta(minutes=1)
_KEPT = 200_000
"""Chances of sessions, most of which are over."""


@dataclass(frozen=True, slots=True)
class Fall:
    """One stream gets worse, or an application in all metrics."""

    app: str
    metric: str | None
    at: datetime
    good: float


@dataclass(frozen=True, slots=True)
class Clusters:
    """How traces hang together; without turns each stands alone."""

    turns: int = 0
    correlation: float = 0.0


class _Sessions:
    """The sessions that run in one application."""

    def __init__(self, rng: random.Random, app: str, clusters: Clusters) -> None:
        self._random, self._app, self._clusters = rng, app, clusters
        self._left: dict[str, int] = {}
        self._number = 0

    def next(self) -> str:
        """The session of the next trace."""
        while len(self._left) < PER_MINUTE:
            self._number += 1
            name = f"{self._app}-{self._number}"
            self._left[name] = self._random.randint(1, self._clusters.turns)
        name = self._random.choice(list(self._left))
        self._left[name] -= 1
        if not self._left[name]:
            del self._left[name]
        return name


@dataclass(slots=True)
class _Envelope:
    """What the sampler reads of a trace."""

    trace_id: str
    app: str
    project: str = "default"
    release: str | None = None
    status: TraceStatus = TraceStatus.OK


class Traffic:
    """Draws traces and has them judged."""

    def __init__(
        self,
        seed: int,
        rate: float,
        good: float,
        fall: Fall | None = None,
        apps: Sequence[str] = APPS,
        clusters: Clusters | None = None,
    ) -> None:
        self._random = random.Random(seed)
        self._clusters = clusters or Clusters()
        self._sessions = {app: _Sessions(self._random, app, self._clusters) for app in apps}
        self._chances: dict[tuple[str, str, float], float] = {}
        self._sampler = Sampler(SamplingOptions(rate=rate, min_per_window=0, salt=f"seed {seed}"))
        self._judge = ScriptedJudge(self._answer)
        self._aspects = aspects_for(tuple(METRICS))
        self._good = good
        self._apps = apps
        self.fall = fall
        self._number = 0
        self._loop = asyncio.new_event_loop()
        self.traces = 0
        self.judged = 0
        self.judged_since_fall = 0

    def close(self) -> None:
        """Release the event loop that judging runs in."""
        self._loop.close()

    def stretch(self, start: datetime, minutes: int) -> list[TraceFacts]:
        """The traces of all applications over some minutes, judged where drawn."""
        found: list[TraceFacts] = []
        drawn: list[tuple[Trace, float]] = []
        for minute in range(minutes):
            for app in self._apps:
                trace = make_trace(
                    app=app, started_at=start + minute * MINUTE, timings=Timings(), retrievals=()
                )
                for _ in range(PER_MINUTE):
                    if self._clusters.turns:
                        trace = replace(trace, session_id=self._sessions[app].next())
                    probability = self._draw(app)
                    if probability is None:
                        found.append(TraceFacts(trace=trace))
                    else:
                        drawn.append((trace, probability))
        self.traces += minutes * len(self._apps) * PER_MINUTE
        self.judged += len(drawn)
        return found + self._judge_all(drawn)

    def _draw(self, app: str) -> float | None:
        self._number += 1
        envelope: Any = _Envelope(trace_id=f"{self._number:032x}", app=app)
        decision = self._sampler.decide(envelope, self._judge.identity.name)
        return decision.probability if decision.included else None

    def _judge_all(self, drawn: list[tuple[Trace, float]]) -> list[TraceFacts]:
        requests = [
            replace(
                build_request(trace, self._aspects),
                key=f"{trace.app}|{trace.started_at.isoformat()}|{trace.session_id or ''}",
            )
            for trace, _ in drawn
        ]
        judgements = self._loop.run_until_complete(self._judge.judge_many(requests))
        self._judge.requests.clear()
        name = self._judge.identity.name
        return [
            TraceFacts(
                trace=trace,
                scores=tuple(score_trace(trace, judgement, tuple(METRICS), trace.started_at)),
                probabilities={name: probability},
            )
            for (trace, probability), judgement in zip(drawn, judgements, strict=True)
            if isinstance(judgement, Judgement)
        ]

    def _answer(self, request: JudgeRequest) -> Judgement:
        app, moment, session = request.key.split("|")
        fall = self.fall
        fell = fall is not None and fall.app == app and datetime.fromisoformat(moment) >= fall.at
        self.judged_since_fall += fell
        verdicts = []
        for metric, aspect in METRICS.items():
            good = self._good
            if fall is not None and fell and fall.metric in {None, metric}:
                good = fall.good
            if session:
                good = self._chance(session, metric, good)
            verdicts.append(
                Verdict(aspect=aspect, probability=float(self._random.random() < good), text="x")
            )
        return Judgement(identity=self._judge.identity, verdicts=tuple(verdicts))

    def _chance(self, session: str, metric: str, good: float) -> float:
        """Of a good answer, the same for all turns of a session while its application stays."""
        if not self._clusters.correlation:
            return good
        key = (session, metric, good)
        if key not in self._chances:
            if len(self._chances) > _KEPT:
                self._chances.clear()
            rest = (1.0 - self._clusters.correlation) / self._clusters.correlation
            self._chances[key] = self._random.betavariate(good * rest, (1.0 - good) * rest)
        return self._chances[key]
