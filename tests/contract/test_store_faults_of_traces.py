"""What was at fault in a trace, on each database."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from rag_monitor.aggregation.estimates import Estimates
from rag_monitor.aggregation.rollup import summarise
from rag_monitor.domain.fault import (
    Diagnosis,
    EvidenceKind,
    Fault,
    FaultEvidence,
    Stage,
    fault_metric,
)
from rag_monitor.domain.feedback import Feedback
from rag_monitor.domain.hit import Hit, HitKind
from rag_monitor.domain.judgement import JudgeIdentity
from rag_monitor.domain.rollup import TraceFacts
from rag_monitor.domain.score import Score, ScoreStatus
from rag_monitor.domain.stored import RetentionPolicy
from rag_monitor.domain.trace import Retrieval, RetrievedDocument, Trace
from rag_monitor.domain.window import Estimate, Series, Window
from rag_monitor.store import earlier_passages
from rag_monitor.store.fault_stages import StageCounts
from rag_monitor.store.store import Store
from rag_monitor.testing import EPOCH, ManualClock, make_trace
from tests.contract.evidence import claim, ingest

JUDGE = JudgeIdentity(name="embedded", model="m", prompts="p")
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


def diagnosed(store: Store, faults: dict[str, Diagnosis], **fields: Any) -> dict[str, str]:
    """Traces of the app `desk`, judged and diagnosed; their ids by name."""
    traces = {name: make_trace(id=name, app="desk", **fields) for name in faults}
    ingest(store, *traces.values())
    by_trace = {trace.trace_id: name for name, trace in traces.items()}
    for task in claim(store):
        found = faults[by_trace[task.trace.trace_id]]
        score = Score(metric="faithfulness", status=ScoreStatus.SCORED, value=0.5, judge=JUDGE)
        store.tasks.complete_many([(task, (score,), ())], diagnoses={task.id: found})
    return {name: trace.trace_id for name, trace in traces.items()}


def at_fault(fault: Fault, p: float) -> Diagnosis:
    return Diagnosis(judge=str(JUDGE), probabilities={fault: p, Fault.NONE: 1.0 - p})


def label(trace_id: str, fault: Fault, author: str = "amy", after_s: int = 0) -> Feedback:
    return Feedback(
        project="default",
        trace_id=trace_id,
        value=float(fault is Fault.NONE),
        fault=fault,
        author=author,
        created_at=EPOCH + timedelta(seconds=after_s),
    )


def add_up(store: Store) -> list[TraceFacts]:
    """Add up what changed; the facts it is made of."""
    dirty = store.rollups.changed()
    facts = list(store.rollups.facts(dirty))
    store.rollups.replace(dirty, summarise(facts))
    return facts


def share(store: Store, fault: Fault, knowledge_base: str | None = None) -> Estimate:
    series = Series(
        project="default",
        app="desk",
        metric=fault_metric(fault),
        judge="combined",
        knowledge_base=knowledge_base,
    )
    window = Window(EPOCH - timedelta(hours=1), EPOCH + timedelta(hours=1))
    return Estimates(store.rollups).estimate(series, window)


def test_shares_of_faults_are_added_up_minute_by_minute(store: Store) -> None:
    diagnosed(store, {"1": at_fault(Fault.INVENTED, 0.8), "2": at_fault(Fault.BAD_RANKING, 0.4)})

    add_up(store)

    invented, ranking = share(store, Fault.INVENTED), share(store, Fault.BAD_RANKING)
    assert (invented.value, invented.judged) == (pytest.approx(0.4), 2)
    assert (ranking.value, ranking.rests_on) == (pytest.approx(0.2), str(JUDGE))
    assert share(store, Fault.NONE).value == pytest.approx(0.4)
    assert share(store, Fault.STALE_SOURCE).value == 0.0


def test_what_people_say_of_a_fault_labels_every_share(store: Store) -> None:
    ids = diagnosed(store, {"1": at_fault(Fault.INVENTED, 0.8)})
    add_up(store)

    store.feedback.add(label(ids["1"], Fault.NONE))
    store.feedback.add(label(ids["1"], Fault.BAD_RANKING, after_s=1))
    store.feedback.add(label(ids["1"], Fault.NONE, author="bo", after_s=2))
    store.feedback.add(replace(label(ids["1"], Fault.NONE, after_s=3), fault=None, value=0.25))

    (facts,) = add_up(store)
    assert facts.labels["fault:bad_ranking"] == 0.5
    assert facts.labels["fault:none"] == 0.5
    assert facts.labels["fault:invented"] == 0.0
    assert share(store, Fault.INVENTED).labelled == 1
    marks = store.traces.get("default", ids["1"]).feedback
    assert {(one.author, one.fault, one.value) for one in marks} == {
        ("amy", Fault.BAD_RANKING, 0.0),
        ("amy", None, 0.25),
        ("bo", Fault.NONE, 1.0),
    }


def test_labels_of_faults_go_with_their_traces_and_their_authors(store: Store) -> None:
    ids = diagnosed(store, {"1": at_fault(Fault.INVENTED, 0.8)}, user_id="u-1")
    other = diagnosed(store, {"2": at_fault(Fault.INVENTED, 0.8)})
    store.feedback.add(label(ids["1"], Fault.INVENTED))
    store.feedback.add(label(other["2"], Fault.INVENTED, author="u-1"))

    assert store.traces.erase_user("default", "u-1").feedback == 2

    found = store.feedback.for_traces("default", [*ids.values(), *other.values()])
    assert found == {}
    add_up(store)
    assert (share(store, Fault.INVENTED).judged, share(store, Fault.INVENTED).labelled) == (1, 0)


def test_retention_forgets_the_label_and_keeps_the_share(store: Store, clock: ManualClock) -> None:
    ids = diagnosed(store, {"1": at_fault(Fault.INVENTED, 0.8)})
    store.feedback.add(label(ids["1"], Fault.INVENTED))
    add_up(store)
    clock.advance(4 * 86_400.0)

    store.retention.run(clock.now(), RetentionPolicy(traces_days=1, scores_days=400))

    assert store.feedback.for_traces("default", list(ids.values())) == {}
    told = share(store, Fault.INVENTED)
    assert (told.value, told.labelled) == (pytest.approx(0.8), 1)


def test_the_worst_traces_of_a_fault_are_those_that_most_probably_have_it(store: Store) -> None:
    loans = (Hit(kind=HitKind.KNOWLEDGE_BASE, name="loans", ok=True),)
    ids = diagnosed(
        store,
        {
            "1": at_fault(Fault.INVENTED, 0.7),
            "2": at_fault(Fault.INVENTED, 0.9),
            "3": at_fault(Fault.INVENTED, 0.1),
            "4": at_fault(Fault.BAD_RANKING, 0.8),
        },
    )
    ids |= diagnosed(store, {"5": at_fault(Fault.INVENTED, 0.6)}, hits=loans)
    window = Window(EPOCH - timedelta(hours=1), EPOCH + timedelta(hours=1))

    def worst(metric: str, knowledge_base: str | None = None) -> list[str]:
        by_id = {trace_id: name for name, trace_id in ids.items()}
        found = store.traces.worst("default", "desk", metric, window, 3, knowledge_base)
        return [by_id[trace_id] for trace_id in found]

    assert worst("fault:invented") == ["2", "1", "5"]
    assert worst("fault:none") == ["2", "4", "1"]
    assert worst("fault:invented", "loans") == ["5"]


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
