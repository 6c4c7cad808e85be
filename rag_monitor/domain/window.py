"""A Window of time and the Estimate of one metric over it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta


@dataclass(frozen=True, slots=True)
class Window:
    """Half-open interval [start, end), aware UTC."""

    start: datetime
    end: datetime

    def __post_init__(self) -> None:
        if self.start.tzinfo is None or self.end.tzinfo is None:
            raise ValueError("a window needs aware datetimes (UTC)")
        if self.end <= self.start:
            raise ValueError(f"a window must end after it starts: {self.start} .. {self.end}")

    @property
    def length(self) -> timedelta:
        """End minus start."""
        return self.end - self.start

    def before(self, offset: timedelta | None = None) -> Window:
        """The window of the same length `offset` earlier (default: right before this one)."""
        shift = offset if offset is not None else self.length
        return Window(self.start - shift, self.end - shift)

    def in_minutes(self) -> Window | None:
        """The minutes that begin in it, which is what rollups tell apart; None: none does.

        Windows that follow one another still do.
        """
        start, end = _next_minute(self.start), _next_minute(self.end)
        return Window(start, end) if start < end else None

    @classmethod
    def ending(cls, end: datetime, length: timedelta) -> Window:
        """The window of `length` that ends at `end`."""
        return cls(end - length, end)


def _next_minute(moment: datetime) -> datetime:
    """The first start of a minute at or after the moment."""
    began = moment.replace(second=0, microsecond=0)
    return began if began == moment else began + timedelta(minutes=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """What an estimate is about."""

    project: str
    app: str
    metric: str
    judge: str
    """Judge identity as text, or `combined`, or empty for metrics without a judge."""
    release: str | None = None
    """None: all releases together."""
    knowledge_base: str | None = None
    """Only traces that this knowledge base gave passages to; None: all traces."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """A metric over a window, with the interval that says how far to trust it."""

    series: Series
    window: Window
    value: float | None
    """None when nothing was scored."""
    lower: float | None
    """None when the interval is withheld (too few judged, or the window is incomplete)."""
    upper: float | None
    confidence: float = 0.95
    traces: int = 0
    """Traces in the window; of metrics of sessions, the sessions that ended in it."""
    judged: int = 0
    """Those with a score of this metric."""
    rests_on: str = ""
    """Identity of the judge whose scores these are, whatever was asked for; empty: nothing was
    scored, or it needs no judge."""
    labelled: int = 0
    """Traces with a person's mark on this metric."""
    correcting: int = 0
    """Those of `labelled` that were drawn for people: what a correction of the judge rests on."""
    judge_bias: float | None = None
    """What people say minus what the judge says, on the traces drawn for people; None: too few."""
    judge_bias_se: float | None = None
    """Its standard error. A drift of the bias is a regression of the judge."""
    failed: int = 0
    shed: int = 0
    """Those of `failed` that the budget did not allow to judge."""
    suspect: int = 0
    effective: float = 0.0
    """Effective number of independent scores behind the interval."""
    design_effect: float = 1.0
    """How many times the variance is what it would be if traces of a session had nothing to do with
    one another; `effective` allows for it."""
    degrees: int = 1_000_000
    """Degrees of freedom of that variance; as many as that: it is taken as known."""
    notes: tuple[str, ...] = ()
    """`embedded_uncorrected`, `corrected_by_people`, `few_positives`, `few_judged` …"""
