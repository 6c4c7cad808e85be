"""How a rule stands on an app, and over which window it looks at it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

Place = tuple[str, str, str]
"""Project, rule and app."""


class Verdict(StrEnum):
    """What a rule says of an app."""

    OK = "ok"
    PENDING = "pending"
    FIRING = "firing"
    CANNOT_TELL = "cannot_tell"
    """Neither well nor unwell: there is too little to tell by."""
    IDLE = "idle"
    """The app has nothing that the rule watches: no plugin was ever called, no release replaced."""


class Counted(StrEnum):
    """What a rule needs enough of."""

    JUDGED = "judged"
    TRACES = "traces"


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowChoice:
    """The window over which a rule looks at an app, where the rule itself does not fix one."""

    project: str
    rule: str
    app: str
    window_s: float
    chosen_at: datetime
    days: int = 0
    """Days of traffic it was chosen from; 0: the app is younger than a day."""
    chosen_by: str = ""
    """Who fixed it for this app; empty: the monitor chose it and may choose again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleState:
    """What a rule said of an app when it last looked."""

    project: str
    rule: str
    app: str
    verdict: Verdict
    since: datetime
    """When this verdict began."""
    looked_at: datetime
    window_s: float
    chosen_at: datetime | None = None
    """When the window was chosen from the app's traffic; None: the rule fixes it."""
    chosen_by: str = ""
    """Who fixed the window for this app; empty: the rule, or the monitor."""
    counted: Counted = Counted.JUDGED
    needed: int = 0
    """Where too few is why nothing can be told: so many the window needs; 0: that is not why."""
    has: int = 0
    """So many there are, of the window or of its baseline, whichever has fewer."""
    fitting_window_s: float | None = None
    """Shortest window that had enough on most days; None: none has, or that is not why."""
    summary: str = ""
    """What was seen, as an English sentence; empty where it can be told: alerts say it."""
    summary_zh: str = ""
    notes: tuple[str, ...] = ()
