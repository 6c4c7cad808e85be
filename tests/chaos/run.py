"""The chaos suite: a whole deployment on one machine, hurt for ten minutes under load.

    python -m tests.chaos.run [--seconds 600] [--traces 100000] [--table]
    python -m tests.chaos.run --crowd [--seconds 600] [--apps 20000] [--database URL]

A PostgreSQL of its own, two ingest, two api and three worker processes, a scripted judge of which a
share of replies is garbage of forty kinds. Random processes are killed, stopped, terminated and
have their wall clocks set (the database's clock and the monotonic clocks stay);
PostgreSQL is stopped three times, the judge twice. With `--crowd` something else: one server under
a crowd of applications, see `tests.chaos.crowd`. Prints one JSON object, with `--table` a table for
the documentation; exits 1 when a promise was broken.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from rag_monitor.store import migration
from tests.chaos import clock, crowd, verdict
from tests.chaos.cluster import Cluster, cluster, free_port, programs
from tests.chaos.faults import Faults
from tests.chaos.fleet import Fleet, Member, serving
from tests.chaos.load import Reader, Sender, running

PROMISES = {
    "lost": 0, "stored_twice": 0, "never_assembled": 0, "assembled_twice": 0, "scores_missing": 0,
    "scores_doubled": 0, "judge_scores_missing": 0, "judge_scores_doubled": 0,
    "judge_scores_not_drawn": 0, "garbage_accepted": 0, "scored_though_never_answered": 0,
    "rollups_wrong": 0, "parked": 0, "waiting": 0,
}  # fmt: skip
"""What must be 0."""
DATABASE_S, JUDGE_S, RERUN_S = 10.0, 30.0, 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How long and how hard."""

    seconds: float = 600.0
    traces: int = 100_000
    """The load goes on until so many are acknowledged."""
    per_second: float = 220.0
    pause_s: tuple[float, float] = (8.0, 16.0)
    """Between two faults."""
    lease_s: float = 20.0
    database_s: tuple[float, ...] = (8.0, 12.0, 6.0)
    """How long each stop of the database lasts."""
    judge_s: tuple[float, ...] = (15.0, 20.0)
    deaths: int = 3
    """Workers killed with tasks in hand, beside those that a draw kills."""
    garbage: float = 0.2
    stubborn: float = 0.01
    rate: float = 0.02
    """Share of traffic that the scripted judge sees."""
    roles: tuple[tuple[str, int], ...] = (("ingest", 2), ("api", 2), ("worker", 3))
    limit_s: float = 1500.0
    """The load ends then, however many are acknowledged."""
    drain_s: float = 700.0
    seed: int = 8


def say(what: str) -> None:
    """Progress, on standard error."""
    sys.stderr.write(f"{time.strftime('%H:%M:%S')} {what}\n")
    sys.stderr.flush()


def config(folder: Path, judge_port: int, plan: Plan) -> None:
    """The settings all processes share."""
    (folder / "rag_monitor.toml").write_text(
        f"""
judge = "openai_compatible"
[judges.openai_compatible]
base_url = "http://127.0.0.1:{judge_port}/v1"
model = "scripted"
probe_every = 0
[evaluation]
metrics = {json.dumps(verdict.METRICS)}
[sampling]
rate = {plan.rate}
[worker]
lease_s = {plan.lease_s}
[store]
pool_size = 6
""",
        encoding="utf-8",
    )


def run(plan: Plan, bin_folder: Path) -> dict[str, Any]:
    """Everything, and what came of it."""
    with tempfile.TemporaryDirectory() as name, cluster(bin_folder) as database:
        folder = Path(name)
        migration.upgrade(database.url)
        judge_port = free_port()
        config(folder, judge_port, plan)
        command = [
            "-m",
            "tests.chaos.judge",
            str(judge_port),
            str(plan.garbage),
            str(plan.stubborn),
        ]
        judge = Member("judge", command, judge_port, {}, folder)
        fleet = Fleet(
            [
                serving(role, number, database.url, folder, {})
                for role, count in plan.roles
                for number in range(1, count + 1)
            ]
        )
        judge.start()
        try:
            fleet.start()
            say(f"{len(fleet.members)} servers answer")
            return _hurt(plan, database, judge, fleet)
        finally:
            fleet.end()
            judge.end()


def _hurt(plan: Plan, database: Cluster, judge: Member, fleet: Fleet) -> dict[str, Any]:
    stop = threading.Event()
    ingest = fleet.of("ingest")
    senders = [
        Sender(ingest[n:] + ingest[:n], stop, plan.per_second / len(ingest))
        for n in range(len(ingest))
    ]
    reader = Reader(fleet.of("api"), stop)
    faults = Faults(fleet, database, judge, senders, reader, lease_s=plan.lease_s, seed=plan.seed)
    began = time.monotonic()
    with running([*senders, reader], stop):
        _schedule(plan, faults, began)
        while (count := sum(len(sender.acknowledged) for sender in senders)) < plan.traces:
            if time.monotonic() - began > plan.limit_s:
                break
            say(f"{count} acknowledged; on until {plan.traces}")
            faults.one()
            time.sleep(sum(plan.pause_s) / 2)
        faults.heal()
        loaded_s = time.monotonic() - began
    say(f"{sum(len(s.acknowledged) for s in senders)} acknowledged; waiting until all is judged")
    drained_s = _drain(database, plan.drain_s)
    said = _counts(judge)
    ends = fleet.terminate()
    acknowledged = [trace_id for sender in senders for trace_id in sender.acknowledged]
    found = verdict.judged(database, acknowledged, plan.stubborn)
    return _report(plan, faults, found) | {
        "seconds_of_load": round(loaded_s, 1),
        "seconds_to_drain": round(drained_s, 1),
        "batches_sent_again": sum(sender.resent for sender in senders),
        "answers_to_senders": dict(sum((s.statuses for s in senders), Counter())),
        "answers_to_readers": dict(reader.statuses),
        "judge_said": {"right": said.pop("right", 0), "garbage": sum(said.values()),
                       "kinds": len(said)},
        "deaths_of_their_own": fleet.deaths,
        "exit_statuses": ends,
        "cpus": os.cpu_count(),
        "load_average": os.getloadavg()[0],
    }  # fmt: skip


