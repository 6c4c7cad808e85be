"""What is said of topics from what they add up to."""

from __future__ import annotations

from datetime import date, timedelta

import pytest

from rag_monitor.aggregation.topics import TopicEvent, topic_reports
from rag_monitor.domain.topic import NO_TOPIC, Topic, TopicSums, latency_bucket
from rag_monitor.testing import EPOCH

TODAY = EPOCH.date()
OLD = EPOCH - timedelta(days=100)


def _topic(id_: int, first_seen: object = OLD) -> Topic:
    return Topic(id=id_, name=f"t{id_}", first_seen=first_seen, last_seen=EPOCH)


def _events(
    now: dict[int, int], before: dict[int, int], first: date = TODAY
) -> dict[int, TopicEvent | None]:
    sums, earlier = (
        {id_: TopicSums(questions=n) for id_, n in counts.items()} for counts in (now, before)
    )
    topics = [_topic(id_) for id_ in {*now, *before} - {NO_TOPIC}]
    return {one.id: one.event for one in topic_reports(topics, sums, earlier, first)}


def test_a_topic_that_nobody_asked_about_before_is_new() -> None:
    now, before = {1: TopicSums(questions=3)}, {2: TopicSums(questions=3)}
    reports = topic_reports([_topic(1, EPOCH), _topic(2)], now, before, TODAY)
    assert {one.id: one.event for one in reports}[1] == TopicEvent.NEW


def test_nothing_is_new_where_all_traffic_is() -> None:
    reports = topic_reports([_topic(1, EPOCH)], {1: TopicSums(questions=3)}, {}, TODAY)
    assert [one.event for one in reports] == [None]


@pytest.mark.parametrize(
    ("now", "before", "event"),
    [
        (60, 20, TopicEvent.GROWN),
        (22, 20, None),
        (3, 1, None),
        (0, 40, TopicEvent.VANISHED),
        (0, 2, None),
        (20, 60, None),
    ],
)
def test_events_are_beyond_chance(now: int, before: int, event: TopicEvent | None) -> None:
    others = 200
    counts = {2: others - now, **({1: now} if now else {})}
    assert _events(counts, {1: before, 2: others - before})[1] == event


def test_questions_without_a_topic_have_a_row_and_no_event() -> None:
    assert _events({NO_TOPIC: 50, 1: 50}, {1: 100}) == {NO_TOPIC: None, 1: None}


def test_impact_is_traffic_times_the_share_at_fault() -> None:
    sums = {
        1: TopicSums(questions=10, diagnosed=10, at_fault=9.0),
        2: TopicSums(questions=90, diagnosed=30, at_fault=10.0),
        3: TopicSums(questions=100),
    }
    reports = topic_reports([_topic(1), _topic(2), _topic(3)], sums, {}, TODAY)

    assert [one.id for one in reports] == [2, 1, 3]
    assert [round(one.impact, 3) for one in reports] == [0.15, 0.045, 0.0]
    assert reports[2].at_fault is None


def test_sums_of_days_add_up() -> None:
    sums = TopicSums()
    for fault, value in (("invented", 0.5), ("none", 1.0)):
        day = TopicSums()
        day.add(fault=fault, at_fault=0.5, faithfulness=value, refused=False, end_to_end_ms=1000.0)
        sums.merge(day)

    assert (sums.questions, sums.diagnosed, sums.at_fault) == (2, 2, 1.0)
    assert sums.faults == {"invented": 1}
    assert (sums.total, sums.squares) == (1.5, 1.25)
    assert sums.latencies == {latency_bucket(1000.0): 2}


def test_a_latency_is_at_most_five_percent_too_high() -> None:
    sums = TopicSums()
    for milliseconds in range(1, 1001):
        sums.add(
            fault=None,
            at_fault=None,
            faithfulness=None,
            refused=False,
            end_to_end_ms=float(milliseconds),
        )
    for share in (0.5, 0.9):
        found = sums.latency_ms(share)
        assert found is not None
        assert 1000 * share <= found <= 1050 * share
    assert TopicSums().latency_ms(0.5) is None
