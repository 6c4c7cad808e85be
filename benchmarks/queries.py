"""How long the queries of the pages take, by how many traces there are.

    python benchmarks/queries.py [--sizes 10000 100000 1000000] [--postgresql URL]
                                 [--rounds 40] [--days 7] [--skip-sqlite]

Fills a fresh database with traces of three applications over a week (three scores each, an error in
200, one question in 100 and one in 5,000 with a word of its own, and tags, documents, calls, faults
and ratings of which some are rare), then asks for the overview, for series, and for lists of traces
and sessions by every filter and in every order: through the store, and over HTTP from a real
`serve --role api` process.
Every figure is one request after another, nothing cached between them but what the server and the
database cache by themselves. Prints one JSON object with milliseconds (least, p50, p95, and CPU of
the process that answers, PostgreSQL's own not included), by size. On a machine that others use, p95
says how long a process waited for a processor; the least and the CPU say what a query costs.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import platform
import sys
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

ROOT = Path(__file__).resolve().parents[1]
sys.path[0] = str(ROOT)  # the folder of this script holds a module named as one of Python's

from benchmarks import bulk_rows  # noqa: E402
from benchmarks.ingest import cpu_s, database, server  # noqa: E402

WARM_UP = 2
METRIC = "faithfulness"
APP = bulk_rows.APPS[0]

OVERVIEW = {
    "overview page, 24h": ("/", {}),
    "overview page, 7d": ("/", {"window": "7d"}),
    "summary, 24h": ("/api/v1/summary", {}),
    "summary, 7d": ("/api/v1/summary", {"window": "7d"}),
    "summary of one app, 7d": ("/api/v1/summary", {"app": APP, "window": "7d"}),
}
SERIES = {
    "series, 1h": ("/api/v1/series", {"app": APP, "metric": METRIC, "window": "1h"}),
    "series, 24h": ("/api/v1/series", {"app": APP, "metric": METRIC}),
    "series, 7d": ("/api/v1/series", {"app": APP, "metric": METRIC, "window": "7d"}),
    "series, 7d by hour": (
        "/api/v1/series",
        {"app": APP, "metric": METRIC, "window": "7d", "step": "1h"},
    ),
}
LISTS: Mapping[str, tuple[str, dict[str, Any]]] = {
    name: ("/api/v1/traces", query)
    for name, query in {
        "list": {},
        "list, app": {"app": APP},
        "list, release in 39 of 40": {"release": "2026.3"},
        "list, release in 1 of 40": {"release": "2026.1"},
        "list, release of nobody": {"release": "1999"},
        "list, errors": {"status": "error"},
        "list, errors of an app": {"status": "error", "app": APP},
        "list, status of nobody": {"status": "abandoned"},
        "list, score below 0.8": {"metric": METRIC, "below": 0.8},
        "list, score below 0.8 in an app": {"metric": METRIC, "below": 0.8, "app": APP},
        "list, score below 0.5 (rare)": {"metric": METRIC, "below": 0.5},
        "list, score below 0.2 (none)": {"metric": METRIC, "below": 0.2},
        "list, score of no trace": {"metric": "context_recall"},
        "list, common word": {"q": bulk_rows.COMMON},
        "list, word in 1 of 100": {"q": bulk_rows.MIDDLE},
        "list, word in 1 of 5000": {"q": bulk_rows.RARE},
        "list, rare word in an app": {"q": bulk_rows.RARE, "app": APP},
        "list, rare word and low score": {"q": bulk_rows.MIDDLE, "metric": METRIC, "below": 0.8},
        "list, English words": {"q": "early repayment"},
        "list, word of nobody": {"q": "比特币"},
        "list, session": {"session_id": "s-50"},
        "list, user": {"user_id": "u-7"},
        "list, environment of all": {"environment": "production"},
        "list, environment in 1 of 2000": {"environment": "test"},
        "list, environment of nobody": {"environment": "nowhere"},
        "list, tag of all": {"tag": "web"},
        "list, tag in 1 of 1000": {"tag": "vip"},
        "list, model in 1 of 50": {"model": "old-model"},
        "list, knowledge base of all": {"knowledge_base": "loans"},
        "list, knowledge base of nobody": {"knowledge_base": "nothing"},
        "list, document in 1 of 600": {"document": "doc-30"},
        "list, document of nobody": {"document": "doc-none"},
        "list, plugin of all": {"plugin": "maps"},
        "list, plugin failed, 1 of 400": {"plugin": "maps", "outcome": "failed"},
        "list, workflow of nobody": {"workflow": "none"},
        "list, anything failed": {"outcome": "failed"},
        "list, English questions": {"language": "en"},
        "list, latency above median": {"latency_above": 1500},
        "list, latency above 99.9 %": {"latency_above": 8500},
        "list, latency above all": {"latency_above": 1e8},
        "list, score above 0.99": {"metric": METRIC, "above": 0.99},
        "list, score above 1 (none)": {"metric": METRIC, "above": 1.0},
        "list, fault none": {"fault": "none"},
        "list, fault in 1 of 10": {"fault": "invented"},
        "list, fault in 1 of 1000": {"fault": "knowledge_gap"},
        "list, fault of nobody": {"fault": "off_topic"},
        "list, rated up, 1 of 21": {"rating": "up"},
        "list, rated down, 1 of 400": {"rating": "down"},
        "list, refused, 1 of 60": {"refused": "true"},
        "list, not refused": {"refused": "false"},
        "list, oldest": {"order": "asc"},
        "list, slowest": {"sort": "latency"},
        "list, fastest": {"sort": "latency", "order": "asc"},
        "list, lowest scores": {"metric": METRIC, "sort": "score", "order": "asc"},
        "list, highest scores": {"metric": METRIC, "sort": "score"},
        "list, slowest of a rare tag": {"sort": "latency", "tag": "vip"},
        "list, slowest of an app's errors": {"sort": "latency", "app": APP, "status": "error"},
        "list, lowest scores of a user": {
            "metric": METRIC, "sort": "score", "order": "asc", "user_id": "u-7",
        },
        "list, rare tag, fault, model": {"tag": "vip", "fault": "invented", "model": "qwen-max"},
    }.items()
}  # fmt: skip
SESSIONS: Mapping[str, tuple[str, dict[str, Any]]] = {
    name: ("/api/v1/sessions", query)
    for name, query in {
        "sessions": {},
        "sessions, tag in 1 of 1000": {"tag": "vip"},
        "sessions, document in 1 of 600": {"document": "doc-30"},
        "sessions, fault in 1 of 1000": {"fault": "knowledge_gap"},
        "sessions, rated down": {"rating": "down"},
        "sessions, score below 0.5": {"metric": METRIC, "below": 0.5},
        "sessions, slowest turns": {"sort": "latency"},
        "sessions, resolved": {"resolved": "true"},
    }.items()
}


def milliseconds(ask: Callable[[], object], rounds: int) -> dict[str, float]:
    """Least, p50, p95 and CPU of this process, of `rounds` calls after `WARM_UP` uncounted ones."""
    for _ in range(WARM_UP):
        ask()
    taken = []
    began = time.process_time()
    for _ in range(rounds):
        start = time.perf_counter()
        ask()
        taken.append((time.perf_counter() - start) * 1e3)
    used = (time.process_time() - began) / rounds
    taken.sort()
    found = {
        name: round(taken[int(share * (len(taken) - 1) + 0.5)], 1)
        for name, share in (("min", 0.0), ("p50", 0.5), ("p95", 0.95))
    }
    return found | {"cpu": round(used * 1e3, 1)}


def over_http(process: int, port: int, rounds: int) -> dict[str, Any]:
    """Every query over one kept-alive connection."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)

    def get(path: str, query: Mapping[str, Any]) -> bytes:
        connection.request("GET", f"{path}?{urlencode(query)}")
        reply = connection.getresponse()
        body = reply.read()
        if reply.status != 200:
            raise SystemExit(f"{path} {query}: {reply.status} {body[:500]!r}")
        return body

    found: dict[str, Any] = {}
    for name, (path, query) in {**OVERVIEW, **SERIES, **LISTS, **SESSIONS}.items():
        before = cpu_s(process)
        found[name] = milliseconds(lambda path=path, query=query: get(path, query), rounds)
        used = (cpu_s(process) - before) / (rounds + WARM_UP)
        found[name]["cpu"] = round(used * 1e3, 1)
    page = json.loads(get("/api/v1/traces", {"limit": 500}))
    for _ in range(9):
        if page["next_cursor"] is None:
            break
        page = json.loads(get("/api/v1/traces", {"limit": 500, "cursor": page["next_cursor"]}))
    deep = {"cursor": page["next_cursor"]} if page["next_cursor"] else {}
    found["list, after 5,000 traces"] = milliseconds(lambda: get("/api/v1/traces", deep), rounds)
    trace_id = page["items"][0]["trace_id"]
    found["one trace"] = milliseconds(lambda: get(f"/api/v1/traces/{trace_id}", {}), rounds)
    connection.close()
    return found


