"""Typed and bounded pieces that several schemas share."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Final

from pydantic import (
    AfterValidator,
    AwareDatetime,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    WithJsonSchema,
)
from pydantic_core import PydanticCustomError

from rag_monitor.domain.fault import FAULT_METRICS
from rag_monitor.domain.rollup import SATISFACTION_METRIC
from rag_monitor.domain.session_outcome import SESSION_METRICS
from rag_monitor.domain.window import Window
from rag_monitor.i18n import Message, msgid
from rag_monitor.server.problems import ProblemError
from rag_monitor.server.validation import METRIC_NAMES, known_in_series, known_metric

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_ROUNDED = (
    (timedelta(days=1), timedelta(hours=1)),
    (timedelta(hours=6), timedelta(minutes=10)),
)
"""Windows of at least this length begin at multiples of this."""
MAX_SPAN: Final = timedelta(days=400)
"""Longest window; as long as rollups are kept."""
_WINDOW = re.compile(r"(\d{1,6})(m|h|d|w)")
_LENGTH: Final = msgid("must be a length such as 90m, 24h or 7d, from 1m up to 400d")
_TRACE_ID = re.compile(r"[0-9a-fA-F]{32}")
_UNITS: Final = {"m": 60, "h": 3600, "d": 86_400, "w": 604_800}

Name = Annotated[
    str, StringConstraints(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f\x7f]+$")
]
"""A name somebody gave: an app, a release, a rule."""
UserId = Annotated[str, StringConstraints(min_length=1, max_length=1000, pattern=r"^[^\x00]+$")]
"""Whatever an application calls a user, as long as ingest keeps it."""
MetricName = Annotated[
    str, StringConstraints(max_length=64, pattern=r"^[a-z][a-z0-9_]*(:[a-z_]+)?$")
]
KnownMetric = Annotated[
    str,
    StringConstraints(max_length=64),
    AfterValidator(known_metric),
    WithJsonSchema({"type": "string", "enum": list(METRIC_NAMES)}),
]
"""A metric that traces are scored by."""
SeriesMetric = Annotated[
    str,
    StringConstraints(max_length=64),
    AfterValidator(known_in_series),
    WithJsonSchema(
        {
            "type": "string",
            "enum": [*METRIC_NAMES, *FAULT_METRICS, SATISFACTION_METRIC, *SESSION_METRICS],
        }
    ),
]
"""A metric, the share of a fault, what users say, or a metric of sessions."""


def _trace_id(value: str) -> str:
    """The id in lower case; whoever gives an id of their own is told where ours is."""
    if not _TRACE_ID.fullmatch(value):
        raise ValueError(
            Message(
                "must be the 32 hex digits that name a trace: `trace_ids` in the answer of POST "
                "/api/v1/traces, the response header X-Rag-Monitor-Trace-Id, or "
                "rm.current().trace_id. The `id` that you gave a trace is not it"
            )
        )
    return value.lower()


def _length(text: str) -> str:
    """The text, if it is a length of time."""
    if not _WINDOW.fullmatch(text):
        raise ValueError(Message(_LENGTH))
    return text


TraceId = Annotated[
    str,
    AfterValidator(_trace_id),
    WithJsonSchema({"type": "string", "pattern": f"^{_TRACE_ID.pattern}$"}),
    Field(description="32 hex digits.", examples=["4bf92f3577b34da6a3ce929d0e0e4736"]),
]
RowId = Annotated[str, StringConstraints(min_length=1, max_length=64, pattern=r"^[\w.:-]+$")]
Text = Annotated[str, StringConstraints(max_length=4000)]
Ratio = Annotated[float, Field(strict=True, ge=0, le=1, allow_inf_nan=False)]
WindowText = Annotated[
    str,
    AfterValidator(_length),
    WithJsonSchema({"type": "string", "pattern": f"^{_WINDOW.pattern}$"}),
    Field(description="Length of the window that ends now.", examples=["1h", "24h", "7d"]),
]

Hints = Annotated[
    list[str],
    Field(
        default_factory=list,
        description="Where the answer is empty: filters whose value nothing stored has, and the "
        "nearest value there is. Of lists also: what is missing until it is indexed.",
    ),
]
"""A field of answers that a filter can empty."""
Partial = Annotated[
    bool,
    Field(
        default=False,
        description="true: the page ends, full or not, after so much was looked through; go on "
        "with `next_cursor`.",
    ),
]
"""A field of lists whose reading is bounded."""
IndexedSince = Annotated[
    datetime | None,
    Field(
        default=None,
        description="Set where older traces wait for the index that these filters ask: those that "
        "began then or before may be missing until it is complete.",
    ),
]
"""A field of lists that ask an index which an earlier release did not have."""


def _number(value: object) -> object:
    """JSON has numbers: a text or a truth value in their place is a mistake of the sender."""
    if isinstance(value, str | bytes | bool):
        raise PydanticCustomError("number_type", "must be a number")
    return value


Number = Annotated[float, BeforeValidator(_number)]
Whole = Annotated[int, BeforeValidator(_number)]
Flag = Annotated[bool, Field(strict=True)]


class Wire(BaseModel):
    """Base of everything sent out."""

    model_config = ConfigDict(extra="forbid", ser_json_inf_nan="null")


class Given(BaseModel):
    """Base of everything taken in: unknown fields are refused, so a typing mistake shows."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False, str_strip_whitespace=True)


