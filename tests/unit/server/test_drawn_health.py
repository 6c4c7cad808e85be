"""What readiness says of traces that wait for the judge they were drawn for."""

from __future__ import annotations

import logging
from pathlib import Path

from rag_monitor.server.wiring import _health
from rag_monitor.store.options import StoreOptions
from rag_monitor.store.outage import Outage
from rag_monitor.store.store import Store
from rag_monitor.testing import ManualClock, make_trace
from tests.contract.evidence import claim, ingest


def test_a_sampled_judge_that_is_behind_is_told_and_costs_no_readiness(tmp_path: Path) -> None:
    clock, outage = ManualClock(), Outage(logging.getLogger(__name__), "not ready")
    with Store.open(StoreOptions(url=f"sqlite:///{tmp_path}/m.db"), clock) as store:
        store.writer.start()
        ingest(store, make_trace())
        (task,) = claim(store)
        store.tasks.complete_many([(task, [], [])], {task.id})
        clock.advance(300)
        before = _health(store, clock, outage)
        clock.advance(1)
        report = _health(store, clock, outage)

    assert before.checks == {"store": "ok", "assembly": "ok", "evaluation": "ok"}
    assert report.ready
    assert report.checks["evaluation"] == "ok"
    assert report.checks["sampled_judge"] == "1 drawn traces wait, the oldest 301 s"
