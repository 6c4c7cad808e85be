"""A random history of a store, and beside it a plain list of what happened."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Final

from rag_monitor.aggregation.rollup import summarise
from rag_monitor.aggregation.totals import merged
from rag_monitor.domain.fault import Diagnosis, Fault
from rag_monitor.domain.hit import Hit, HitKind
from rag_monitor.domain.judgement import JudgeIdentity
from rag_monitor.domain.score import Score, ScoreStatus
from rag_monitor.domain.stored import RetentionPolicy
from rag_monitor.domain.trace import Expected, Timings, Trace, TraceStatus
from rag_monitor.store.store import Store
from rag_monitor.testing import ManualClock, make_trace
from tests.contract.evidence import claim, ingest

APPS: Final = ("shop", "bank", "desk")
RELEASES: Final = ("v1", "v2", "v3", None)
BASES: Final = ("loans", "cards@home")
USERS: Final = ("u-1", "u-2", None)
METRICS: Final = ("faithfulness", "context_precision", "answer_supported")
JUDGES: Final = tuple(
    JudgeIdentity(name=name, model="m", prompts="1") for name in ("first", "second")
)
FAULTS: Final = (Fault.NONE, Fault.INVENTED, Fault.KNOWLEDGE_GAP)
KEPT: Final = timedelta(days=2)


@dataclass(slots=True)
class Known:
    """A trace that was sent, and what became of it."""

    trace: Trace
    scores: list[Score] = field(default_factory=list)
    """Of its present revision."""
    diagnosis: Diagnosis | None = None
    """By one of the judges that scored it."""
    forgotten: bool = False
    """By retention: its numbers stand."""


class History:
    """Does random things to a store, and notes them."""

    def __init__(self, store: Store, clock: ManualClock, chance: random.Random) -> None:
        self.store = store
        self.clock = clock
        self.chance = chance
        self.known: dict[str, Known] = {}
        self._sent = 0
        self._number = 0

    @property
    def kept(self) -> list[Known]:
        """Traces that can still be looked at."""
        return [one for one in self.known.values() if not one.forgotten]

    def go_on(self, steps: int) -> None:
        """Some random steps; afterwards all is added up that was waiting for it."""
        doings = (self.send, self.send_again, self.revise, self.judge, self.roll_up, self.fold)
        for _ in range(steps):
            self.chance.choice(doings)()
            self.clock.advance(self.chance.choice((1, 20, 61, 600, 5000)))
        if self.chance.random() < 0.4:
            self.erase()
        if self.chance.random() < 0.3:
            self.forget()
        self.settle()

    def send(self) -> None:
        """New traces; some began long before they come."""
        new = [self._trace() for _ in range(self.chance.randint(1, 8))]
        self._take(new)

    def send_again(self) -> None:
        """The same once more, as a client that heard no answer does."""
        if kept := self.kept:
            ingest(self.store, self.chance.choice(kept).trace, at=self.clock.now())

    def revise(self) -> None:
        """Later spans change a trace: where and when it belongs, too."""
        if not (kept := self.kept):
            return
        old = self.chance.choice(kept).trace
        new = replace(self._trace(), trace_id=old.trace_id, app=old.app)
        self._take([new])

    def judge(self) -> None:
        """Some of what waits is judged."""
        for task in claim(self.store, at=self.clock.now()):
            scores = [
                self._score(metric, judge)
                for judge in self.chance.sample(JUDGES, self.chance.randint(1, 2))
                for metric in METRICS
                if self.chance.random() < 0.9
            ]
            diagnosis = self._diagnosis(scores)
            found = {} if diagnosis is None else {task.id: diagnosis}
            self.store.tasks.complete_many([(task, scores, ())], diagnoses=found)
            known = self.known[task.trace.trace_id]
            known.scores, known.diagnosis = scores, diagnosis

    def roll_up(self) -> None:
        """Minutes that changed are added up."""
        dirty = self.store.rollups.changed()
        self.store.rollups.replace(dirty, summarise(self.store.rollups.facts(dirty)))

    def fold(self) -> None:
        """Hours and days that are quiet are added up."""
        later = self.clock.now() + timedelta(hours=2)
        for block in self.store.rollups.stale(later):
            parts = merged(self.store.rollups.parts(block), block.minute)
            self.store.rollups.put_blocks([(block, parts)])

    def settle(self) -> None:
        """All that waits to be added up is."""
        while self.store.rollups.changed():
            self.roll_up()
        if self.chance.random() < 0.5:
            self.fold()

    def erase(self) -> None:
        """Somebody wants to be forgotten."""
        user = self.chance.choice([user for user in USERS if user is not None])
        self.store.traces.erase_user("default", user)
        for trace_id, one in list(self.known.items()):
            if one.trace.user_id == user and not one.forgotten:
                del self.known[trace_id]

    def forget(self) -> None:
        """Days go by, and retention runs."""
        self.settle()
        self.clock.advance(86_400.0)
        policy = RetentionPolicy(traces_days=KEPT.days, scores_days=400)
        self.store.retention.run(self.clock.now(), policy)
        for trace_id, one in self.known.items():
            if not one.forgotten:
                gone = self.store.traces.summaries("default", [trace_id]) == []
                one.forgotten = gone

    def _take(self, new: Sequence[Trace]) -> None:
        self._sent += 1
        ingest(self.store, *new, at=self.clock.now(), payload=b"v%d" % self._sent)
        self.known |= {trace.trace_id: Known(trace) for trace in new}

    def _trace(self) -> Trace:
        chance = self.chance
        late = chance.choice((0.0, 0.0, 30.0, 5000.0, 200_000.0)) * chance.random()
        self._number += 1
        return make_trace(
            f"question {self._number} {chance.choice(('apple', 'pear'))}",
            chance.choice(("an answer", None)),
            (),
            id=f"q-{self._number}",
            app=chance.choice(APPS),
            started_at=self.clock.now() - timedelta(seconds=late),
            release=chance.choice(RELEASES),
            environment=chance.choice(("production", None)),
            user_id=chance.choice(USERS),
            status=chance.choice(tuple(TraceStatus)),
            timings=Timings(
                end_to_end_ms=chance.choice((None, chance.uniform(1, 9000))),
                generation_ms=chance.choice((None, chance.uniform(1, 900))),
            ),
            hits=tuple(self._hit() for _ in range(chance.randint(0, 3))),
            expected=chance.choice(
                (None, Expected(plugin=("maps",)), Expected(plugin=(), knowledge_base=("loans",)))
            ),
        )

    def _hit(self) -> Hit:
        chance = self.chance
        kind, name = chance.choice(
            (
                *((HitKind.KNOWLEDGE_BASE, name) for name in BASES),
                (HitKind.PLUGIN, "maps"),
                (HitKind.WORKFLOW, "refund"),
            )
        )
        ok, items = chance.random() < 0.8, chance.choice((None, 0, 3))
        return Hit(kind=kind, name=name, ok=ok, items=items)

    def _diagnosis(self, scores: Sequence[Score]) -> Diagnosis | None:
        if not scores or self.chance.random() < 0.2:
            return None
        faults = self.chance.sample(FAULTS, 2)
        p = round(self.chance.random(), 3)
        return Diagnosis(
            judge=str(self.chance.choice(scores).judge),
            probabilities={faults[0]: p, faults[1]: 1.0 - p},
        )

    def _score(self, metric: str, judge: JudgeIdentity) -> Score:
        status = self.chance.choices(tuple(ScoreStatus), (8, 1, 1, 1))[0]
        value = round(self.chance.random(), 3) if status is ScoreStatus.SCORED else None
        flagged = None
        if metric == "answer_supported" and value is not None:
            flagged = self.chance.random() < 0.5
        return Score(
            metric=metric,
            status=status,
            value=value,
            reason=None if status is ScoreStatus.SCORED else "a_reason",
            flagged=flagged,
            judge=judge,
            created_at=self.clock.now(),
        )
