"""What the pages ask of marks, releases and spending, on each database."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from threading import Barrier

from rag_monitor.domain.decision import PEOPLE, SamplingDecision, SamplingReason
from rag_monitor.domain.fault import Fault
from rag_monitor.domain.feedback import Feedback
from rag_monitor.domain.judgement import JudgeIdentity, JudgeUsage
from rag_monitor.domain.rating import RatingKind
from rag_monitor.domain.score import Score, ScoreStatus
from rag_monitor.store.label_queue import CLAIMED_FOR, LabelQuery
from rag_monitor.store.store import Store
from rag_monitor.testing import EPOCH, ManualClock, make_trace
from tests.contract.evidence import claim, ingest

DAY = timedelta(days=1)
JUDGE = JudgeIdentity(name="packed", model="m")


def scored(store: Store, *names: str) -> list[str]:
    """Traces with two scores each; returns their ids."""
    traces = [make_trace(id=name, app="desk") for name in names]
    ingest(store, *traces)
    for task in claim(store):
        scores = tuple(
            Score(
                metric=metric,
                status=ScoreStatus.SCORED,
                value=0.9,
                judge=JUDGE,
                flagged=False if metric == "answer_supported" else None,
                created_at=EPOCH,
            )
            for metric in ("faithfulness", "answer_supported")
        )
        store.tasks.complete(task, scores, ())
    return [trace.trace_id for trace in traces]


def mark(trace_id: str, value: float, **fields: object) -> Feedback:
    given = {"metric": "faithfulness", "author": "amy", "created_at": EPOCH} | fields
    return Feedback(project="default", trace_id=trace_id, value=value, **given)  # type: ignore[arg-type]


def rating(trace_id: str, value: float, **fields: object) -> Feedback:
    return mark(trace_id, value, **({"metric": None, "kind": RatingKind.THUMB} | fields))


def test_ratings_stand_beside_every_score_of_their_answer(store: Store) -> None:
    first, second, third = scored(store, "1", "2", "3")
    store.feedback.add(rating(first, 0.0))
    store.feedback.add(rating(first, 1.0, created_at=EPOCH + timedelta(seconds=1)))
    store.feedback.add(rating(second, 0.0))
    store.feedback.add(rating(second, 1.0, author="bo"))
    store.feedback.add(mark(third, 0.0))
    store.feedback.add(rating("f" * 32, 0.0))

    found = store.feedback.rated_scores("default", EPOCH, EPOCH + DAY)

    # The newest of a person counts; one up and one down do not satisfy; a mark is no rating.
    assert {(row.trace_id, row.metric, row.value, row.label) for row in found} == {
        (trace_id, metric, 0.9, label)
        for trace_id, label in ((first, 1.0), (second, 0.0))
        for metric in ("faithfulness", "answer_supported")
    }
    assert len(found) == 4
    assert len(store.feedback.rated_scores("default", EPOCH, EPOCH + DAY, app="desk")) == 4
    assert store.feedback.rated_scores("default", EPOCH, EPOCH + DAY, app="shop") == []
    assert store.feedback.rated_scores("other", EPOCH, EPOCH + DAY) == []
    assert store.feedback.rated_scores("default", EPOCH + DAY, EPOCH + 2 * DAY) == []


def test_a_mark_stands_beside_the_scores_it_is_about(store: Store) -> None:
    first, second = scored(store, "1", "2")
    store.feedback.add(mark(first, 0.0))
    store.feedback.add(mark(first, 1.0, created_at=EPOCH + timedelta(seconds=1)))
    store.feedback.add(mark(first, 0.0, author="bo"))
    store.feedback.add(mark(second, 1.0, metric="answer_supported"))
    store.feedback.add(mark(second, 0.0, metric=None))
    store.feedback.add(mark(second, 0.0, statement=1))

    found = store.feedback.against_scores("default", EPOCH, EPOCH + DAY)

    rows = {(row.trace_id, row.metric): (row.label, row.value, row.flagged) for row in found}
    assert rows == {
        (first, "faithfulness"): (0.5, 0.9, None),
        (first, "answer_supported"): (0.5, 0.9, False),
        (second, "answer_supported"): (1.0, 0.9, False),
    }
    assert {row.judge for row in found} == {str(JUDGE)}
    assert store.feedback.against_scores("other", EPOCH, EPOCH + DAY) == []
    assert store.feedback.against_scores("default", EPOCH + DAY, EPOCH + 2 * DAY) == []


def test_releases_know_when_they_were_first_and_last_seen(store: Store) -> None:
    trace = make_trace(app="desk", id="0", release="1.0")
    ingest(
        store,
        trace,
        replace(make_trace(app="desk", id="1", release="1.1"), started_at=EPOCH + DAY),
        replace(make_trace(app="desk", id="2", release="1.0"), started_at=EPOCH + 2 * DAY),
        make_trace(app="desk", id="3", release=None),
        make_trace(app="shop", id="4", release="9"),
    )

    starts = store.traces.release_starts("default", "desk")

    assert [(s.release, s.first_seen, s.last_seen) for s in starts] == [
        ("1.0", trace.started_at, EPOCH + 2 * DAY),
        ("1.1", EPOCH + DAY, EPOCH + DAY),
    ]
    assert store.traces.releases("default", "desk") == ["1.0", "1.1"]


def test_releases_that_were_not_seen_lately_can_be_left_out(store: Store) -> None:
    old = make_trace(app="desk", id="0", release="1.0")
    both = make_trace(app="desk", id="1", release="1.1")
    ingest(store, old, both, at=EPOCH)
    late = replace(make_trace(app="desk", id="2", release="1.1"), started_at=EPOCH + 5 * DAY)
    ingest(store, late, at=EPOCH + 5 * DAY)

    starts = store.traces.release_starts("default", "desk", EPOCH + 3 * DAY)

    assert [(s.release, s.first_seen, s.last_seen) for s in starts] == [
        ("1.1", both.started_at, EPOCH + 5 * DAY)
    ]


def test_what_judges_used_is_read_by_day(store: Store) -> None:
    spent = JudgeUsage(input_tokens=7, cost=0.5)
    held = store.budgets.reserve("default", "packed", JudgeUsage())
    assert held is not None
    store.budgets.settle(held, spent)

    (found,) = store.budgets.spent("default", EPOCH.date())

    assert (found.judge, found.day, found.tokens, found.money) == (
        "packed",
        EPOCH.date(),
        7,
        0.5,
    )
    assert store.budgets.spent("default", EPOCH.date() + DAY) == []
    assert store.budgets.spent("other", EPOCH.date()) == []


def said(value: float, judge: JudgeIdentity = JUDGE, *, flagged: bool = False) -> Score:
    return Score(
        metric="answer_supported",
        status=ScoreStatus.SCORED,
        value=value,
        judge=judge,
        flagged=flagged,
        created_at=EPOCH,
    )


OTHER = JudgeIdentity(name="embedded", model="lexical")
FOR_PEOPLE = SamplingDecision(
    judge=PEOPLE, included=True, probability=0.02, reason=SamplingReason.BASE_RATE
)


def judged(store: Store, **scores: tuple[Score, ...]) -> dict[str, str]:
    """Traces with these scores by name, `drawn` among them drawn for people; their ids."""
    traces = [make_trace(id=name, app="desk") for name in scores]
    ingest(store, *traces)
    names = {trace.trace_id: name for trace, name in zip(traces, scores, strict=True)}
    for task in claim(store):
        name = names[task.trace.trace_id]
        store.tasks.complete(task, scores[name], (FOR_PEOPLE,) if name == "drawn" else ())
    return {name: trace_id for trace_id, name in names.items()}


def waiting(store: Store, **given: object) -> list[tuple[str, str]]:
    asked = {"project": "default", "since": EPOCH - DAY} | given
    limit = asked.pop("limit", 50)
    found = store.label_queue.waiting(LabelQuery(**asked), limit)  # type: ignore[arg-type]
    return [(task.trace.trace_id, task.reason.value) for task in found]


def test_draws_come_before_contradictions_and_those_before_doubts(store: Store) -> None:
    ids = judged(
        store,
        sure=(said(0.98),),
        doubtful=(said(0.6),),
        unsure=(said(0.52),),
        contradicted=(said(0.9), said(0.1, OTHER, flagged=True)),
        drawn=(said(0.99),),
    )

    assert waiting(store) == [
        (ids["drawn"], "drawn"),
        (ids["contradicted"], "judges_disagree"),
        (ids["unsure"], "unsure"),
        (ids["doubtful"], "unsure"),
    ]
    assert waiting(store, limit=2) == waiting(store)[:2]
    first, second, *_ = store.label_queue.waiting(LabelQuery(project="default", since=EPOCH - DAY))
    assert (first.low, first.high) == (0.99, 0.99)
    assert (second.low, second.high) == (0.1, 0.9)
    assert second.trace.scores["answer_supported"] in {0.1, 0.9}


def test_what_is_marked_waits_no_longer(store: Store) -> None:
    ids = judged(store, drawn=(said(0.99),), unsure=(said(0.5),))

    store.feedback.add(mark(ids["drawn"], 1.0))
    assert waiting(store) == [(ids["unsure"], "unsure")]

    store.feedback.add(mark(ids["unsure"], 0.5))
    assert waiting(store) == []


def test_a_users_rating_leaves_the_question_to_reviewers_open(store: Store) -> None:
    ids = judged(store, drawn=(said(0.99),))
    thumb = {"metric": None, "kind": RatingKind.THUMB, "raw_value": False}

    store.feedback.add(mark(ids["drawn"], 0.0, **thumb))

    assert waiting(store) == [(ids["drawn"], "drawn")]
    assert store.feedback.against_scores("default", EPOCH, EPOCH + DAY) == []


def test_only_what_was_asked_for_waits(store: Store) -> None:
    ids = judged(store, drawn=(said(0.99),), unsure=(said(0.5),))

    assert {trace_id for trace_id, _ in waiting(store, app="desk")} == set(ids.values())
    assert waiting(store, app="shop") == []
    assert waiting(store, project="other") == []
    assert waiting(store, since=EPOCH + DAY) == []


def test_a_trace_waits_until_as_many_reviewers_as_wanted_have_marked_it(store: Store) -> None:
    ids = judged(store, drawn=(said(0.99),), unsure=(said(0.5),))
    both = [(ids["drawn"], "drawn"), (ids["unsure"], "unsure")]

    store.feedback.add(mark(ids["drawn"], 1.0, author="amy"))
    store.feedback.add(mark(ids["drawn"], 0.0, author="amy", created_at=EPOCH + DAY / 2))

    assert waiting(store, marks_per_trace=2) == both
    assert waiting(store, marks_per_trace=2, reviewer="bo") == both
    assert waiting(store, marks_per_trace=2, reviewer="amy") == both[1:]
    assert waiting(store) == both[1:]
    store.feedback.add(mark(ids["drawn"], 0.5, author="bo"))
    assert waiting(store, marks_per_trace=2) == both[1:]


def test_marks_that_contradict_each_other_wait_for_somebody_else(store: Store) -> None:
    ids = judged(store, drawn=(said(0.99),), sure=(said(0.98),), unsure=(said(0.5),))
    drawn = (ids["drawn"], "drawn")
    for name, value in (("amy", 1.0), ("bo", 0.0)):
        store.feedback.add(mark(ids["sure"], value, author=name))
        store.feedback.add(mark(ids["unsure"], 1.0, author=name))

    contested = (ids["sure"], "people_disagree")
    assert waiting(store, marks_per_trace=2) == [contested, drawn]
    assert waiting(store, marks_per_trace=2, reviewer="amy") == [drawn]
    assert waiting(store, marks_per_trace=2, reviewer="cy") == [contested, drawn]
    assert waiting(store, marks_per_trace=2, app="shop") == []
    store.feedback.add(mark(ids["sure"], 0.5, author="cy"))
    assert waiting(store, marks_per_trace=2)[0] == contested
    store.feedback.add(mark(ids["sure"], 0.0, author="dee"))
    assert waiting(store, marks_per_trace=2) == [drawn]


def test_a_mark_on_something_else_leaves_the_question_open(store: Store) -> None:
    ids = judged(store, drawn=(said(0.99),))

    store.feedback.add(mark(ids["drawn"], 0.0, metric="context_precision"))
    store.feedback.add(mark(ids["drawn"], 0.0, statement=0))

    assert waiting(store, reviewer="amy") == [(ids["drawn"], "drawn")]


def test_two_reviewers_are_not_given_the_same_trace(store: Store, clock: ManualClock) -> None:
    ids = judged(store, drawn=(said(0.99),), unsure=(said(0.5),))
    asked = {"project": "default", "since": EPOCH - DAY}

    def claimed(reviewer: str, **more: object) -> str | None:
        return store.label_queue.claim(
            LabelQuery(**asked, reviewer=reviewer, **more)  # type: ignore[arg-type]
        )

    assert claimed("amy") == claimed("amy") == ids["drawn"]
    assert claimed("bo") == claimed("bo") == ids["unsure"]
    assert claimed("cy") is None
    assert claimed("cy", marks_per_trace=2) == ids["drawn"]
    assert claimed("dee", marks_per_trace=2) == ids["unsure"]
    assert claimed("eve", marks_per_trace=2) is None
    assert claimed("amy", app="shop") is None
    assert waiting(store, reviewer="eve", marks_per_trace=2) == []
    assert len(waiting(store, marks_per_trace=2)) == 2, "nobody has marked them yet"

    store.feedback.add(mark(ids["drawn"], 1.0))
    store.label_queue.release("default", ids["drawn"], "amy")
    assert claimed("amy", marks_per_trace=2) is None
    clock.advance(CLAIMED_FOR.total_seconds())
    assert claimed("amy") == ids["unsure"]


def test_reviewers_who_claim_at_the_same_moment_get_different_traces(store: Store) -> None:
    judged(store, **{f"unsure{n}": (said(0.5),) for n in range(4)})
    names = [f"reviewer-{n}" for n in range(8)]
    together = Barrier(len(names))

    def claimed(name: str) -> str | None:
        together.wait(30)
        query = LabelQuery(project="default", since=EPOCH - DAY, reviewer=name)
        return store.label_queue.claim(query)

    with ThreadPoolExecutor(len(names)) as threads:
        given = [trace_id for trace_id in threads.map(claimed, names) if trace_id is not None]

    assert len(given) == len(set(given)) == 4


def test_a_chosen_trace_is_held_while_it_waits(store: Store) -> None:
    ids = judged(store, drawn=(said(0.99),), unsure=(said(0.5),))

    def held(reviewer: str) -> bool:
        query = LabelQuery(project="default", since=EPOCH - DAY, reviewer=reviewer)
        return store.label_queue.hold(query, ids["unsure"])

    assert held("amy")
    assert held("amy")
    assert not held("bo")
    store.feedback.add(mark(ids["unsure"], 1.0))
    assert not held("amy")


def test_whoever_cannot_tell_confirms_and_refutes_nothing(store: Store) -> None:
    first, second = scored(store, "1", "2")
    store.feedback.add(mark(first, 0.5))
    store.feedback.add(mark(first, 1.0, author="bo"))
    store.feedback.add(mark(second, 1.0))
    store.feedback.add(mark(second, 0.5, created_at=EPOCH + timedelta(seconds=1)))

    found = store.feedback.against_scores("default", EPOCH, EPOCH + DAY)

    assert {(row.trace_id, row.label) for row in found} == {(first, 1.0)}
    marks = store.feedback.newest_marks("default", EPOCH, EPOCH + DAY)
    assert marks == {first: {"amy": 0.5, "bo": 1.0}, second: {"amy": 0.5}}
    store.feedback.add(mark(first, 0.0, created_at=EPOCH + timedelta(seconds=2)))
    marks = store.feedback.newest_marks("default", EPOCH, EPOCH + DAY)
    assert list(marks[first].items()) == [("amy", 0.0), ("bo", 1.0)], "as they first answered"


def test_marks_are_read_for_an_export_and_imported_once(store: Store) -> None:
    (first,) = scored(store, "1")
    given = [
        mark(first, 1.0),
        mark(first, 0.0, metric=None, fault=Fault.INVENTED, author=None),
        mark("e" * 32, 0.5, comment="gone", created_at=EPOCH + timedelta(hours=1)),
    ]

    assert store.feedback.add_new(given) == given
    store.feedback.add(mark(first, 1.0, metric=None, kind=RatingKind.THUMB, raw_value=True))
    assert store.feedback.add_new([*given, given[0]]) == []

    found = store.feedback.labels("default", EPOCH, EPOCH + DAY)
    assert [(one.mark, one.app) for one in found] == [
        (given[0], "desk"),
        (given[1], "desk"),
        (given[2], None),
    ]
    of_app = store.feedback.labels("default", EPOCH, EPOCH + DAY, app="desk", limit=1)
    assert [one.mark for one in of_app] == given[:1]
    assert store.feedback.labels("other", EPOCH, EPOCH + DAY) == []


def test_what_judging_used_stands_with_the_draw(store: Store) -> None:
    trace = make_trace(id="1", app="desk")
    ingest(store, trace)
    usage = JudgeUsage(calls=2, input_tokens=1240, output_tokens=86, cost=0.0021)
    paid = SamplingDecision(
        judge="packed",
        included=True,
        probability=0.05,
        reason=SamplingReason.BASE_RATE,
        usage=usage,
    )
    (task,) = claim(store)
    store.tasks.complete(task, (), (paid, FOR_PEOPLE))

    found = {one.judge: one.usage for one in store.traces.get("default", trace.trace_id).decisions}

    assert found == {"packed": usage, PEOPLE: None}
