"""Every filter, alone and with others, in every order, finds what looking at each trace finds."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from rag_monitor.domain.fault import Fault
from rag_monitor.domain.filters import (
    FILTERS,
    HitOutcome,
    Order,
    QuestionLanguage,
    TraceSort,
    UserRating,
)
from rag_monitor.domain.session import SessionQuery
from rag_monitor.domain.stored import StoredTrace, TraceQuery
from rag_monitor.domain.trace import TraceStatus
from rag_monitor.store import trace_finder
from rag_monitor.store.options import StoreOptions
from rag_monitor.store.store import Store
from rag_monitor.testing import EPOCH, ManualClock
from tests.integration.filters import population
from tests.integration.filters.population import Population, fits, place_of

COUNT = int(os.environ.get("RAG_MONITOR_TEST_FILTER_TRACES", "2000"))
"""Traces of each database; `make test-filters` makes 20,000."""
QUERIES = min(COUNT // 20, 400)
SEED = int(os.environ.get("RAG_MONITOR_TEST_FILTER_SEED", "28"))
VALUES: dict[str, Sequence[Any]] = {
    "app": (*population.APPS, "nobody"),
    "release": ("v1", "v3"),
    "environment": ("production", "test", "nowhere"),
    "session_id": ("s-7", "s-8", "s-none"),
    "user_id": ("u-3", "u-none"),
    "tag": (*population.TAGS, "vi", "none"),
    "model": ("gpt", "qwen-max", "gp"),
    "knowledge_base": (*population.BASES, "loan"),
    "document": ("doc-1", "doc-2", "doc-40", "doc-in-metadata", "doc-inside"),
    "plugin": (*population.PLUGINS, "refund"),
    "workflow": population.WORKFLOWS,
    "outcome": tuple(HitOutcome),
    "language": tuple(QuestionLanguage),
    "status": tuple(TraceStatus),
    "latency_above": (0.0, 100.0, 2500.0, 5000.0, 1e9),
    "metric": population.METRICS,
    "below": (0.3, 0.5, 0.8, 0.97),
    "above": (0.2, 0.9, 0.99),
    "fault": (*population.FAULTS, Fault.OFF_TOPIC),
    "rating": tuple(UserRating),
    "refused": (True, False),
}


@pytest.fixture
def store(database_url: str, clock: ManualClock) -> Iterator[Store]:
    options = StoreOptions(url=database_url, pool_size=4, ballast_bytes=0, partitions_ahead=1)
    with Store.open(options, clock) as opened:
        opened.writer.start()
        yield opened


@pytest.fixture
def kept(store: Store) -> list[StoredTrace]:
    return Population(store, random.Random(SEED), COUNT).fill()


def test_there_are_values_of_every_filter() -> None:
    assert list(VALUES) == [one.name for one in FILTERS]


@pytest.mark.timeout(7200)
def test_every_query_finds_what_looking_at_each_trace_finds(
    store: Store, kept: list[StoredTrace], monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = random.Random(SEED)
    for query in _queries(chance):
        # As if there were so many more traces, or as few as there are.
        walked = chance.choice((0, COUNT // 40, COUNT // 4, 6000))
        for name, value in (("FIRST", walked // 4), ("WALKED", walked)):
            monkeypatch.setattr(trace_finder, name, value)
        for name in ("FEW", "MANY", "MOST_INDEXED"):
            monkeypatch.setattr(trace_finder, name, chance.choice((0, 10, COUNT)))
        among = sorted((one for one in kept if fits(one, query)), key=lambda o: place_of(o, query))
        wanted = [one.trace.trace_id for one in among]
        query = replace(query, limit=chance.choice((7, 50)) if len(wanted) < 200 else 500)
        assert _all_pages(store, query) == wanted, (query, walked)
        if len(wanted) < 200 and chance.random() < 0.4:
            sessions = [one.trace.session_id for one in among if one.trace.session_id]
            assert _all_sessions(store, query) == list(dict.fromkeys(sessions)), (query, walked)


def _queries(chance: random.Random) -> Iterator[TraceQuery]:
    """Each value of each filter by itself, then several together, in every order."""
    for name, values in VALUES.items():
        for value in values:
            given = {name: value}
            if name in {"below", "above"}:
                given["metric"] = chance.choice(population.METRICS)
            yield _ordered(given, chance)
    for _ in range(QUERIES):
        names = chance.sample(list(VALUES), chance.randint(0, 4))
        given = {name: chance.choice(VALUES[name]) for name in names}
        if {"below", "above"} & given.keys():
            given.setdefault("metric", chance.choice(population.METRICS))
        if chance.random() < 0.2:
            given["q"] = chance.choice(("利率", "WHERE is", "7", "12", "no such"))
        if chance.random() < 0.3:
            given["since"] = EPOCH - timedelta(seconds=chance.uniform(0, population.SECONDS))
        if chance.random() < 0.3:
            given["until"] = EPOCH - timedelta(seconds=chance.uniform(0, population.SECONDS))
        yield _ordered(given, chance)


def _ordered(given: dict[str, Any], chance: random.Random) -> TraceQuery:
    sorts = [TraceSort.TIME, TraceSort.TIME, TraceSort.LATENCY]
    if "metric" in given:
        sorts += [TraceSort.SCORE] * 3
    return TraceQuery(
        project="default",
        sort=chance.choice(sorts),
        order=chance.choice(tuple(Order)),
        **given,
    )


def _all_pages(store: Store, query: TraceQuery) -> list[str]:
    found: list[str] = []
    while True:
        page = store.traces.search(query)
        assert len(page.items) <= query.limit
        assert page.partial or page.next_cursor is None or len(page.items) == query.limit
        found += [row.trace_id for row in page.items]
        if page.next_cursor is None:
            assert not page.partial
            return found
        query = replace(query, cursor=page.next_cursor)


def _all_sessions(store: Store, query: TraceQuery) -> list[str]:
    given = {name: getattr(query, name) for name in TraceQuery.__dataclass_fields__}
    asked = SessionQuery(**given)
    found: list[str] = []
    while True:
        page = store.sessions.search(asked)
        found += [session.session_id for session in page.items]
        if page.next_cursor is None:
            return found
        asked = replace(asked, cursor=page.next_cursor)
