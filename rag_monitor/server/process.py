"""What a serving process sets once: garbage collection, thread switches, open files."""

from __future__ import annotations

import gc
import logging
import resource
import sys
from typing import Final

from rag_monitor.server.protocol import MAX_CONNECTIONS

_YOUNG: Final = 10_000
"""Objects made and not freed before the collector looks at the young ones; Python's own is 700. A
process that judges keeps many passages, and each collection stops every thread."""
_LOOKS: Final = 10
"""Collections of the young objects before those that stayed are looked at too; Python's own."""
_SWITCH_S: Final = 0.0005
"""Longest turn of a thread while others wait for the interpreter; Python's own is 5 ms.

Every row that is written to SQLite gives the interpreter up and asks for it back. Beside threads
that judge and decode, a transaction of some hundred rows then waits seconds, and with it whoever
wants to write, or to be answered.
"""


def tune_interpreter() -> None:
    """Leave what is loaded now out of garbage collection, collect less often, switch sooner.

    Call it once, when a process is set up and before it serves.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(_YOUNG, _LOOKS, _LOOKS)
    sys.setswitchinterval(_SWITCH_S)


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
