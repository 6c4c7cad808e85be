"""How long every page takes and how large it is, over a hundred thousand stored traces.

    python benchmarks/pages.py [--traces 100000] [--apps 3 30] [--rounds 20] [--postgresql URL]
                               [--skip-sqlite]

Fills a fresh database with a week of traces as `queries.py` does, once of few applications, which
the overview shows whole, and once of many, of which it has a line each. To them come the topics of
their questions, counts of their documents over 30 days, rules with open and past alerts, incidents,
silences, messages, and marks of people. Then it asks a real `serve --role api` process for every
page, in both languages in turn, one request after another. Prints one JSON object: milliseconds
(p50, p95, and CPU of the process that answers, PostgreSQL's own not included), bytes, and what is
above the bar of 300 ms (p95) and 250 kB.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import platform
import sys
import time
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

ROOT = Path(__file__).resolve().parents[1]
sys.path[0] = str(ROOT)  # the folder of this script holds a module named as one of Python's

from benchmarks import bulk_rows, documents  # noqa: E402
from benchmarks.ingest import cpu_s, database, server  # noqa: E402
from rag_monitor.alerting.rules import default_rules  # noqa: E402
from rag_monitor.domain.alert import (  # noqa: E402
    Alert,
    AlertRule,
    AlertState,
    Finding,
    Notification,
    RuleKind,
    Severity,
    Silence,
)
from rag_monitor.domain.clock import SystemClock  # noqa: E402
from rag_monitor.domain.feedback import Feedback  # noqa: E402
from rag_monitor.domain.incident import Incident, IncidentAlert  # noqa: E402
from rag_monitor.store.options import StoreOptions  # noqa: E402
from rag_monitor.store.store import Store  # noqa: E402
from rag_monitor.testing import ManualClock  # noqa: E402
from rag_monitor.worker.topic_finding import TopicFinder  # noqa: E402

DAYS: Final = 7
WARM_UP: Final = 2
LIMIT_MS: Final = 300.0
LIMIT_BYTES: Final = 250_000
OPEN: Final = 20
OVER: Final = 200
MARKED: Final = 600
DOCUMENTED: Final = 6_000
"""Traces of which documents are counted."""


def app_names(many: int) -> list[str]:
    """As many applications, the first of which are those of `queries.py`."""
    return list(islice((*bulk_rows.APPS, *(f"app-{n:03}" for n in range(many))), many))


def fill(store: Store, traces: int, apps: list[str], now: datetime) -> int:
    """Everything that pages show; returns how many traces there are."""
    made = bulk_rows.generate(store, traces, DAYS, now, apps=apps)
    since = now - timedelta(days=documents.DAYS)
    documents.fill(store, ManualClock(since), min(DOCUMENTED, traces), since)
    find = TopicFinder(store.topic_feed, SystemClock()).find
    while find():
        pass
    add_alerts(store, apps, now)
    for number in range(0, MARKED * 2, 2):
        store.feedback.add(
            Feedback(
                project="default",
                trace_id=f"{0:08x}{number:024x}",
                value=float(number % 5 != 0),
                metric="faithfulness",
                author=("amy", "bo")[number % 4 // 2],
                created_at=now - timedelta(hours=number % 100),
            )
        )
    return made


def add_alerts(store: Store, apps: list[str], now: datetime) -> None:
    """Rules of every kind, of which most have alerts: some open, most over."""
    slo = AlertRule(
        name="good answers", kind=RuleKind.BURN_RATE, metric="faithfulness", params={"slo": 0.9}
    )
    rules = [*default_rules(), slo]
    store.rules.ship("default", rules)
    alerts = [
        alert(rules[number % len(rules)], apps[number % len(apps)], number, now)
        for number in range(OPEN + OVER)
    ]
    notes = [
        Notification(
            dedup_key=f"{one.id}:{event}",
            project="default",
            channel="chat",
            alert=one,
            event=event,
            created_at=one.started_at,
        )
        for one in alerts
        for event in ("firing", "repeat")
    ]
    incidents = [
        Incident(
            id=f"incident-{one.id}",
            project="default",
            app=one.app,
            began_at=one.started_at,
            ended_at=one.resolved_at,
            alerts=(part_of(one),),
        )
        for one in alerts[::4]
    ]
    store.alerts.save(alerts, notes, incidents=incidents)
    for number in range(10):
        store.silences.add(
            Silence(
                id=f"silence-{number}",
                project="default",
                app=apps[number % len(apps)],
                starts_at=now - timedelta(hours=number),
                ends_at=now + timedelta(hours=24 - number),
            )
        )


def alert(rule: AlertRule, app: str, number: int, now: datetime) -> Alert:
    """The first `OPEN` fire."""
    began = now - timedelta(hours=1 + number % (24 * DAYS - 24))
    over = number >= OPEN
    finding = Finding(
        active=not over,
        value=0.8,
        lower=0.75,
        upper=0.85,
        level=0.999,
        baseline=0.9,
        judged=400,
        baseline_judged=4000,
        summary="faithfulness of an app fell from 0.90 to 0.80",
        worst_traces=tuple(f"{0:08x}{number * 10 + n:024x}" for n in range(5)),
    )
    return Alert(
        id=f"{number:016x}",
        project="default",
        rule=rule.name,
        app=app,
        state=AlertState.RESOLVED if over else AlertState.FIRING,
        severity=Severity.PAGE,
        kind=rule.kind,
        since=began,
        started_at=began,
        fired_at=began,
        resolved_at=began + timedelta(minutes=50) if over else None,
        finding=finding,
        evidence=finding,
    )


def part_of(one: Alert) -> IncidentAlert:
    """An alert as the only part of its incident."""
    return IncidentAlert(
        id=one.id,
        rule=one.rule,
        kind=str(one.kind or ""),
        started_at=one.started_at,
        fired_at=one.fired_at or one.started_at,
        resolved_at=one.resolved_at,
    )


def addresses(apps: list[str]) -> dict[str, str]:
    """Every page by its name."""
    app, trace_id = quote(apps[0]), f"{0:08x}{40:024x}"
    words = quote("word of nobody")
    return {
        "overview": "/",
        "overview, 7 days": "/?window=7d",
        "overview, sorted": "/?sort=faithfulness",
        "overview, one app": f"/?app={app}",
        "overview, one app, 7 days": f"/?app={app}&window=7d",
        "traces": "/traces",
        "traces, table": "/traces?view=table",
        "traces, filtered": f"/traces?app={app}&metric=faithfulness&below=0.5&since=24h",
        "traces, searched": f"/traces?q={quote(bulk_rows.RARE)}",
        "traces, searched in answers": f"/traces?q={words}&in=answer",
        "traces, searched in passages": f"/traces?q={words}&in=passages",
        "trace": f"/traces/{trace_id}",
        "trace with raw spans": f"/traces/{trace_id}?spans=yes",
        "sessions": "/sessions",
        "session": "/session?id=s-10",
        "topics": f"/topics?app={app}",
        "documents": "/documents",
        "documents, noisy": "/documents?list=noisy",
        "documents, harmful": "/documents?list=harmful",
        "documents, stale": "/documents?list=stale",
        "documents, conflicting": "/documents?list=conflicting",
        "documents, never retrieved": "/documents?list=never_retrieved",
        "alerts": "/alerts",
        "alert": f"/alerts/{0:016x}",
        "alert that is over": f"/alerts/{OPEN:016x}",
        "runbooks": "/runbooks",
        "slos": "/slos",
        "slos, 90 days": "/slos?days=90",
        "judges": "/judges",
        "labels": "/labels",
        "label": f"/labels/{trace_id}",
        "compare, releases": f"/compare?app={app}&window=7d",
        "compare, times": f"/compare?app={app}&against=before&window=24h",
        "settings": "/settings",
        "docs": "/docs",
    }


def measure(process: int, port: int, apps: list[str], rounds: int) -> dict[str, Any]:
    """Every page over one kept-alive connection."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)

    def get(address: str, language: str) -> bytes:
        mark = "&" if "?" in address else "?"
        connection.request(
            "GET", f"{address}{mark}lang={language}", headers={"Accept": "text/html"}
        )
        reply = connection.getresponse()
        body = reply.read()
        if reply.status != 200:
            raise SystemExit(f"{address}: {reply.status} {body[:500]!r}")
        return body

    found: dict[str, Any] = {}
    for name, address in addresses(apps).items():
        took, size = [], 0
        for number in range(WARM_UP + rounds):
            if number == WARM_UP:
                before = cpu_s(process)
            start = time.perf_counter()
            size = max(size, len(get(address, ("en", "zh")[number % 2])))
            took.append((time.perf_counter() - start) * 1e3)
        used = cpu_s(process) - before
        took = sorted(took[WARM_UP:])
        found[name] = {
            **{
                key: round(took[int(share * (len(took) - 1) + 0.5)], 1)
                for key, share in (("min", 0.0), ("p50", 0.5), ("p95", 0.95))
            },
            "cpu": round(used / rounds * 1e3, 1),
            "bytes": size,
        }
    connection.close()
    return found