def _schedule(plan: Plan, faults: Faults, began: float) -> None:
    """Random faults, and the database and the judge away at fixed moments."""
    draw = faults._draw
    modes = ("immediate", "immediate", "fast")
    events: list[tuple[float, Callable[[], None]]] = []
    for n in range(plan.deaths):
        events.append((plan.seconds * (0.08 + 0.3 * n), faults.death))
    for n, seconds in enumerate(plan.database_s):
        moment = plan.seconds * (0.2 + 0.3 * n)
        events.append((moment, partial(faults.database, modes[n % 3], seconds)))
    for n, seconds in enumerate(plan.judge_s):
        how = ("refuse", "hang")[n % 2]
        events.append((plan.seconds * (0.35 + 0.3 * n), partial(faults.judge, how, seconds)))
    events.sort(key=lambda event: event[0])
    while (elapsed := time.monotonic() - began) < plan.seconds or events:
        if events and elapsed >= events[0][0]:
            events.pop(0)[1]()
            say(f"after {elapsed:.0f} s: {dict(faults.counts)}")
            continue
        faults.one()
        time.sleep(draw.uniform(*plan.pause_s))


def _drain(database: Cluster, limit_s: float) -> float:
    """Wait until everything is judged and added up; seconds it took."""
    began = time.monotonic()
    while verdict.waiting(database):
        if time.monotonic() - began > limit_s:
            break
        time.sleep(2)
    return time.monotonic() - began


def _counts(judge: Member) -> dict[str, int]:
    import urllib.request

    with urllib.request.urlopen(f"http://127.0.0.1:{judge.port}/counts", timeout=10) as answer:
        counts: dict[str, int] = json.load(answer)
        return counts


def _report(plan: Plan, faults: Faults, found: dict[str, Any]) -> dict[str, Any]:
    seen = faults.recoveries
    recovery = {
        "database_ingest_s": _rounded(seen.ingest),
        "database_api_s": _rounded(seen.api),
        "database_worker_s": _rounded(seen.worker),
        "judge_s": _rounded(seen.judge),
        "rerun_s": _rounded(seen.rerun),
        "rerun_unmeasured": seen.unmeasured,
        "sigterm_s": _rounded(faults.graceful),
    }
    broken = [name for name, value in PROMISES.items() if found[name] != value]
    broken += [
        name
        for name, times, bar in (
            ("database recovery", seen.ingest + seen.api + seen.worker, DATABASE_S),
            ("judge recovery", seen.judge, JUDGE_S),
            ("rerun", seen.rerun, plan.lease_s + RERUN_S),
        )
        if any(time > bar for time in times)
    ]
    if set(faults.statuses) - {0}:
        broken.append("exit status after SIGTERM")
    return {
        "broken": broken,
        "faults": dict(faults.counts),
        "clocks": "wall clocks of server processes"
        if clock.library()
        else "not set: no C compiler",
        "lease_s": plan.lease_s,
        **found,
        **recovery,
    }


def _rounded(times: list[float]) -> list[float]:
    return [round(value, 1) for value in times]


def table(report: dict[str, Any]) -> str:
    """The report as a table for the documentation."""
    lines = ["| what | figure |", "|---|---|"]
    for name, value in report.items():
        if isinstance(value, dict):
            value = ", ".join(f"{key}: {part}" for key, part in value.items())
        elif isinstance(value, list):
            value = ", ".join(map(str, value)) or "none"
        lines.append(f"| {name.replace('_', ' ')} | {value} |")
    return "\n".join(lines)


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--traces", type=int, default=100_000)
    parser.add_argument("--per-second", type=float, help="220; of the crowd 200")
    parser.add_argument("--seed", type=int, default=8)
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--crowd", action="store_true", help="a crowd of applications instead")
    parser.add_argument("--apps", type=int, default=20_000, help="of the crowd")
    parser.add_argument("--names", type=int, default=1_000, help="of apps that are kept apart")
    parser.add_argument("--database", help="of the crowd; a new SQLite file where it is left out")
    options = parser.parse_args()
    # SIGTERM must not leave a database and seven servers behind.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    if options.crowd:
        sys.exit(bool(crowd.main(options)["broken"]))
    bin_folder = programs()
    if bin_folder is None:
        raise SystemExit("the chaos suite needs PostgreSQL's server programs (initdb, pg_ctl)")
    plan = Plan(
        seconds=options.seconds, traces=options.traces, per_second=options.per_second or 220.0,
        seed=options.seed,
    )  # fmt: skip
    report = run(plan, bin_folder)
    print(table(report) if options.table else json.dumps(report, indent=2, ensure_ascii=False))
    sys.exit(bool(report["broken"]))


if __name__ == "__main__":
    main()
