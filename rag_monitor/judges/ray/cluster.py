"""Being part of a Ray cluster, or having one of one's own."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable
from typing import Any, Final

import ray

from rag_monitor.errors import ConfigurationError
from rag_monitor.i18n import Message
from rag_monitor.judges.ray.options import RayOptions

_STORE_BYTES: Final = 80 * 1024 * 1024
"""Of shared memory. What passes through it is a few traces at a time."""
_LOOPBACK: Final = "127.0.0.1"


def join(options: RayOptions) -> Callable[[], None]:
    """Connect this process to Ray; returns what disconnects it again.

    A process that is connected already stays as it is.

    Raises:
        ConfigurationError: There is no cluster at the address, or Ray cannot be started.
    """
    if ray.is_initialized():
        return _nothing
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
        found = _address()
        ray.shutdown()
        raise ConfigurationError(
            "Ray would listen on {address}; set RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER=0 for this "
            "process",
            address=found,
        )
    return _leave


def _address() -> str:
    return str(ray.get_runtime_context().gcs_address)


def _leave() -> None:
    ray.shutdown()


def _nothing() -> None:
    """Others use the connection."""
