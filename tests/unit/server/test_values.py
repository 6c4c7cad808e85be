"""Times and lengths as callers write them, and what a mistake in one is answered."""

from __future__ import annotations

from datetime import UTC, datetime

import httpx
import pytest
from pydantic import TypeAdapter, ValidationError

from rag_monitor.server.schemas.values import Moment

_MOMENT: TypeAdapter[datetime] = TypeAdapter(Moment)


@pytest.mark.parametrize(
    ("written", "hour", "minute"),
    [
        ("2026-01-05T12:00:00+08:00", 4, 0),
        ("2026-01-05T12:00:00 08:00", 4, 0),
        ("2026-01-05T12:30:00.250000 0800", 4, 30),
        ("2026-01-05T12:00 05:30", 6, 30),
        ("2026-01-05 12:00:00 08:00", 4, 0),
        ("2026-01-05 12:00:00Z", 12, 0),
    ],
)
def test_a_plus_that_an_address_made_a_space_is_a_plus(
    written: str, hour: int, minute: int
) -> None:
    moment = _MOMENT.validate_python(written).astimezone(UTC)
    assert (moment.day, moment.hour, moment.minute) == (5, hour, minute)


@pytest.mark.parametrize("written", ["2026-01-05 12:00", "2026-01-05 12:00:00", "2026-01-05"])
def test_a_time_without_a_zone_stays_refused(written: str) -> None:
    with pytest.raises(ValidationError):
        _MOMENT.validate_python(written)


async def test_the_wrong_length_of_a_window_is_told_what_a_length_is(
    client: httpx.AsyncClient,
) -> None:
    problem = (await client.get("/api/v1/summary?window=5s")).json()
    assert problem["errors"] == [
        {
            "field": "window",
            "message": "must be a length such as 90m, 24h or 7d, from 1m up to 400d",
        }
    ]


@pytest.mark.parametrize(
    "query",
    [
        "limit=0",
        "below=0.5",
        "cursor=zz",
        "from=2026-02-01T00:00:00Z&to=2026-01-01T00:00:00Z",
        "app=a&app=b",
        "nothing=1",
    ],
)
async def test_every_wrong_parameter_is_one_kind_of_problem(
    client: httpx.AsyncClient, query: str
) -> None:
    answer = await client.get(f"/api/v1/traces?{query}")
    assert answer.status_code == 422
    assert answer.json()["type"] == "urn:rag-monitor:problem:invalid-input"
