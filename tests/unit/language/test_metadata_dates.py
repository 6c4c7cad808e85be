"""Dates and moments as loaders of documents write them."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from rag_monitor.language.metadata_dates import moment_of

DAY = datetime(2024, 3, 5, tzinfo=UTC)
MORNING = DAY.replace(hour=10)


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2024-03-05", DAY),
        (" 2024-03-05T10:00:00Z ", MORNING),
        ("2024-03-05T18:00:00+08:00", MORNING),
        ("20240305", DAY),
        ("1709632800", MORNING),
        ("1709632800000", MORNING),
        ("2024年3月5日", DAY),
        ("5 March 2024", DAY),
        ("05.03.2024", DAY),
        ("3/5/2024", DAY),
        ("2024", datetime(2024, 1, 1, tzinfo=UTC)),
        ("99.99.2024", None),
        ("v2.1", None),
        ("yesterday", None),
        ("9" * 5000, None),
        ("", None),
    ],
)
def test_moments_as_metadata_write_them(text: str, moment: datetime | None) -> None:
    assert moment_of(text) == moment
