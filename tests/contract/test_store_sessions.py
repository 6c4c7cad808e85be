"""Sessions: listed by their newest turn, read as conversations."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from rag_monitor.domain.hit import Hit, HitKind
from rag_monitor.domain.session import Neighbours, Session, SessionQuery
from rag_monitor.domain.trace import Trace
from rag_monitor.errors import MalformedPayload, NotFound
from rag_monitor.store.store import Store
from rag_monitor.testing import EPOCH, make_trace
from tests.contract.evidence import ingest

ODD_IDS = ["a/b", "../..", "会话 7/二", "100%25", "x?y#z", " padded ", "a\\b", "'; --"]


def _turn(session: str | None, minute: float, **fields: Any) -> Trace:
    return make_trace(
        f"Question at {minute}?",
        "An answer.",
        id=f"{session} {minute}",
        session_id=session,
        started_at=EPOCH + timedelta(minutes=minute),
        **fields,
    )


def _ids(store: Store, **filters: Any) -> list[str]:
    page = store.sessions.search(SessionQuery(project="default", **filters))
    return [session.session_id for session in page.items]


def _questions(session: Session) -> list[str | None]:
    return [turn.question for turn in session.turns]


def test_sessions_are_listed_by_their_newest_turn(store: Store) -> None:
    ingest(store, *(_turn(s, m) for s, m in [("a", 0), ("b", 1), (None, 2), ("a", 3), ("c", 2)]))

    page = store.sessions.search(SessionQuery(project="default"))

    assert [session.session_id for session in page.items] == ["a", "c", "b"]
    assert [session.total for session in page.items] == [2, 1, 1]
    assert _questions(page.items[0]) == ["Question at 0?", "Question at 3?"]
    assert page.items[0].first_at == EPOCH
    assert page.items[0].last_at == EPOCH + timedelta(minutes=3)
    assert page.next_cursor is None
    assert store.sessions.search(SessionQuery(project="other")).items == ()


def test_pages_hold_every_session_once(store: Store) -> None:
    turns = [_turn(f"s{n % 7}", n % 5) for n in range(35)]
    ingest(store, *turns)
    listed: list[str] = []
    cursor = None
    for _ in range(9):
        query = SessionQuery(project="default", limit=2, cursor=cursor)
        page = store.sessions.search(query)
        listed += [session.session_id for session in page.items]
        cursor = page.next_cursor
        if cursor is None:
            break

    assert sorted(listed) == [f"s{n}" for n in range(7)]
    with pytest.raises(MalformedPayload):
        store.sessions.search(SessionQuery(project="default", cursor="nonsense"))


@pytest.mark.parametrize(
    ("filters", "listed"),
    [
        ({"app": "shop"}, ["b"]),
        ({"release": "v1"}, ["b"]),
        ({"environment": "test"}, ["b"]),
        ({"user_id": "u/2"}, ["b", "a"]),
        ({"tag": "web"}, ["b"]),
        ({"tag": 'sa"y 100%'}, ["a"]),
        ({"tag": "we"}, []),
        ({"tag": "网页"}, ["a"]),
        ({"since": EPOCH + timedelta(minutes=1)}, ["a", "b"]),
        ({"since": EPOCH + timedelta(minutes=3)}, []),
        ({"until": EPOCH + timedelta(minutes=1)}, ["a"]),
        ({"until": EPOCH + timedelta(minutes=2)}, ["b", "a"]),
    ],
)
def test_a_session_fits_by_any_of_its_turns(
    store: Store, filters: dict[str, Any], listed: list[str]
) -> None:
    ingest(
        store,
        _turn("a", 0, app="bot", user_id="u/2", tags=('sa"y 100%', "网页")),
        _turn(
            *("b", 1), app="shop", release="v1", environment="test", user_id="u/2", tags=("web",)
        ),
        _turn("a", 2, app="bot", user_id="u-1"),
    )

    assert _ids(store, **filters) == listed


@pytest.mark.parametrize("session_id", ODD_IDS)
def test_any_id_is_read_as_it_came(store: Store, session_id: str) -> None:
    hit = Hit(kind=HitKind.PLUGIN, name="rates", ok=True, items=3, latency_ms=40.0)
    ingest(store, _turn(session_id, 1, hits=(hit,)), _turn(session_id, 0), _turn("z", 0))

    session = store.sessions.get("default", session_id)

    assert (session.session_id, session.total) == (session_id, 2)
    assert _questions(session) == ["Question at 0?", "Question at 1?"]
    assert session.turns[1].hits == (hit,)
    with pytest.raises(NotFound):
        store.sessions.get("other", session_id)


def test_a_long_session_is_read_from_its_end(store: Store) -> None:
    ingest(store, *(_turn("a", n) for n in range(5)))

    newest = store.sessions.get("default", "a", limit=2)
    before = store.sessions.get("default", "a", limit=2, cursor=newest.earlier_cursor)
    first = store.sessions.get("default", "a", limit=2, cursor=before.earlier_cursor)

    assert [_questions(part) for part in (first, before, newest)] == [
        ["Question at 0?"],
        ["Question at 1?", "Question at 2?"],
        ["Question at 3?", "Question at 4?"],
    ]
    assert (newest.total, first.earlier_cursor) == (5, None)


def test_a_trace_has_neighbours_in_its_session(store: Store) -> None:
    turns = [_turn("a", n) for n in range(3)]
    ingest(store, *turns, _turn("b", 1))
    first, second, third = (turn.trace_id for turn in turns)

    at = EPOCH + timedelta(minutes=1)
    assert store.sessions.neighbours("default", "a", at, second) == Neighbours(
        previous=first, following=third
    )
    assert store.sessions.neighbours("default", "a", EPOCH, first) == Neighbours(following=second)
    assert store.sessions.neighbours("other", "a", at, second) == Neighbours()
