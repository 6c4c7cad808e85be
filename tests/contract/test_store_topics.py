"""Topics of judged traces, from the scores that were saved to the sums of a day."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

import pytest
from sqlalchemy import func, select

from rag_monitor.domain.fault import Diagnosis, Fault
from rag_monitor.domain.feedback import Feedback
from rag_monitor.domain.rating import RatingKind
from rag_monitor.domain.score import Score, ScoreStatus
from rag_monitor.domain.stored import RetentionPolicy
from rag_monitor.domain.topic import NO_TOPIC
from rag_monitor.domain.window import Window
from rag_monitor.errors import LeaseLost
from rag_monitor.store.store import Store
from rag_monitor.store.tables import topic_days, topics, trace_topics
from rag_monitor.store.topic_feed import KnownApp
from rag_monitor.store.topics import QuestionQuery
from rag_monitor.testing import EPOCH, ManualClock, make_trace
from rag_monitor.topics import options
from rag_monitor.worker import topic_finding
from rag_monitor.worker.scheduler import Leadership
from rag_monitor.worker.topic_finding import TopicFinder
from tests.contract.evidence import claim, ingest

WORDS = ("to", "by", "for", "card", "of", "at", "on", "now")
REFUNDS = [f"How long does a refund {word} take?" for word in WORDS]
KINDS = ("上月", "去年", "电子", "纸质", "增值税", "公司", "个人", "普通")
INVOICES = [f"去哪里下载{kind}发票" for kind in KINDS]
DAY = EPOCH.date()
WHOLE = Window(start=EPOCH - timedelta(days=1), end=EPOCH + timedelta(days=1))


@pytest.fixture(autouse=True)
def looks_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(topic_finding, "DISCOVER_AT", 5)


def _judge(
    store: Store, clock: ManualClock, questions: Sequence[str], app: str = "shop", **fields: str
) -> list[str]:
    made = [
        make_trace(
            question, "a", id=f"{app} {question} {clock.now()}", app=app, started_at=EPOCH, **fields
        )
        for question in questions
    ]
    ingest(store, *made)
    gap = Diagnosis(
        judge="embedded/m/p/1", probabilities={Fault.KNOWLEDGE_GAP: 0.75, Fault.NONE: 0.25}
    )
    tasks = claim(store, at=clock.now())
    done = [
        (
            task,
            [
                Score(metric="faithfulness", status=ScoreStatus.SCORED, value=0.5),
                Score(metric="refusal_rate", status=ScoreStatus.SCORED, value=1.0),
            ],
            (),
        )
        for task in tasks
    ]
    store.tasks.complete_many(done, diagnoses={task.id: gap for task in tasks})
    clock.advance(30)
    return [trace.trace_id for trace in made]


def _found(store: Store, clock: ManualClock) -> TopicFinder:
    finder = TopicFinder(store.topic_feed, clock)
    while finder.find():
        clock.advance(1)
    clock.advance(61)
    finder.find()
    return finder


def test_questions_become_topics_with_names_and_sums(store: Store, clock: ManualClock) -> None:
    refunds = _judge(store, clock, REFUNDS)
    invoices = _judge(store, clock, INVOICES)
    _found(store, clock)

    known = {topic.name: topic for topic in store.topics.of_app("default", "shop")}
    assert len(known) == 2
    (refund,) = [topic for name, topic in known.items() if "refund" in name]
    (invoice,) = [topic for name, topic in known.items() if "发票" in name]
    assert store.topics.of_traces("default", [*refunds, *invoices]) == {
        **dict.fromkeys(refunds, refund.id),
        **dict.fromkeys(invoices, invoice.id),
    }
    sums = store.topics.sums("default", "shop", DAY, DAY + timedelta(days=1))
    assert sums.keys() == {refund.id, invoice.id}
    own = sums[refund.id]
    assert (own.questions, own.diagnosed, own.at_fault) == (8, 8, 6.0)
    assert own.faults == {"knowledge_gap": 8}
    assert (own.refused, own.scored, own.total) == (8, 8, 4.0)


def test_a_topic_keeps_its_id_when_more_is_asked(store: Store, clock: ManualClock) -> None:
    _judge(store, clock, REFUNDS)
    finder = _found(store, clock)
    (before,) = store.topics.of_app("default", "shop")

    later = _judge(store, clock, ["Is my refund late?", "When will I get the refund I was told of"])
    finder.find()

    (after,) = store.topics.of_app("default", "shop")
    assert (after.id, after.name) == (before.id, before.name)
    assert set(store.topics.of_traces("default", later).values()) == {before.id}


def test_what_is_judged_again_counts_once_and_keeps_its_topic(
    store: Store, clock: ManualClock
) -> None:
    ids = _judge(store, clock, REFUNDS)
    _found(store, clock)
    before = store.topics.of_traces("default", ids)

    store.topic_feed.rewind("topics", EPOCH - timedelta(days=1))
    _found(store, clock)

    assert store.topics.of_traces("default", ids) == before
    assert store.topics.sums("default", "shop", DAY, DAY + timedelta(days=1))[1].questions == 8


def test_apps_have_topics_of_their_own(store: Store, clock: ManualClock) -> None:
    _judge(store, clock, REFUNDS, app="one")
    _judge(store, clock, INVOICES, app="two")
    _found(store, clock)

    (one,), (two,) = (store.topics.of_app("default", app) for app in ("one", "two"))
    assert "refund" in one.name
    assert "发票" in two.name


def test_questions_of_a_topic_can_be_read_by_fault(store: Store, clock: ManualClock) -> None:
    _judge(store, clock, [*REFUNDS, REFUNDS[0]])
    _found(store, clock)

    query = QuestionQuery(project="default", app="shop", window=WHOLE, topic=1, limit=50)
    everything = store.topics.questions(query)
    assert sorted(one.question for one in everything) == sorted(REFUNDS)
    gaps = store.topics.questions(replace(query, fault=Fault.KNOWLEDGE_GAP, nearest_first=True))
    assert sorted(one.question for one in gaps) == sorted(REFUNDS)
    assert store.topics.questions(replace(query, fault=Fault.INVENTED)) == []


def test_feedback_on_the_whole_answer_is_counted(store: Store, clock: ManualClock) -> None:
    ids = _judge(store, clock, REFUNDS)
    for trace_id, value in zip(ids, (1.0, 0.0), strict=False):
        store.feedback.add(
            Feedback(
                project="default",
                trace_id=trace_id,
                value=value,
                kind=RatingKind.THUMB,
                created_at=EPOCH,
            )
        )
    _found(store, clock)

    own = store.topics.sums("default", "shop", DAY, DAY + timedelta(days=1))[1]
    assert (own.rated, own.satisfied) == (2, 1.0)


def test_a_rating_that_comes_later_is_counted_once_and_names_of_faults_are_none(
    store: Store, clock: ManualClock
) -> None:
    ids = _judge(store, clock, REFUNDS)
    finder = _found(store, clock)

    def mark(trace_id: str, value: float, fault: Fault | None = None, **who: str) -> None:
        given = Feedback(
            project="default",
            trace_id=trace_id,
            value=value,
            fault=fault,
            kind=RatingKind.NUMBER if fault is None else None,
            created_at=clock.now(),
            **who,
        )
        store.feedback.add(given)
        clock.advance(1)

    mark(ids[0], 0.0, author="ann")
    mark(ids[0], 1.0, author="ann")  # thought better of it
    mark(ids[0], 0.25, author="bob")
    mark(ids[2], 0.5, author="ann")  # neither satisfied nor not: does not satisfy
    mark(ids[1], 0.0, fault=Fault.INVENTED, author="ann")
    clock.advance(61)
    finder.find()

    own = store.topics.sums("default", "shop", DAY, DAY + timedelta(days=1))[1]
    assert (own.rated, own.satisfied) == (2, 1.0)


def test_questions_of_one_app_that_fail_hold_up_no_other(
    store: Store, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    _judge(store, clock, REFUNDS, app="odd")
    _judge(store, clock, INVOICES, app="shop")
    state_of = store.topic_feed.state_of

    def broken(project: str, app: str) -> KnownApp:
        if app == "odd":
            raise ValueError("odd data")
        return state_of(project, app)

    monkeypatch.setattr(store.topic_feed, "state_of", broken)
    _found(store, clock)

    assert len(store.topics.of_app("default", "shop")) == 1
    assert store.topics.of_app("default", "odd") == []


def test_a_topic_goes_with_the_last_of_its_questions(store: Store, clock: ManualClock) -> None:
    _judge(store, clock, REFUNDS, user_id="gone")
    _judge(store, clock, INVOICES, user_id="kept")
    _found(store, clock)
    assert len(store.topics.of_app("default", "shop")) == 2

    store.traces.erase_user("default", "gone")

    (left,) = store.topics.of_app("default", "shop")
    assert "发票" in left.name


def test_an_app_that_keeps_its_traces_for_fewer_days_keeps_its_topics_as_long(
    store: Store, clock: ManualClock
) -> None:
    _judge(store, clock, REFUNDS)
    _judge(store, clock, INVOICES, app="other")
    _found(store, clock)

    store.retention.run(EPOCH + timedelta(days=12), RetentionPolicy(apps={"shop": 10}))

    assert store.topics.of_app("default", "shop") == []
    assert len(store.topics.of_app("default", "other")) == 1


def test_erasing_a_user_takes_the_questions_and_the_counts(
    store: Store, clock: ManualClock
) -> None:
    _judge(store, clock, REFUNDS[:6], user_id="kept")
    gone = _judge(store, clock, REFUNDS[6:], user_id="gone")
    finder = _found(store, clock)

    store.traces.erase_user("default", "gone")
    clock.advance(61)
    finder.find()

    assert store.topics.of_traces("default", gone) == {}
    sums = store.topics.sums("default", "shop", DAY, DAY + timedelta(days=1))
    assert sum(own.questions for own in sums.values()) == 6
    query = QuestionQuery(project="default", app="shop", window=WHOLE, limit=50)
    assert not {one.question for one in store.topics.questions(query)} & set(REFUNDS[6:])


def test_retention_leaves_no_topic_of_old_traces(store: Store, clock: ManualClock) -> None:
    _judge(store, clock, REFUNDS)
    _found(store, clock)

    store.retention.run(EPOCH + timedelta(days=800), RetentionPolicy())

    with store._database.read() as connection:
        for table in (trace_topics, topics, topic_days):
            left = connection.execute(select(func.count()).select_from(table)).scalar_one()
            assert left == 0, table.name


def test_few_questions_make_no_topic(store: Store, clock: ManualClock) -> None:
    ids = _judge(store, clock, REFUNDS[: options.MIN_QUESTIONS - 1])
    _found(store, clock)

    assert store.topics.of_app("default", "shop") == []
    assert store.topics.of_traces("default", ids) == {}
    sums = store.topics.sums("default", "shop", DAY, DAY + timedelta(days=1))
    assert sums.keys() == {NO_TOPIC}


def test_who_no_longer_leads_changes_no_topic(store: Store, clock: ManualClock) -> None:
    _judge(store, clock, REFUNDS)
    former = Leadership(store.leases, "former", 30.0)
    assert former.hold()
    former_lease = former.require()
    former.release()
    assert Leadership(store.leases, "next", 30.0).hold()

    finder = TopicFinder(store.topic_feed, clock, lambda: former_lease)
    with pytest.raises(LeaseLost):
        finder.find()

    assert store.topics.of_app("default", "shop") == []
    _found(store, clock)
    assert len(store.topics.of_app("default", "shop")) == 1
