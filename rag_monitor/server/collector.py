"""How often Python looks for objects that keep each other alive.

By default it looks whenever 700 more were made than were let go, and at everything there is
whenever a quarter more has stayed. A process that judges keeps passages in hand, so it looks
through all of them again and again, while every other thread waits, and finds next to nothing.
"""

from __future__ import annotations

import gc
from typing import Final

_YOUNG: Final = 10_000
"""Objects made and not let go before the young ones are looked at. A request is dozens of them, so
that some two hundred at most wait to be found, should they keep themselves alive."""
_LOOKS: Final = 10
"""Looks at the young ones before those that stayed are looked at too; Python's own number."""


def collect_seldom() -> None:
    """Leave what is loaded now out of every later look, and look more seldom.

    To be called once, when a process is set up and before it serves.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(_YOUNG, _LOOKS, _LOOKS)