def through_store(store: Any, now: datetime, rounds: int) -> dict[str, Any]:
    """The same questions without HTTP."""
    from rag_monitor.aggregation.estimates import Estimates
    from rag_monitor.aggregation.sessions import keeps
    from rag_monitor.domain.selection import Selection
    from rag_monitor.domain.window import Series
    from rag_monitor.server.quality import COMBINED, app_quality, on_grid, step_for
    from rag_monitor.server.routes.sessions import SessionFilter
    from rag_monitor.server.routes.traces import TraceFilter
    from rag_monitor.server.schemas.values import window_of

    estimates = Estimates(store.rollups)
    found: dict[str, Any] = {}
    for days in (1, 7):
        window = window_of(now, f"{days}d", None, None)
        found[f"overview of one app, {days}d"] = milliseconds(
            lambda window=window: app_quality(
                estimates, Selection(project="default", app=APP, window=window)
            ),
            rounds,
        )
        step = step_for(window, 60)
        series = Series(project="default", app=APP, metric=METRIC, judge=COMBINED)
        grid = on_grid(window, step)
        found[f"series, {days}d"] = milliseconds(
            lambda series=series, grid=grid, step=step: estimates.series(series, grid, step),
            rounds,
        )
    for name, (_, query) in LISTS.items():
        wanted = TraceFilter(**query).to_domain("default")
        found[name] = milliseconds(lambda wanted=wanted: store.traces.search(wanted), rounds)
    for name, (_, query) in SESSIONS.items():
        asked = SessionFilter(**query).to_domain("default")
        found[name] = milliseconds(
            lambda asked=asked: store.sessions.search(asked, keeps(asked)), rounds
        )
    return found


