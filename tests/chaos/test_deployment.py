"""A small deployment, hurt for a few seconds; `make chaos` does it for ten minutes."""

from __future__ import annotations

import pytest

pytest.importorskip("openai", reason="the judge needs the openai client")
pytest.importorskip("psycopg", reason="PostgreSQL needs psycopg")

from tests.chaos.cluster import programs
from tests.chaos.garbage import KINDS
from tests.chaos.run import PROMISES, Plan, run

SHORT = Plan(
    seconds=6,
    traces=200,
    per_second=40,
    pause_s=(2, 4),
    lease_s=4,
    database_s=(2,),
    judge_s=(2,),
    deaths=1,
    garbage=0.3,
    rate=0.2,
    roles=(("ingest", 1), ("worker", 2)),
    drain_s=120,
)


def test_there_are_forty_kinds_of_garbage() -> None:
    assert len(set(KINDS)) == 40


@pytest.mark.slow
@pytest.mark.postgresql
@pytest.mark.timeout(400)
def test_a_deployment_that_is_hurt_loses_doubles_and_invents_nothing() -> None:
    bin_folder = programs()
    if bin_folder is None:
        pytest.skip("PostgreSQL's server programs (initdb, pg_ctl) are not installed")

    report = run(SHORT, bin_folder)

    assert {name: report[name] for name in PROMISES} == PROMISES
    assert report["acknowledged"] >= SHORT.traces
    assert report["judge_scored"] > 0
    assert report["judge_said"]["garbage"] > 0
    assert sum(report["faults"].values()) >= 3
    assert set(report["answers_to_senders"]) <= {0, 200, 503}
    assert set(report["answers_to_readers"]) <= {0, 200, 503}
