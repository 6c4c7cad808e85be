"""Incidents, what their stories are told from, and how they are forgotten, on each database."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import Connection, select, update

from rag_monitor.alerting.incidents.teller import IncidentTeller
from rag_monitor.domain.alert import Alert, AlertState, Notification, RuleKind, Severity
from rag_monitor.domain.fault import Diagnosis, EvidenceKind, Fault, FaultEvidence
from rag_monitor.domain.incident import (
    Concentration,
    Example,
    FaultGrowth,
    Incident,
    IncidentAlert,
    NextStep,
    Story,
)
from rag_monitor.domain.stored import RetentionPolicy
from rag_monitor.domain.topic import NO_TOPIC, JudgedQuestion
from rag_monitor.domain.trace import Retrieval, Trace, TraceStatus
from rag_monitor.errors import NotFound
from rag_monitor.store.store import Store
from rag_monitor.store.tables import outbox
from rag_monitor.store.topic_feed import KnownApp, KnownTopic, Placed
from rag_monitor.testing import EPOCH, make_trace
from tests.contract.evidence import claim, ingest

HOUR = timedelta(hours=1)
QUESTION = "旧价格是多少？"
EVIDENCE = (FaultEvidence(kind=EvidenceKind.STATEMENT, text="保修36个月", value=0.1, passage=2),)


def incident(*trace_ids: str, **fields: Any) -> Incident:
    example = Example(fault=Fault.INVENTED, probability=0.9, question=QUESTION, trace_id="")
    story = Story(
        told_at=EPOCH,
        since=EPOCH - timedelta(minutes=20),
        first="a",
        judged=240,
        judged_before=1500,
        growths=(
            FaultGrowth(fault=Fault.INVENTED, share=0.3, share_before=0.04, lower=0.2, upper=0.36),
        ),
        concentrations=(
            Concentration(
                dimension="release",
                value="v2",
                excess=0.5,
                lower=0.3,
                upper=0.7,
                of_bad=0.9,
                of_traffic=0.5,
            ),
        ),
        compared=9,
        examples=tuple(replace(example, trace_id=id, evidence=EVIDENCE) for id in trace_ids),
        step=NextStep(key="generation.release", dimension="release", value="v2", against="v1"),
    )
    part = IncidentAlert(
        id="a",
        rule="faithfulness drop",
        kind="drop",
        started_at=EPOCH,
        fired_at=EPOCH + timedelta(minutes=2),
        broke_at=EPOCH - timedelta(minutes=20),
    )
    return Incident(
        **{
            "id": "i1",
            "project": "default",
            "app": "faq",
            "began_at": EPOCH - timedelta(minutes=20),
            "alerts": (part,),
            "story": story,
            **fields,
        }
    )


def ids_of(store: Store) -> list[str]:
    story = store.incidents.get("default", "i1").story
    assert story is not None
    return [example.trace_id for example in story.examples]


def test_an_incident_comes_back_as_it_was(store: Store) -> None:
    one, other = make_trace(id="1"), make_trace(id="2")
    ingest(store, one, other)
    told = incident(other.trace_id, one.trace_id)
    untold = incident(id="i2", story=None, ended_at=EPOCH, began_at=EPOCH)

    store.alerts.save([], incidents=[told, untold])

    assert store.incidents.get("default", "i1") == told
    assert store.incidents.newest("default") == [untold, told]
    assert store.incidents.unfinished() == [told]


def test_incidents_are_found_by_app_state_time_and_project_alone(store: Store) -> None:
    over = incident(id="i2", app="shop", story=None, ended_at=EPOCH, began_at=EPOCH)
    store.alerts.save([], incidents=[incident(), over, incident(project="other", id="i3")])

    def found(project: str = "default", **where: Any) -> list[str]:
        return [one.id for one in store.incidents.newest(project, **where)]

    assert found() == ["i2", "i1"]
    assert found(app="shop") == ["i2"]
    assert found(unfinished=True) == ["i1"]
    assert found(unfinished=False) == ["i2"]
    assert found(before=EPOCH) == ["i1"]
    assert found(limit=1) == ["i2"]
    assert found("other") == ["i3"]
    with pytest.raises(NotFound):
        store.incidents.get("default", "i3")


def test_an_incident_that_goes_on_is_replaced(store: Store) -> None:
    one, other = make_trace(id="1"), make_trace(id="2")
    ingest(store, one, other)
    store.alerts.save([], incidents=[incident(one.trace_id, other.trace_id)])

    ended = incident(other.trace_id, ended_at=EPOCH)
    store.alerts.save([], incidents=[ended])

    assert store.incidents.get("default", "i1") == ended


def test_an_incident_is_saved_with_its_alerts_or_not_at_all(store: Store) -> None:
    lease = store.leases.acquire("leader", "w1", 60)
    assert lease is not None
    store.leases.release(lease)

    with pytest.raises(Exception, match="leads no longer"):
        store.alerts.save([], incidents=[incident()], lease=lease)

    assert store.incidents.newest("default") == []


def test_erasing_a_user_takes_their_traces_out_of_stories(store: Store) -> None:
    mine, other = make_trace(id="1", user_id="u-1"), make_trace(id="2", user_id="u-2")
    ingest(store, mine, other)
    store.alerts.save([], incidents=[incident(mine.trace_id, other.trace_id)])

    store.traces.erase_user("default", "u-1")

    assert ids_of(store) == [other.trace_id]


def test_a_trace_that_was_erased_while_the_story_was_told_does_not_come_back(store: Store) -> None:
    mine, other = make_trace(id="1", user_id="u-1"), make_trace(id="2")
    ingest(store, mine, other)
    told = incident(mine.trace_id, other.trace_id)
    store.traces.erase_user("default", "u-1")

    store.alerts.save([], incidents=[told])

    assert ids_of(store) == [other.trace_id]


def test_erasing_a_user_takes_messages_about_their_traces(store: Store) -> None:
    mine = make_trace(id="1", user_id="u-1")
    ingest(store, mine)
    alert = Alert(
        id="a",
        project="default",
        rule="r",
        app="faq",
        state=AlertState.FIRING,
        severity=Severity.PAGE,
        kind=RuleKind.DROP,
        runbook_url="https://wiki.example.com/a",
        since=EPOCH,
        started_at=EPOCH,
    )
    message = Notification(
        dedup_key="a:firing",
        project="default",
        channel="ops",
        alert=alert,
        event="firing",
        created_at=EPOCH,
        incident=incident(mine.trace_id),
    )
    store.alerts.save([alert], [message])
    (queued,) = store.outbox.due(EPOCH, lease_s=0)
    bare = Example(trace_id=mine.trace_id, fault=Fault.INVENTED, probability=0.9)
    assert queued.alert == alert
    assert queued.incident is not None
    assert queued.incident.story is not None
    assert queued.incident.story.examples == (bare,)

    store.traces.erase_user("default", "u-1")

    assert store.outbox.due(EPOCH + timedelta(seconds=1)) == []


def test_traces_come_with_the_name_of_their_topic(store: Store) -> None:
    named = [make_trace(f"refund of order {n}?", id=f"r{n}", app="faq") for n in range(3)]
    other = make_trace("hello", id="h", app="faq")
    ingest(store, *named, other)

    def place(question: str, topic: int, trace: Trace) -> Placed:
        judged = JudgedQuestion(
            project="default",
            trace_id=trace.trace_id,
            day=trace.started_at.date(),
            app="faq",
            started_at=trace.started_at,
            question=question,
        )
        return Placed(question=judged, topic=topic)

    def topic(id: int, name: str) -> KnownTopic:
        return KnownTopic(
            id=id,
            name=name,
            words={},
            questions=1.0,
            terms={},
            first_seen=EPOCH,
            last_seen=EPOCH,
        )

    state = KnownApp(topics={1: topic(1, "refund · order"), 2: topic(2, "")}, last_id=2)
    placed = [place("q", place_, one) for place_, one in zip((1, 1, 2), named, strict=True)]
    store.topic_feed.save("default", "faq", state, [*placed, place("q", NO_TOPIC, other)], ())

    loaded = store.incident_traces.load("default", "faq", EPOCH - HOUR, EPOCH + HOUR, 10)

    topic_of = {one.trace_id: one.topic for one in loaded}
    ids = [trace.trace_id for trace in (*named, other)]
    assert [topic_of[id] for id in ids] == ["refund · order", "refund · order", "2", None]


def test_a_message_whose_incident_cannot_be_read_is_sent_without(
    store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    ingest(store, make_trace(id="1"))
    told = incident(make_trace(id="1").trace_id)
    alert = Alert(
        id="a",
        project="default",
        rule="r",
        app="faq",
        state=AlertState.FIRING,
        severity=Severity.PAGE,
        since=EPOCH,
        started_at=EPOCH,
    )
    message = Notification(
        dedup_key="a:firing",
        project="default",
        channel="ops",
        alert=alert,
        event="firing",
        created_at=EPOCH,
        incident=told,
    )
    store.alerts.save([alert], [message])

    def later_release(connection: Connection) -> None:
        body = connection.execute(select(outbox.c.body)).scalar_one()
        body["incident"]["story"]["examples"][0]["fault"] = "of a later release"
        connection.execute(update(outbox).values(body=body))

    store._database.transact(later_release)

    (queued,) = store.outbox.due(EPOCH, lease_s=0)
    assert (queued.alert, queued.incident) == (alert, None)
    assert "without its incident" in caplog.text


def test_retention_forgets_examples_with_their_traces_and_incidents_with_alerts(
    store: Store,
) -> None:
    old = make_trace(id="1")
    ingest(store, old)
    over = incident(old.trace_id, ended_at=EPOCH)
    store.alerts.save([], incidents=[over, incident(id="i2", story=None)])
    policy = RetentionPolicy(traces_days=10, scores_days=100)

    store.retention.run(EPOCH + timedelta(days=20), policy)
    assert ids_of(store) == []

    store.retention.run(EPOCH + timedelta(days=120), policy)
    assert [one.id for one in store.incidents.newest("default")] == ["i2"]  # it goes on


def test_stories_are_told_from_the_traces_of_the_app(store: Store) -> None:
    def at(number: int, **fields: Any) -> Any:
        return make_trace(
            id=str(number), app="faq", started_at=EPOCH + timedelta(seconds=number), **fields
        )

    traces = (
        at(1, release="v1", model="m", retrievals=(Retrieval(knowledge_base="fees"),)),
        at(2, status=TraceStatus.ERROR),
        at(3, question=QUESTION * 40),
        make_trace(id="4", app="shop"),
    )
    ingest(store, *traces)
    tasks = {task.trace.trace_id: task for task in claim(store)}
    third = tasks[traces[2].trace_id]
    diagnosis = Diagnosis(
        judge="embedded/m/p/1",
        probabilities={Fault.INVENTED: 0.75, Fault.NONE: 0.25},
        evidence=EVIDENCE * 3,
    )
    store.tasks.complete_many([(third, (), ())], diagnoses={third.id: diagnosis})

    since, until = EPOCH, EPOCH + timedelta(seconds=10)
    first, second, last = store.incident_traces.load("default", "faq", since, until, 10)

    assert (first.release, first.model, first.knowledge_bases) == ("v1", "m", ("fees",))
    assert first.latencies.keys() >= {"end_to_end_ms"}
    assert (first.failed, second.failed) == (False, True)
    assert (first.fault, last.fault, last.probability) == (None, Fault.INVENTED, 0.75)
    newest = store.incident_traces.load("default", "faq", since, until, 1)
    assert [one.trace_id for one in newest] == [last.trace_id]
    (example,) = store.incident_traces.examples("default", [last.trace_id, "f" * 32])
    assert example.fault is Fault.INVENTED
    assert example.evidence == EVIDENCE * 2
    assert example.question == (QUESTION * 40)[:160]


def test_an_incident_is_told_from_the_store_up(store: Store) -> None:
    def trace(number: int) -> Any:
        bad = number >= 200 and number % 2 == 0
        return make_trace(
            f"question {number}",
            id=str(number),
            app="faq",
            release="v1" if number % 2 else "v2",
            started_at=EPOCH + timedelta(seconds=6 * number),
            user_id="bad" if bad else "good",
        )

    stored = {trace(number).trace_id: trace(number) for number in range(300)}
    ingest(store, *stored.values())
    diagnoses = {}
    tasks = claim(store)
    for task in tasks:
        fault = Fault.MISSED_RETRIEVAL if task.trace.user_id == "bad" else Fault.NONE
        diagnoses[task.id] = Diagnosis(judge="embedded/m/p/1", probabilities={fault: 1.0})
    store.tasks.complete_many([(task, (), ()) for task in tasks], diagnoses=diagnoses)
    at = EPOCH + timedelta(minutes=29)
    alert = Alert(
        id="a",
        project="default",
        rule="r",
        app="faq",
        state=AlertState.FIRING,
        severity=Severity.PAGE,
        since=at,
        started_at=at,
        fired_at=at,
    )
    teller = IncidentTeller(store.incidents, store.incident_traces)
    now = EPOCH + timedelta(minutes=30)

    store.alerts.save([alert], incidents=teller.update([alert], {}, now).changed)

    (told,) = store.incidents.newest("default")
    assert told.story is not None
    assert abs(told.story.since - (EPOCH + timedelta(minutes=20))) < timedelta(seconds=30)
    assert told.story.fault is Fault.MISSED_RETRIEVAL
    assert [place.value for place in told.story.concentrations] == ["v2"]
    assert told.story.step.key == "retrieval.release"
    assert [stored[one.trace_id].release for one in told.story.examples] == ["v2"] * 3
    assert teller.update([alert], {}, now).changed == []
