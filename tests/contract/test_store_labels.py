"""What the pages ask of marks, releases and spending, on each database."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from rag_monitor.domain.decision import PEOPLE, SamplingDecision, SamplingReason
from rag_monitor.domain.feedback import Feedback
from rag_monitor.domain.judgement import JudgeIdentity, JudgeUsage
from rag_monitor.domain.rating import RatingKind
from rag_monitor.domain.score import Score, ScoreStatus
from rag_monitor.store.store import Store
from rag_monitor.testing import EPOCH, make_trace
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
    found = store.label_queue.waiting(**asked)  # type: ignore[arg-type]
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
    first, second, *_ = store.label_queue.waiting("default", EPOCH - DAY)
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