def report(given: argparse.Namespace) -> dict[str, Any]:
    """Every number of applications on every database."""
    out: dict[str, Any] = {
        "date": datetime.now(UTC).date().isoformat(),
        "python": platform.python_version(),
        "cpus": os.cpu_count(),
        "rounds": given.rounds,
        "results": {},
    }
    bases = [] if given.skip_sqlite else [("sqlite", None)]
    bases += [("postgresql", given.postgresql)] if given.postgresql else []
    for kind, base in bases:
        for many in given.apps:
            apps, now = app_names(many), datetime.now(UTC)
            with database(kind, base) as url:
                bulk_rows.migrate(url, now, documents.DAYS + 1)
                began = time.perf_counter()
                with Store.open(StoreOptions(url=url, ballast_bytes=0)) as store:
                    made = fill(store, given.traces, apps, now)
                filled = time.perf_counter() - began
                with server("api", url) as (process, port):
                    pages = measure(process.pid, port, apps, given.rounds)
            above = {
                name: page
                for name, page in pages.items()
                if page["p95"] > LIMIT_MS or page["bytes"] > LIMIT_BYTES
            }
            print(f"{kind}, {many} apps: above the bar: {above}", file=sys.stderr)
            out["results"][f"{kind}/{made} traces/{many} apps"] = {
                "filled_s": round(filled, 1),
                "load_average": os.getloadavg(),
                "above": sorted(above),
                "pages": pages,
            }
    return out


def main() -> None:
    """Parse and run."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("--traces", type=int, default=100_000)
    parser.add_argument("--apps", type=int, nargs="+", default=[3, 30])
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--postgresql", help="URL of a server in which a database may be made")
    parser.add_argument("--skip-sqlite", action="store_true")
    print(json.dumps(report(parser.parse_args()), indent=2))


if __name__ == "__main__":
    main()
