"""The jobs: each does what is due and says how much. When they run is the scheduler's business.

Every job is idempotent and takes its work from stored marks, so that it may run late, twice or on
another machine without a difference.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import groupby
from typing import Final

from rag_monitor import telemetry
from rag_monitor.aggregation.rollup import summarise
from rag_monitor.aggregation.rollup_cache import RollupCache
from rag_monitor.aggregation.session_sums import summarise_sessions
from rag_monitor.aggregation.totals import merged
from rag_monitor.alerting.dispatcher import Dispatcher
from rag_monitor.alerting.engine import AlertEngine
from rag_monitor.alerting.rules import default_rules
from rag_monitor.config.options import WorkerOptions
from rag_monitor.domain.clock import Clock
from rag_monitor.domain.stored import PendingTrace, RetentionPolicy
from rag_monitor.domain.trace import DEFAULT_PROJECT, Trace
from rag_monitor.errors import IngestError, LeaseLost
from rag_monitor.evaluation.pipeline import Pipeline
from rag_monitor.ingest.derive import derive
from rag_monitor.self_tracing import RULES, SelfTracing
from rag_monitor.store.raw_spans import QUEUE as _ASSEMBLY
from rag_monitor.store.store import Store
from rag_monitor.worker.document_counting import DocumentCounting
from rag_monitor.worker.evaluating import Evaluation
from rag_monitor.worker.fault_finding import FaultFinder
from rag_monitor.worker.sampled_queue import SampledQueue
from rag_monitor.worker.sampling_windows import SamplingWindows
from rag_monitor.worker.session_counting import SessionCounting

_log = logging.getLogger(__name__)

_COUNT_EVERY_S: Final = 2.0
"""How often the queues are counted, unless that takes long."""
_COUNT_REST: Final = 20.0
"""Seconds without counting for each second that counting took."""
_OUTBOX: Final = "outbox"
_GIVEN_UP: Final = "undelivered"
_REST: Final = 3.0
"""Seconds of rest for each second of recomputing rollups, and of looking at rules."""
_STABLE_S: Final = 20.0
"""A worker that dies earlier may have died of anything."""
_FEW: Final = 4
_JUDGE_EVERY_S: Final = 5.0
"""While traces wait to be assembled, judging takes so few of them so often."""
_ROLL_UP_EVERY_S: Final = 60.0
"""While traces wait to be assembled, minutes are added up at most so often: they are filling."""
_REST_BEHIND: Final = 20.0
"""`_REST` meanwhile: a minute with most of a backlog in it is read as a whole each time."""
_DOUBTED_S: Final = 86_400.0
"""Seconds by which a clock that was set ahead is not believed at once by what deletes."""
_PATIENCE: Final = 0.9
"""Part of the time between two runs of retention for which it waits then: the next run goes on."""


class Jobs:
    """The jobs of one worker process.

    Args:
        memory: What the alert engine remembers of rollups; told when minutes change.
        sampling: Teaches the sampler at each full hour; None: nothing is sampled.
        own: Takes note of runs of the rules; None: nobody does.
    """

    def __init__(
        self,
        store: Store,
        pipeline: Pipeline,
        engine: AlertEngine,
        dispatcher: Dispatcher,
        clock: Clock,
        *,
        owner: str,
        options: WorkerOptions,
        retention: RetentionPolicy,
        memory: RollupCache | None = None,
        sampling: SamplingWindows | None = None,
        own: SelfTracing | None = None,
    ) -> None:
        self._store = store
        self._pipeline = pipeline
        self._engine = engine
        self._dispatcher = dispatcher
        self._clock = clock
        self._owner = owner
        self._options = options
        self._evaluation = Evaluation(
            store.tasks,
            pipeline,
            clock,
            options,
            FaultFinder(store.earlier_passages, clock),
            store.earlier_turns,
        )
        self._sampled = SampledQueue(store.tasks, pipeline, clock, self._evaluation, owner, options)
        self._retention = retention
        self._documents = DocumentCounting(
            store.documents, clock, history=timedelta(days=retention.traces_days)
        )
        self._sessions = SessionCounting(
            store.session_outcomes, timedelta(seconds=options.session_idle_s)
        )
        self._shipped: set[str] = set()
        self._memory = memory
        self._sampling = sampling
        self._own = own
        self._count_at = clock.monotonic()
        self._counting = asyncio.Lock()
        self._began = clock.monotonic()
        self._assembling = False
        self._judged_at = self._began - _JUDGE_EVERY_S
        self._rules_rested_at = 0.0
        self._rolled_up_at = self._began
        self._rollup_took_s = 0.0
        self._ahead = self._wall_ahead()
        self._doubted_until = 0.0

    @property
    def derive_lanes(self) -> int:
        """How many batches are worth assembling at once: see `WorkerOptions.derive_lanes`."""
        return 1 if self._store.takes_one_writer else 2

    async def derive_due(self) -> int:
        """Assemble traces whose spans are complete, or have waited long enough."""
        count = 0
        try:
            count = await asyncio.to_thread(self._derive)
        finally:
            self._assembling = count >= self._options.derive_batch
        return count

    def _derive(self) -> int:
        pending = self._store.spans.due(self._clock.now(), self._options.derive_batch)
        if pending:
            self._store.traces.save_derived(_derive_all(pending))
        return len(pending)

    async def evaluate_due(self) -> int:
        """Have the judge of every trace see those that wait for it, and save its scores.

        Assembling comes first: what is no trace yet is seen by nobody. While more than a batch
        waits for it, judging takes a few traces now and then.

        What is sampled for another judge waits for that one apart: see `judge_sampled`.
        """
        await self._look_at_backlog()
        elapsed, most = self._clock.monotonic(), self._options.evaluate_batch
        if self._assembling:
            if elapsed < self._judged_at + _JUDGE_EVERY_S:
                return 0
            most = min(most, _FEW)
        self._judged_at = elapsed
        tasks = await asyncio.to_thread(
            self._store.tasks.claim,
            self._owner,
            most,
            self._options.lease_s,
            self._clock.now(),
        )
        if not tasks:
            return 0
        await self._evaluation.run(tasks)
        return len(tasks)

    async def judge_suspect(self) -> int:
        """Try one task alone with which workers died, once this one has lived for a while."""
        stable_s = max(self._options.lease_s, _STABLE_S)
        if self._clock.monotonic() < self._began + stable_s:
            return 0
        task = await asyncio.to_thread(
            self._store.tasks.claim_suspect, self._owner, self._options.lease_s, self._clock.now()
        )
        if task is None:
            return 0
        await self._evaluation.run([task])
        return 1

    async def judge_sampled(self) -> int:
        """Have the sampled judge see traces that were sampled for it."""
        return await self._sampled.judge_due()

    async def shed_sampled(self) -> int:
        """Give up on sampled traces that have waited too long for the sampled judge."""
        return await self._sampled.shed_due()

    async def _look_at_backlog(self) -> None:
        """Note how far judging is behind, now and then: counting a long queue is dear.

        All lanes come by at about the same time: one of them counts, the others wait for it.
        """
        async with self._counting:
            if self._clock.monotonic() >= self._count_at:
                await self._count()

    async def _count(self) -> None:
        now, began = self._clock.now(), self._clock.monotonic()
        backlog = await asyncio.to_thread(self._store.tasks.backlog, now)
        assembling = await asyncio.to_thread(self._store.spans.assembling, now)
        took = self._clock.monotonic() - began
        self._count_at = began + max(_COUNT_EVERY_S, took * _COUNT_REST)
        telemetry.waiting(_ASSEMBLY, assembling.traces, assembling.oldest_s)
        telemetry.waiting("evaluation", backlog.waiting, max(backlog.lag_s, backlog.bulk_lag_s))
        telemetry.waiting("drawn", backlog.sampled, backlog.sampled_age_s)
        telemetry.QUEUE_DEPTH.labels(queue="parked").set(backlog.parked)
        wait = self._pipeline.plan.options.imports_wait
        self._pipeline.note_lag(backlog.lag_s if wait else max(backlog.lag_s, backlog.bulk_lag_s))

    async def begin_sampling_window(self) -> int:
        """At each full hour, tell the sampler what the hour before was like."""
        return 0 if self._sampling is None else await asyncio.to_thread(self._sampling.refresh)

    async def roll_up(self) -> int:
        """Recompute the rollups of minutes in which something changed.

        The current minute changes all the time and is recomputed as a whole. So that a busy minute
        does not keep the leader busy for nothing else, it rests in proportion to what that cost.
        """
        began = self._clock.monotonic()
        if began < self._rolled_up_at + self._between_rollups_s():
            return 0
        self._rolled_up_at = began
        count = await asyncio.to_thread(self._roll_up)
        all_done = 0 < count < self._options.rollup_batch
        self._rollup_took_s = self._clock.monotonic() - began if all_done else 0.0
        return count

    def _between_rollups_s(self) -> float:
        """From the beginning of one to that of the next, as long as things are as now."""
        if self._assembling:
            return max(_ROLL_UP_EVERY_S, self._rollup_took_s * (1 + _REST_BEHIND))
        return self._rollup_took_s * (1 + _REST)

    def _roll_up(self) -> int:
        with self._store.reading():
            dirty = self._store.rollups.changed(self._options.rollup_batch)
            facts = self._store.rollups.facts(dirty)
            sessions = self._store.session_outcomes.counted_in(dirty)
        if not dirty:
            return 0
        rollups = [*summarise(facts), *summarise_sessions(sessions)]
        self._store.rollups.replace(dirty, rollups)
        if self._memory is not None:
            self._memory.invalidate(dirty)
        return len(dirty)

    async def index(self) -> int:
        """Make traces of older releases known to the search and to the filters."""
        traces = self._store.traces
        return await asyncio.to_thread(lambda: traces.index_questions() + traces.index_terms())

    async def count_documents(self) -> int:
        """Count what became of the documents of judged traces; assembling comes first."""
        return 0 if self._assembling else await self._documents.count_due()

    async def count_sessions(self) -> int:
        """Work out what sessions came to that changed; assembling comes first."""
        return 0 if self._assembling else await self._sessions.count_due()

    async def fold_documents(self) -> int:
        """Count the less retrieved documents of days that are over together."""
        return await self._documents.fold()

    async def fold(self) -> int:
        """Add minutes up to ten minutes, hours and days, once they are quiet."""
        return await asyncio.to_thread(self._fold)

    def _fold(self) -> int:
        rollups = self._store.rollups
        stale = rollups.stale(self._clock.now(), self._options.fold_batch)
        for _, alike in groupby(stale, key=lambda block: block.minutes):
            # Short blocks are saved before the long ones that are made of them.
            rollups.put_blocks(
                [(block, merged(rollups.parts(block), block.minute)) for block in alike]
            )
        return len(stale)

    def take_over(self) -> None:
        """Begin to lead: rollups may have changed while another process did."""
        if self._memory is not None:
            self._memory.clear()

    def step_down(self) -> None:
        """Lead no longer: how many messages wait is for the next leader to say."""
        for queue in (_OUTBOX, _GIVEN_UP):
            with contextlib.suppress(KeyError):  # it led too briefly to count them
                telemetry.QUEUE_DEPTH.remove(queue)

    async def check_rules(self) -> int:
        """Evaluate the alert rules; the count is of state changes."""
        began_s = self._clock.monotonic()
        if began_s < self._rules_rested_at:
            return 0
        began = self._own.begin() if self._own is not None else 0
        changes = await asyncio.to_thread(self._check_rules)
        # Rules on thousands of apps must not keep all else waiting.
        ended = self._clock.monotonic()
        self._rules_rested_at = ended + _REST * (ended - began_s)
        if self._own is not None:
            self._own.record(RULES, began, {"changes": changes})
        return changes

    def _check_rules(self) -> int:
        self.ship_rules()
        now = self._clock.now()
        if self._memory is not None:
            self._memory.begin(now)
        try:
            changes = len(self._engine.run(now))
        except LeaseLost as error:  # whoever leads now looks at the same slot
            _log.info("alert rules: %s", error)
            return 0
        telemetry.RULES_CHECKED_AT.set(now.timestamp())
        return changes

    def ship_rules(self) -> None:
        """Give every project the default rules once; what people do with them afterwards stays."""
        for project in {DEFAULT_PROJECT, *self._store.traces.projects()} - self._shipped:
            self._store.rules.ship(project, default_rules(project=project))
            self._shipped.add(project)

    async def deliver(self) -> int:
        """Send notifications that are due."""
        sent = await asyncio.to_thread(self._dispatcher.deliver_due, self._clock.now())
        waiting = await asyncio.to_thread(self._store.outbox.waiting)
        telemetry.QUEUE_DEPTH.labels(queue=_OUTBOX).set(waiting)
        given_up = await asyncio.to_thread(self._store.outbox.given_up)
        telemetry.QUEUE_DEPTH.labels(queue=_GIVEN_UP).set(given_up)
        return sent

    async def repair_times(self) -> int:
        """Make due what a clock that was ahead has put off, once it was set back."""
        plan = self._pipeline.plan.options
        longest_s = max(self._options.lease_s, plan.wait_s(plan.max_attempts))
        count = await asyncio.to_thread(self._store.clock_repair.repair, longest_s)
        if count:
            _log.warning("%d rows were put off by a clock that was ahead; they are due now", count)
        return count

    async def hold_budget(self) -> int:
        """Hold what is set aside for judgements under way, and give back what died with others."""
        await asyncio.to_thread(self._store.budgets.renew)
        count = await asyncio.to_thread(self._store.budgets.release)
        if count:
            _log.info("%d judgements ended with their process: the budget has the rest back", count)
        return count

    async def retain(self) -> int:
        """Delete what is older than it may get.

        Nothing for the time of one run once the clock was set ahead by more than a day: a moment in
        another year, soon corrected, must not cost all data.
        """
        if self._doubts_clock():
            return 0
        report = await asyncio.to_thread(
            self._store.retention.run, self._clock.now(), self._retention
        )
        return report.traces + report.rows + len(report.partitions)

    def _doubts_clock(self) -> bool:
        """Whether the wall clock was lately set so far ahead that it may soon be set back."""
        before, self._ahead = self._ahead, self._wall_ahead()
        jump, elapsed = self._ahead - before, self._clock.monotonic()
        if jump > _DOUBTED_S:
            self._doubted_until = elapsed + _PATIENCE * self._options.retention_every_s
            _log.warning(
                "the clock was set ahead by %.0f days: retention waits for %.0f minutes, in case "
                "it is set back",
                jump / 86_400,
                self._options.retention_every_s / 60,
            )
        elif jump < -_DOUBTED_S:
            self._doubted_until = elapsed
        return elapsed < self._doubted_until

    def _wall_ahead(self) -> float:
        """Seconds that the wall clock shows more than the monotonic one."""
        return self._clock.now().timestamp() - self._clock.monotonic()


def derive_everything(store: Store, now: datetime) -> None:
    """Derive whatever waits, due or not: what is about to be erased must be known first."""
    while pending := store.spans.unread(now, now):
        store.traces.save_derived(_derive_all(pending))


def _derive_all(pending: Sequence[PendingTrace]) -> list[tuple[PendingTrace, Trace | None]]:
    derived: list[tuple[PendingTrace, Trace | None]] = []
    for item in pending:
        try:
            trace = derive(item.project, item.blobs, item.received_at)
        except IngestError as error:
            # The evidence stays in `spans`; only the trace cannot be made from it.
            _log.warning("trace %s cannot be derived: %s", item.trace_id, error)
            telemetry.dropped("derive", "malformed")
            trace = None
        except Exception:  # noqa: BLE001 - a mistake of ours must not hold up its neighbours
            _log.exception("trace %s cannot be derived", item.trace_id)
            telemetry.dropped("derive", "failed")
            trace = None
        derived.append((item, trace))
    return derived
