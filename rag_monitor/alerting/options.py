"""Options of the alerting stage."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from rag_monitor.domain.ranges import above, check_ranges, not_negative
from rag_monitor.i18n import Message


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertOptions:
    """How rules are evaluated. Times in seconds."""

    slot_s: Annotated[float, above(0)] = 15.0
    """Windows end at multiples of this, so that any number of schedulers sees the same windows."""
    worst_traces: Annotated[int, not_negative()] = 5
    """Traces linked in a message."""
    forget_s: Annotated[float, not_negative()] = 86_400.0
    """A firing alert that cannot be told any more ends once its app sent nothing for so long."""
    resolved_for_s: Annotated[float, not_negative()] = 86_400.0
    """How long a resolved alert is shown as resolved before it is inactive."""

    together_s: Annotated[float, not_negative()] = 3600.0
    """Alerts of one app that became active within so long of one another are one incident."""
    retell_s: Annotated[float, above(0)] = 300.0
    """The story of an incident is told anew after so long, while an alert of it fires."""

    def __post_init__(self) -> None:
        check_ranges(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveryOptions:
    """How messages are delivered. Times in seconds."""

    batch: int = 500
    """Messages claimed in one round."""
    lease_s: float = 120.0
    """Claimed messages are hidden from other senders for so long."""
    round_s: float = 40.0
    """A channel stops sending after this long in one round; well below the lease."""
    wait_s: float = 12.0
    """How long `deliver_due` waits for slow channels before it returns; they go on alone."""
    retry_base_s: float = 2.0
    retry_max_s: float = 45.0
    """Longest pause between attempts: a channel that is back hears of it within a minute."""
    max_attempts: int = 2000
    """After so many attempts (about a day) a message is given up, counted and kept as dead."""

    def __post_init__(self) -> None:
        if self.round_s >= self.lease_s:
            raise ValueError(
                Message("`round_s` must be below `lease_s`, or messages would be sent twice")
            )
