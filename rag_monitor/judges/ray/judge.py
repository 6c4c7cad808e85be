"""A judge whose work is done by copies of another one on a Ray cluster; connecting to one."""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Callable, Sequence
from typing import Any, Final

import ray

from rag_monitor.domain.judgement import Aspect, JudgeIdentity, Judgement, JudgeRequest
from rag_monitor.domain.ports import BudgetLedger
from rag_monitor.errors import ConfigurationError
from rag_monitor.i18n import Message
from rag_monitor.judges.accounting import Account
from rag_monitor.judges.judge import BatchJudge, Judge
from rag_monitor.judges.ray.actor_pool import ActorPool
from rag_monitor.judges.ray.options import RayOptions


class RayJudge(BatchJudge):
    """The judge its actors run, under its own name: same identity, judgements and failures.

    Args:
        make: Makes that judge; it travels to the actors by pickle.
        options: How many actors, and how large.
        ledger: Keeps the budget, in this process; None: no budget.
        leave: Called at the end.

    Raises:
        ConfigurationError: The actors cannot make the judge.
    """

    def __init__(
        self,
        make: Callable[[], Judge],
        options: RayOptions,
        *,
        ledger: BudgetLedger | None = None,
        leave: Callable[[], None],
    ) -> None:
        self._options = options
        self._pool = ActorPool(make, options)
        self._account = Account(ledger, self.identity.name)
        self._leave = leave

    @property
    def identity(self) -> JudgeIdentity:
        """That of the judge in the actors: where it runs makes no other series."""
        return self._pool.info.identity

    @property
    def aspects(self) -> frozenset[Aspect]:
        """Those of the judge in the actors."""
        return self._pool.info.aspects

    async def judge_many(self, requests: Sequence[JudgeRequest]) -> Sequence[Judgement | Exception]:
        """Judge several traces, spread over the actors."""
        return await self._account.judge_many(requests, self._spread)

    async def close(self) -> None:
        """End the actors and leave the cluster."""
        await asyncio.to_thread(self._pool.close)
        await asyncio.to_thread(self._leave)

    async def _spread(self, requests: Sequence[JudgeRequest]) -> Sequence[Judgement | Exception]:
        if not requests:
            return []
        size = min(self._options.batch, math.ceil(len(requests) / self._options.actors))
        parts = [
            self._pool.submit(requests[start : start + size])
            for start in range(0, len(requests), size)
        ]
        answers = await asyncio.gather(*(asyncio.wrap_future(part) for part in parts))
        return [result for answer in answers for result in answer]


_STORE_BYTES: Final = 80 * 1024 * 1024
"""Of shared memory. What passes through it is a few traces at a time."""
_LOOPBACK: Final = "127.0.0.1"


def connect(options: RayOptions) -> Callable[[], None]:
    """Connect this process to Ray; returns what disconnects it again.

    A process that is connected already stays as it is.

    Raises:
        ConfigurationError: There is no cluster at the address, or Ray cannot be started.
    """
    if ray.is_initialized():
        return _keep_connection
    shared: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.WARNING}
    if options.on_loopback:
        shared["_node_ip_address"] = _LOOPBACK
    try:
        if options.address:
            ray.init(address=options.address, **shared)
        else:
            ray.init(
                address="local",
                num_cpus=max(1, math.ceil(options.actors * options.cpus)),
                num_gpus=None if options.gpus else 0,
                object_store_memory=_STORE_BYTES,
                include_dashboard=False,
                **shared,
            )
    except (ConnectionError, ValueError, RuntimeError, OSError) as error:
        where = options.address or Message("on this machine")
        raise ConfigurationError(
            "Ray does not answer ({where}): {reason}", where=where, reason=error
        ) from error
    if options.on_loopback and not _address().startswith(_LOOPBACK):
        # Ray was imported before we could tell it.
        listening = _address()
        ray.shutdown()
        raise ConfigurationError(
            "Ray would listen on {address}; set RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER=0 for this "
            "process",
            address=listening,
        )
    return _leave


def _address() -> str:
    return str(ray.get_runtime_context().gcs_address)


def _leave() -> None:
    ray.shutdown()


def _keep_connection() -> None:
    """Others use the connection."""
