"""The actors, and the work that waits for them.

One thread here has one actor there: it places it, hands it batches from a common queue, and places
another when it dies. A batch whose actor died goes back into the queue. When that happens to it
again its traces go alone, so that a trace that ends its judge takes no neighbour with it.
"""

from __future__ import annotations

import contextlib
import logging
import math
import queue
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, Final

import ray
from ray.exceptions import GetTimeoutError, RayError

from rag_monitor.domain.judgement import Judgement, JudgeRequest
from rag_monitor.errors import (
    ConfigurationError,
    JudgeOutputInvalid,
    JudgeUnavailable,
    RagMonitorError,
)
from rag_monitor.i18n import Message
from rag_monitor.judges.judge import Judge
from rag_monitor.judges.ray.actor import ActorInfo, JudgeActor
from rag_monitor.judges.ray.options import RayOptions

_log = logging.getLogger(__name__)

_TRIES: Final = 2
"""Actors that may die over the same traces."""
_RETRY_S: Final = 2.0
"""Pause before another actor is placed where one could not be."""

_CLOSED: Final = Message("the judge is closed")

Results = list[Judgement | Exception]


@dataclass(slots=True, eq=False)
class _Batch:
    """Some traces on their way."""

    requests: Sequence[JudgeRequest]
    results: Future[Results] = field(default_factory=Future)
    deaths: int = 0

    def begin(self) -> bool:
        """Whether somebody still waits for it."""
        return bool(self.deaths) or self.results.set_running_or_notify_cancel()

    def refuse(self, reason: str) -> None:
        """Give up on it for now; whoever asked may ask again."""
        if self.results.running() or self.begin():
            self.results.set_result([JudgeUnavailable(reason) for _ in self.requests])


