"""How rules stand on apps, and the windows chosen for them, on each database."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import Connection, Table, update

from rag_monitor.domain.alert import AlertRule, RuleKind
from rag_monitor.domain.rule_state import Counted, RuleState, Verdict, WindowChoice
from rag_monitor.errors import LeaseLost
from rag_monitor.store import rule_states
from rag_monitor.store.engine import Database
from rag_monitor.store.store import Store
from rag_monitor.store.tables import leases
from rag_monitor.testing import EPOCH

STATE = RuleState(
    project="default",
    rule="faithfulness drop",
    app="问答",
    verdict=Verdict.CANNOT_TELL,
    since=EPOCH,
    looked_at=EPOCH + timedelta(minutes=5),
    window_s=3600.0,
    chosen_at=EPOCH,
    counted=Counted.JUDGED,
    needed=50,
    has=7,
    fitting_window_s=43_200.0,
    summary="7 judged, 50 are needed",
    summary_zh="评审 7 条，需要 50 条",
    notes=("few_judged",),
)
CHOICE = WindowChoice(
    project="default",
    rule="faithfulness drop",
    app="问答",
    window_s=86_400.0,
    chosen_at=EPOCH,
    days=3,
)


def test_states_come_back_as_they_were_saved_and_the_last_one_stays(store: Store) -> None:
    other = replace(STATE, app="b", verdict=Verdict.OK, chosen_at=None, notes=())
    store.rule_states.save([STATE, other, replace(STATE, project="p2")])
    store.rule_states.save([replace(STATE, has=9)])

    assert store.rule_states.all("default") == [other, replace(STATE, has=9)]
    assert store.rule_states.all("default", "b") == [other]
    assert len(store.rule_states.all()) == 3


def test_a_window_that_somebody_fixed_outlives_the_choices_of_the_monitor(store: Store) -> None:
    fixed = replace(CHOICE, window_s=43_200.0, chosen_by="mei")
    store.rule_states.save(windows=[CHOICE])
    assert store.rule_states.windows() == [CHOICE]

    store.rule_states.fix_window(fixed)
    store.rule_states.save(windows=[replace(CHOICE, window_s=600.0)])
    assert store.rule_states.windows() == [fixed]

    store.rule_states.release_window("default", "faithfulness drop", "问答")
    store.rule_states.save(windows=[CHOICE])
    assert store.rule_states.windows() == [CHOICE]


def test_what_is_gone_is_forgotten_with_its_window(store: Store) -> None:
    store.rule_states.save([STATE], [CHOICE])
    store.rule_states.save(gone=[("default", "faithfulness drop", "问答")])

    assert store.rule_states.all() == []
    assert store.rule_states.windows() == []


def test_states_are_saved_in_pieces_while_the_lease_is_held(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    lease = store.leases.acquire("scheduler", "one", 60.0)
    assert lease is not None
    pieces: list[int] = []
    put = rule_states._put

    def lose(
        database: Database, connection: Connection, table: Table, rows: Any, **more: Any
    ) -> None:
        put(database, connection, table, rows, **more)
        pieces.append(len(rows))
        if len(pieces) == 2:
            connection.execute(update(leases).values(token=leases.c.token + 1))

    monkeypatch.setattr(rule_states, "_PIECE", 2)
    monkeypatch.setattr(rule_states, "_put", lose)
    states = [replace(STATE, app=f"app {number}") for number in range(7)]

    with pytest.raises(LeaseLost):
        store.rule_states.save(states, lease=lease)

    assert pieces == [2, 2]
    assert store.rule_states.all() == states[:4]


def test_who_lost_the_lead_saves_no_states(store: Store) -> None:
    lost = store.leases.acquire("worker", "a", 1.0)
    assert lost is not None
    store.leases.release(lost)
    assert store.leases.acquire("worker", "b", 60.0) is not None

    with pytest.raises(LeaseLost):
        store.rule_states.save([STATE], lease=lost)

    assert store.rule_states.all() == []


def test_a_renamed_rule_keeps_the_windows_that_were_fixed_for_it(store: Store) -> None:
    rule = AlertRule(name="faithfulness drop", kind=RuleKind.DROP, metric="faithfulness")
    store.rules.save(rule)
    store.rule_states.fix_window(replace(CHOICE, chosen_by="mei"))

    store.rules.rename(rule.name, replace(rule, name="fell"))

    assert [one.rule for one in store.rule_states.windows()] == ["fell"]


def test_a_rule_whose_window_follows_the_traffic_comes_back_so(store: Store) -> None:
    store.rules.save(AlertRule(name="r", kind=RuleKind.ERROR_RATE, window_s=None))

    assert store.rules.all()[0].window_s is None