def measure(url: str, count: int, days: int, rounds: int, http_too: bool) -> dict[str, Any]:
    """Fill, then ask."""
    from rag_monitor.store.options import StoreOptions
    from rag_monitor.store.store import Store

    began = time.perf_counter()
    now = datetime.now(UTC)
    bulk_rows.migrate(url, now, days)
    with Store.open(StoreOptions(url=url, ballast_bytes=0)) as store:
        made = bulk_rows.generate(store, count, days, now)
        filled = time.perf_counter() - began
        size = store.retention.size_bytes()
        direct = through_store(store, datetime.now(UTC), rounds)
    served = {}
    if http_too:
        with server("api", url) as (process, port):
            served = over_http(process.pid, port, rounds)
    return {
        "traces": made,
        "filled_s": round(filled, 1),
        "database_mib": round(size / 2**20, 1),
        "load_average": os.getloadavg(),
        "store_ms": direct,
        "http_ms": served,
    }


def report(given: argparse.Namespace) -> dict[str, Any]:
    """Every size on every database."""
    out: dict[str, Any] = {
        "date": datetime.now(UTC).date().isoformat(),
        "python": platform.python_version(),
        "cpus": os.cpu_count(),
        "days": given.days,
        "rounds": given.rounds,
        "results": {},
    }
    bases = [] if given.skip_sqlite else [("sqlite", None)]
    bases += [("postgresql", given.postgresql)] if given.postgresql else []
    for count in given.sizes:
        for kind, base in bases:
            with database(kind, base) as url:
                found = measure(url, count, given.days, given.rounds, not given.store_only)
            out["results"][f"{kind}/{count}"] = found
            slow = {n: t["p95"] for n, t in found["http_ms"].items() if t["p95"] > 100}
            print(f"{kind}/{count}: over 100 ms: {slow}", file=sys.stderr)
    return out


def main() -> None:
    """Parse and run."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--days", type=int, default=7)
    parser.add_argument("--postgresql", help="URL of a server in which a database may be made")
    parser.add_argument("--skip-sqlite", action="store_true")
    parser.add_argument("--store-only", action="store_true", help="not over HTTP")
    print(json.dumps(report(parser.parse_args()), indent=2))


if __name__ == "__main__":
    main()
