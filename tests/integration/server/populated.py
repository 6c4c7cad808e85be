"""A monitor with something on every page: traces, scores, faults, topics, sessions, alerts, marks.

Judged by the embedded judge, counted and added up by the jobs of the worker; the clock stands.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncIterator, Collection
from datetime import datetime, timedelta
from typing import Any, Final

from rag_monitor.config import Settings
from rag_monitor.domain.alert import Alert, AlertRule, AlertState, Finding, RuleKind, Severity
from rag_monitor.domain.feedback import Feedback
from rag_monitor.domain.stored import RetentionPolicy
from rag_monitor.domain.trace import derive_trace_id
from rag_monitor.evaluation.pipeline import Pipeline
from rag_monitor.ingest.receiver import Receiver
from rag_monitor.sampling.sampler import Sampler
from rag_monitor.server.services import Services
from rag_monitor.server.wiring import wire_services
from rag_monitor.store.options import StoreOptions
from rag_monitor.store.store import Store
from rag_monitor.testing import EPOCH, ManualClock
from rag_monitor.worker.jobs import Jobs
from rag_monitor.worker.runtime import Runtime, build_runtime
from rag_monitor.worker.topic_finding import TopicFinder

APP: Final = "shop"
BUSY_APPS: Final = (APP, "bank")
"""Those that sent traces in the last hours."""
APPS: Final = (*BUSY_APPS, "help", "travel", "archive")
NOW: Final = EPOCH + timedelta(hours=6, minutes=30)
MARKED: Final = 40
"""Traces that people marked."""
_ASKED: Final = (
    ("How long does the warranty of the {thing} last?", "The warranty lasts 24 months."),
    ("What does express delivery of the {thing} cost?", "Express delivery costs 9 euros."),
    ("May I return the {thing} after a month?", "Returns are accepted within 30 days."),
    ("Where do I find the invoice of the {thing}?", "Invoices are under My orders."),
    ("Which payment is taken for the {thing}?", "We take cards and bank transfers."),
)
_THINGS: Final = ("kettle", "lamp", "camera", "tent", "bicycle", "printer", "sofa", "radio")
_WRONG: Final = "It costs 470 euros a week and is shipped from Atlantis by sea mail."
_REFUSAL: Final = "I'm sorry, the documents do not contain this information."
_KINDS: Final = (
    (RuleKind.DROP, "faithfulness", {"min_drop": 0.05}),
    (RuleKind.ERROR_RATE, None, {}),
    (RuleKind.LATENCY, "end_to_end_ms", {"quantile": 0.9, "limit_ms": 1000.0}),
    (RuleKind.TRAFFIC, None, {}),
    (RuleKind.BURN_RATE, "faithfulness", {"slo": 0.9}),
)


@contextlib.asynccontextmanager
async def populated(url: str, apps: Collection[str] = APPS) -> AsyncIterator[Services]:
    """The services of a server over a fresh, migrated database, with everything in it.

    Args:
        url: The database.
        apps: Of `APPS`; fewer make a page of few apps.
    """
    clock = ManualClock(EPOCH - timedelta(hours=20))
    settings = Settings(database_url=url, judge="embedded-lexical")
    options = StoreOptions(url=url, ballast_bytes=0, partitions_ahead=2)
    with Store.open(options, clock) as store:
        store.writer.start()
        runtime = build_runtime(settings, store, clock, "test")
        await _take(store, clock, apps)
        clock.set(NOW)
        _alert(store)
        _mark(store)
        await _work(settings, store, clock, runtime)
        yield wire_services(settings, store, runtime, clock)
        await runtime.close()


async def _take(store: Store, clock: ManualClock, apps: Collection[str]) -> None:
    receiver = Receiver(store.writer, clock=clock)
    clock.set(NOW - timedelta(minutes=1))
    rows = [_row(APP, n, NOW - timedelta(hours=6) + n * timedelta(minutes=1)) for n in range(330)]
    rows += [_row("bank", n, NOW - timedelta(hours=3, minutes=n)) for n in range(60)]
    for app, count in (("help", 30), ("travel", 12), ("archive", 5)):
        rows += [_row(app, n, NOW - timedelta(hours=14, minutes=7 * n)) for n in range(count)]
    rows = [row for row in rows if row["app"] in apps]
    for start in range(0, len(rows), 100):
        part = rows[start : start + 100]
        await receiver.receive_json(json.dumps(part).encode(), "default")


def _row(app: str, number: int, started_at: datetime) -> dict[str, Any]:
    """A trace: every eleventh is wrong and every thirteenth refuses, more so of the new release."""
    asked, true = _ASKED[number % len(_ASKED)]
    release = "2.0" if number >= 150 else "1.0"
    wrong = number % (5 if release == "2.0" else 11) == 3
    failed = number % 17 == 5
    answer = _WRONG if wrong else _REFUSAL if number % 13 == 7 else true
    passages = [
        {"id": f"doc-{number % 5}", "content": f"{true} This holds for every order of the shop."},
        {"id": "canteen", "content": "The canteen of the company serves lunch at noon."},
    ]
    return {
        "id": f"{app}-{number}",
        "app": app,
        "release": release,
        "question": asked.format(thing=_THINGS[number % len(_THINGS)]),
        "answer": None if failed else answer,
        **({"error": "TimeoutError: the model did not answer"} if failed else {}),
        "retrievals": [
            {"knowledge_base": ("manuals", "prices")[number % 2], "documents": passages}
        ],
        "contexts": passages if number % 19 else [],
        "hits": [
            {"kind": "plugin", "name": "orders", "ok": number % 7 != 2, "latency_ms": 12.0},
            {"kind": "workflow", "name": "answer", "ok": True},
        ],
        "expected": {"plugin": ["orders"] if number % 4 else [], "workflow": ["answer"]},
        "timings": {
            "first_byte_ms": 150.0 + 7 * (number % 31),
            "retrieval_ms": 40.0 + number % 13,
            "generation_ms": 500.0 + 11 * (number % 23),
            "end_to_end_ms": 700.0 + 37 * (number % 29),
        },
        "session_id": f"{app}-s-{number // 3}" if number % 2 else None,
        "user_id": f"u-{number % 9}",
        "started_at": started_at.isoformat(),
    }


def _alert(store: Store) -> None:
    """A rule of each kind that has a course, firing on the busiest app."""
    for kind, metric, params in _KINDS:
        rule = AlertRule(
            name=f"rule of {kind.value}",
            kind=kind,
            app=APP,
            metric=metric,
            params=params,
            window_s=3600.0,
            min_judged=20,
        )
        store.rules.save(rule)
        store.alerts.save(
            [
                Alert(
                    id=f"alert-{kind.value}",
                    project="default",
                    rule=rule.name,
                    app=APP,
                    state=AlertState.FIRING,
                    severity=Severity.PAGE,
                    kind=kind,
                    since=NOW - timedelta(hours=2),
                    started_at=NOW - timedelta(hours=2, minutes=5),
                    fired_at=NOW - timedelta(hours=2),
                    finding=Finding(active=True, value=0.81, baseline=0.93, judged=60),
                )
            ]
        )


def _mark(store: Store) -> None:
    for number in range(0, 8 * MARKED, 8):
        store.feedback.add(
            Feedback(
                project="default",
                trace_id=derive_trace_id("default", APP, f"{APP}-{number}"),
                value=float(number % 3 != 0),
                metric="faithfulness",
                author="amy",
                created_at=NOW - timedelta(minutes=20),
            )
        )


async def _work(settings: Settings, store: Store, clock: ManualClock, runtime: Runtime) -> None:
    """What the worker does while traces come in, until nothing is left to do."""
    assert runtime.plan is not None
    assert runtime.dispatcher is not None
    jobs = Jobs(
        store,
        Pipeline(runtime.plan, Sampler(), clock),
        runtime.engine,
        runtime.dispatcher,
        clock,
        owner="test",
        options=settings.worker,
        retention=RetentionPolicy(),
    )
    clock.advance(60)
    for job in (jobs.derive_due, jobs.evaluate_due, jobs.roll_up, jobs.count_sessions):
        while await job():
            pass
    clock.advance(60)
    while await jobs.count_documents():
        pass
    TopicFinder(store.topic_feed, clock).find()
    for job in (jobs.roll_up, jobs.fold, jobs.count_sessions):
        while await job():
            pass
