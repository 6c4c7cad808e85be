"""Alerts that begin together are one incident, and its story says what, where and what next."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from rag_monitor.alerting.incidents import dimensions
from rag_monitor.alerting.incidents.dimensions import concentrations
from rag_monitor.alerting.incidents.grouping import grouped
from rag_monitor.alerting.incidents.next_step import choose, path_of, text_of
from rag_monitor.alerting.incidents.story import tell
from rag_monitor.domain.alert import Alert, AlertRule, AlertState, Finding, RuleKind, Severity
from rag_monitor.domain.fault import Fault, Stage
from rag_monitor.domain.incident import Concentration, Incident, IncidentTrace
from rag_monitor.testing import EPOCH

HOUR = timedelta(hours=1)
FELL = AlertRule(name="faithfulness drop", kind=RuleKind.DROP, metric="faithfulness")
SLOW = AlertRule(name="latency", kind=RuleKind.LATENCY, metric="end_to_end_ms")
RULES = {rule.name: rule for rule in (FELL, SLOW)}


def alert(
    id: str,
    minutes: float = 0.0,
    *,
    rule: AlertRule = FELL,
    app: str = "faq",
    state: AlertState = AlertState.FIRING,
    onset: datetime | None = None,
) -> Alert:
    at = EPOCH + timedelta(minutes=minutes)
    return Alert(
        id=id,
        project="default",
        rule=rule.name,
        app=app,
        state=state,
        severity=Severity.PAGE,
        kind=rule.kind,
        since=at,
        started_at=at,
        fired_at=at,
        resolved_at=at + timedelta(minutes=5) if state is AlertState.RESOLVED else None,
        finding=Finding(active=True, onset_at=onset),
    )


def after(minutes: float) -> datetime:
    return EPOCH + timedelta(minutes=minutes)


def test_alerts_of_an_app_that_begin_within_the_window_are_one_incident() -> None:
    both = [alert("a"), alert("b", 50)]
    (incident,) = grouped(both, [], after(51), HOUR)

    assert [part.id for part in incident.alerts] == ["a", "b"]

    (joined,) = grouped([*both, alert("c", 100)], [incident], after(101), HOUR)
    assert [part.id for part in joined.alerts] == ["a", "b", "c"]
    assert joined.id == incident.id


def test_alerts_that_begin_apart_or_on_different_apps_are_different_incidents() -> None:
    apart = grouped([alert("a"), alert("b", 61), alert("c", app="shop")], [], after(62), HOUR)

    assert sorted([part.id for part in one.alerts] for one in apart) == [["a"], ["b"], ["c"]]
    assert len({one.id for one in apart}) == 3


def test_pending_alerts_are_no_incident() -> None:
    assert grouped([alert("a", state=AlertState.PENDING)], [], after(1), HOUR) == []


def test_an_incident_ends_with_the_last_of_its_alerts_and_takes_no_more() -> None:
    (incident,) = grouped([alert("a"), alert("b", 1)], [], after(2), HOUR)
    over = [alert("a", state=AlertState.RESOLVED)]

    (still,) = grouped([*over, alert("b", 1)], [incident], after(6), HOUR)
    assert still.ended_at is None

    ended, new = grouped([*over, alert("c", 8)], [still], after(9), HOUR)
    assert ended.ended_at == after(9)  # the other alert is gone without a word
    assert [part.id for part in new.alerts] == ["c"]


def test_looking_again_changes_nothing() -> None:
    alerts = [alert("a"), alert("b", 1)]
    incidents = grouped(alerts, [], after(2), HOUR)

    assert grouped(alerts, incidents, after(20), HOUR) == incidents


def traffic(
    draw: random.Random,
    count: int,
    start: datetime,
    length: timedelta,
    fault: Callable[[IncidentTrace], float],
    kind: Fault = Fault.INVENTED,
    releases: Sequence[str] = ("v1", "v2"),
) -> list[IncidentTrace]:
    """Traces whose answers have the fault with a probability that depends on where they are."""
    traces = []
    for number in range(count):
        trace = IncidentTrace(
            trace_id=f"{draw.getrandbits(128):032x}",
            started_at=start + length * number / count,
            release=draw.choice(releases),
            model=draw.choice(("large", "large", "small")),
            knowledge_bases=(draw.choice(("loans", "cards", "funds", "fees")),),
            latencies={"end_to_end_ms": draw.gauss(900, 100)},
        )
        bad = draw.random() < fault(trace)
        found = kind if bad else Fault.NONE
        scores = {"faithfulness": 0.1 if bad else 0.95}
        traces.append(replace(trace, fault=found, probability=0.9, scores=scores))
    return traces


def incident_at(minutes: float, *alerts: Alert) -> Incident:
    return grouped(alerts, [], after(minutes), HOUR)[0]


def broken(
    seed: int, where: Callable[[IncidentTrace], float], kind: Fault = Fault.INVENTED
) -> list[IncidentTrace]:
    """A quiet day, and half an hour in which something is wrong."""
    draw = random.Random(seed)
    day = traffic(draw, 1500, after(-24 * 60), timedelta(days=1), lambda _: 0.04, kind)
    return day + traffic(draw, 240, EPOCH, timedelta(minutes=30), where, kind)


def test_the_story_names_the_fault_the_release_and_the_traces() -> None:
    traces = broken(1, lambda trace: 0.6 if trace.release == "v2" else 0.04)

    told = tell(incident_at(28, alert("a", 28)), RULES, traces, after(30))

    story = told.story
    assert story is not None
    assert story.fault is Fault.INVENTED
    assert abs(story.since - EPOCH) < timedelta(minutes=3)
    assert 0.25 < story.growths[0].share < 0.4
    assert story.growths[0].lower > 0.15
    (place,) = story.concentrations
    assert (place.dimension, place.value) == ("release", "v2")
    assert place.lower <= 0.56 <= place.upper
    assert place.of_bad > 0.85 > 0.6 > place.of_traffic
    assert story.compared == 8
    by_id = {trace.trace_id: trace for trace in traces}
    assert len(story.examples) == 3
    for example in story.examples:
        assert by_id[example.trace_id].release == "v2"
        assert by_id[example.trace_id].fault is Fault.INVENTED
    assert story.step.key == "generation.release"


def test_a_new_release_needs_no_time_before_to_be_named() -> None:
    draw = random.Random(5)
    day = traffic(draw, 800, after(-600), 10 * HOUR, lambda _: 0.05, releases=("v1",))
    now = traffic(
        draw,
        200,
        EPOCH,
        timedelta(minutes=30),
        lambda trace: 0.5 if trace.release == "v2" else 0.05,
        releases=("v1", "v2"),
    )

    story = tell(incident_at(28, alert("a", 28)), RULES, day + now, after(30)).story

    assert story is not None
    assert [place.value for place in story.concentrations] == ["v2"]
    assert (story.step.value, story.step.against) == ("v2", "v1")


def test_a_knowledge_base_that_was_always_worse_is_not_where_the_incident_is() -> None:
    def always(trace: IncidentTrace) -> float:
        return 0.4 if "fees" in trace.knowledge_bases else 0.02

    draw = random.Random(3)
    day = traffic(draw, 1500, after(-24 * 60), timedelta(days=1), always)
    now = traffic(
        draw,
        400,
        EPOCH,
        timedelta(minutes=30),
        lambda trace: always(trace) + (0.5 if trace.model == "small" else 0.0),
    )

    story = tell(incident_at(28, alert("a", 28)), RULES, day + now, after(30)).story

    assert story is not None
    assert [(one.dimension, one.value) for one in story.concentrations] == [("model", "small")]


@pytest.mark.parametrize(("before", "now"), [(0.05, 0.3), (0.01, 0.06), (0.3, 0.6)])
def test_where_nothing_is_concentrated_a_place_is_named_in_at_most_one_story_of_twenty(
    before: float, now: float
) -> None:
    stories, false = 120, 0
    for seed in range(stories):
        draw = random.Random(seed)
        day = traffic(draw, 700, after(-24 * 60), timedelta(days=1), lambda _: before)
        since = traffic(draw, 150, EPOCH, timedelta(minutes=30), lambda _: now)
        named, compared = concentrations(
            since, day, lambda trace: None if trace.fault is None else trace.fault is not Fault.NONE
        )
        assert compared >= 8
        false += bool(named)

    # 5% of 120 are 6; 12 or more of them have a chance of 2% at exactly that level.
    assert false < 12


def test_the_first_to_break_is_told_by_its_course_and_not_by_when_it_fired() -> None:
    draw = random.Random(2)
    quiet = traffic(draw, 1000, after(-600), 10 * HOUR, lambda _: 0.03)
    worse = traffic(draw, 300, EPOCH, HOUR, lambda _: 0.5)
    late = [
        replace(trace, latencies={"end_to_end_ms": 3000.0})
        if trace.started_at > after(20)
        else trace
        for trace in worse
    ]
    alerts = [alert("slow", 24, rule=SLOW), alert("fell", 50)]

    told = tell(incident_at(50, *alerts), RULES, quiet + late, after(60))

    assert [part.id for part in told.alerts] == ["fell", "slow"]
    assert told.story is not None
    assert told.story.first == "fell"
    fell, slow = told.alerts
    assert fell.broke_at is not None
    assert abs(fell.broke_at - EPOCH) < timedelta(minutes=4)
    assert slow.broke_at is not None
    assert abs(slow.broke_at - after(20)) < timedelta(minutes=2)


def test_what_a_detector_says_of_the_onset_is_believed() -> None:
    incident = incident_at(50, alert("a", 50, onset=after(7)))

    told = tell(incident, RULES, broken(1, lambda _: 0.5), after(60))

    assert told.began_at == after(7)


def test_slow_answers_without_a_fault_are_told_by_where_they_are_slow() -> None:
    draw = random.Random(8)
    quiet = traffic(draw, 1200, after(-600), 10 * HOUR, lambda _: 0.03)
    slow = [
        replace(trace, latencies={"end_to_end_ms": 3000.0})
        if "loans" in trace.knowledge_bases
        else trace
        for trace in traffic(draw, 300, EPOCH, HOUR, lambda _: 0.03)
    ]

    story = tell(incident_at(40, alert("s", 40, rule=SLOW)), RULES, quiet + slow, after(60)).story

    assert story is not None
    assert story.fault is None
    assert [place.value for place in story.concentrations] == ["loans"]
    assert story.step.key == "any.knowledge_base"
    assert len(story.examples) == 3


def test_with_too_little_to_tell_by_a_story_says_no_more_than_what_broke_first() -> None:
    story = tell(incident_at(1, alert("a")), {}, [], after(1)).story

    assert story is not None
    assert (story.growths, story.concentrations, story.examples, story.compared) == ((), (), (), 0)
    assert story.step.key == "any.any"


def test_a_topic_with_most_of_the_trouble_is_named() -> None:
    def asked(trace: IncidentTrace) -> IncidentTrace:
        return replace(trace, topic="refund · card" if trace.started_at.second % 2 else "invoice")

    traces = [
        asked(trace)
        for trace in broken(4, lambda trace: 0.6 if trace.started_at.second % 2 else 0.04)
    ]

    story = tell(incident_at(28, alert("a", 28)), RULES, traces, after(30)).story

    assert story is not None
    assert [(one.dimension, one.value) for one in story.concentrations] == [
        ("topic", "refund · card")
    ]


def test_a_further_dimension_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    more = {
        **dimensions.DIMENSIONS,
        "minute": lambda trace: ("even" if trace.started_at.minute % 2 == 0 else "odd",),
    }
    monkeypatch.setattr(dimensions, "DIMENSIONS", more)
    traces = broken(4, lambda trace: 0.6 if trace.started_at.minute % 2 == 0 else 0.04)

    found, _ = concentrations(traces[1500:], traces[:1500], lambda t: t.fault is Fault.INVENTED)

    assert [(one.dimension, one.value) for one in found] == [("minute", "even")]


def place(dimension: str, value: str) -> Concentration:
    return Concentration(
        dimension=dimension,
        value=value,
        excess=0.3,
        lower=0.1,
        upper=0.5,
        of_bad=0.8,
        of_traffic=0.2,
    )


@pytest.mark.parametrize(
    ("stage", "places", "key"),
    [
        (Stage.RETRIEVAL, [place("release", "v2")], "retrieval.release"),
        (Stage.KNOWLEDGE, [place("model", "m"), place("knowledge_base", "k")],
         "knowledge.knowledge_base"),
        (Stage.KNOWLEDGE, [place("model", "m")], "knowledge.any"),
        (Stage.KNOWLEDGE, [place("topic", "fees")], "knowledge.topic"),
        (Stage.RETRIEVAL, [place("topic", "fees")], "retrieval.any"),
        (None, [place("topic", "fees")], "any.topic"),
        (Stage.SYSTEM, [], "system.any"),
        (None, [place("release", "v2")], "any.release"),
        (None, [], "any.any"),
    ],
)  # fmt: skip
def test_the_next_step_is_a_row_of_the_table(
    stage: Stage | None, places: list[Concentration], key: str
) -> None:
    step = choose(stage, places, "v1")

    assert step.key == key
    assert text_of(step)


def test_the_next_step_leads_to_a_page_that_shows_it() -> None:
    traces = broken(1, lambda trace: 0.6 if trace.release == "v2" else 0.04)
    told = tell(incident_at(28, alert("a", 28)), RULES, traces, after(30))
    bare = tell(incident_at(1, alert("a")), {}, [], after(1))

    assert path_of(told) == "/compare?app=faq&a=v1&b=v2"
    assert told.story is not None
    for stage, where, path in (
        (Stage.KNOWLEDGE, "knowledge_base", "/documents?app=faq&knowledge_base=a%26b&list=stale"),
        (Stage.RETRIEVAL, "knowledge_base", "/documents?app=faq&knowledge_base=a%26b"),
        (None, "topic", "/topics?app=faq"),
    ):
        step = choose(stage, [place(where, "a&b")], "v1")
        assert path_of(replace(told, story=replace(told.story, step=step))) == path
    assert path_of(bare) is None
