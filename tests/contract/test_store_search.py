"""Questions found by a piece of their text, on each database."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from sqlalchemy import func, select, text, update

from rag_monitor.domain.clean_text import clean_text
from rag_monitor.domain.score import Score, ScoreStatus
from rag_monitor.domain.stored import RetentionPolicy, TraceQuery
from rag_monitor.domain.trace import TraceStatus
from rag_monitor.store import trace_finder
from rag_monitor.store.question_index import MAX_INDEXED
from rag_monitor.store.store import Store
from rag_monitor.store.tables import traces
from rag_monitor.testing import EPOCH, make_trace
from tests.contract.evidence import claim, ingest


def _steps(*walked: int) -> tuple[tuple[int, int | None], ...]:
    """Stretches that are walked, each before an index is asked; then all the rest."""
    asked = ((0, trace_finder.FEW), (0, trace_finder.MANY))
    stretches = [((size, None), ask) for size, ask in zip(walked, asked, strict=False)]
    rest = asked[len(walked) :]
    return (*(one for pair in stretches for one in pair), *rest, (trace_finder.MOST_WALKED, None))


@pytest.fixture(autouse=True)
def _index_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is found by looking through the newest traces, as if there were thousands more."""
    monkeypatch.setattr(trace_finder, "STEPS", _steps())


def _found(store: Store, q: str, **filters: object) -> list[str]:
    page = store.traces.search(TraceQuery(project="default", q=q, **filters))
    return [item.question for item in page.items]


def _index_rows(store: Store) -> int:
    """Rows of the SQLite index; on PostgreSQL the traces with one."""
    with store._database.read() as connection:
        if store._database.is_postgresql:
            statement = select(func.count()).where(traces.c.search.is_not(None))
        else:
            statement = text("SELECT count(*) FROM trace_search")
        return connection.execute(statement).scalar_one()


def test_chinese_words_of_two_characters_are_found_anywhere_in_the_question(store: Store) -> None:
    ingest(
        store,
        make_trace("首套房商业贷款利率是多少?", id="1"),
        make_trace("公积金贷款的额度", id="2", started_at=EPOCH + timedelta(seconds=1)),
        make_trace("如何挂失银行卡", id="3"),
    )

    assert _found(store, "贷款") == ["公积金贷款的额度", "首套房商业贷款利率是多少?"]
    assert _found(store, "利率") == ["首套房商业贷款利率是多少?"]
    assert _found(store, "少?") == ["首套房商业贷款利率是多少?"]
    assert _found(store, "款贷") == []
    assert _found(store, "卡") == ["如何挂失银行卡"]


def test_case_does_not_matter_and_neighbours_must_touch(store: Store) -> None:
    ingest(store, make_trace("ΌΣΑ loan RATE", id="1"), make_trace("lo oa an", id="2"))

    assert _found(store, "LOAN rate") == ["ΌΣΑ loan RATE"]
    assert _found(store, "loan") == ["ΌΣΑ loan RATE"]
    assert _found(store, "n r") == ["ΌΣΑ loan RATE"]
    assert _found(store, "lo oa") == ["lo oa an"]


def test_search_goes_together_with_every_other_filter_and_with_pages(store: Store) -> None:
    ingest(
        store,
        *(
            make_trace(
                f"贷款 {n}",
                id=str(n),
                app="a" if n % 2 else "b",
                release=f"r{n % 3}",
                status=TraceStatus.ERROR if n == 4 else TraceStatus.OK,
                started_at=EPOCH + timedelta(seconds=n),
            )
            for n in range(6)
        ),
    )
    for task in claim(store):
        low = task.trace.question == "贷款 3"
        score = Score(metric="faithfulness", status=ScoreStatus.SCORED, value=0.2 if low else 0.9)
        store.tasks.complete(task, [score], [])

    assert _found(store, "贷款", app="a") == ["贷款 5", "贷款 3", "贷款 1"]
    assert _found(store, "贷款", app="a", release="r2") == ["贷款 5"]
    assert _found(store, "贷款", status=TraceStatus.ERROR) == ["贷款 4"]
    assert _found(store, "贷款", metric="faithfulness", below=0.5) == ["贷款 3"]
    assert _found(store, "贷款", since=EPOCH + timedelta(seconds=5)) == ["贷款 5"]
    query = TraceQuery(project="default", q="贷款", limit=4)
    first = store.traces.search(query)
    second = store.traces.search(
        TraceQuery(project="default", q="贷款", limit=4, cursor=first.next_cursor)
    )
    assert [item.question for item in (*first.items, *second.items)] == [
        f"贷款 {n}" for n in (5, 4, 3, 2, 1, 0)
    ]
    assert store.traces.search(TraceQuery(project="other", q="贷款")).items == ()


