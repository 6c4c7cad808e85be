"""No 5xx, and every answer as the OpenAPI document says: the short part of `make fuzz`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.security import fuzz

pytest.importorskip("schemathesis", reason="schemathesis is not installed")


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_some_hundred_generated_requests_meet_no_surprise(
    database_url: str, tmp_path: Path
) -> None:
    planned = [
        fuzz.Attack(seed=8, examples=4, phases=("examples", "fuzzing")),
        fuzz.Attack(seed=9, examples=4, phases=("fuzzing",)),
    ]

    outcome = fuzz.run(tmp_path, database_url, planned, limit_s=300)

    assert outcome.clean, outcome.report
    assert outcome.cases >= 150
