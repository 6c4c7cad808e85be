"""Answers, errors and passages found by a piece of their text, on each database."""

from __future__ import annotations

from datetime import timedelta

import pytest

from rag_monitor.domain.score import Score, ScoreStatus
from rag_monitor.domain.stored import SearchIn, TracePage, TraceQuery
from rag_monitor.domain.trace import Retrieval, RetrievedDocument, Trace, TraceStatus
from rag_monitor.store import content_search
from rag_monitor.store.store import Store
from rag_monitor.testing import EPOCH, make_trace
from tests.contract.evidence import claim, ingest

ANSWER, PASSAGES = SearchIn.ANSWER, SearchIn.PASSAGES


def made(number: int, **fields: object) -> Trace:
    """A trace whose question says its number; the greater, the newer."""
    given = {"id": f"t{number}", "started_at": EPOCH + timedelta(seconds=number), **fields}
    return make_trace(f"question {number}", **given)


def page(store: Store, q: str, where: SearchIn, **filters: object) -> TracePage:
    return store.traces.search(TraceQuery(project="default", q=q, q_in=where, **filters))


def found(store: Store, q: str, where: SearchIn, **filters: object) -> list[str]:
    return [item.question or "" for item in page(store, q, where, **filters).items]


def test_an_answer_is_found_by_a_piece_of_its_text_and_a_failure_by_its_error(
    store: Store,
) -> None:
    ingest(
        store,
        made(1, answer="退款一般3个工作日内原路退回。"),
        made(2, answer="100% of it, or a_b"),
        made(3, answer=None, status=TraceStatus.ERROR, error="TimeoutError: no model"),
    )

    assert found(store, "原路退", ANSWER) == ["question 1"]
    assert found(store, "OR A_B", ANSWER) == ["question 2"]
    assert found(store, "0%", ANSWER) == ["question 2"]
    assert found(store, "a%b", ANSWER) == []
    assert found(store, "timeouterror", ANSWER) == ["question 3"]
    assert found(store, "question", ANSWER) == []


def test_a_passage_is_found_wherever_it_was_retrieved(store: Store) -> None:
    unused = Retrieval(documents=(RetrievedDocument(content="审核通过后7个工作日退回。", rank=1),))
    ingest(
        store,
        made(1, contexts=("退款在审核通过后退回。", "Parcels leave on Mondays.")),
        made(2, contexts=("Parcels leave on Mondays.",)),
        made(3, contexts=("Another passage.",), retrievals=(unused,)),
        made(4, contexts=None, context_block="one text: 审核通过后"),
        made(5, contexts=("审核通过后",), project="elsewhere"),
    )

    assert found(store, "审核通过后", PASSAGES) == ["question 4", "question 3", "question 1"]
    assert found(store, "parcels", PASSAGES) == ["question 2", "question 1"]


def test_a_rare_text_is_looked_for_page_by_page(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(content_search, "STRETCH", 3)
    monkeypatch.setitem(content_search.STRETCHES, ANSWER, 2)
    rare = {2: "the needle", 9: "a needle", 13: "needle"}
    ingest(store, *(made(number, answer=rare.get(number, "hay")) for number in range(15)))

    first = page(store, "needle", ANSWER)
    second = page(store, "needle", ANSWER, cursor=first.next_cursor)
    third = page(store, "needle", ANSWER, cursor=second.next_cursor)

    assert [item.question for item in first.items] == ["question 13", "question 9"]
    assert first.looked_back_to == EPOCH + timedelta(seconds=9)
    assert [item.question for item in second.items] == []
    assert second.looked_back_to == EPOCH + timedelta(seconds=3)
    assert [item.question for item in third.items] == ["question 2"]
    assert (third.next_cursor, third.looked_back_to) == (None, None)


def test_a_full_page_goes_on_where_it_ended(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(content_search, "STRETCH", 4)
    monkeypatch.setitem(content_search.STRETCHES, ANSWER, 2)
    ingest(store, *(made(number, answer="the same") for number in range(7)))

    seen, cursor = [], None
    for _ in range(4):
        part = page(store, "same", ANSWER, limit=2, cursor=cursor)
        seen += [item.question for item in part.items]
        assert part.looked_back_to is None
        cursor = part.next_cursor

    assert seen == [f"question {number}" for number in reversed(range(7))]
    assert cursor is None


def test_it_goes_together_with_the_other_filters(store: Store) -> None:
    ingest(
        store,
        *(
            made(
                number,
                app="a" if number % 2 else "b",
                answer="the same",
                contexts=("Parcels leave on Mondays.",),
                user_id=f"u-{number % 3}",
                status=TraceStatus.ERROR if number == 4 else TraceStatus.OK,
            )
            for number in range(6)
        ),
    )
    for task in claim(store):
        value = 0.2 if task.trace.question in {"question 1", "question 3"} else 0.9
        score = Score(metric="faithfulness", status=ScoreStatus.SCORED, value=value)
        store.tasks.complete(task, [score], [])

    assert found(store, "same", ANSWER, app="b", status=TraceStatus.ERROR) == ["question 4"]
    assert found(store, "same", ANSWER, until=EPOCH + timedelta(seconds=1)) == ["question 0"]
    for text, where in (("same", ANSWER), ("mondays", PASSAGES)):
        scored = found(store, text, where, metric="faithfulness", below=0.5)
        assert scored == ["question 3", "question 1"]
        mine = found(store, text, where, metric="faithfulness", below=0.5, user_id="u-0")
        assert mine == ["question 3"]
    assert found(store, "same", ANSWER, user_id="u-1") == ["question 4", "question 1"]
    assert found(store, "question", SearchIn.QUESTION, user_id="u-1") == [
        "question 4",
        "question 1",
    ]
    assert found(store, "same", ANSWER, user_id="u'1%") == []
