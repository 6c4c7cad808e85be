"""What was at fault in a trace, on each database."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from rag_monitor.domain.fault import Diagnosis, EvidenceKind, Fault, FaultEvidence, Stage
from rag_monitor.domain.trace import Retrieval, RetrievedDocument, Trace
from rag_monitor.domain.window import Window
from rag_monitor.store import earlier_passages
from rag_monitor.store.fault_stages import StageCounts
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


def test_stages_at_fault_are_counted_by_release(store: Store) -> None:
    told = {
        "1.0": [Fault.NONE, Fault.NONE, Fault.INVENTED, Fault.MISSED_RETRIEVAL],
        "1.1": [Fault.INVENTED, Fault.CONTRADICTED],
    }
    traces = {
        (release, number): make_trace(id=f"{release}-{number}", release=release)
        for release, labels in told.items()
        for number in range(len(labels))
    }
    faults = {traces[key].trace_id: told[key[0]][key[1]] for key in traces}
    ingest(store, *traces.values(), make_trace(id="elsewhere", app="other"))
    for task in claim(store):
        fault = faults.get(task.trace.trace_id, Fault.INVENTED)
        diagnosis = Diagnosis(judge="embedded/m/p/1", probabilities={fault: 1.0})
        store.tasks.complete_many([(task, (), ())], diagnoses={task.id: diagnosis})
    window = Window(EPOCH - timedelta(hours=1), EPOCH + timedelta(hours=1))

    def counted(release: str | None) -> StageCounts:
        return store.traces.fault_stages("default", "test-app", window, release)

    assert counted("1.0") == StageCounts(
        traces=4, by_stage={Stage.GENERATION: 1, Stage.RETRIEVAL: 1}
    )
    assert counted("1.1") == StageCounts(traces=2, by_stage={Stage.GENERATION: 2})
    assert counted("1.1").share(Stage.GENERATION) == 1.0
    assert counted(None).traces == 6
    assert counted("2.0") == StageCounts()
    assert counted("2.0").share(Stage.GENERATION) is None


def test_the_judge_that_told_most_counts(store: Store) -> None:
    ingest(store, *(make_trace(id=str(number)) for number in range(3)))
    for place, task in enumerate(claim(store)):
        judge = "packed/m/p/1" if place == 0 else "embedded/m/p/1"
        diagnosis = Diagnosis(judge=judge, probabilities={Fault.INVENTED: 1.0})
        store.tasks.complete_many([(task, (), ())], diagnoses={task.id: diagnosis})
    window = Window(EPOCH - timedelta(hours=1), EPOCH + timedelta(hours=1))

    assert store.traces.fault_stages("default", "test-app", window).traces == 2