def finite(value: float | None) -> float | None:
    """The value, or None where JSON has no word for it."""
    return value if value is not None and math.isfinite(value) else None


def plain(values: Mapping[str, Any]) -> dict[str, Any]:
    """Extras of a trace as JSON can hold them; anything else becomes its text."""
    return {str(key): _plain(value) for key, value in values.items()}


def _plain(value: object, depth: int = 0) -> Any:
    if isinstance(value, float):
        return finite(value)
    if value is None or isinstance(value, str | bool | int):
        return value
    if depth < 8 and isinstance(value, Mapping):
        return {str(key): _plain(item, depth + 1) for key, item in value.items()}
    if depth < 8 and isinstance(value, list | tuple | set | frozenset):
        return [_plain(item, depth + 1) for item in value]
    return str(value)


def window_of(
    now: datetime,
    length: str | None,
    since: datetime | None,
    until: datetime | None,
    default: str = "24h",
) -> Window:
    """The window a request means: `from` and `to`, or a length that ends at `to` or now.

    A length of six hours and more begins up to ten minutes earlier, one of a day and more up to an
    hour, at a round time (UTC): most of it is then made of hours that are added up already.

    Raises:
        ProblemError: 422 when it is reversed or longer than rollups are kept, or when both a
            length and `from` say where it begins.
    """
    if length is not None and since is not None:
        raise _window_problem("window", "send either `window` or `from`, not both")
    end = until or now
    start = since or _rounded(end, parse_length(length or default))
    if start >= end:
        raise _window_problem("from", "`from` must be earlier than `to`")
    if end - start > MAX_SPAN:
        raise _window_problem(
            "from", "the window may be at most {days} days long", days=MAX_SPAN.days
        )
    return Window(start, end)


def counted_window(
    now: datetime, length: str | None, since: datetime | None, until: datetime | None
) -> Window:
    """As `window_of`, in the whole minutes that numbers are kept by: those that begin in it.

    Raises:
        ProblemError: 422 as there, and when no minute begins in it.
    """
    window = window_of(now, length, since, until).in_minutes()
    if window is None:
        raise _window_problem("from", "no minute begins in it; numbers are kept minute by minute")
    return window


def _rounded(end: datetime, length: timedelta) -> datetime:
    start = end - length
    for least, step in _ROUNDED:
        if length >= least:
            return max(start - (start - _EPOCH) % step, end - MAX_SPAN)
    return start


def parse_length(text: str) -> timedelta:
    """`90m`, `24h`, `7d` or `2w` as a timedelta."""
    match = _WINDOW.fullmatch(text)
    seconds = int(match[1]) * _UNITS[match[2]] if match else 0
    if not 60 <= seconds <= MAX_SPAN.total_seconds():
        raise _window_problem("window", _LENGTH)
    return timedelta(seconds=seconds)


def _window_problem(field: str, text: str, /, **params: object) -> ProblemError:
    message = Message(text, **params)
    return ProblemError(
        422,
        "`{field}`: {reason}",
        field=field,
        reason=message,
        kind="invalid-input",
        errors=[{"field": field, "message": message}],
    )


def _written(value: object) -> object:
    """Times are written out: seconds since 1970 would be guessed at.

    The `+` of a zone is a space once it has been pasted into an address.
    """
    if isinstance(value, str):
        value = _ZONE.sub(r"\1+\2", value.strip())
    if not isinstance(value, datetime) and not (isinstance(value, str) and _DATE.match(value)):
        raise ValueError(Message("must be a time such as 2026-01-05T12:00:00Z"))
    return value


def _near(moment: datetime) -> datetime:
    """Times far from ours are slips of the pen, and days before or after them do not exist."""
    if not _FIRST <= moment <= _LAST:
        raise ValueError(
            Message(
                "must be a time from {first:%Y-%m-%d} to {last:%Y-%m-%d}", first=_FIRST, last=_LAST
            )
        )
    return moment


_FIRST = datetime(1990, 1, 1, tzinfo=UTC)
_LAST = datetime(2200, 1, 1, tzinfo=UTC)
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}[Tt ]")
_ZONE = re.compile(r"(\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?) (\d{2}:?\d{2})$")

Moment = Annotated[
    AwareDatetime,
    BeforeValidator(_written),
    AfterValidator(_near),
    Field(description="ISO 8601 with a time zone.", examples=["2026-01-05T12:00:00Z"]),
]
