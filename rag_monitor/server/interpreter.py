"""How a serving process sets the interpreter up: its garbage collector and its turns of threads."""

from __future__ import annotations

import gc
import sys
from typing import Final

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


def tune() -> None:
    """Leave what is loaded now out of garbage collection, collect less often, switch sooner.

    Call it once, when a process is set up and before it serves.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(_YOUNG, _LOOKS, _LOOKS)
    sys.setswitchinterval(_SWITCH_S)
