"""What became of every trace: delivered + dropped + waiting = produced, exactly.

And how many steps belonged to none.
"""

from __future__ import annotations

import threading
from collections import Counter
from typing import Final

from rag_monitor.sdk.guard import GUARD


class Counters:
    """Plain counters behind one re-entrant lock, and the condition that `flush` waits on.

    >>> counters = Counters()
    >>> for _ in range(3):
    ...     counters.produce()
    >>> counters.deliver(1)
    >>> counters.drop("queue_full")
    >>> counters.settled, counters.snapshot()["waiting"]
    (2, 1)
    """

    def __init__(self) -> None:
        self.renew_after_fork()

    def renew_after_fork(self) -> None:
        """Start from zero with a fresh lock: what the parent produced is the parent's."""
        self.lock = threading.RLock()
        """Guards these numbers, and the queue, so that what is counted and what waits agree."""
        self.changed = threading.Condition(self.lock)
        self.produced = 0
        self.adopted = 0
        """How many of the produced a dead process left behind in the spool."""
        self.delivered = 0
        self.dropped: Counter[str] = Counter()
        self.late = 0
        """Calls on a trace that was already finished; ignored."""
        self._unreported: Counter[str] = Counter()

    @property
    def dropped_total(self) -> int:
        """Everything dropped, for any reason."""
        return sum(self.dropped.values())

    @property
    def settled(self) -> int:
        """How many produced things have reached their end."""
        return self.delivered + self.dropped_total

    def produce(self) -> None:
        """One more thing to deliver."""
        with self.lock:
            self.produced += 1

    def adopt(self, count: int) -> None:
        """`count` more things to deliver that another process produced."""
        with self.changed:
            self.produced += count
            self.adopted += count

    def deliver(self, count: int) -> None:
        """`count` things arrived."""
        with self.changed:
            self.delivered += count
            self.changed.notify_all()

    def drop(self, reason: str, count: int = 1) -> None:
        """`count` things are given up, for `reason`."""
        if count <= 0:
            return
        with self.changed:
            self.dropped[reason] += count
            self._unreported[reason] += count
            self.changed.notify_all()

    def take_unreported(self) -> dict[str, int]:
        """Drops the server does not know of yet; give them back if the report is lost."""
        with self.changed:
            taken = dict(self._unreported)
            self._unreported.clear()
            return taken

    def give_back(self, report: dict[str, int]) -> None:
        """The report did not arrive; tell it again with the next batch."""
        with self.changed:
            self._unreported.update(report)

    def snapshot(self) -> dict[str, object]:
        """All numbers of one moment."""
        with self.changed:
            return {
                "produced": self.produced,
                "delivered": self.delivered,
                "dropped": dict(self.dropped),
                "waiting": self.produced - self.settled,
                "late": self.late,
            }


class Outside:
    """Counts the steps of this process that were entered where no trace is current."""

    def __init__(self) -> None:
        self.steps = 0
        self.listening = False
        """Whether the SDK is on, as the client says."""
        self._warned = False

    def entered(self, kind: str) -> None:
        """One more; the first is logged. While the SDK is off nothing is counted."""
        if not self.listening:
            return
        self.steps += 1
        if not self._warned:
            self._warned = True
            GUARD.warn_once(
                "outside",
                "a rag_monitor.%s(...) ran where no trace is current, and is not recorded; give a "
                "thread or a pool rag_monitor.copy_context(function), or configure "
                "follow_threads=True (said once, counted in rag_monitor.stats() as outside)",
                kind,
            )

    def renew_after_fork(self) -> None:
        """A child counts its own."""
        self.steps = 0


OUTSIDE: Final = Outside()
