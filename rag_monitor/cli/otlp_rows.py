"""Building blocks of OTLP/JSON for rows of files: ids, moments, attributes."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from typing import Any, Final

from rag_monitor.errors import RagMonitorError

Json = dict[str, Any]
_HEX: Final = frozenset("0123456789abcdef")
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


class BadExport(RagMonitorError):  # noqa: N818 - named as the command reports it
    """A row is not what the format says; the message tells what is missing."""


def camel(name: str) -> str:
    """`parent_observation_id` as `parentObservationId`; other names as they are."""
    head, *rest = name.split("_")
    return head + "".join(part[:1].upper() + part[1:] for part in rest)


def key_values(values: Mapping[str, Any]) -> list[Json]:
    """Attributes as OTLP has them; what is missing is left out."""
    return [
        {"key": key, "value": _any_value(value)}
        for key, value in values.items()
        if not missing(value)
    ]


def _any_value(value: Any) -> Json:
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int) and -(2**63) <= value < 2**63:
        return {"intValue": str(value)}
    if isinstance(value, float):
        return {"doubleValue": value}
    if isinstance(value, list | tuple):
        return {"arrayValue": {"values": [_any_value(v) for v in value if not missing(v)]}}
    return {"stringValue": written(value) or ""}


def missing(value: object) -> bool:
    """None, or the NaN a data frame has for it."""
    return value is None or value == "" or (isinstance(value, float) and math.isnan(value))


def written(value: object, *, quoted: bool = False) -> str | None:
    """Text as it is, anything else as JSON."""
    if value is None:
        return None
    if isinstance(value, datetime | date):
        value = value.isoformat()
    if isinstance(value, str) and not quoted:
        return value
    return json.dumps(value, ensure_ascii=False, default=str)


def identifier(value: object, digits: int) -> str:
    """Ids of OpenTelemetry stay what they are; others (UUIDs, names) are hashed into one."""
    text = str(value).strip().lower()
    if len(text) == digits and set(text) <= _HEX and set(text) != {"0"}:
        return text
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:digits]


def nanoseconds(moment: object) -> int:
    """Since 1970: ISO text, datetimes, or numbers (s, ms, µs or ns by their size); 0 if unknown."""
    if isinstance(moment, str):
        return _since_1970(_parsed(moment))
    if isinstance(moment, datetime):
        return _since_1970(moment)
    if isinstance(moment, bool) or not isinstance(moment, int | float) or not math.isfinite(moment):
        return 0
    for limit, scale in ((10**11, 10**9), (10**14, 10**6), (10**17, 10**3)):
        if abs(moment) < limit:
            return max(0, int(moment * scale))
    return max(0, min(int(moment), 2**63 - 1))


def _parsed(moment: str) -> datetime:
    try:
        return datetime.fromisoformat(moment.strip())
    except ValueError:
        raise BadExport("{moment!r} is not an ISO 8601 time", moment=moment[:40]) from None


def _since_1970(moment: datetime) -> int:
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return max(0, (aware - _EPOCH) // timedelta(microseconds=1)) * 1000
