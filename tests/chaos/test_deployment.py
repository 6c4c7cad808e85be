"""A small deployment, hurt for a few seconds; `make chaos` does it for ten minutes."""

from __future__ import annotations

import pytest

from rag_monitor.domain.judgement import Aspect
from rag_monitor.errors import JudgeOutputInvalid
from rag_monitor.judges.openai_compatible.chat_reply import read_chat
from rag_monitor.judges.openai_compatible.structured_prompt import Answers, StructuredPrompt
from rag_monitor.judges.questions import Question

pytest.importorskip("openai", reason="the judge needs the openai client")
pytest.importorskip("psycopg", reason="PostgreSQL needs psycopg")

from tests.chaos.cluster import programs
from tests.chaos.garbage import KINDS, READABLE, spoilt
from tests.chaos.judge import filled
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


STATEMENTS = tuple(Question(aspect=Aspect.SUPPORT, index=n, text="so it is") for n in (0, 1))
PROMPT = StructuredPrompt(questions=STATEMENTS, lists=(), nonce="abcdef0123456789", passages=2)
SCHEMA = {"response_format": {"type": "json_schema", "json_schema": {"schema": PROMPT.schema()}}}
REPLY = filled(SCHEMA, "a" * 32)


def understood(kind: str) -> dict[str, float] | None:
    """What the monitor takes from such a reply; None: nothing."""
    payload = spoilt(kind, REPLY).payload
    answers = Answers()
    try:
        if isinstance(payload, dict):  # else it is no chat completion
            PROMPT.read(read_chat(payload).object(PROMPT.nonce), answers)
    except JudgeOutputInvalid:
        return None
    found = {str(q.index + 1): number for q, number in answers.probabilities.items()}
    return found or None


@pytest.mark.parametrize("kind", KINDS)
def test_of_garbage_only_what_is_said_to_be_readable_is_read_and_as_it_was_meant(kind: str) -> None:
    assert understood(kind) == (REPLY["support"] if kind in READABLE else None)


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
