"""Traces in and out, on each database."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from sqlalchemy import update

from rag_monitor.domain.alert import Alert, AlertState, Finding, Notification, Severity
from rag_monitor.domain.feedback import Feedback
from rag_monitor.domain.hit import Hit, HitKind
from rag_monitor.domain.judgement import JudgeIdentity
from rag_monitor.domain.score import Score, ScoreStatus
from rag_monitor.domain.stored import TraceQuery
from rag_monitor.domain.trace import (
    Expected,
    Retrieval,
    RetrievedDocument,
    Trace,
    TraceStatus,
    Usage,
)
from rag_monitor.domain.window import Window
from rag_monitor.errors import JudgeTimeout, MalformedPayload, NotFound
from rag_monitor.i18n import translate
from rag_monitor.metrics.rag import failed_scores
from rag_monitor.store.store import Store
from rag_monitor.store.tables import scores
from rag_monitor.testing import EPOCH, make_trace
from tests.contract.evidence import claim, ingest


def _score(metric: str, value: float | None) -> Score:
    status = ScoreStatus.FAILED if value is None else ScoreStatus.SCORED
    return Score(metric=metric, status=status, value=value)


def _page(store: Store, **filters: object) -> list[str]:
    page = store.traces.search(TraceQuery(project="default", **filters))
    return [item.question for item in page.items]


_WITHOUT_CONTEXTS = make_trace(
    "2024年个人首套房商业贷款利率的最低标准是多少?",
    "3.4%",
    environment="prod",
    release="1.2",
    session_id="s",
    user_id="u-7",
    tags=("web", "贷款"),
    status=TraceStatus.ERROR,
    error="boom",
    context_block="block",
    retrievals=(
        Retrieval(
            query="rewritten",
            documents=(
                RetrievedDocument(
                    id="d", content="基准利率为4.25%", score=0.5, rank=1, metadata={"page": 3}
                ),
                RetrievedDocument(id="withheld", content=None, rank=2),
                RetrievedDocument(id="empty", content="", rank=3, knowledge_base="kb"),
            ),
            knowledge_base="loans",
            latency_ms=12.5,
            reranked=True,
        ),
        Retrieval(error="timeout"),
    ),
    contexts=None,
    hits=(
        Hit(kind=HitKind.PLUGIN, name="calc", ok=False, items=0, latency_ms=3.0),
        Hit(kind=HitKind.WORKFLOW, name="w"),
    ),
    expected=Expected(
        plugin=("calc",),
        workflow=(),
        relevant_ids={"d": 2.0},
        context_labels=(1, 0),
        faithful=False,
    ),
    model="m",
    usage=Usage(input_tokens=3, output_tokens=2**70),
    streamed=True,
    truncated=True,
    convention="otel",
    attributes={"dropped": 3},
)
RICH = replace(
    _WITHOUT_CONTEXTS,
    contexts=(RetrievedDocument(id="d", content="基准利率为4.25%", rank=1),),
)


def test_everything_of_a_trace_comes_back(store: Store) -> None:
    assert ingest(store, RICH) == 1

    stored = store.traces.get("default", RICH.trace_id)

    expected_usage = Usage(input_tokens=3, output_tokens=2**63 - 1)
    for name in RICH.__dataclass_fields__:
        wanted = expected_usage if name == "usage" else getattr(RICH, name)
        assert getattr(stored.trace, name) == wanted, name
    assert stored.received_at == EPOCH


def test_what_a_server_said_and_the_model_that_answered_stay_with_a_score(store: Store) -> None:
    trace = make_trace(id="said")
    ingest(store, trace)
    judge = JudgeIdentity(name="openai_compatible", model="big", served_model="small")
    said = Score(
        metric="faithfulness",
        status=ScoreStatus.FAILED,
        reason="judge_unavailable",
        detail="the judge's server answered 503: 正在加载模型",
        judge=judge,
    )
    (task,) = claim(store)
    store.tasks.complete(task, [said, replace(said, judge=replace(judge, served_model=""))], [])

    stored = store.traces.get("default", trace.trace_id).scores

    assert {score.detail for score in stored} == {said.detail}
    assert {str(score.judge) for score in stored} == {
        "openai_compatible/big/served=small",
        "openai_compatible/big",
    }
    assert {score.judge.served_model for score in stored if score.judge} == {"small", ""}


LATE = JudgeTimeout("the judge did not answer within {limit:.1f} s", limit=30.0)


def _judged_too_late(store: Store) -> Trace:
    trace = make_trace(id="sentence")
    ingest(store, trace)
    (task,) = claim(store)
    judge = JudgeIdentity(name="openai_compatible", model="big")
    store.tasks.complete(task, failed_scores(["faithfulness"], LATE, judge, EPOCH), [])
    return trace


def test_a_sentence_of_ours_can_be_said_in_chinese_when_it_comes_back(store: Store) -> None:
    trace = _judged_too_late(store)

    (stored,) = store.traces.get("default", trace.trace_id).scores

    assert stored.detail == "the judge did not answer within 30.0 s"
    assert translate(stored.detail, "zh") == translate(LATE, "zh") != stored.detail


@pytest.mark.parametrize("detail", ["the server said no", None])
def test_what_an_older_release_writes_beside_a_sentence_of_ours_is_what_is_said(
    store: Store, detail: str | None
) -> None:
    trace = _judged_too_late(store)
    store._database.transact(
        lambda connection: connection.execute(update(scores).values(detail=detail))
    )

    (stored,) = store.traces.get("default", trace.trace_id).scores

    assert stored.detail == detail
    assert detail is None or translate(stored.detail, "zh") == detail


def test_unknown_contexts_stay_apart_from_empty_ones(store: Store) -> None:
    unknown, empty = make_trace(contexts=None, id="u"), make_trace(contexts=(), id="e")
    ingest(store, unknown, empty)

    assert store.traces.get("default", unknown.trace_id).trace.contexts is None
    assert store.traces.get("default", empty.trace_id).trace.contexts == ()


def test_what_a_list_shows_of_traces_comes_in_the_order_asked_without_the_missing(
    store: Store,
) -> None:
    first, second, third = (make_trace(f"question {n}", id=f"s-{n}") for n in (1, 2, 3))
    ingest(store, first, second, third)
    for task in claim(store):
        if task.trace.trace_id == third.trace_id:
            store.tasks.complete(task, [_score("faithfulness", 0.25)], [])

    found = store.traces.summaries("default", [third.trace_id, "f" * 32, first.trace_id])

    assert [item.question for item in found] == ["question 3", "question 1"]
    assert [item.scores for item in found] == [{"faithfulness": 0.25}, {}]
    assert store.traces.summaries("default", []) == []


def test_what_a_list_shows_is_the_same_by_id_as_in_a_page(store: Store) -> None:
    ingest(store, RICH, make_trace(id="other"))

    page = store.traces.search(TraceQuery(project="default")).items

    assert store.traces.summaries("default", [item.trace_id for item in page]) == list(page)


def test_of_several_judges_the_newest_says_what_a_list_shows(store: Store) -> None:
    trace = make_trace()
    ingest(store, trace)
    (task,) = claim(store)
    scores = [
        replace(
            _score("faithfulness", value),
            judge=JudgeIdentity(name=name, model="m"),
            created_at=EPOCH + timedelta(seconds=at),
        )
        for name, value, at in (("a", 0.9, 2), ("b", 0.1, 1))
    ]
    store.tasks.complete(task, scores, [])

    (found,) = store.traces.summaries("default", [trace.trace_id])

    assert found.scores == {"faithfulness": 0.9}


def test_more_traces_are_asked_for_than_a_statement_has_parameters(store: Store) -> None:
    trace = make_trace()
    ingest(store, trace)

    ids = [f"{number:032x}" for number in range(70_000)]

    (found,) = store.traces.summaries("default", [*ids, trace.trace_id])
    assert found.trace_id == trace.trace_id


def test_text_that_no_database_takes_is_mended(store: Store) -> None:
    trace = make_trace("nul \0 and \ud800", "ok", ("passage \udfff",), tags=("\0\ud9ff",))
    ingest(store, trace)

    stored = store.traces.get("default", trace.trace_id).trace

    assert stored.question == "nul \ufffd and \ufffd"
    assert stored.contexts[0].content == "passage \ufffd"
    assert stored.tags[0].endswith("\ufffd")


def test_another_projects_trace_is_not_found(store: Store) -> None:
    trace = make_trace(project="theirs")
    ingest(store, trace)

    assert store.traces.summaries("default", [trace.trace_id]) == []
    with pytest.raises(NotFound):
        store.traces.get("default", trace.trace_id)
    assert store.traces.search(TraceQuery(project="default")).items == ()


def test_saving_the_same_trace_again_keeps_its_revision_and_makes_no_task(store: Store) -> None:
    trace = make_trace()
    ingest(store, trace)
    claim(store)

    assert ingest(store, trace, payload=b"v2", at=EPOCH + timedelta(hours=1)) == 0

    assert store.traces.get("default", trace.trace_id).trace.revision == 1
    assert store.tasks.backlog(EPOCH).waiting == 1


def test_a_changed_trace_is_a_new_revision_and_its_old_scores_leave(store: Store) -> None:
    ingest(store, make_trace(answer="first"))
    (task,) = claim(store)
    store.tasks.complete(task, [_score("faithfulness", 0.2)], [])
    changed = make_trace(answer="second", hits=(Hit(kind=HitKind.PLUGIN, name="p"),))

    assert ingest(store, changed, payload=b"v2") == 1

    stored = store.traces.get("default", changed.trace_id)
    assert (stored.trace.revision, stored.trace.answer) == (2, "second")
    assert stored.scores == ()
    (again,) = claim(store)
    assert again.trace.revision == 2
    window = Window(EPOCH, EPOCH + timedelta(hours=1))
    assert store.traces.worst("default", "test-app", "faithfulness", window) == []


def test_traces_are_found_by_each_filter(store: Store) -> None:
    ingest(
        store,
        make_trace("loan 100%", id="1", release="r1", started_at=EPOCH),
        make_trace("首套房利率", id="2", app="other", started_at=EPOCH + timedelta(minutes=1)),
        make_trace(
            "Loan_x",
            id="3",
            status=TraceStatus.ERROR,
            started_at=EPOCH + timedelta(minutes=2),
        ),
    )
    for task in claim(store):
        value = 0.3 if task.trace.question == "loan 100%" else 0.9
        store.tasks.complete(task, [_score("faithfulness", value)], [])

    assert _page(store) == ["Loan_x", "首套房利率", "loan 100%"]
    assert _page(store, app="other") == ["首套房利率"]
    assert _page(store, release="r1") == ["loan 100%"]
    assert _page(store, status=TraceStatus.ERROR) == ["Loan_x"]
    assert _page(store, since=EPOCH + timedelta(minutes=1)) == ["Loan_x", "首套房利率"]
    assert _page(store, until=EPOCH + timedelta(minutes=1)) == ["loan 100%"]
    assert _page(store, metric="faithfulness", below=0.5) == ["loan 100%"]
    assert len(_page(store, metric="faithfulness")) == 3
    assert _page(store, metric="context_recall") == []
    assert _page(store, q="套房") == ["首套房利率"]
    assert _page(store, q="LOAN") == ["Loan_x", "loan 100%"]
    assert _page(store, q="0%") == ["loan 100%"]
    assert _page(store, q="n_x") == ["Loan_x"]
    assert _page(store, q="%") == ["loan 100%"]


def test_pages_follow_one_another_without_gaps_although_times_are_equal(store: Store) -> None:
    ingest(store, *(make_trace(f"q{n}", id=str(n)) for n in range(7)))
    seen: list[str] = []
    cursor = None
    while True:
        page = store.traces.search(TraceQuery(project="default", limit=3, cursor=cursor))
        seen += [item.question for item in page.items]
        if (cursor := page.next_cursor) is None:
            break

    assert sorted(seen) == [f"q{n}" for n in range(7)]


def test_a_trace_with_several_judges_is_listed_once_over_pages(store: Store) -> None:
    ingest(store, *(make_trace(f"q{n}", id=str(n)) for n in range(5)))
    judges = [JudgeIdentity(name=f"j{n}", model="m") for n in range(6)]
    for task in claim(store):
        marks = [replace(_score("faithfulness", 0.1), judge=judge) for judge in judges]
        store.tasks.complete(task, marks, [])
    query = TraceQuery(project="default", metric="faithfulness", below=0.5, limit=2)
    seen: list[str] = []
    while True:
        page = store.traces.search(query)
        seen += [item.question for item in page.items]
        if page.next_cursor is None:
            break
        query = replace(query, cursor=page.next_cursor)

    assert sorted(seen) == [f"q{n}" for n in range(5)]


@pytest.mark.parametrize("cursor", ["x", "!!!", "é", "OTk5OTk5OTk5OTk5OTk5OTk5OTk5OTk6YQ"])
def test_a_cursor_of_somebody_else_is_refused(store: Store, cursor: str) -> None:
    with pytest.raises(MalformedPayload, match="cursor"):
        store.traces.search(TraceQuery(project="default", cursor=cursor))


def test_apps_and_releases_are_listed(store: Store) -> None:
    later = EPOCH + timedelta(minutes=5)
    ingest(
        store,
        make_trace(id="1", release="old"),
        make_trace(id="2", release="new", started_at=later),
        make_trace(id="3", app="b"),
    )

    first, second = store.traces.apps("default")

    assert (first.app, first.kept, first.last_seen) == ("b", True, EPOCH)
    assert (second.app, second.kept, second.last_seen) == ("test-app", True, later)
    assert store.traces.releases("default", "test-app") == ["new", "old"]


def test_the_worst_traces_come_first(store: Store) -> None:
    ingest(store, *(make_trace(f"q{n}", id=str(n)) for n in range(4)))
    ids = {}
    for task in claim(store):
        number = int(task.trace.question[1:])
        ids[number] = task.trace.trace_id
        value = None if number == 3 else number / 10
        store.tasks.complete(task, [_score("faithfulness", value)], [])
    window = Window(EPOCH, EPOCH + timedelta(minutes=1))

    worst = store.traces.worst("default", "test-app", "faithfulness", window, limit=2)

    assert worst == [ids[0], ids[1]]


def test_the_worst_traces_of_a_knowledge_base_are_those_it_gave_passages_to(store: Store) -> None:
    def drawn(name: str, *, items: int = 3, ok: bool = True) -> tuple[Hit, ...]:
        return (Hit(kind=HitKind.KNOWLEDGE_BASE, name=name, items=items, ok=ok),)

    hits = [drawn("loans"), drawn("cards"), drawn("loans", items=0), drawn("loans", ok=False), ()]
    ingest(store, *(make_trace(f"q{n}", id=str(n), hits=each) for n, each in enumerate(hits)))
    ids = {}
    for task in claim(store):
        ids[task.trace.question] = task.trace.trace_id
        store.tasks.complete(task, [_score("faithfulness", 0.1)], [])
    window = Window(EPOCH, EPOCH + timedelta(minutes=1))

    worst = store.traces.worst("default", "test-app", "faithfulness", window, 5, "loans")

    assert worst == [ids["q0"]]


def test_names_beyond_what_an_index_takes_are_cut_alike_when_asked_for(store: Store) -> None:
    name = "名" * 5000
    ingest(store, make_trace(app=name, release=name, user_id=name, session_id=name))

    assert len(_page(store, app=name, release=name)) == 1
    (dirty,) = store.rollups.changed()
    assert len(store.rollups.facts([dirty])) == 1


def _alert(*worst: str) -> Alert:
    return Alert(
        id="a",
        project="default",
        rule="r",
        app="test-app",
        state=AlertState.FIRING,
        severity=Severity.PAGE,
        since=EPOCH,
        started_at=EPOCH,
        finding=Finding(active=True, worst_traces=worst),
    )


def test_erasing_a_user_removes_all_of_theirs_and_nothing_else(store: Store) -> None:
    mine = make_trace("mine", contexts=("only mine", "shared"), id="m", user_id="u")
    other = make_trace("other", contexts=("shared", "only theirs"), id="o", user_id="v")
    ingest(store, mine, other)
    for task in claim(store):
        store.tasks.complete(task, [_score("faithfulness", 0.5)], [])
    for trace in (mine, other):
        store.replies.put(trace.trace_id, "reply", project="default", trace_id=trace.trace_id)
        store.feedback.add(
            Feedback(project="default", trace_id=trace.trace_id, value=1.0, created_at=EPOCH)
        )
        alert = _alert(trace.trace_id)
        store.alerts.save(
            [],
            [
                Notification(
                    dedup_key=trace.trace_id,
                    project="default",
                    channel="c",
                    alert=alert,
                    event="firing",
                    created_at=EPOCH,
                )
            ],
        )

    report = store.traces.erase_user("default", "u")

    assert (report.traces, report.passages, report.feedback) == (1, 1, 1)
    assert (report.replies, report.outbox) == (1, 1)
    with pytest.raises(NotFound):
        store.traces.get("default", mine.trace_id)
    assert store.spans.blobs("default", mine.trace_id) == ()
    assert store.replies.get(mine.trace_id) is None
    kept = store.traces.get("default", other.trace_id)
    assert [document.content for document in kept.trace.contexts] == ["shared", "only theirs"]
    assert (len(kept.scores), len(kept.feedback)) == (1, 1)
    assert [item.dedup_key for item in store.outbox.due(EPOCH)] == [other.trace_id]
