"""One scheduler at a time: a lease in the database says which process aggregates and alerts."""

from __future__ import annotations

import logging

from rag_monitor.domain.stored import Lease
from rag_monitor.errors import LeaseLost, StoreUnavailable
from rag_monitor.store.leases import Leases

_log = logging.getLogger(__name__)

LEADER = "scheduler"


class Leadership:
    """Whether this process leads. Call `hold` from one job, read `leads` from the others."""

    def __init__(self, leases: Leases, owner: str, ttl_s: float) -> None:
        self._leases = leases
        self._owner = owner
        self._ttl_s = ttl_s
        self._lease: Lease | None = None

    @property
    def leads(self) -> bool:
        """True while the lease is ours as far as we know; saves are fenced by its token."""
        return self._lease is not None

    @property
    def lease(self) -> Lease | None:
        """The lease by which this process leads, as far as it knows."""
        return self._lease

    def hold(self) -> bool:
        """Acquire or renew; True when this process leads afterwards."""
        try:
            if self._lease is None:
                self._lease = self._leases.acquire(LEADER, self._owner, self._ttl_s)
                if self._lease is not None:
                    _log.info("this process now leads: it aggregates and alerts")
            else:
                self._lease = self._leases.renew(self._lease, self._ttl_s)
        except LeaseLost:
            _log.warning("leadership was lost: its lease ran out, or another process has it")
            self._lease = None
        except StoreUnavailable:
            # Without the database nobody can lead, and nobody can save either.
            self._lease = None
        return self.leads

    def require(self) -> Lease:
        """The lease, once more held by the database's clock: saves depend on it.

        Raises:
            LeaseLost: Somebody else leads, or the database cannot be asked.
        """
        if not self.hold() or self._lease is None:
            raise LeaseLost("another process leads by now; what was found is dropped")
        return self._lease

    def release(self) -> None:
        """Step down at once, so that another process need not wait for the lease to run out."""
        if self._lease is None:
            return
        try:
            self._leases.release(self._lease)
        except (LeaseLost, StoreUnavailable) as error:
            _log.debug("the leader lease ran out by itself: %s", error)
        self._lease = None
