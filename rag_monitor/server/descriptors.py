"""How many files and connections this process may have open, and how many of them are for HTTP."""

from __future__ import annotations

import logging
import resource
from typing import Final

from rag_monitor.server.protocol import MAX_CONNECTIONS

_WANTED: Final = 8_192
"""Enough for every connection that is served, over HTTP and gRPC, and everything else."""
_OURS: Final = 256
"""For databases, judges, channels, files and libraries."""

logger = logging.getLogger(__name__)


def raise_limit() -> int:
    """Let this process open as many files as it may need; returns how many it may.

    Shells and service managers still begin with 1,024. Beyond the limit nothing can be accepted,
    and neither database nor judge be reached, so that one client could stop the whole server.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _WANTED if hard == resource.RLIM_INFINITY else min(_WANTED, hard)
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return _WANTED if soft == resource.RLIM_INFINITY else soft
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    except (OSError, ValueError) as error:  # a sandbox may forbid it
        logger.warning("this process may open only %d files: %s", soft, error)
        return soft
    return wanted


def connections_within(files: int) -> int:
    """How many HTTP connections may be open where so many files may; at least half of them."""
    most = min(MAX_CONNECTIONS, max(files - _OURS, files // 2))
    if most < MAX_CONNECTIONS:
        logger.warning(
            "at most %d connections are served at once, for this process may open only %d files; "
            "raise its hard limit (ulimit -Hn, LimitNOFILE=)",
            most,
            files,
        )
    return most