class ActorPool:
    """Some actors with a copy of the judge each.

    Args:
        make: Makes the judge.
        options: How many, how large, how patient.

    Raises:
        ConfigurationError: No actor came to work within `start_s`.
        RagMonitorError: What the judge itself raised when it was to be made.
    """

    def __init__(self, make: Callable[[], Judge], options: RayOptions) -> None:
        self._make = make
        self._options = options
        self._waiting: queue.SimpleQueue[_Batch | None] = queue.SimpleQueue()
        self._closed = threading.Event()
        self._lock = threading.Lock()
        self._at_work = 0
        self._first: Future[ActorInfo] = Future()
        self._threads = [
            threading.Thread(target=self._serve, name=f"ray-judge-{n}", daemon=True)
            for n in range(options.actors)
        ]
        for thread in self._threads:
            thread.start()
        try:
            self.info: Final = self._first.result()
        except BaseException:
            self.close()
            raise

    def submit(self, requests: Sequence[JudgeRequest]) -> Future[Results]:
        """Have a batch judged; results in order. The future never fails."""
        batch = _Batch(requests)
        self._waiting.put(batch)
        if self._closed.is_set():
            self._refuse_waiting(_CLOSED)
        return batch.results

    def close(self) -> None:
        """End the actors; what they have in hand comes back as unavailable."""
        self._closed.set()
        for _ in self._threads:
            self._waiting.put(None)
        for thread in self._threads:
            thread.join()
        self._refuse_waiting(_CLOSED)

    def _serve(self) -> None:
        """The life of one thread."""
        while not self._closed.is_set():
            try:
                actor = self._place()
            except Exception as error:  # noqa: BLE001 - Ray's errors, and of what travels to it
                self._not_placed(error)
                self._closed.wait(_RETRY_S)
                continue
            with self._lock:
                self._at_work += 1
            try:
                self._work(actor)
            finally:
                with self._lock:
                    self._at_work -= 1
                _end(actor)

    def _place(self) -> Any:
        """An actor that has loaded the judge everybody else has."""
        options = self._options
        remote = ray.remote(
            num_cpus=options.cpus,
            num_gpus=options.gpus,
            max_restarts=0,
            scheduling_strategy="SPREAD",
        )
        actor = remote(JudgeActor).remote(self._make)
        try:
            self._admit(self._get(actor.load.remote(), options.start_s))
        except BaseException:
            _end(actor)
            raise
        return actor

    def _admit(self, info: ActorInfo | RagMonitorError) -> None:
        """Let the actor in if it has the judge that the first one has."""
        if isinstance(info, RagMonitorError):
            raise info
        with self._lock:
            if not self._first.done():
                self._first.set_result(info)
        first = self._first.result()
        if info != first:
            raise ConfigurationError(
                "one actor has the judge {first}, another {other}: every machine needs the same "
                "release and files",
                first=first.identity,
                other=info.identity,
            )

    def _get(self, reference: Any, timeout_s: float) -> Any:
        """The value, unless it takes too long or the pool is closed meanwhile."""
        left = timeout_s
        while not self._closed.is_set():
            step = min(left, 1.0)
            try:
                return ray.get(reference, timeout=step)
            except GetTimeoutError:
                left -= step
            if left <= 0:
                raise JudgeUnavailable(
                    "Ray placed no actor that was ready within {timeout_s:g} s; has the cluster "
                    "the processors and GPUs that `cpus` and `gpus` ask for?",
                    timeout_s=timeout_s,
                )
        raise JudgeUnavailable(_CLOSED)

    def _not_placed(self, error: Exception) -> None:
        if self._closed.is_set():
            return
        with self._lock:
            first, nobody = not self._first.done(), not self._at_work
            if first:
                rays = not isinstance(error, RagMonitorError) or isinstance(error, JudgeUnavailable)
                self._first.set_exception(ConfigurationError(str(error)) if rays else error)
        if first:
            return
        _log.warning("a Ray actor could not begin to judge: %s", error)
        if nobody:
            self._refuse_waiting(Message("no Ray actor is at work: {reason}", reason=error))

    def _work(self, actor: Any) -> None:
        """Hand batches to the actor until it dies or the pool is closed."""
        while (batch := self._waiting.get()) is not None:
            if not batch.begin():
                continue
            try:
                results = self._get(actor.judge_many.remote(batch.requests), math.inf)
            except Exception as error:  # noqa: BLE001 - Ray's errors, and of what travels to it
                self._requeue(batch, error)
                return
            batch.results.set_result(self._checked(batch, results))

    def _checked(self, batch: _Batch, results: Results) -> Results:
        """The results, if they are this judge's and as many as were asked for."""
        wrong = len(results) != len(batch.requests) or any(
            isinstance(r, Judgement) and r.identity != self.info.identity for r in results
        )
        if not wrong:
            return results
        return [JudgeOutputInvalid("an actor answered something else") for _ in batch.requests]

    def _requeue(self, batch: _Batch, error: Exception) -> None:
        batch.deaths += 1
        if self._closed.is_set():
            batch.refuse(_CLOSED)
            return
        _log.warning("a Ray actor failed with %d traces in hand: %s", len(batch.requests), error)
        if batch.deaths < _TRIES:
            self._waiting.put(batch)
        elif len(batch.requests) > 1:
            _SplitBatch(batch, self.submit)
        else:
            batch.refuse(
                Message("{count} Ray actors failed over it: {reason}", count=_TRIES, reason=error)
            )

    def _refuse_waiting(self, reason: str) -> None:
        for _ in range(self._waiting.qsize()):
            try:
                batch = self._waiting.get_nowait()
            except queue.Empty:
                return
            if batch is None:  # somebody else is to read it
                self._waiting.put(None)
            else:
                batch.refuse(reason)


class _SplitBatch:
    """The traces of a batch, each by itself; the last to come back ends the batch."""

    def __init__(
        self, batch: _Batch, submit: Callable[[Sequence[JudgeRequest]], Future[Results]]
    ) -> None:
        self._batch = batch
        self._lock = threading.Lock()
        self._left = len(batch.requests)
        self._parts = [submit([request]) for request in batch.requests]
        for part in self._parts:
            part.add_done_callback(self._part_done)

    def _part_done(self, _: Future[Results]) -> None:
        with self._lock:
            self._left -= 1
            last = not self._left
        if last:
            self._batch.results.set_result([part.result()[0] for part in self._parts])


def _end(actor: Any) -> None:
    with contextlib.suppress(RayError):
        ray.kill(actor)