@pytest.mark.parametrize("walked", [(), (4,), (4, 4), (8, 8), (40,)])
def test_what_scored_low_is_found_however_far_the_walk_goes(
    store: Store, monkeypatch: pytest.MonkeyPatch, walked: tuple[int, ...]
) -> None:
    """Not at all, a first stretch, both, or beyond the last: with every other trace a hit."""
    monkeypatch.setattr(trace_finder, "STEPS", _steps(*walked))
    ingest(
        store,
        *(
            make_trace(
                f"{'贷款' if n % 2 else '挂失'} {n}",
                id=str(n),
                started_at=EPOCH + timedelta(seconds=n),
            )
            for n in range(10)
        ),
    )
    for task in claim(store):
        score = Score(metric="faithfulness", status=ScoreStatus.SCORED, value=0.2)
        store.tasks.complete(task, [score], [])

    def seen(limit: int) -> list[str]:
        found: list[str] = []
        cursor = None
        while True:
            query = TraceQuery(
                project="default", q="贷款", metric="faithfulness", below=0.5, limit=limit,
                cursor=cursor,
            )  # fmt: skip
            page = store.traces.search(query)
            found += [item.question for item in page.items]
            cursor = page.next_cursor
            if cursor is None:
                return found

    assert seen(1) == seen(2) == seen(9) == [f"贷款 {n}" for n in (9, 7, 5, 3, 1)]


def test_a_question_too_long_to_index_is_found_all_the_same(store: Store) -> None:
    ingest(store, make_trace("x" * MAX_INDEXED + " 末尾", id="1"), make_trace("short", id="2"))

    assert len(_found(store, "末尾")) == 1
    assert _found(store, "absent") == []


def test_a_new_revision_is_found_by_its_new_question_only(store: Store) -> None:
    ingest(store, make_trace("before"))
    ingest(store, make_trace("after"), payload=b"v2")

    assert _found(store, "after") == ["after"]
    assert _found(store, "before") == []
    assert _index_rows(store) == 1


def test_a_trace_without_a_question_is_not_in_the_way(store: Store) -> None:
    ingest(store, make_trace(None, id="1"), make_trace("", id="2"), make_trace("x", id="3"))

    assert _found(store, "xy") == []
    assert _found(store, "x") == ["x"]
    assert store.traces.index_questions() == 0


def test_erasure_and_retention_clear_the_index(store: Store) -> None:
    ingest(store, make_trace("erased", id="1", user_id="u"), make_trace("old", id="2"))
    store.traces.erase_user("default", "u")
    assert _found(store, "erased") == []
    assert _index_rows(store) == 1

    store.retention.run(EPOCH + timedelta(days=40), RetentionPolicy())

    assert _found(store, "old") == []
    assert _index_rows(store) == 0


def test_questions_of_an_older_release_are_found_before_and_after_they_are_indexed(
    store: Store,
) -> None:
    ingest(store, *(make_trace(f"贷款 {n}", id=str(n)) for n in range(5)))
    with store._database.write() as connection:
        connection.execute(update(traces).values(search=None))
        if not store._database.is_postgresql:
            connection.execute(text("DELETE FROM trace_search"))
    ingest(store, make_trace("新贷款", id="new", started_at=EPOCH + timedelta(seconds=1)))

    assert len(_found(store, "贷款")) == 6
    assert [store.traces.index_questions(3) for _ in range(3)] == [3, 2, 0]
    assert len(_found(store, "贷款")) == 6
    assert _found(store, "款 3") == ["贷款 3"]
    assert _index_rows(store) == 6


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(q=st.text(min_size=1, max_size=40))
@example(q='" OR 1=1 --')
@example(q="%_\\")
@example(q="a' AND pairs MATCH 'b")
@example(q="NEAR(a b) *")
@example(q="\0\ud800")
@example(q="{1,2}")
@example(q=":x %(y)s ?")
def test_whatever_is_looked_for_nothing_breaks_and_it_finds_itself(store: Store, q: str) -> None:
    ingest(store, make_trace(f"before {q} after", id=q.encode("utf-8", "replace").hex()))

    assert clean_text(f"before {q} after") in _found(store, q, limit=500)
