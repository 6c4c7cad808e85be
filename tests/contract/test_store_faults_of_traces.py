"""What was at fault in a trace, on each database."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from rag_monitor.domain.fault import Diagnosis, EvidenceKind, Fault, FaultEvidence
from rag_monitor.domain.trace import Retrieval, RetrievedDocument, Trace
from rag_monitor.store import earlier_passages
from rag_monitor.store.store import Store
from rag_monitor.testing import EPOCH, make_trace
from tests.contract.evidence import claim, ingest

FOUND = Diagnosis(
    judge="embedded/m/p/1",
    probabilities={Fault.INVENTED: 0.75, Fault.NONE: 0.25},
    evidence=(
        FaultEvidence(kind=EvidenceKind.STATEMENT, text="保修36个月", value=0.1, passage=2),
        FaultEvidence(kind=EvidenceKind.REFUSAL),
    ),
)


def test_a_diagnosis_comes_back_with_its_trace(store: Store) -> None:
    ingest(store, make_trace())
    (task,) = claim(store)

    assert store.tasks.complete_many([(task, (), ())], diagnoses={task.id: FOUND}) == []

    assert store.traces.get("default", task.trace.trace_id).faults == (FOUND,)


def test_a_new_judgement_replaces_the_diagnosis_of_its_judge_and_no_other(store: Store) -> None:
    ingest(store, make_trace())
    (task,) = claim(store)
    later = replace(FOUND, probabilities={Fault.NONE: 1.0})
    other = replace(FOUND, judge="packed/m/p/1")

    for diagnosis in (FOUND, later, other):
        store.tasks.complete_many([(task, (), ())], {task.id}, {task.id: diagnosis})
        (task,) = store.tasks.claim("w", 1, 60.0, EPOCH, sampled=True)

    found = store.traces.get("default", task.trace.trace_id).faults
    assert {one.judge: one.fault for one in found} == {
        "embedded/m/p/1": Fault.NONE,
        "packed/m/p/1": Fault.INVENTED,
    }


def test_a_trace_that_changed_has_no_diagnosis_until_it_is_judged_again(store: Store) -> None:
    ingest(store, make_trace())
    (task,) = claim(store)
    store.tasks.complete_many([(task, (), ())], diagnoses={task.id: FOUND})

    ingest(store, make_trace(answer="Another answer."), payload=b"v2")

    assert store.traces.get("default", task.trace.trace_id).faults == ()


def test_a_lost_lease_saves_no_diagnosis(store: Store) -> None:
    ingest(store, make_trace())
    (task,) = claim(store)
    lost = replace(task, token=task.token + 1)

    assert store.tasks.complete_many([(lost, (), ())], diagnoses={task.id: FOUND}) == [lost]

    assert store.traces.get("default", task.trace.trace_id).faults == ()


def test_erasing_a_user_erases_what_was_at_fault(store: Store) -> None:
    ingest(store, make_trace(user_id="u-1"))
    (task,) = claim(store)
    store.tasks.complete_many([(task, (), ())], diagnoses={task.id: FOUND})

    store.traces.erase_user("default", "u-1")
    ingest(store, make_trace())

    assert store.traces.get("default", task.trace.trace_id).faults == ()


def test_earlier_passages_are_those_of_the_application_and_its_knowledge_base(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    def retrieved(text: str, knowledge_base: str) -> tuple[Retrieval, ...]:
        return (
            Retrieval(documents=(RetrievedDocument(content=text),), knowledge_base=knowledge_base),
        )

    def trace(name: str, base: str, app: str = "shop") -> Trace:
        return make_trace(
            id=name,
            app=app,
            contexts=None,
            retrievals=retrieved(f"passage {name}", base),
            started_at=EPOCH + timedelta(seconds=int(name)),
        )

    ingest(store, trace("1", "manuals"), trace("2", "prices"), trace("3", "manuals"))
    ingest(store, trace("4", "manuals", app="bank"))

    newest = store.earlier_passages.newest
    assert newest("default", "shop", frozenset()) == ["passage 3", "passage 2", "passage 1"]
    assert newest("default", "shop", {"manuals"}) == ["passage 3", "passage 1"]
    assert newest("default", "shop", {"nothing"}) == []
    assert newest("other", "shop", frozenset()) == []

    monkeypatch.setattr(earlier_passages, "PASSED_OVER", 2)
    assert newest("default", "shop", {"manuals"}) == ["passage 3"]
